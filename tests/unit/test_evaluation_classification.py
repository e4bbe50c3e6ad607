"""The paper's SVM protocol: hinge loss, C = 1, binary and multi-class."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from brian_lda.errors import ParameterError
from brian_lda.evaluation import svm_accuracy


def blobs(seed, n=60, n_classes=3, spread=0.02):
    """Points near the corners of a simplex: one class per topic."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    theta = np.eye(n_classes)[labels] + spread * rng.random((n, n_classes))
    return theta / theta.sum(axis=1, keepdims=True), labels


def test_separable_classes_are_separated():
    assert svm_accuracy(*blobs(0), *blobs(1)) == 1.0


def test_shuffled_labels_are_not_learnt():
    theta, labels = blobs(0, 600)
    rng = np.random.default_rng(2)
    accuracy = svm_accuracy(theta, rng.permutation(labels), theta, labels)
    assert accuracy < 0.8


def test_binary_task_uses_only_its_two_classes():
    """Class 2 lies on top of class 0: it spoils the three-class task, not the binary one."""
    theta_train, labels_train = blobs(0)
    theta_test, labels_test = blobs(1)
    for theta, labels in ((theta_train, labels_train), (theta_test, labels_test)):
        theta[labels == 2] = [1.0, 0.0, 0.0]
    everything = svm_accuracy(theta_train, labels_train, theta_test, labels_test)
    assert everything < 0.9
    arguments = (theta_train, labels_train, theta_test, labels_test)
    assert svm_accuracy(*arguments, classes=[0, 1]) == 1.0


def test_it_is_liblinear_with_hinge_loss_and_c_1():
    rng = np.random.default_rng(3)
    theta, labels = rng.dirichlet(np.ones(4), 400), rng.integers(0, 2, 400)
    labels[theta[:, 0] > 0.3] = 1
    halves = theta[:200], labels[:200], theta[200:], labels[200:]
    svm = LinearSVC(loss="hinge", C=1.0, random_state=7, max_iter=20_000).fit(*halves[:2])
    assert svm_accuracy(*halves, seed=7) == np.mean(svm.predict(halves[2]) == halves[3])


def test_errors():
    theta, labels = blobs(0)
    with pytest.raises(ParameterError, match="classes"):
        svm_accuracy(theta, np.zeros(60, int), theta, labels)
    with pytest.raises(ParameterError, match="classes"):
        svm_accuracy(theta, labels, theta, labels, classes=[0])
    with pytest.raises(ParameterError, match="test document"):
        svm_accuracy(theta, labels, theta[:0], labels[:0])
    with pytest.raises(ParameterError, match="classes"):
        svm_accuracy(theta, labels, theta, labels, classes=[55, 56])
