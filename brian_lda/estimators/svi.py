"""`StochasticVariationalLDA`: the paper's online baseline SVI on smoothed LDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.decomposition import LatentDirichletAllocation

from brian_lda.corpus import Corpus, TokenStore
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import Callback, TopicModel
from brian_lda.estimators.protocols import BatchUpdates
from brian_lda.estimators.sources import as_source
from brian_lda.estimators.trainers import MiniBatchTrainer
from brian_lda.evaluation import effective_counts, variational_phi


class _VariationalUpdates:
    """scikit-learn's online variational Bayes with the paper's step a (1 + t/b)^-c.

    scikit-learn's weight of update t is (learning_offset + n_batch_iter_)^-learning_decay: the
    offset is chosen for the first update, and n_batch_iter_ is set before each later one.
    """

    def __init__(self, model: StochasticVariationalLDA, n_docs: int, seed: int) -> None:
        a, b, c = model.step
        if not (0 < a <= 1 and b > 0 and 0.5 < c <= 1):
            raise ParameterError(
                "step must be (a, b, c) with 0 < a <= 1, b > 0 and 0.5 < c <= 1; found "
                f"{model.step!r}."
            )
        self._first = max(a ** (-1.0 / c), 2.0)  # scikit-learn wants an offset of at least 1
        self._b = b
        self.lda = LatentDirichletAllocation(
            n_components=model.n_topics,
            doc_topic_prior=model.doc_topic_prior,
            topic_word_prior=model.topic_word_prior,
            learning_method="online",
            learning_decay=c,
            learning_offset=self._first - 1.0,
            max_doc_update_iter=model.local_iterations,
            total_samples=n_docs,
            random_state=seed % 2**32,
        )
        self._n_updates = 0

    def update(self, counts: sparse.csr_array) -> None:
        if self._n_updates:
            n_batch_iter = 1.0 + self._first * self._n_updates / self._b
            self.lda.n_batch_iter_ = n_batch_iter
        # The paper's grid has priors up to 1.5; scikit-learn's validation stops at 1.
        with config_context(skip_parameter_validation=True):
            self.lda.partial_fit(sparse.csr_matrix(counts, dtype=np.float64))
        self._n_updates += 1

    @property
    def phi(self) -> np.ndarray:
        return variational_phi(self.lda.components_)

    def state(self) -> dict[str, np.ndarray]:
        lda = self.lda
        if not self._n_updates:  # scikit-learn draws the first topics in its first update
            return {"n_updates": np.array([0])}
        _, key, position, has_gauss, gauss = lda.random_state_.get_state()
        return {
            "components": lda.components_.copy(),
            "exp_dirichlet_component": lda.exp_dirichlet_component_.copy(),
            "generator_key": key.copy(),
            "generator_position": np.array([position, has_gauss]),
            "generator_gauss": np.array([gauss]),
            "n_updates": np.array([self._n_updates]),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state`: the attributes of a fitted scikit-learn model."""
        lda, self._n_updates = self.lda, int(state["n_updates"][0])
        if not self._n_updates:
            return
        lda.components_ = np.array(state["components"])
        lda.exp_dirichlet_component_ = np.array(state["exp_dirichlet_component"])
        lda.doc_topic_prior_, lda.topic_word_prior_ = lda.doc_topic_prior, lda.topic_word_prior
        lda.n_features_in_ = lda.components_.shape[1]
        lda.n_iter_, lda.n_batch_iter_ = 0, 1
        position, has_gauss = map(int, state["generator_position"])
        lda.random_state_ = np.random.RandomState()
        lda.random_state_.set_state(
            ("MT19937", state["generator_key"], position, has_gauss, state["generator_gauss"][0])
        )


class StochasticVariationalLDA(TopicModel):
    """Baseline SVI (Hoffman et al. 2013): scikit-learn's online LDA with the paper's schedule.

    Parameters
    ----------
    n_topics : int
    doc_topic_prior, topic_word_prior : float
        lambda and varphi; symmetric priors only. The paper offsets both by +0.5 for variational
        methods; where theta and Phi are read out, 0.5 is taken off both again
        (`brian_lda.evaluation.variational_phi`).
    max_iter : int
        Mini-batch updates.
    batch_size, local_iterations : int
        Documents per mini-batch; variational iterations on each, by default the paper's for NIPS
        (30, its number for larger corpora, is 11 and 16 % worse on KOS and NIPS).
    step : tuple (a, b, c)
        Weight of update t: a (1 + t/b)^-c. Default: the paper's for NIPS.
    total_documents : int, optional
        Corpus size D for `partial_fit`, which cannot know it.
    random_state, callbacks :
        As in the other estimators.
    """

    spiking = False
    backend = "rate"

    def __init__(
        self,
        *,
        n_topics: int = 10,
        doc_topic_prior: float | np.ndarray = 0.6,
        topic_word_prior: float | np.ndarray = 0.51,
        max_iter: int = 1000,
        batch_size: int = 64,
        local_iterations: int = 5,
        step: tuple[float, float, float] = (0.1, 10_000.0, 0.7),
        total_documents: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.local_iterations = local_iterations
        self.step = step
        self.total_documents = total_documents
        self.random_state = random_state
        self.callbacks = callbacks

    def _updates(self, n_docs: int, n_words: int, seed: int) -> BatchUpdates:
        if np.ndim(self.doc_topic_prior) or np.ndim(self.topic_word_prior):
            raise ParameterError(
                "scikit-learn's variational LDA takes symmetric priors only: pass one number each "
                "for doc_topic_prior and topic_word_prior."
            )
        return _VariationalUpdates(self, n_docs, seed)

    def _make_trainer(
        self, source: Corpus | TokenStore, seed: int
    ) -> MiniBatchTrainer[BatchUpdates]:
        updates = self._updates(source.n_docs, source.n_words, seed)
        return MiniBatchTrainer(updates, source, self.batch_size, seed)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One pass over newly arrived documents, in mini-batches; needs `total_documents`."""
        self._check_parameters()
        X = as_source(X)
        self._check_memory(X)
        trainer, loaded = getattr(self, "trainer_", None), getattr(self, "state_", None)
        if trainer is None:
            if self.total_documents is None:
                raise ParameterError(
                    f"{type(self).__name__} scales each mini-batch to the corpus: set "
                    "total_documents=D before partial_fit. (The spiking estimators need no D.)"
                )
            seed = self.seed_ if loaded else self._seed()
            algorithm = self._updates(self.total_documents, X.n_words, seed)
            if loaded:
                algorithm.set_state(loaded)
            else:
                self.n_features_in_, self.history_ = X.n_words, []
                self.vocabulary_ = X.vocabulary if isinstance(X, Corpus) else None
        else:
            algorithm = trainer.algorithm
        self._check_vocabulary(X.counts)
        self.trainer_ = MiniBatchTrainer(algorithm, X, self.batch_size, self.seed_)
        with self._threads():
            self._train(-(-X.n_docs // self.batch_size))
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        try:
            a, b, c = map(float, self.step)
        except (TypeError, ValueError):
            a = b = c = float("nan")
        if not (a > 0 and b > 0 and c >= 0):
            raise ParameterError(
                "step must be three numbers (a, b, c) with a > 0, b > 0 and c >= 0; found "
                f"{self.step!r}."
            )

    def _pseudo_count(self) -> float | np.ndarray:
        return float(effective_counts(self.doc_topic_prior))  # the paper's offset taken back
