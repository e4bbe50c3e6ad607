"""The paper's test of learnt representations: a linear SVM on theta (Sec. 4, Tab. 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.svm import LinearSVC

from brian_lda.errors import ParameterError

BINARY_GROUPS = ("alt.atheism", "talk.religion.misc")  # as in Zhu et al. (2009)


def svm_accuracy(
    theta_train: np.ndarray,
    labels_train: np.ndarray,
    theta_test: np.ndarray,
    labels_test: np.ndarray,
    *,
    classes: Sequence[int] | None = None,
    seed: int = 0,
) -> float:
    """Test accuracy of LIBLINEAR's L2-regularised L1-loss SVM with C = 1.

    Parameters
    ----------
    theta_train, theta_test : float array [doc, topic]
    labels_train, labels_test : int array [doc]
    classes : sequence of int, optional
        Use only documents with these labels; for the paper's binary task
        `[corpus.label_names.index(group) for group in BINARY_GROUPS]`.
    seed : int
        LIBLINEAR's dual coordinate descent visits documents in random order.
    """
    if classes is not None:
        in_train, in_test = np.isin(labels_train, classes), np.isin(labels_test, classes)
        theta_train, labels_train = theta_train[in_train], labels_train[in_train]
        theta_test, labels_test = theta_test[in_test], labels_test[in_test]
    if len(np.unique(labels_train)) < 2 or len(labels_test) == 0:
        raise ParameterError(
            "svm_accuracy needs training documents of 2 or more classes and a test document; found "
            f"{len(np.unique(labels_train))} classes and {len(labels_test)} test documents."
        )
    svm = LinearSVC(loss="hinge", penalty="l2", C=1.0, random_state=seed, max_iter=20_000)
    return float(svm.fit(theta_train, labels_train).score(theta_test, labels_test))
