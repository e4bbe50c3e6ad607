"""Data-parallel training of du- and semi-SpikeLDA on Dask workers.

The documents of each mini-batch are sharded over the workers, which read them from the token store
themselves; nothing but document numbers goes to them, nothing but word numbers and counts comes
back. One update is

1. each worker reads its documents and says which words they hold (done ahead, during step 3 of the
   update before);
2. this process sends it the rates exp(M^alpha) of those words;
3. the worker infers the topics of its documents and returns its counts N_zw;
4. the counts are added up, and M^alpha makes one update.

Every document draws from a substream of its own, and counts are integers: the result is, bit for
bit, that of one process, for any number of workers. A worker that dies costs the time of its shard;
it holds nothing that the others lack.

The token store must be readable by every worker under the same path (a common disk, or a copy on
each machine).

In spikes (backend="brian2") each worker runs a circuit (`brian_lda.sweeps.remote_circuits`). This
process reads the documents and sends all weights with them; the law and the equality to the last
bit are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from brian_lda.corpus import TokenStore
from brian_lda.errors import ParameterError
from brian_lda.estimators.mini_batch import MiniBatchModel
from brian_lda.estimators.trainers import MiniBatchTrainer
from brian_lda.parameters import BatchParameters
from brian_lda.reference.document_batch import BatchTokens, batch_tokens
from brian_lda.reference.mini_batch import MiniBatchReference, infer_counts

if TYPE_CHECKING:
    from distributed import Client, Future

    from brian_lda.estimators import TopicModel

logger = logging.getLogger(__name__)


def fit_data_parallel(
    model: TopicModel, store: TokenStore, client: Client, *, n_shards: int | None = None
) -> TopicModel:
    """Train as `model.fit(store)` does, with inference on the workers of a Dask client.

    Parameters
    ----------
    model : SemiSpikeLDA or DuSpikeLDA
        Large mini-batches (1000 documents and more) keep the workers busy.
    store : TokenStore
        At rate level readable by every worker under the same path.
    client : Client
        See `brian_lda.sweeps.dask_engine.dask_client`.
    n_shards : int, optional
        Of each mini-batch; default: one for each thread of the workers.

    Returns
    -------
    The model, fitted.
    """
    if not isinstance(store, TokenStore):
        raise ParameterError(
            "fit_data_parallel trains from a TokenStore, which the workers read themselves; found "
            f"a {type(store).__name__}. Make one with brian_lda.corpus.open_token_store."
        )
    model._check_parameters()
    if model.learn_prior:
        raise ParameterError(
            "fit_data_parallel keeps lambda as given, because the counts C_zd stay on the workers: "
            "use learn_prior=False; found True."
        )
    if model.record is not None:
        raise ParameterError(
            "fit_data_parallel records nothing, because the spikes stay on the workers: use "
            f"record=None; found {model.record!r}."
        )
    model.vocabulary_, model.n_features_in_, model.history_ = store.vocabulary, store.n_words, []
    if not isinstance(model, MiniBatchModel):
        raise ParameterError(
            "fit_data_parallel trains SemiSpikeLDA and DuSpikeLDA, whose documents are "
            f"independent within a mini-batch; found {type(model).__name__}."
        )
    model.seed_ = model._seed()
    shards = n_shards or max(sum(client.nthreads().values()), 1)
    model.trainer_ = (_in_spikes if model.backend == "brian2" else _at_rate_level)(
        model, store, client, shards
    )
    try:
        model._train_to_the_end(store)
    finally:
        if model.backend == "brian2":
            model.trainer_.algorithm.circuits.close()
            model.trainer_.algorithm.circuits = None  # what follows runs here
    return model


def _at_rate_level(
    model: MiniBatchModel, store: TokenStore, client: Client, n_shards: int
) -> MiniBatchTrainer:
    algorithm = model._make_trainer(store, model.seed_).algorithm
    assert isinstance(algorithm, MiniBatchReference)  # by its backend
    batch_size = model.documents_per_batch(store)
    return DataParallelTrainer(algorithm, store, batch_size, model.seed_, client, n_shards)


def _in_spikes(
    model: MiniBatchModel, store: TokenStore, client: Client, n_shards: int
) -> MiniBatchTrainer:
    """The trainer of one process, whose circuits are elsewhere."""
    from brian_lda.simulation.side_by_side import check_circuits  # imports Brian2: seconds
    from brian_lda.simulation.standalone import programs_used
    from brian_lda.sweeps.dask_engine import import_brian_on_workers
    from brian_lda.sweeps.remote_circuits import RemoteCircuits

    with programs_used() as programs:
        trainer = model._make_trainer(store, model.seed_)
    algorithm: Any = trainer.algorithm
    check_circuits(max(n_shards, 2), algorithm.network)  # one elsewhere is as good as two
    import_brian_on_workers(client)
    algorithm.circuits = RemoteCircuits(client, n_shards, programs)
    return trainer


class DataParallelTrainer(MiniBatchTrainer[MiniBatchReference]):
    """`MiniBatchTrainer` whose documents are read and inferred elsewhere.

    Parameters
    ----------
    algorithm : MiniBatchReference
        Holds M^alpha, here.
    store : TokenStore
    batch_size, seed : int
    client : Client
    n_shards : int
    """

    def __init__(
        self,
        algorithm: MiniBatchReference,
        store: TokenStore,
        batch_size: int,
        seed: int,
        client: Client,
        n_shards: int,
    ) -> None:
        self._directory = str(Path(store.directory).resolve())
        self._client, self._n_shards = client, n_shards
        self._ahead: list[tuple[Future, Future]] | None = None
        super().__init__(algorithm, _Unread(store.n_docs), batch_size, seed)

    def _batches_from(self, n_batches: int) -> Iterator[Any]:
        self._ahead = None
        return super()._batches_from(n_batches)

    def iterate(self) -> int:
        if self._ahead is None:
            self._ahead = self._read_next()
        shards, self._ahead = self._ahead, None
        algorithm = self.algorithm
        all_words = self._client.gather([words for _, words in shards])
        law = (type(algorithm), algorithm.parameters, algorithm.next_key())
        counts = []
        for (documents, _), words in zip(shards, all_words, strict=True):
            # The rates travel with the task: data put on one worker would be lost with it.
            seen = algorithm.seen(words)
            counts.append(self._client.submit(_infer, documents, seen, *law, pure=False))
        self._ahead = self._read_next()  # while the workers infer
        all_counts = self._client.gather(counts)
        n_docs = sum(found[0] for found in all_counts)
        n_tokens = sum(found[1] for found in all_counts)
        words, N_zw = _add_up(all_words, [found[2] for found in all_counts])
        algorithm.learn(words, N_zw if n_tokens else None, n_docs)
        self._n_batches += 1
        return n_tokens

    def _read_next(self) -> list[tuple[Future, Future]]:
        """(documents, their words) of each shard of the next mini-batch, on the workers."""
        doc_ids = next(self._batches).doc_ids
        shards = []
        for places in np.array_split(np.arange(len(doc_ids)), self._n_shards):
            if len(places):
                first, last = int(places[0]), int(places[-1]) + 1
                documents = self._client.submit(
                    _read, self._directory, doc_ids[first:last], first, pure=False
                )
                shards.append((documents, self._client.submit(_words, documents, pure=False)))
        return shards


class _Unread:
    """A source of documents that knows their number and never reads one."""

    def __init__(self, n_docs: int) -> None:
        self.n_docs = n_docs

    def rows(self, doc_ids: np.ndarray) -> None:
        return None


def _add_up(words: list[np.ndarray], counts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct words of all shards and the sum of their counts."""
    distinct = np.unique(np.concatenate(words))
    total = np.zeros((len(distinct), counts[0].shape[1]), np.int32)
    for of_shard, N_zw in zip(words, counts, strict=True):
        total[np.searchsorted(distinct, of_shard)] += N_zw  # the words of a shard are distinct
    return distinct.astype(np.int32), total


# What runs on the workers.


@lru_cache(maxsize=4)
def _store(directory: str) -> TokenStore:
    return TokenStore(directory)


def _read(directory: str, doc_ids: np.ndarray, n_before: int) -> tuple[int, BatchTokens]:
    """Documents of a shard, in their places: `n_before` empty ones come first."""
    store = _store(directory)
    rows = store.rows(doc_ids)
    indptr = np.concatenate([np.zeros(n_before, rows.indptr.dtype), rows.indptr])
    shape = (n_before + len(doc_ids), store.n_words)
    return len(doc_ids), batch_tokens(sparse.csr_array((rows.data, rows.indices, indptr), shape))


def _words(documents: tuple[int, BatchTokens]) -> np.ndarray:
    return documents[1].words


def _infer(
    documents: tuple[int, BatchTokens],
    seen: tuple[np.ndarray, ...],
    algorithm: type[MiniBatchReference],
    parameters: BatchParameters,
    key: np.random.SeedSequence,
) -> tuple[int, int, np.ndarray]:
    """Number of documents, of tokens, and N_zw of a shard."""
    n_docs, batch = documents
    if not batch.n_tokens:
        return n_docs, 0, np.zeros(seen[0].shape, np.int32)
    return n_docs, batch.n_tokens, infer_counts(algorithm, parameters, batch, seen, key)
