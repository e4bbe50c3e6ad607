"""What all topic models of this package share: scikit-learn's conventions around a `Trainer`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numba
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from brian_lda.algorithms import ALGORITHMS, algorithm_of
from brian_lda.available_memory import available_memory
from brian_lda.corpus import Corpus, TokenStore, as_counts, halve_documents
from brian_lda.cpu_time import cpu_seconds
from brian_lda.errors import BackendError, DivergenceError, ModelFileError, ParameterError
from brian_lda.estimators.brian2_options import network_options
from brian_lda.estimators.checkpoint import Checkpoint
from brian_lda.estimators.convergence import FIRST_LOOK, Convergence
from brian_lda.estimators.model_file import load_model, save_model
from brian_lda.estimators.sources import as_source
from brian_lda.estimators.trainers import Trainer, restore
from brian_lda.evaluation import HeldOutScore, fold_in, heldout_perplexity, top_words
from brian_lda.parameters import check_n_topics, check_word_prior, dirichlet_vector
from brian_lda.step_rules import StepRule

if TYPE_CHECKING:
    from sklearn.utils import Tags  # scikit-learn >= 1.6

Callback = Callable[["TopicModel", dict[str, Any]], Any]
BACKENDS = ("rate", "brian2")
# At the peak, measured: a weight with the copies that training makes of it (rate level: 20 to 40
# bytes, by algorithm), in spikes with what Brian keeps of a synapse (50 to 62).
BYTES_PER_WEIGHT = {"rate": 40, "brian2": 64}
NUMBERS_PER_TOPIC = 16  # that a topic neuron keeps itself: about so many


class TopicModel(TransformerMixin, BaseEstimator):
    """Base of the estimators; not used by itself.

    A subclass sets its parameters in `__init__`, says in `_make_trainer` how they become an
    algorithm, and in `_pseudo_count` which prior its theta has.

    Attributes
    ----------
    components_ : float array [topic, word]
        Phi; rows sum to 1.
    history_ : list of dict
        Per iteration: iteration, tokens (shown so far), seconds and cpu_seconds (spent training so
        far; the simulator's included), training_perplexity where it was looked at (`convergence`),
        stopped (why, in the last one), and what callbacks added (perplexity).
    n_iter_ : int
    max_iterations_ : int
        How many iterations there can be at most.
    between_iterations_ : bool
        False while an iteration is under way: what it left behind if interrupted is good enough to
        look at, but not to go on from to the last bit.
    doc_topic_prior_ : float array [topic]
        lambda in use: `doc_topic_prior`, or what was learned in its place (`learn_prior`).
    recorded_ : list of Spikes
        The windows of the latest training that `record` asked for, in the order of the tokens.
    n_features_in_ : int
        V.
    vocabulary_ : tuple of str or None
        Known when the model was fitted on a `Corpus`.
    """

    spiking: ClassVar[bool] = True  # has a network of spiking neurons beside its rate-level form
    _first_look: ClassVar[int] = FIRST_LOOK
    learn_prior: bool = False  # a parameter of the estimators that can learn lambda
    doc_restart: int = 0  # a parameter of EdSpikePLSI
    record: Any = None  # a parameter of the estimators that have a spiking network

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on a corpus.

        Parameters
        ----------
        X : Corpus or matrix-like [doc, word]
            Word counts; `SemiSpikeLDA`, `DuSpikeLDA` and `StochasticGradientMCMCLDA` also take a
            `TokenStore`, which stays on disk.
        y : ignored
        """
        return self._fit(X)

    def resume(self, X: Any, checkpoint: Checkpoint) -> Self:
        """Go on with a `fit` that was interrupted, to the same result to the last bit.

        Parameters
        ----------
        X : Corpus or matrix-like [doc, word]
            What `fit` was given.
        checkpoint : Checkpoint
            Of an estimator with the same parameters, see `read_checkpoint`.
        """
        return self._fit(X, checkpoint)

    def _fit(self, X: Any, checkpoint: Checkpoint | None = None) -> Self:
        source = as_source(X)
        check_n_topics(self.n_topics)
        self._check_memory(source)
        self._check_parameters()
        self.vocabulary_ = X.vocabulary if isinstance(X, (Corpus, TokenStore)) else None
        self.n_features_in_ = source.n_words
        self.history_: list[dict[str, Any]] = []
        self.seed_ = self._seed() if checkpoint is None else checkpoint.seed
        with self._threads():
            self.trainer_ = self._make_trainer(source, self.seed_)
            if checkpoint is not None:
                restore(self.trainer_, checkpoint.state)
                if self.trainer_.keeper is not None:
                    self.trainer_.keeper.restore(checkpoint.recorded)
                self.history_ = list(checkpoint.history)
            self._train_to_the_end(source)
        return self

    def _train_to_the_end(self, source: Corpus | TokenStore) -> None:
        """`max_iter` iterations or, without that number, until training has converged."""
        if self.max_iter is not None:
            self._train(self.max_iter - len(self.history_))
            return
        if self.history_ and "stopped" in self.history_[-1]:  # a run killed after its last step
            self._train(0)
            return
        convergence = Convergence(
            source,
            tol=self.tol,
            max_passes=self.max_passes,
            iterations_per_pass=self.trainer_.iterations_per_pass,
            seed=self.seed_,
            first_look=self._first_look,
            every=self.doc_restart or 1,
        )
        self._train(convergence.max_iterations - len(self.history_), convergence)

    def _train(self, n_iterations: int, convergence: Convergence | None = None) -> None:
        self.max_iterations_ = len(self.history_) + n_iterations
        nothing = {"tokens": 0, "seconds": 0.0, "cpu_seconds": 0.0}
        so_far = self.history_[-1] if self.history_ else nothing
        tokens, seconds, cpu = ({**nothing, **so_far}[name] for name in nothing)
        # Looking for child processes takes as long as a sixth of a mini-batch at rate level.
        cpu_clock = cpu_seconds if getattr(self, "backend", "rate") == "brian2" else process_time
        try:
            for _ in range(n_iterations):
                self.between_iterations_ = False
                start, cpu_start = perf_counter(), cpu_clock()
                tokens += self.trainer_.iterate()
                record: dict[str, Any] = {
                    "iteration": len(self.history_) + 1,
                    "tokens": int(tokens),
                }
                if convergence is not None:
                    convergence.look(self, record)
                seconds += perf_counter() - start
                cpu += cpu_clock() - cpu_start
                record |= {"seconds": seconds, "cpu_seconds": cpu}
                self.history_.append(record)
                self.between_iterations_ = True
                # Not `any(...)`: every callback sees every iteration.
                answers = [callback(self, record) for callback in self.callbacks or ()]
                if True in [answer is True for answer in answers] or "stopped" in record:
                    break
        finally:  # an interrupted fit leaves a usable model
            self.n_iter_ = len(self.history_)
            keeper = self.trainer_.keeper
            self.recorded_ = [] if keeper is None else keeper.recorded()
            with np.errstate(invalid="ignore"):  # a diverged one has raised already
                self.components_ = self.trainer_.phi
        if not np.isfinite(self.components_).all():
            raise DivergenceError(
                f"Phi holds NaN or infinity after {self.n_iter_} iterations. Use "
                "integrator='flow' or a smaller step."
            )

    def transform(self, X: Any) -> np.ndarray:
        """Theta of documents, with Phi fixed (MAP fold-in); float array [doc, topic]."""
        check_is_fitted(self, "components_")
        counts = as_counts(X, require_tokens=False)
        self._check_vocabulary(counts)
        return fold_in(self.components_, counts, self._pseudo_count())

    def perplexity(self, X_observed: Any, X_heldout: Any) -> float:
        """Held-out perplexity (see `brian_lda.evaluation.heldout_perplexity`)."""
        return self.heldout_score(X_observed, X_heldout).perplexity

    def heldout_score(self, X_observed: Any, X_heldout: Any) -> HeldOutScore:
        """Perplexity with the number of tokens that hit its floor; usable inside callbacks."""
        phi = self.current_phi()
        observed = as_counts(X_observed, argument="X_observed", require_tokens=False)
        self._check_vocabulary(observed)
        return heldout_perplexity(phi, observed, X_heldout, pseudo_count=self._pseudo_count())

    def current_phi(self) -> np.ndarray:
        """Phi [topic, word] as of now, also while `fit` is running (for callbacks)."""
        trainer = getattr(self, "trainer_", None)
        if trainer is not None:
            return trainer.phi
        check_is_fitted(self, "components_")
        return self.components_

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the log of the perplexity of one half of each document given the other half.

        The halves are drawn with a fixed seed, so that `GridSearchCV` compares like with like.
        """
        observed, heldout = halve_documents(as_counts(X), np.random.default_rng(0))
        return -float(np.log(self.perplexity(observed, heldout)))

    def top_words(self, n: int = 10, vocabulary: Sequence[str] | None = None) -> list[list[str]]:
        """The n most probable words of each topic."""
        check_is_fitted(self, "components_")
        vocabulary = vocabulary if vocabulary is not None else self.vocabulary_
        if vocabulary is None:
            raise ParameterError(
                "the words are not known, because the model was fitted on a plain matrix: pass "
                "vocabulary=... (for a CountVectorizer: vectorizer.get_feature_names_out())."
            )
        return top_words(self.components_, list(vocabulary), n)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to an HDF5 file (nothing is pickled)."""
        check_is_fitted(self, "components_")
        save_model(self, path)

    @classmethod
    def load(cls, path: str | Path) -> TopicModel:
        """Read a model that `save` wrote; `SemiSpikeLDA.load` refuses another class's file."""
        known = {algorithm.estimator_name: algorithm.load_estimator() for algorithm in ALGORITHMS}
        model = load_model(path, {**known, cls.__name__: cls})
        if not isinstance(model, cls):
            found = type(model).__name__
            raise ModelFileError(
                f"{path} holds a model of class {found}, not {cls.__name__}; read it with "
                f"{found}.load or TopicModel.load."
            )
        return model

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: topic0, topic1, ..."""
        check_is_fitted(self, "components_")
        return np.array([f"topic{z}" for z in range(len(self.components_))], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _make_trainer(self, source: Corpus | TokenStore, seed: int) -> Trainer:
        raise NotImplementedError

    @property
    def doc_topic_prior_(self) -> np.ndarray:
        """lambda [topic] as of now, also while `fit` is running (for callbacks)."""
        trainer = getattr(self, "trainer_", None)
        if (prior := getattr(trainer, "prior", None)) is not None:
            return prior.lamda.copy()
        if trainer is None:
            check_is_fitted(self, "components_")
            if "doc_topic_prior" in self.state_:  # loaded from a file
                return self.state_["doc_topic_prior"].copy()
        return dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior")

    def _pseudo_count(self) -> float | np.ndarray:
        """Prior of theta in the fold-in, as counts."""
        return self.doc_topic_prior_

    def _check_parameters(self) -> None:
        check_n_topics(self.n_topics)
        self._check_counts("max_iter", "max_passes", "batch_size", "local_iterations")
        self._check_counts("total_documents")
        tol = getattr(self, "tol", 0.0)
        if not (isinstance(tol, (int, float)) and 0 <= tol < 1):
            raise ParameterError(
                "tol, the smallest fall of the training perplexity, must be a fraction from 0 "
                f"(train to the bound) to 1; found {tol!r}."
            )
        if not isinstance(self.learn_prior, (bool, np.bool_)):
            raise ParameterError(
                f"learn_prior must be True or False; found {self.learn_prior!r}. Where lambda "
                "starts is doc_topic_prior."
            )
        if hasattr(self, "doc_topic_prior"):
            dirichlet_vector(self.doc_topic_prior, self.n_topics, "doc_topic_prior")
        check_word_prior(getattr(self, "topic_word_prior", 0.0))
        for name in ("word_step", "doc_step"):
            rule = getattr(self, name, None)
            if not (rule is None or isinstance(rule, StepRule)):
                raise ParameterError(
                    f"{name} must be None or a step rule, RobbinsMonro(...) for example (in plain "
                    f'data {{"rule": "RobbinsMonro", ...}}); found {rule!r}.'
                )
        if self.backend not in BACKENDS:
            raise ParameterError(f"backend must be one of {BACKENDS}; found {self.backend!r}.")
        if self.record is not None and self.backend != "brian2":
            raise ParameterError(
                "record is for spikes, which the rate level has none of; use backend='brian2', or "
                f"leave it out. Found {self.record!r}."
            )
        network_options(self)
        if self.backend == "brian2" and not self.spiking:
            raise BackendError(
                f"{type(self).__name__} is a baseline without spikes; use backend='rate'."
            )

    def _check_counts(self, *names: str) -> None:
        """Whole numbers; None where that is the default, which then says "automatic"."""
        defaults = inspect.signature(type(self).__init__).parameters
        for name in (name for name in names if hasattr(self, name)):
            value, automatic = getattr(self, name), defaults[name].default is None
            is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            is_count = is_integer and value >= 1
            if not is_count and not (automatic and value is None):
                expected = "None or an integer" if automatic else "an integer"
                raise ParameterError(f"{name} must be {expected} of at least 1; found {value!r}.")

    def _check_memory(self, source: Corpus | TokenStore) -> None:
        """Refuse weights that this machine cannot hold, before trying to."""
        memory, bytes_per_weight = available_memory(), BYTES_PER_WEIGHT.get(self.backend)
        if memory is None or bytes_per_weight is None:
            return
        keeps_documents = algorithm_of(type(self)).keeps_all_documents
        sources = source.n_words + (source.n_docs if keeps_documents else 1) + NUMBERS_PER_TOPIC
        needed, K = bytes_per_weight * int(self.n_topics) * sources, self.n_topics
        if needed > memory:
            raise ParameterError(
                f"{K} topics on {source.n_words} words and {source.n_docs} documents would take "
                f"about {needed / 1e9:,.0f} GB, and {memory / 1e9:,.1f} GB of memory are free. Use "
                f"at most {max(int(K * memory / needed), 2)} topics, or a smaller vocabulary."
            )

    def _learned(self) -> tuple[dict[str, np.ndarray], Any] | None:
        """State and word step to go on from, of this object or of the file it was loaded from."""
        trainer = getattr(self, "trainer_", None)
        if trainer is not None:
            return trainer.state(), trainer.word_step
        if getattr(self, "state_", None):
            return self.state_, self.step_in_use_
        return None

    def _theta_of_training(self) -> np.ndarray:
        trainer = getattr(self, "trainer_", None)
        if trainer is None:
            check_is_fitted(self, "components_")
            raise ParameterError(
                "a model that was loaded from a file does not hold its training documents: use "
                "transform(X)."
            )
        return trainer.theta

    def _check_vocabulary(self, counts: Any) -> None:
        if counts.shape[1] != self.n_features_in_:
            raise ParameterError(  # in scikit-learn's words, which other tools look for
                f"X has {counts.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input, one for each word that it knows: count "
                "the documents over the vocabulary of the training corpus."
            )

    def _seed(self) -> int:
        """`random_state` as one integer; None draws a fresh one and keeps it in `seed_`."""
        state = self.random_state
        if state is None:
            self.seed_ = int(np.random.SeedSequence().generate_state(1)[0])
        elif isinstance(state, (int, np.integer)) and state >= 0:
            self.seed_ = int(state)
        elif isinstance(state, (np.random.RandomState, np.random.Generator)):
            draw = state.randint if isinstance(state, np.random.RandomState) else state.integers
            self.seed_ = int(draw(2**31 - 1))
        else:
            raise ParameterError(
                f"random_state must be None, an integer >= 0 or a numpy generator; found {state!r}."
            )
        return self.seed_

    @contextmanager
    def _threads(self) -> Iterator[None]:
        n_jobs = getattr(self, "n_jobs", None)
        if n_jobs is None:
            yield
            return
        before = numba.get_num_threads()
        limit = numba.config.NUMBA_NUM_THREADS
        wanted = limit if n_jobs == -1 else n_jobs
        if not isinstance(wanted, (int, np.integer)) or wanted < 1:
            raise ParameterError(f"n_jobs must be None, -1 or at least 1; found {n_jobs!r}.")
        numba.set_num_threads(min(int(wanted), limit))
        try:
            yield
        finally:
            numba.set_num_threads(before)

    def _more_tags(self) -> dict[str, Any]:  # scikit-learn < 1.6
        return {"X_types": ["sparse", "2darray"], "requires_positive_X": True}
