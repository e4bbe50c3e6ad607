"""Runs under the limits of chips: resumed bit-identical, and refused under other limits."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from test_checkpoint import Killed, assert_same_run, kill_after, run_and_resume, tiny

from brian_lda.constraints import Constraints
from brian_lda.errors import CheckpointError, ParameterError
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.constrained import ConstrainedReference
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.runs import RunConfig, resume_run, train_run
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import RobbinsMonro

# A narrow range: weights end up at its ends, and below it where the offset moves on while they are
# not written. 0 is none of the levels.
BITS = {"weight_bits": 5, "weight_range": (-2.3, 1.9)}
ALL = BITS | {"packet_loss": 0.1, "dead_synapses": 0.1, "chip_of_topic": (0, 1, 1), "seed": 5}
LIMITS = [
    BITS,
    {"packet_loss": 0.2, "chip_of_topic": (0, 1, 1)},
    {"dead_synapses": 0.2, "dead_neurons": 0.1, "seed": 5},
    ALL,
]
WITHOUT_LOSS = BITS | {"dead_synapses": 0.1, "seed": 5}  # what mini-batches in spikes take
PAPER = {
    "word_step": {"rule": "VarianceTracking"},
    "doc_step": {"rule": "AdaGrad", "eta": 0.05, "amplification": 1.1},
    "integrator": "euler",
}


def resumed_whole_and_free(config, tmp_path, iteration):
    """The run killed and resumed, the same run in one go, and one without the limits."""
    resumed = run_and_resume(config, tmp_path / "killed", iteration=iteration)
    free = {name: value for name, value in config.options.items() if name != "constraints"}
    others = [
        train_run(replace(config, options=options), tmp_path / name, quiet=True)
        for name, options in (("whole", config.options), ("free", free))
    ]
    return resumed, *others


@pytest.mark.parametrize("limits", LIMITS)
def test_at_rate_level(limits, corpus, tmp_path):
    config = tiny(corpus, "ed_spike_lda", constraints=limits)
    resumed, whole, free = resumed_whole_and_free(config, tmp_path, iteration=2)
    assert_same_run(resumed, whole)
    assert (free[0].components_ != whole[0].components_).any()  # the limits do bind


@pytest.mark.complete(but="ed_spike_lda-limits0-rules0")
@pytest.mark.parametrize(
    ("algorithm", "limits", "rules"),
    [
        ("ed_spike_lda", ALL, {}),
        ("ed_spike_lda", BITS, PAPER),
        ("du_spike_lda", WITHOUT_LOSS, {"local_iterations": 1, "batch_size": 4}),
    ],
)
def test_in_spikes(algorithm, limits, rules, smaller_corpus, tmp_path):
    options = {"brian2_options": {"simulator": "numpy"}, "constraints": limits} | rules
    config = replace(tiny(smaller_corpus, algorithm, "brian2", **options), iterations=3)
    resumed, whole, free = resumed_whole_and_free(config, tmp_path, iteration=1)
    assert_same_run(resumed, whole)
    assert (free[0].components_ != whole[0].components_).any()  # the limits do bind


@pytest.mark.long
@pytest.mark.parametrize(
    ("algorithm", "limits"), [("ed_spike_lda", ALL), ("du_spike_lda", WITHOUT_LOSS)]
)
def test_compiled(algorithm, limits, corpus, tmp_path):
    config = tiny(corpus, algorithm, "brian2", constraints=limits)
    resumed, whole, free = resumed_whole_and_free(config, tmp_path, iteration=2)
    assert_same_run(resumed, whole)
    assert (free[0].components_ != whole[0].components_).any()  # the limits do bind


def networks():
    step = RobbinsMonro(scale=0.3, offset=3.0, power=0.7)
    parameters = EventDrivenParameters(3, 1.3, step, step)
    rng = np.random.default_rng(0)
    words, docs = rng.integers(0, 6, 60), rng.integers(0, 3, 60)
    arguments = (parameters, 6, np.bincount(docs, minlength=3))
    return words, docs, arguments


@pytest.mark.parametrize(
    ("kind", "extra"), [(ConstrainedReference, {}), (EventDrivenSpiking, {"simulator": "numpy"})]
)
def test_a_state_is_taken_as_stored_only_by_a_chip_with_the_same_levels(kind, extra):
    words, docs, arguments = networks()
    limits = Constraints(**BITS)
    network = kind(*arguments, seed=1, constraints=limits, **extra)
    network.present(words, docs)
    state = network.state()
    same = kind(*arguments, seed=1, constraints=limits, initial=state, **extra)
    for name, array in same.state().items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)
    wider = replace(limits, weight_bits=8)
    other = kind(*arguments, seed=1, constraints=wider, initial=state, **extra)
    inside = (other.M__alpha > BITS["weight_range"][0]) & (other.M__alpha < BITS["weight_range"][1])
    on_other_levels = (other.M__alpha[inside] - BITS["weight_range"][0]) / wider.quantum
    assert inside.sum() > 9
    np.testing.assert_allclose(on_other_levels, np.round(on_other_levels), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        other.M__alpha, np.clip(network.M__alpha, *BITS["weight_range"]), atol=wider.quantum
    )


def test_weights_of_a_network_without_limits_are_rounded_as_they_are():
    """Its m and a grow together; it is M = m - a that has to fit into the range."""
    words, docs, arguments = networks()
    free = EdSpikeLDAReference(*arguments, seed=1)
    for _ in range(40):
        free.present(words, docs)
    limits = Constraints(weight_bits=12)
    assert free.state()["a__alpha"].min() > limits.weight_range[1]
    chip = ConstrainedReference(*arguments, seed=1, constraints=limits, initial=free.state())
    np.testing.assert_allclose(chip.M__alpha, free.M__alpha, rtol=0, atol=limits.quantum)


@pytest.fixture
def killed(corpus, tmp_path):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        kill_after(2, patch)
        config = tiny(corpus, "ed_spike_lda", constraints=ALL)
        train_run(config, tmp_path / "killed", quiet=True, checkpoint_every=1)
    return tmp_path / "killed"


def test_other_limits_are_refused_and_the_difference_named(killed):
    config = json.loads((killed / "config.json").read_text())
    config["options"]["constraints"] |= {"weight_bits": 6}
    (killed / "config.json").write_text(json.dumps(config))
    expected = "other parameters: options.constraints.weight_bits was 5 and is 6. Leave"
    with pytest.raises(CheckpointError, match=expected):
        resume_run(killed)
    del config["options"]["constraints"]
    (killed / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="options.constraints.packet_loss was 0.1 and is Non"):
        resume_run(killed)


def test_other_limits_on_the_command_line_are_refused_and_the_same_are_not(killed):
    given = {"options": {"constraints": ALL | {"dead_synapses": 0.3}}}
    with pytest.raises(CheckpointError, match="dead_synapses was 0.1 and is 0.3"):
        resume_run(killed, given=given)
    model, _ = resume_run(killed, given={"options": {"constraints": ALL}}, quiet=True)
    assert model.n_iter_ == 5


def test_limits_as_an_object_resume_too(corpus, tmp_path):
    config = tiny(corpus, "ed_spike_lda", constraints=Constraints(**ALL))
    resumed, whole, free = resumed_whole_and_free(config, tmp_path, iteration=2)
    assert_same_run(resumed, whole)
    assert (free[0].components_ != whole[0].components_).any()  # the limits do bind
    written = json.loads((tmp_path / "whole" / "config.json").read_text())["options"]
    assert written["constraints"] == json.loads(json.dumps(asdict(Constraints(**ALL))))


def test_an_algorithm_without_limits_says_so(corpus, tmp_path):
    config = RunConfig("semi_spike_lda", corpus=corpus, options={"constraints": BITS})
    with pytest.raises(ParameterError, match="semi-SpikeLDA has no constraints"):
        train_run(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
