"""What semi- and du-SpikeLDA share: infer with M^alpha held, then update M^alpha once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from brian_lda.parameters import BatchParameters
from brian_lda.reference.document_batch import BatchTokens, batch_tokens
from brian_lda.reference.word_weights import WordWeights


class MiniBatchLearner:
    """What both twins of an algorithm with delayed updates keep; not used by itself.

    Parameters
    ----------
    parameters : BatchParameters
    n_words : int
    seed : int
        Seeds the initial weights and, per (update, document), the winners.
    n_training_tokens : float
        See `WordWeights`.
    """

    def __init__(
        self, parameters: BatchParameters, n_words: int, *, seed: int, n_training_tokens: float
    ) -> None:
        self.parameters = parameters
        self.words = WordWeights(parameters, n_words, seed, n_training_tokens)
        self.seed = seed
        self.n_updates = 0

    def update(self, counts: sparse.csr_array) -> object:
        """One mini-batch of documents [doc, word]; what is returned is up to the twin."""
        raise NotImplementedError

    def set_stream_size(self, n_training_tokens: float) -> None:
        """A pass is as long as so many tokens, and no document will come again in another."""
        self.words.set_stream_size(n_training_tokens)

    @property
    def phi(self) -> np.ndarray:
        """Phi, [topic, word]."""
        return self.words.phi

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next update depends on."""
        return {**self.words.state(), "n_updates": np.array([self.n_updates])}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state returned by `state`."""
        self.words.set_state(state)
        self.n_updates = int(state["n_updates"][0])


class MiniBatchReference(MiniBatchLearner):
    """Base of the rate-level algorithms with delayed updates; not used by itself."""

    def seen(self, words: np.ndarray) -> tuple[np.ndarray, ...]:
        """What topic neurons see of these words: the arrays [len(words), padded topics], first
        of all the rates (`WordWeights.rates`), that `_infer` needs.
        """
        return (self.words.rates(words),)

    def _infer(
        self, batch: BatchTokens, seen: tuple[np.ndarray, ...], key: np.random.SeedSequence
    ) -> np.ndarray:
        """N_zw [batch word, padded topic] over the T counted local iterations."""
        raise NotImplementedError

    def update(self, counts: sparse.csr_array) -> None:
        """One mini-batch of documents [doc, word].

        The result does not depend on the number of threads.
        """
        batch = batch_tokens(counts)
        N_zw = None
        if batch.n_tokens:
            N_zw = self._infer(batch, self.seen(batch.words), self.next_key())
        self.learn(batch.words, N_zw, batch.n_docs)

    def follow(
        self, counts: sparse.csr_array, winners: np.ndarray, M__beta: np.ndarray
    ) -> np.ndarray:
        """Learn from another network's winners, and say before each how likely every topic was.

        Parameters
        ----------
        counts : sparse array [doc, word]
            A mini-batch.
        winners : int array [sweep, token]
            Of all sweeps; tokens in the order of `counts`.
        M__beta : float array [doc, topic]
            Where the network's document synapses started, if that is left to chance.

        Returns
        -------
        float array [sweep, token, topic]
            softmax(u) before each winner, given all winners before it.
        """
        batch = batch_tokens(counts)
        K = self.parameters.n_topics
        word = np.repeat(batch.local_word, batch.count)
        doc = np.repeat(np.arange(batch.n_docs), np.diff(batch.first_token))
        seen = self.seen(batch.words)
        of_tokens = tuple(each[word, :K].astype(np.float64) for each in seen if each.size)
        p = self._follow(of_tokens, doc, winners, M__beta)
        kept = winners[-self.parameters.local_iterations :]
        N_zw = np.zeros(seen[0].shape, np.int32)
        np.add.at(N_zw, (np.broadcast_to(word, kept.shape), kept), 1)
        self.learn(batch.words, N_zw, batch.n_docs)
        return p / p.sum(axis=2, keepdims=True)

    def _follow(
        self,
        seen: tuple[np.ndarray, ...],
        doc: np.ndarray,
        winners: np.ndarray,
        M__beta: np.ndarray,
    ) -> np.ndarray:
        """exp(u) [sweep, token, topic] up to a factor; `seen` [token, topic] as in `seen`."""
        raise NotImplementedError

    def next_key(self) -> np.random.SeedSequence:
        """Fixes the winners of the next mini-batch, document by document."""
        return np.random.SeedSequence([self.seed, 1, self.n_updates])

    def learn(self, words: np.ndarray, N_zw: np.ndarray | None, n_docs: int) -> None:
        """Update M^alpha from the counts of a mini-batch, wherever they were collected.

        Parameters
        ----------
        words : int array [n]
            The distinct words of the mini-batch, in any order.
        N_zw : int array [n, padded topic] or None
            None: the mini-batch holds no token.
        n_docs : int
            |D|, empty documents included.
        """
        if N_zw is not None:
            self.words.update(words, N_zw, n_docs, self.parameters.local_iterations)
        self.n_updates += 1


def infer_counts(
    algorithm: type[MiniBatchReference],
    parameters: BatchParameters,
    batch: BatchTokens,
    seen: tuple[np.ndarray, ...],
    key: np.random.SeedSequence,
) -> np.ndarray:
    """N_zw of documents in a process that holds them, but not M^alpha.

    Parameters
    ----------
    algorithm : type
        Whose law the winners follow.
    parameters : BatchParameters
    batch : BatchTokens
        Document d draws from substream d of `key`: the documents of a mini-batch must keep their
        places, those that others hold being empty here.
    seen : tuple of float32 array [batch word, padded topic]
        What `MiniBatchReference.seen` says of the batch's words.
    key : SeedSequence
    """
    without_weights = algorithm.__new__(algorithm)
    without_weights.parameters = parameters
    return without_weights._infer(batch, seen, key)
