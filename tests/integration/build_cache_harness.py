"""Processes that start at one moment with an empty build cache; called by test_build_cache.py.

    build_cache_harness.py FOLDER N_PROCESSES N_SHAPES N_KILLS

Process i runs network i % N_SHAPES. Before they start, N_KILLS others have been killed in
mid-compilation, one after the other; their compilers are left running. All are forked from a
process that has imported everything. BRIAN_LDA_CACHE must be a new folder. Prints one line of JSON.
"""

import hashlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking, standalone
from brian_lda.step_rules import RobbinsMonro

STEP = RobbinsMonro(0.5, 10)


def run_network(shape, folder, name):
    """Train a tiny network and write down what came out."""
    rng = np.random.default_rng(0)
    n_words = 4 + shape
    words, docs = rng.integers(0, n_words, 500), rng.integers(0, 3, 500)
    parameters = EventDrivenParameters(2, 1.3, STEP, STEP)
    network = EventDrivenSpiking(parameters, n_words, np.bincount(docs, minlength=3), seed=1)
    winners = network.present(words, docs)
    digest = hashlib.sha256(winners.tobytes())
    for array in network.state().values():
        digest.update(array.tobytes())
    (simulator,) = network.network._simulators.values()
    report = {"shape": shape, "result": digest.hexdigest(), "built": simulator.built}
    (folder / f"{name}.json").write_text(json.dumps(report))


def fork(shape, folder, name, start=0.0):
    child = os.fork()
    if child:
        return child
    try:
        time.sleep(max(start - time.monotonic(), 0.0))
        run_network(shape, folder, name)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def kill_in_mid_compilation(folder, networks):
    """Kill a builder as soon as its compiler has written something; returns what it leaves."""
    before = set(networks.glob("build_*"))
    child = fork(0, folder, "killed")
    while not any(list(new.rglob("*.o")) for new in set(networks.glob("build_*")) - before):
        assert os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    _, code = os.waitpid(child, 0)
    assert os.WIFSIGNALED(code), "it was done before it could be killed"
    return len(list(networks.glob("build_*")))


def main(folder, n_processes, n_shapes, n_kills):
    networks = standalone.cache_folder()
    partial = [kill_in_mid_compilation(folder, networks) for _ in range(n_kills)]
    start = time.monotonic() + 0.2
    running = [fork(i % n_shapes, folder, f"run_{i}", start) for i in range(n_processes)]
    codes = [os.waitpid(child, 0)[1] for child in running]
    left = sorted(path.name for path in networks.iterdir() if path.is_dir())
    print(json.dumps({"codes": codes, "left": left, "partial_folders": partial}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
