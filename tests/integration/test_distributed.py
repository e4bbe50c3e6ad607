"""Data-parallel training on two Dask workers: the same bits as one process, bounded memory."""

from __future__ import annotations

import json
import os
import re
import signal

import numpy as np
import pytest
from scipy import sparse

from brian_lda import CollapsedGibbsLDA, DuSpikeLDA, SemiSpikeLDA, StochasticGradientMCMCLDA
from brian_lda.corpus import Corpus, TokenStore
from brian_lda.corpus.uci import write_uci
from brian_lda.errors import MissingDependencyError, ParameterError, SchedulerError

pytest.importorskip("distributed")
from brian_lda.sweeps.dask_engine import dask_client  # noqa: E402
from brian_lda.sweeps.distributed import fit_data_parallel  # noqa: E402

MODELS = {
    "semi": lambda **options: SemiSpikeLDA(n_topics=6, random_state=3, **options),
    "du": lambda **options: DuSpikeLDA(n_topics=6, random_state=3, **options),
}


@pytest.fixture(scope="module")
def client():
    with dask_client(n_workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def store(reuters, tmp_path_factory):
    """The training documents on disk, with empty ones before and after them."""
    folder = tmp_path_factory.mktemp("store")
    counts = reuters.train.counts
    empty = sparse.csr_array((3, counts.shape[1]), dtype=counts.dtype)
    corpus = Corpus(sparse.vstack([empty, counts, empty]).tocsr(), reuters.train.vocabulary, "r")
    return TokenStore.build(write_uci(corpus, folder / "uci"), folder / "store")


@pytest.mark.complete
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch_size", [1, 100])
def test_equal_to_one_process_bit_for_bit(name, batch_size, client, store, reuters):
    options = {"max_iter": 8, "batch_size": batch_size}
    single = MODELS[name](**options).fit(store)
    parallel = fit_data_parallel(MODELS[name](**options), store, client)
    np.testing.assert_array_equal(parallel.components_, single.components_)
    timeless = [[record["tokens"] for record in model.history_] for model in (single, parallel)]
    assert timeless[0] == timeless[1]
    halves = (reuters.observed, reuters.heldout)
    assert parallel.perplexity(*halves) == single.perplexity(*halves)


@pytest.mark.complete
def test_the_number_of_shards_does_not_matter_but_the_seed_does(client, store):
    options = {"max_iter": 4, "batch_size": 50}
    one, seven = (
        fit_data_parallel(MODELS["semi"](**options), store, client, n_shards=n) for n in (1, 7)
    )
    other = MODELS["semi"](**options).set_params(random_state=4)
    fit_data_parallel(other, store, client)
    np.testing.assert_array_equal(one.components_, seven.components_)
    assert not np.allclose(one.components_, other.components_)  # the comparison can fail


@pytest.mark.complete
def test_a_killed_worker_costs_time_only(client, store):
    options = {"max_iter": 6, "batch_size": 100}
    killed = []

    def kill(model, record):
        if record["iteration"] == 2:
            killed.append(list(client.run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

    single = MODELS["semi"](**options).fit(store)
    parallel = fit_data_parallel(MODELS["semi"](callbacks=[kill], **options), store, client)
    np.testing.assert_array_equal(parallel.components_, single.components_)
    client.wait_for_workers(2)
    assert killed[0] not in client.run(os.getpid).values()


@pytest.fixture(scope="module")
def small_store(tmp_path_factory):
    """Documents of one to seven tokens; two are empty."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(5)
    counts = np.array([rng.multinomial(n, np.full(6, 1 / 6)) for n in (0, 1, 7, 4, 3, 0, 5, 2)])
    corpus = Corpus(counts, [f"w{i}" for i in range(6)], "small")
    return TokenStore.build(write_uci(corpus, folder / "uci"), folder / "store")


def in_spikes(name, **options):
    options = {"max_iter": 4, "batch_size": 4, "local_iterations": 1, **options}
    options["brian2_options"] = {"simulator": "numpy"}
    return MODELS[name](backend="brian2", **options)


def same_network(found, expected):
    state, other = found.trainer_.state(), expected.trainer_.state()
    assert state.keys() == other.keys()
    for name in state:
        np.testing.assert_array_equal(state[name], other[name], err_msg=name)
    tokens = [[record["tokens"] for record in model.history_] for model in (found, expected)]
    assert tokens[0] == tokens[1] and tokens[0][-1] > 20


@pytest.mark.complete
@pytest.mark.parametrize("name", MODELS)
def test_circuits_on_workers_learn_what_one_learns(name, client, small_store):
    single = in_spikes(name).fit(small_store)
    for n_shards in (1, 2, 3):
        model = fit_data_parallel(in_spikes(name), small_store, client, n_shards=n_shards)
        same_network(model, single)
    assert model.trainer_.algorithm.circuits is None  # what follows runs here
    other = in_spikes(name).set_params(random_state=4)
    fit_data_parallel(other, small_store, client)
    assert not np.allclose(other.components_, single.components_)  # the comparison can fail


@pytest.mark.complete
def test_a_killed_worker_costs_time_only_in_spikes(client, small_store):
    killed = []

    def kill(model, record):
        if record["iteration"] == 2:
            killed.append(list(client.run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

    single = in_spikes("semi").fit(small_store)
    same_network(
        fit_data_parallel(in_spikes("semi", callbacks=[kill]), small_store, client), single
    )
    client.wait_for_workers(2)
    assert killed[0] not in client.run(os.getpid).values()


N_DOCS, N_WORDS, WORDS_PER_DOC = 200_000, 2000, 100
LIMIT_MIB = 50.0  # that a worker may add while it reads its half of 160 MB


@pytest.mark.complete
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads VmRSS from /proc")
def test_memory_of_a_worker_stays_bounded(client, tmp_path):
    large = large_store(tmp_path / "large")
    size = sum(file.stat().st_size for file in large.directory.glob("*.npy")) / 2**20
    assert size / 2 > 1.4 * LIMIT_MIB  # what each worker reads would not fit
    samples = []
    model = SemiSpikeLDA(
        n_topics=4, max_iter=50, batch_size=4000, local_iterations=1, random_state=0,
        callbacks=[lambda model, record: samples.append(client.run(resident_mib))],
    )  # fmt: skip
    fit_data_parallel(model, large, client)
    assert model.history_[-1]["tokens"] == large.n_tokens  # a whole pass
    for worker, at_first in samples[4].items():
        assert max(sample[worker] for sample in samples) - at_first < LIMIT_MIB


def resident_mib() -> float:
    """Everything, pages of memory-mapped files included."""
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/self/status").read())[1]) / 1024


def large_store(folder):
    """A token store written directly: its docword file would take a minute to parse."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    step = N_WORDS // WORDS_PER_DOC
    words = rng.integers(0, step, (N_DOCS, WORDS_PER_DOC), dtype=np.int32)
    words += np.arange(0, N_WORDS, step, dtype=np.int32)
    np.save(folder / "indices.npy", words.ravel())
    np.save(folder / "counts.npy", np.ones(words.size, np.int32))
    np.save(folder / "indptr.npy", np.arange(N_DOCS + 1, dtype=np.int64) * WORDS_PER_DOC)
    metadata = {
        "format_version": 1, "name": "large", "n_docs": N_DOCS, "n_words": N_WORDS,
        "n_tokens": words.size, "source": {}, "vocabulary": [f"w{w}" for w in range(N_WORDS)],
    }  # fmt: skip
    (folder / "store.json").write_text(json.dumps(metadata))
    return TokenStore(folder)


def test_what_cannot_be_trained_this_way_is_refused(client, store, reuters):
    with pytest.raises(ParameterError, match="open_token_store"):
        fit_data_parallel(MODELS["semi"](), reuters.train, client)
    with pytest.raises(ParameterError, match="SemiSpikeLDA and DuSpikeLDA"):
        fit_data_parallel(StochasticGradientMCMCLDA(n_topics=3, random_state=0), store, client)
    with pytest.raises(ParameterError, match="SemiSpikeLDA and DuSpikeLDA"):
        fit_data_parallel(CollapsedGibbsLDA(n_topics=3, random_state=0), store, client)
    with pytest.raises(ParameterError, match="use learn_prior=False; found True"):
        fit_data_parallel(MODELS["semi"](learn_prior=True), store, client)
    spikes = {"backend": "brian2", "brian2_options": {"simulator": "numpy"}}
    with pytest.raises(ParameterError, match="record=None"):
        fit_data_parallel(MODELS["semi"](**spikes, record={"layers": ["word"]}), store, client)
    spikes["brian2_options"] = {"simulator": "numpy", "inhibition": "poisson"}
    with pytest.raises(ParameterError, match="documents are not independent"):
        fit_data_parallel(MODELS["semi"](**spikes), store, client)


@pytest.mark.complete
def test_absent_schedulers_and_absent_dask_are_named(monkeypatch):
    from brian_lda.sweeps import dask_engine

    monkeypatch.setattr(dask_engine, "CONNECT_TIMEOUT", "1s")
    with pytest.raises(SchedulerError, match="dask scheduler"):
        with dask_client("tcp://127.0.0.1:1"):
            pass
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"brian_lda\[sweep\]"):
        with dask_client():
            pass
