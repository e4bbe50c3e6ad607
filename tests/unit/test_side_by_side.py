"""Several circuits for one mini-batch: the same winners and weights, to the last bit."""

import numpy as np
import pytest
from scipy import sparse
from test_spiking_counting import K, V, batch_network, batch_parameters

from brian_lda import EdSpikeLDA
from brian_lda.circuit.inhibition import Poisson
from brian_lda.constraints import Constraints
from brian_lda.errors import ParameterError, SimulationError
from brian_lda.simulation import DuSpikeLDASpiking, SemiSpikeLDASpiking
from brian_lda.simulation.recording import Recording
from brian_lda.simulation.side_by_side import shares
from brian_lda.simulation.streams import document_streams, seeds_of, streams_of_run

NETWORKS = {"semi": SemiSpikeLDASpiking, "du": DuSpikeLDASpiking}
STEPS = ["robbins_monro", "paper"]


def mini_batches():
    """Documents of different lengths; some empty, some of one token."""
    rng = np.random.default_rng(7)
    lengths = [[5, 0, 1, 9, 3], [0, 12, 2, 2], [4], [0, 1, 0]]
    return [
        sparse.csr_array(np.array([rng.multinomial(n, np.full(V, 1 / V)) for n in batch]))
        for batch in lengths
    ]


def trained(network):
    winners = [network.update(counts) for counts in mini_batches()]
    return {f"winners {i}": won for i, won in enumerate(winners)} | {
        **network.state(),
        "M__beta": network.M__beta,
        "n_updates": np.array(network.n_updates),
    }


def assert_same_bits(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.complete(but="semi-robbins_monro")
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("network", NETWORKS)
def test_any_number_of_circuits_learns_the_same(network, steps):
    expected = trained(batch_network(network, steps))
    for n_circuits in (2, 4):
        assert_same_bits(trained(batch_network(network, steps, n_circuits=n_circuits)), expected)


def test_own_votes_are_taken_out_in_every_circuit():
    """Each mini-batch is more than a pass of the corpus that the network is told of."""

    def found(n_circuits, exclude):
        parameters = batch_parameters("semi", exclude_own_votes=exclude)
        options = {"simulator": "numpy", "n_circuits": n_circuits}
        return trained(SemiSpikeLDASpiking(parameters, V, seed=3, n_training_tokens=4, **options))

    expected = found(1, True)
    assert_same_bits(found(2, True), expected)
    assert not np.array_equal(found(1, False)["M__alpha"], expected["M__alpha"])


@pytest.mark.complete
def test_so_does_one_with_few_bits():
    """Its weights are rounded at random."""
    limits = {"constraints": Constraints(weight_bits=6)}
    expected = trained(batch_network("semi", **limits))
    assert_same_bits(trained(batch_network("semi", n_circuits=2, **limits)), expected)


@pytest.mark.complete
def test_runs_that_are_cut_short_change_nothing(monkeypatch):
    """A run ends with a document, if it can."""
    found = []
    for n_circuits, capacity in ((1, None), (1, 12), (2, 12)):
        network = batch_network("semi", n_circuits=n_circuits)
        if capacity is not None:
            others = network.circuits.others if network.circuits else ()
            for each in (network.network, *others):
                monkeypatch.setattr(each, "_segments", segments_of(each, capacity))
        found.append(trained(network))
    assert_same_bits(found[1], found[0])
    assert_same_bits(found[2], found[0])


def segments_of(network, capacity):
    from dataclasses import replace

    def segments(n_tokens, streams):
        sizes, network.sizes = network.sizes, replace(network.sizes, capacity=capacity)
        parts = list(type(network)._segments(network, n_tokens, streams))
        network.sizes = sizes
        assert all(0 < stop - start <= capacity for start, stop in parts)
        return parts

    return segments


@pytest.mark.complete(but="1")
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_circuit_that_fails_changes_nothing(failing, monkeypatch):
    """Two circuits show the mini-batch, then one of them its last token."""
    first, second = mini_batches()[:2]
    expected = batch_network("semi", n_circuits=2)
    network = batch_network("semi", n_circuits=2)
    for each in (expected, network):
        each.update(first)
    before, calls = network.state(), []
    simulator = network.network._simulator(None)
    run = simulator.run

    def fails(*arguments, **options):
        calls.append(0)
        if len(calls) == failing + 1:
            raise SimulationError("on purpose")
        return run(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(simulator, "run", fails)
        with pytest.raises(SimulationError, match="on purpose"):
            network.update(second)
    assert_same_bits(network.state(), before)
    np.testing.assert_array_equal(network.update(second), expected.update(second))
    assert_same_bits(network.state(), expected.state())


def test_weights_leave_a_circuit_only_when_they_have_changed(monkeypatch):
    network = batch_network("semi", n_circuits=2)
    network.prepare(mini_batches()[0])
    simulator, read = network.network._simulator(None), []
    run = simulator.run

    def watched(*arguments, **options):
        result = run(*arguments, **options)
        read.append(sorted(path for path in result if not path.startswith("winners")))
        return result

    monkeypatch.setattr(simulator, "run", watched)  # inside Python both circuits share it
    network.update(mini_batches()[0])
    counted = ["alpha.N_zw", "beta.p", "memory.z", "topics.N_z"]
    assert read == [counted, counted, sorted([*counted, "alpha.w", "topics.n_spikes"])]


def test_shares_are_whole_documents_about_equal():
    docs = np.repeat([0, 2, 3, 7], [5, 1, 8, 4])

    def shown(n_circuits):
        parts = shares(docs, n_circuits)
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(docs)))
        assert all((np.diff(part) > 0).all() for part in parts)
        return [np.unique(docs[part]).tolist() for part in parts]

    assert shown(1) == [[0, 2, 3, 7]]
    assert shown(2) == [[2, 3], [0, 7]]  # 9 tokens each
    assert shown(3) == [[3], [0], [2, 7]]
    assert shown(9) == [[3], [0], [2], [7]]


def test_a_document_draws_the_same_beside_any_other():
    alone = document_streams(np.array([3, 3]), 2, [1, 2])
    beside = document_streams(np.array([0, 3, 3, 5]), 2, [1, 2])
    assert alone[0].tolist() == [0, 2] and beside[0].tolist() == [0, 1, 3, 4, 5, 7]
    np.testing.assert_array_equal(beside[1][[1, 4]], alone[1])
    assert len(set(beside[1].tolist())) == 6
    assert not np.isin(beside[1], document_streams(np.array([0, 3, 3, 5]), 2, [1, 3])[1]).any()


def test_streams_of_a_part_of_a_sequence():
    streams = np.array([0, 4, 6]), np.array([10, 11, 12])
    assert [each.tolist() for each in streams_of_run(streams, 4, 6)] == [[0], [11]]
    begins, seeds = streams_of_run(streams, 2, 9)  # in the middle of the first
    assert begins.tolist() == [0, 2, 4] and seeds.tolist() == [*seeds_of([10, 2], 1), 11, 12]


@pytest.mark.parametrize("n_circuits", [0, 1.5, "2"])
def test_a_number_of_circuits_that_is_none(n_circuits):
    with pytest.raises(ParameterError, match="n_circuits must be an integer of at least 1"):
        batch_network("semi", n_circuits=n_circuits)


def test_what_takes_one_circuit():
    parameters = batch_parameters("semi")
    arguments = {"seed": 0, "n_training_tokens": 10.0, "simulator": "numpy", "n_circuits": 2}
    with pytest.raises(ParameterError, match="carry excitability"):
        SemiSpikeLDASpiking(parameters, V, inhibition=Poisson(), **arguments)
    SemiSpikeLDASpiking(parameters, V, inhibition=Poisson(rate=10.0), **arguments)
    record = Recording(("word",))
    with pytest.raises(ParameterError, match="a recording needs n_circuits=1"):
        SemiSpikeLDASpiking(parameters, V, record=record, **arguments)
    with pytest.raises(ParameterError, match="a recording needs n_circuits=1"):
        batch_network("semi", n_circuits=2).update(mini_batches()[0], record=record)


def test_networks_that_learn_token_by_token_stay_one_circuit():
    model = EdSpikeLDA(n_topics=K, backend="brian2", brian2_options={"n_circuits": 2})
    with pytest.raises(ParameterError, match="brian2_options has no n_circuits"):
        model.fit(mini_batches()[0])
