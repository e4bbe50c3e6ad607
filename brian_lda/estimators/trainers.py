"""What an estimator runs: an algorithm, fed with a corpus, one iteration at a time.

Each trainer offers `iterate()` (one iteration, returns the number of tokens it showed), `phi`
[topic, word] and `state()` / `set_state()`. An iteration is a pass over the corpus for the
event-driven and batch algorithms, and one update for those that work on mini-batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from brian_lda.corpus import document_batches
from brian_lda.corpus.streams import DocumentBatch, DocumentSource
from brian_lda.errors import CheckpointError, DivergenceError
from brian_lda.estimators.learned_prior import LearnedPrior
from brian_lda.estimators.protocols import BatchUpdates, EventDrivenNetwork, Resumable, Sampler
from brian_lda.external_memory import SwapCount, block_order, count_swaps
from brian_lda.initial_weights import with_documents_anew
from brian_lda.step_rules import EventStepRule

if TYPE_CHECKING:
    from brian_lda.simulation.windows import WindowKeeper

Algorithm = TypeVar("Algorithm", bound=BatchUpdates)


class Trainer(Resumable, Protocol):
    """The interface that `TopicModel.fit` drives."""

    @property
    def phi(self) -> np.ndarray: ...

    @property
    def keeper(self) -> WindowKeeper | None:
        """What is recorded of the training, in spikes."""

    @property
    def iterations_per_pass(self) -> int:
        """Iterations that show every document once."""

    def iterate(self) -> int: ...


class EventDrivenTrainer:
    """ed-SpikeLDA and ed-SpikePLSI: each iteration shows every token once, in random order.

    `network` is either twin: the rate-level reference or the spiking network. `epsilon` [word]
    smooths Phi where it is read out, for networks that have no prior on Phi themselves. With
    `visits` an iteration is so many passes, whose tokens are counted once. `between_passes`, if it
    is set, makes another network of the one that was shown these words and has found these winners.
    After every `doc_restart` passes documents begin anew (0: never).
    """

    between_passes: Callable[[Any, np.ndarray, np.ndarray], EventDrivenNetwork] | None = None
    _latest: tuple[np.ndarray, np.ndarray] | None = None  # words and winners of the pass before

    iterations_per_pass = 1

    def __init__(
        self,
        network: EventDrivenNetwork,
        words: np.ndarray,
        docs: np.ndarray,
        seed: int,
        epsilon: np.ndarray,
        visits: int = 1,
        doc_restart: int = 0,
    ) -> None:
        self.network, self._words, self._docs, self._seed = network, words, docs, seed
        self._epsilon, self._visits, self._doc_restart = epsilon, visits, doc_restart
        self._n_passes = 0

    def iterate(self) -> int:
        for _ in range(self._visits):
            self._pass()
        require_finite(M__alpha=self.network.M__alpha, M__beta=self.network.M__beta)
        return len(self._words)

    def order_of_pass(self, n_pass: int) -> np.ndarray:
        """In which order a pass shows the tokens, int array [token].

        It depends on (seed, pass) alone, so that a resumed run sees the same.
        """
        rng = np.random.default_rng(np.random.SeedSequence([self._seed, 2, n_pass]))
        slots = getattr(self.network, "slots", None)  # documents that fit on the chip at a time
        if slots is None:
            return rng.permutation(len(self._words))
        return block_order(self._docs, slots.n_slots, rng)

    def planned_swaps(self, first: int, last: int) -> SwapCount:
        """Swaps of passes first .. last - 1, from an empty chip, as their order of tokens asks."""
        order = [self.order_of_pass(n_pass) for n_pass in range(first, last)]
        n_slots = self.network.slots.n_slots  # type: ignore[attr-defined]
        n_topics = self.network.parameters.n_topics
        return count_swaps(self._docs[np.concatenate(order)], n_slots, 8.0 * n_topics)

    def _pass(self) -> None:
        order = self.order_of_pass(self._n_passes)
        if self.between_passes is not None and self._latest is not None:
            self.network = self.between_passes(self.network, *self._latest)
        if self._doc_restart and self._n_passes and self._n_passes % self._doc_restart == 0:
            anew = with_documents_anew(self.network.state(), self.network.parameters, self._seed)
            self.network.set_state(anew)
        winners = self.network.present(self._words[order], self._docs[order])
        self._latest = None if self.between_passes is None else (self._words[order], winners)
        self.network.end_pass()
        self._n_passes += 1

    @property
    def phi(self) -> np.ndarray:
        return read_out_phi(self.network.J__alpha, self._epsilon)

    @property
    def keeper(self) -> WindowKeeper | None:
        """What is recorded of the training, in spikes."""
        return getattr(self.network, "keeper", None)

    @property
    def theta(self) -> np.ndarray:
        """Theta of the training documents, [doc, topic]."""
        return softmax_rows(self.network.M__beta)

    @property
    def word_step(self) -> EventStepRule:
        """The step rule of M^alpha that is in use."""
        return self.network.parameters.word_step

    def state(self) -> dict[str, np.ndarray]:
        return {**self.network.state(), "n_passes": np.array([self._n_passes])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self.network.set_state(state)
        self._n_passes = int(state["n_passes"][0])


class GibbsTrainer:
    """SpikeCGS and CGS: each iteration resamples every token once, in corpus order.

    `prior` learns lambda, if it is to be learned.
    """

    iterations_per_pass = 1

    def __init__(self, sampler: Sampler, prior: LearnedPrior | None = None) -> None:
        self.sampler, self.prior = sampler, prior

    def iterate(self) -> int:
        self.sampler.sweep()
        if self.prior is not None:
            self.prior.after_iteration()
        if not self.sampler.exact_counts:  # phi of many topics costs as much as a sweep over them
            require_finite(phi=self.sampler.phi, theta=self.sampler.theta)
        return len(self.sampler.z)

    @property
    def phi(self) -> np.ndarray:
        return self.sampler.phi

    @property
    def keeper(self) -> WindowKeeper | None:
        """What is recorded of the training, in spikes."""
        return getattr(self.sampler, "keeper", None)

    @property
    def theta(self) -> np.ndarray:
        """Theta of the training documents given their assignments, [doc, topic]."""
        return self.sampler.theta

    def state(self) -> dict[str, np.ndarray]:
        learned = self.prior.state() if self.prior is not None else {}
        return {**self.sampler.state(), **learned}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        if self.prior is not None:  # first: the sampler's own weights hold lambda already
            self.prior.set_state(state)
        self.sampler.set_state(state)


class MiniBatchTrainer(Generic[Algorithm]):
    """Algorithms with `update(counts)`: each iteration shows one mini-batch of documents.

    `visits` times in a row, each an update; its tokens are counted once. `prior`, if it is set,
    learns lambda.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        source: DocumentSource,
        batch_size: int,
        seed: int,
        visits: int = 1,
    ) -> None:
        self.algorithm, self._source = algorithm, source
        self._batch_size, self._seed, self._visits = batch_size, seed, visits
        self.prior: LearnedPrior | None = None
        self._batches = self._batches_from(0)
        self._n_batches = 0
        if self.keeper is not None:
            self.keeper.sequences_per_pass = self.iterations_per_pass * visits

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: a generator cannot be pickled, and is known by where it stands."""
        return {**self.__dict__, "_batches": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._batches = self._batches_from(self._n_batches)

    def _batches_from(self, n_batches: int) -> Iterator[DocumentBatch]:
        return _endless_batches(n_batches, self._source, self._batch_size, self._seed)

    @property
    def iterations_per_pass(self) -> int:
        """Mini-batches that show every document once."""
        return -(-self._source.n_docs // self._batch_size)

    def iterate(self) -> int:
        batch = next(self._batches)
        if self.keeper is not None:
            self.keeper.documents = batch.doc_ids
        for _ in range(self._visits):
            self.algorithm.update(batch.counts)
        self._n_batches += 1
        n_tokens = int(batch.counts.sum())
        if self.prior is not None and n_tokens:
            self.prior.after_iteration()
        return n_tokens

    @property
    def phi(self) -> np.ndarray:
        return self.algorithm.phi

    @property
    def keeper(self) -> WindowKeeper | None:
        """What is recorded of the training, in spikes."""
        return getattr(self.algorithm, "keeper", None)

    @property
    def word_step(self) -> Any:
        """The step rule of M^alpha that is in use; None where there is no such rule."""
        return getattr(getattr(self.algorithm, "parameters", None), "word_step", None)

    def state(self) -> dict[str, np.ndarray]:
        learned = self.prior.state() if self.prior is not None else {}
        return {**self.algorithm.state(), **learned, "n_batches": np.array([self._n_batches])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        if self.prior is not None:
            self.prior.set_state(state)
        self.algorithm.set_state(state)
        self._n_batches = int(state["n_batches"][0])
        self._batches = self._batches_from(self._n_batches)


def _endless_batches(
    n_batches: int, source: DocumentSource, batch_size: int, seed: int
) -> Iterator[DocumentBatch]:
    """Mini-batches in passes without end, after the first `n_batches`.

    No method: a trainer would refer to itself through its generator, and with the documents of a
    call of `partial_fit` stay in memory until the garbage collector comes round.
    """
    per_pass = -(-source.n_docs // batch_size)
    n_pass, skip = divmod(n_batches, per_pass)
    while True:
        key = np.random.SeedSequence([seed, 2, n_pass]).generate_state(1)[0]
        for i, batch in enumerate(document_batches(source, batch_size, int(key))):
            if i >= skip:
                yield batch
        n_pass, skip = n_pass + 1, 0


def restore(trainer: Trainer, state: dict[str, np.ndarray]) -> None:
    """`trainer.set_state`, refused where the state is not one of this trainer."""
    for name, expected in trainer.state().items():
        if name not in state:
            raise CheckpointError(f"the checkpoint lacks {name}: it is of another algorithm.")
        found = state[name]
        if found.shape != expected.shape or found.dtype != expected.dtype:
            raise CheckpointError(
                f"{name} must be {expected.dtype} of shape {expected.shape}; the checkpoint has "
                f"{found.dtype} of shape {found.shape}."
            )
    trainer.set_state(state)


def require_finite(**weights: np.ndarray) -> None:
    """Stop at the end of the iteration in which a weight was lost."""
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise DivergenceError(
                f"{name} became infinite or not a number in this iteration. Use integrator='flow', "
                "which is stable for any step, or a smaller step."
            )


def softmax_rows(M: np.ndarray) -> np.ndarray:
    """exp M normalised over each row, without overflow."""
    p = np.exp(M - M.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def read_out_phi(J__alpha: np.ndarray, epsilon: float | np.ndarray = 0.0) -> np.ndarray:
    """Tab. 1(c), phi_zw ~ exp J_zw; rows sum to 1.

    Parameters
    ----------
    J__alpha : float array [topic, word]
        What topic neurons see (`brian_lda.seen_weights`).
    epsilon : float or float array [word]
        Added to each phi_z, where the network has no prior on Phi itself.
    """
    phi = softmax_rows(J__alpha) + epsilon
    return phi / phi.sum(axis=1, keepdims=True)
