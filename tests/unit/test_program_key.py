"""Which networks share a compiled program: whatever is no part of a program must not compile again.

Nothing is compiled here: the name of the program's folder is read off when compilation would begin.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from brian2 import StateMonitor, ms
from brian_lda.models import ed_spike_lda
from scipy import sparse

from brian_lda.circuit.circuit import Circuit, Sizes
from brian_lda.circuit.inhibition import Poisson, Race
from brian_lda.circuit.latency import FirstArrival, Windowed
from brian_lda.circuit.probe import add_probe
from brian_lda.constraints import Constraints
from brian_lda.hardware.pruning import prune_words
from brian_lda.parameters import BatchParameters, EventDrivenParameters
from brian_lda.simulation import (
    DuSpikeLDASpiking,
    EventDrivenSpiking,
    Recording,
    SemiSpikeLDASpiking,
    SpikeCGSSpiking,
    standalone,
)
from brian_lda.simulation.program_key import program_key
from brian_lda.step_rules import AdaGrad, RobbinsMonro, VarianceTracking

V, K = 70, 6  # 69 to 72 words are rounded up to 72
LENGTHS = np.full(300, 10)  # 289 to 304 documents are rounded up to 304
STEPS = (RobbinsMonro(0.5, 10), RobbinsMonro(0.5, 10))
PHI = np.random.default_rng(0).dirichlet(np.ones(V), K)
PRUNED = prune_words(PHI, 5)


class FolderFound(Exception):
    pass


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Name of the folder of a network's program."""
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path))  # nothing is compiled yet

    def found(target, *arguments):
        raise FolderFound(target.name)

    monkeypatch.setattr(standalone, "compile_into", found)
    monkeypatch.setattr(standalone, "compiler_found", lambda: True)

    def folder(network, layers=()):
        with pytest.raises(FolderFound) as caught:
            network.network._simulator(Recording(layers) if layers else None)
        return caught.value.args[0]

    return folder


def event_driven(
    K=K, prior=1.3, steps=STEPS, V=V, lengths=LENGTHS, *, seed=1, initial=None, varphi=0.0,
    integrator="flow", **options,
):  # fmt: skip
    parameters = EventDrivenParameters(
        K, prior, *steps, topic_word_prior=varphi, integrator=integrator
    )
    return EventDrivenSpiking(parameters, V, lengths, seed=seed, initial=initial, **options)


def limited(**limits):
    return {"constraints": Constraints(**limits)}


def two_chips(packet_loss, split):
    return limited(packet_loss=packet_loss, chip_of_topic=(0,) * split + (1,) * (K - split))


# First of each group: the network itself. All of a group share one program, no two groups do.
GROUPS = {
    "ed-SpikeLDA": [
        {},
        {"seed": 7},
        {"prior": 1.7},
        {"prior": np.linspace(1.1, 1.5, K)},
        {"steps": (RobbinsMonro(0.1, power=0.0), RobbinsMonro(0.2, 5.0, floor=0.01))},
        {"varphi": 0.01},
        {"varphi": np.linspace(0.01, 0.1, V)},
        {"V": 69},  # a corpus of like size
        {"lengths": np.arange(290)},
        limited(),
    ],
    "more topics": [{"K": K + 1}],
    "more words": [{"V": 73}],
    "more documents": [{"lengths": np.full(305, 10)}],
    "ed-SpikePLSI": [{"prior": None}, {"prior": None, "seed": 3}],
    "controlled Poisson": [
        {"inhibition": Poisson()},
        {"inhibition": Poisson(dt=1e-4)},
    ],
    "free-running Poisson": [
        {"inhibition": Poisson(rate=20.0)},
        {"inhibition": Poisson(rate=30.0, dt=1e-4)},
    ],
    "Nessler's inhibition": [
        {"inhibition": Poisson(rate=20.0, normalised=True)},
        {"inhibition": Poisson(rate=30.0, dt=1e-4, normalised=True)},
    ],
    "windows": [
        {"inhibition": Windowed(latency=1, window=3)},
        {"inhibition": Windowed(latency=(0, 0, 1, 2, 3, 4), window=5, dt=1e-4)},
    ],
    "first arrival": [{"inhibition": FirstArrival(latency=1, window=3)}],
    "dead synapses": [limited(dead_synapses=0.1), limited(dead_synapses=0.3, seed=9)],
    "lost packets": [two_chips(0.1, 3), two_chips(0.2, 2)],
    "three chips": [limited(packet_loss=0.1, chip_of_topic=(0, 0, 1, 1, 2, 2))],
    "few bits": [
        limited(weight_bits=8),
        limited(weight_bits=6, seed=4),
        limited(weight_bits=8, weight_range=(-20.0, 5.0)),
    ],
    "pruned": [{"pruned": PRUNED}, {"pruned": replace(PRUNED, shared=PRUNED.shared - 1)}],
    "other synapses": [{"pruned": prune_words(PHI[:, ::-1], 5)}],
}


@pytest.mark.complete
def test_event_driven_networks_share_what_they_can(folder):
    keys = {
        name: {folder(event_driven(**change)) for change in changes}
        for name, changes in GROUPS.items()
    }
    assert {name: len(found) for name, found in keys.items()} == dict.fromkeys(GROUPS, 1)
    assert len(set.union(*keys.values())) == len(GROUPS)


def test_other_weights_share_a_program(folder):
    first = event_driven()
    state = first.state()
    state["w"], state["p"] = 2 * state["w"], 3 * state["p"]
    del state["M__alpha"], state["M__beta"]  # of the weights before
    second = event_driven(initial=state)
    assert not np.array_equal(first.M__alpha, second.M__alpha)
    assert folder(first) == folder(second)


def test_the_paper_s_step_rules_are_another_network(folder):
    steps = (VarianceTracking(), AdaGrad())
    paper = EventDrivenParameters(K, 1.3, *steps, integrator="euler", gauge=False)
    assert folder(EventDrivenSpiking(paper, V, LENGTHS, seed=1)) != folder(event_driven())


def test_each_set_of_recorded_layers_is_another_program(folder):
    network = event_driven()
    layers = [(), ("word",), ("document",), ("word", "document"), ("latency",), ("inhibition",)]
    assert len({folder(network, which) for which in layers}) == len(layers)


def mini_batch(kind, *, lamda=1.3, seed=0, n_docs=5, n_tokens=5000, **arguments):
    parameters = BatchParameters(n_topics=K, doc_topic_prior=lamda, **arguments)
    network = kind(parameters, V, seed=seed, n_training_tokens=n_tokens, batch_tokens=400)
    rng = np.random.default_rng(seed)
    network._begin_batch(sparse.csr_array(rng.integers(0, 3, (n_docs, V))))
    return network


@pytest.mark.parametrize("kind", [SemiSpikeLDASpiking, DuSpikeLDASpiking])
def test_mini_batches_share_a_program(folder, kind):
    changes = [{}, {"seed": 1}, {"lamda": 1.1}, {"n_tokens": 9000}]
    changes += [{"topic_word_prior": 0.5}, {"local_iterations": 7}]
    assert len({folder(mini_batch(kind, **change)) for change in changes}) == 1
    smaller = mini_batch(kind)
    before = folder(smaller)
    smaller._begin_batch(sparse.csr_array(np.ones((3, V), np.int64)))  # the last of a pass
    assert folder(smaller) == before
    assert folder(mini_batch(kind, n_docs=9)) != before


def test_samplers_of_like_corpora_share_a_program(folder):
    def sampler(seed=0, n_tokens=1000, lamda=0.1, **options):
        rng = np.random.default_rng(seed)
        words, docs = rng.integers(0, V, n_tokens), rng.integers(0, 20, n_tokens)
        sizes = {"n_topics": K, "n_words": V, "n_docs": 20}
        priors = {"doc_topic_prior": lamda, "topic_word_prior": 0.05}
        return SpikeCGSSpiking(words, docs, **sizes, **priors, seed=seed, **options)

    before = folder(sampler())
    for same in ({"seed": 1}, {"lamda": 0.5}, {"n_tokens": 1001}):
        assert folder(sampler(**same)) == before
    for other in ({"n_tokens": 2000}, {"inhibition": Poisson()}, limited(weight_bits=8)):
        assert folder(sampler(**other)) != before


def key(change=lambda net: None, wire=ed_spike_lda.wire, **sizes) -> str:
    """Of a network that a script of a user has changed."""
    device = standalone.CircuitDevice()
    with standalone.brian_device(device):
        net = wire(Sizes(**{"n_words": 4, "n_docs": 3, "n_topics": 2, "capacity": 10} | sizes))
        change(net)
        return program_key(net, ("alpha.w",))


def monitored(owner="topics", variable="g", **arguments):
    def change(net: Circuit) -> None:
        arguments.setdefault("record", True)
        net.network.add(StateMonitor(getattr(net, owner), variable, name="mine", **arguments))

    return change


def probed(*words):
    def change(net: Circuit) -> None:
        probe = add_probe(net, words=words, topics=[1] * len(words))
        net.network.add(StateMonitor(probe, "M__alpha", record=True, name="mine"))

    return change


def test_monitors_of_a_user_count():
    keys = [
        key(),
        key(monitored()),
        key(monitored(variable="n_alpha")),
        key(monitored(record=[0])),
        key(monitored(record=[1])),
        key(monitored(when="end")),
        key(monitored(dt=5 * ms)),
        key(monitored("beta", "p", record=[0])),
        key(probed(0)),
        key(probed(1)),  # as many neurons, which follow other synapses
        key(probed(0, 3)),
    ]
    assert len(set(keys)) == len(keys)
    assert key(probed(1)) == keys[9]


def changed_file(old: str, new: str):
    """`wire` of ed-SpikeLDA with one change in its text."""
    with open(ed_spike_lda.__file__, encoding="utf-8") as file:
        text = file.read()
    assert text.count(old) >= 1
    namespace = {"__name__": "changed"}
    exec(compile(text.replace(old, new), "changed", "exec"), namespace)
    return namespace["wire"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("w += h_post*gain_post/g_post", "w += 2*h_post*gain_post/g_post"),  # a rule
        ("n_alpha += 1", "n_alpha += 2"),  # a reset
        ("rate = 0\n", "rate = 1e-9\n"),  # what happens in every tick
        ('"g < 1e-60"', '"g < 1e-61"'),  # an event
        ('"documents.gain", "-expm1(-eta)/a"', '"documents.gain", "-expm1(-eta)"'),
        ("SMALLEST = 1e-100", "SMALLEST = 1e-99"),  # a constant in a namespace
        ("beta.connect()", 'beta.connect(j="i % 2")'),  # who is connected to whom
        ('"excite", 5', '"excite", 6'),  # the order within a tick
        ('linked_var(net.inhibition, "accepted")', 'linked_var(net.pacer, "is_new")'),
    ],
)
def test_any_change_of_a_model_counts(old, new):
    assert key(wire=changed_file(old, new)) != key()


def test_a_comment_does_not_count():
    assert key(wire=changed_file("# Alg. 1 line 5", "# Algorithm 1")) == key()


def test_capacity_and_outputs_count():
    assert key(capacity=11) != key()
    with standalone.brian_device("runtime", "numpy"):
        net = ed_spike_lda.wire(Sizes(4, 3, 2), Race())
        assert program_key(net, ("alpha.w",)) != program_key(net, ("alpha.w", "topics.g"))


@pytest.mark.complete
def test_the_key_is_the_same_in_every_process():
    code = "import test_program_key as t; print(t.key(t.monitored()))"
    keys = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=os.path.dirname(__file__),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        keys.add(done.stdout.strip())
    assert keys == {key(monitored())}


def test_without_a_compiler_there_is_a_key(monkeypatch):
    monkeypatch.setenv("CXX", "/no/such/compiler")
    assert len(key()) == 24
