"""A user's own script in standalone mode; called by test_own_script.py as FOLDER.

The network's file, monitors of one's own, Brian's device and `net.present`: nothing else of ours.
Prints one line of JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np
from brian2 import SpikeMonitor, StateMonitor, device, get_device, seed, set_device
from brian_lda.models import ed_spike_lda

from brian_lda.circuit.circuit import Sizes
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.ed_spike_lda import EdSpikeLDAReference
from brian_lda.simulation import EventDrivenSpiking
from brian_lda.step_rules import RobbinsMonro

V, D, K, N_TOKENS = 4, 3, 2, 200
PARAMETERS = EventDrivenParameters(K, 1.3, RobbinsMonro(0.5, 10), RobbinsMonro(0.5, 10))
rng = np.random.default_rng(0)
words, docs = rng.integers(0, V, N_TOKENS), rng.integers(0, D, N_TOKENS)
lengths = np.bincount(docs, minlength=D)


def run_in_standalone_mode(state):
    """Winners, weights and what the monitors saw."""
    net = ed_spike_lda.wire(Sizes(V, D, K, capacity=N_TOKENS))
    net.set(ed_spike_lda.constants(PARAMETERS, V, lengths))
    kept = ed_spike_lda.kept_of_weights(state)
    net.set({"alpha.w": kept["w"].T, "topics.g": kept["g"], "beta.p": kept["p"]})
    heard = SpikeMonitor(net.words)
    offsets = StateMonitor(net.topics, "g", record=[0, 1], when="end")
    net.network.add(heard, offsets)
    seed(1)
    net.present(words, docs)
    p = np.reshape(net.beta.p[:], (D, K))
    w = np.reshape(net.alpha.w[:], (V, K))
    return np.array(net.winners.i), np.log(w * net.topics.g[:]).T, np.log(p), heard, offsets


def main(folder):
    set_device("cpp_standalone", directory=str(folder / "first"))
    own = get_device()
    reference = EdSpikeLDAReference(PARAMETERS, V, lengths, seed=3)
    winners, M__alpha, M__beta, heard, offsets = run_in_standalone_mode(reference.state())
    reference.present(words, docs, winners=winners)
    falls = np.diff(np.log(offsets.g), axis=1) < 0  # [topic, token]: the winner's g, each time
    report = {
        "n_winners": len(winners),
        "error": max(
            abs(M__alpha - reference.M__alpha).max(), abs(M__beta - reference.M__beta).max()
        ),
        "heard_the_words": bool(np.array_equal(heard.i, words)),
        "falls_with_each_win": bool(np.array_equal(falls.argmax(axis=0), winners[1:])),
    }
    # A network of ours in between, compiled by a device of its own or run inside Python.
    inside = EventDrivenSpiking(PARAMETERS, V, lengths, seed=3, simulator="numpy")
    report["inside_python"] = len(inside.present(words[:20], docs[:20]))
    report["device_is_the_user_s"] = get_device() is own
    device.reinit()
    device.activate(directory=str(folder / "second"))
    again = run_in_standalone_mode(EdSpikeLDAReference(PARAMETERS, V, lengths, seed=3).state())
    report["same_again"] = bool(np.array_equal(again[0], winners))
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
