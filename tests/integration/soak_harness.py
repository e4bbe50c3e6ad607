"""Trains in spikes and measures itself after every pass; called by test_soak.py.

    soak_harness.py CORPUS N_TOPICS N_PASSES LEAK ...

One training, and one line of JSON, for each LEAK: "none", or what a callback leaks on purpose:
"memory", "files" or "processes". TMPDIR must be a folder of its own.
"""

import contextlib
import gc
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from brian_lda import EdSpikeLDA
from brian_lda.corpus import load_corpus

PAUSE = 0.005  # seconds between two looks at the simulator
SCRATCH, CACHE = Path(os.environ["TMPDIR"]), Path(os.environ["BRIAN_LDA_CACHE"])


def status(pid, field):
    """A number of /proc/PID/status, kB as MiB; 0 if the process is gone."""
    with contextlib.suppress(OSError):
        found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


def children():
    with contextlib.suppress(OSError):
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return []


def is_simulator(pid):
    """Not yet, between fork and exec: until then it is a copy of Python."""
    with contextlib.suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/exe")).name == "main"
    return False


def size(folder):
    """MiB of all files; those that go while we look do not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total / 2**20


class Observer(threading.Thread):
    """Looks at the simulator while it runs: its peak memory, and the size of its files."""

    def __init__(self):
        super().__init__(daemon=True)
        self.done = threading.Event()
        self.memory = self.files = 0.0

    def run(self):
        while not self.done.wait(PAUSE):
            self.look()

    def look(self):
        for child in simulators():
            self.memory = max(self.memory, status(child, "VmHWM"))
        self.files = max(self.files, size(SCRATCH))

    def peaks(self):
        self.look()  # a pass may be shorter than a pause
        peaks, self.memory, self.files = (self.memory, self.files), 0.0, 0.0
        return peaks


def simulators():
    return list(filter(is_simulator, children()))


def soak(corpus, n_topics, n_passes, leak):
    samples, kept, observer = [], [], Observer()

    def leaking(model, record):
        if leak == "memory":
            kept.append(np.ones(2**17))  # 1 MiB
        elif leak == "files":
            (SCRATCH / f"left_behind_{record['iteration']}").write_bytes(bytes(2**20))
        elif leak == "processes":
            kept.append(subprocess.Popen(["sleep", "600"]))

    def measure(model, record):
        simulator, files = observer.peaks()
        samples.append(
            {
                "tokens": record["tokens"],
                "python": status(os.getpid(), "RssAnon"),
                "simulator": simulator,
                "files": files,  # the log that Brian keeps, no more
                "cache": size(CACHE),
                "running": len(children()),
            }
        )

    observer.start()
    # Without smoothing the network is that of other tests: compiled once for all.
    model = EdSpikeLDA(
        n_topics=n_topics, max_iter=n_passes, topic_word_prior=0.0, backend="brian2",
        random_state=0, callbacks=[leaking, measure],
    )  # fmt: skip
    model.fit(corpus)
    observer.done.set()
    observer.join()
    del model, leaking, measure
    gc.collect()
    assert not simulators(), "a program has outlived its model"
    for process in kept if leak == "processes" else []:
        process.kill()
        process.wait()
    return samples


if __name__ == "__main__":
    name, n_topics, n_passes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    small = {"grid": 3, "n_docs": 300, "doc_length": 40, "alpha": 0.2, "seed": 1}
    corpus = load_corpus(name, **(small if name == "bars" else {}))
    for leak in sys.argv[4:]:
        print(json.dumps(soak(corpus, n_topics, n_passes, leak)), flush=True)
