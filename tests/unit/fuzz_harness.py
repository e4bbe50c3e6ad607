"""Damaged input files, thousands of them; called by test_fuzz.py as KINDS N SEED FOLDER.

Every file must be read, or refused with an error of ours, within a second or so and without much
memory. Runs in a process of its own: a hang, a crash of the HDF5 library or a memory blow-up is
seen from outside. Prints one line of JSON.
"""

import json
import resource
import signal
import sys
import traceback
from pathlib import Path

import numpy as np

from brian_lda import SemiSpikeLDA, TopicModel
from brian_lda.corpus import load_corpus, read_uci, write_uci
from brian_lda.errors import BrianLDAError
from brian_lda.estimators.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from brian_lda.hardware.profiles import available_chips, load_chip
from brian_lda.runs import RunConfig, make_model, read_config, train_run

SECONDS_PER_FILE, EXTRA_MEMORY = 20, 1 << 30
TOKENS = [b"-1", b"0", b"1e999", b"nan", b"999999999999", b"9" * 5000, b"\x00", b"\xff\xfe", b"\n",
          b" ", b"[[", b"{", b'"', b"null", b"true", b"=", b"../../x", b"$(touch x)",
          b"[" * 3000]  # fmt: skip


def mutate(content, rng):
    """One to four faults: flipped bits, cuts, copies, hostile fragments."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        kind, at = rng.integers(6), int(rng.integers(len(content) + 1))
        length = int(rng.geometric(0.1))
        if kind == 0 and at < len(content):
            content[at] ^= 1 << rng.integers(8)
        elif kind == 1:
            del content[at : at + length]
        elif kind == 2:
            content[at:at] = content[at : at + length]
        elif kind == 3:
            content[at : at + length] = rng.bytes(length)
        elif kind == 4:
            content[at:at] = TOKENS[rng.integers(len(TOKENS))]
        elif rng.random() < 0.3:
            del content[at:]
    return bytes(content)


def uci(folder):
    corpus = load_corpus("bars", grid=2, n_docs=6, doc_length=5, seed=0)
    docword = write_uci(corpus, folder / "corpus", compress=False)
    vocab = next((folder / "corpus").glob("vocab.*"))
    return [docword, docword, vocab], lambda: read_uci(folder / "corpus")


def packed_uci(folder):
    corpus = load_corpus("bars", grid=2, n_docs=6, doc_length=5, seed=0)
    return [write_uci(corpus, folder / "corpus")], lambda: read_uci(folder / "corpus")


def model(folder):
    corpus = load_corpus("bars", grid=2, n_docs=6, doc_length=5, seed=0)
    SemiSpikeLDA(n_topics=3, max_iter=2, random_state=0).fit(corpus).save(folder / "model.h5")
    return [folder / "model.h5"], lambda: TopicModel.load(folder / "model.h5")


def checkpoint(folder):
    content = Checkpoint({"a": 1}, {"b": 2}, {"c": "3"}, 4, [{"d": 5}], {"e": np.arange(6.0)})
    write_checkpoint(folder / "c.h5", content)
    return [folder / "c.h5"], lambda: read_checkpoint(folder / "c.h5")


def chip(folder):
    from importlib import resources

    files = resources.files("brian_lda.hardware") / "chips"
    for name in available_chips():
        (folder / f"{name}.toml").write_text((files / f"{name}.toml").read_text())
    target = folder / "chip.toml"
    target.write_bytes(b"\n".join(f.read_bytes() for f in sorted(folder.glob("*.toml"))[:1]))
    return [target], lambda: load_chip(target)


def config(folder):
    run = RunConfig(n_topics=3, options={"word_step": {"rule": "RMSProp", "eta": 0.1}})
    train_run(RunConfig(n_topics=3, iterations=1, corpus="bars"), folder / "run", quiet=True)
    data = json.loads((folder / "run" / "config.json").read_text())
    data["options"] = run.options
    (folder / "run" / "config.json").write_text(json.dumps(data))

    def read():
        found, _ = read_config(folder / "run")
        make_model(found)

    return [folder / "run" / "config.json"], read


def main(kinds, n, seed, folder):
    readers = {}
    for kind in kinds.split(","):
        (Path(folder) / kind).mkdir()
        readers[kind] = globals()[kind](Path(folder) / kind)
        readers[kind][1]()  # the undamaged file
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + EXTRA_MEMORY, resource.RLIM_INFINITY))
    print(json.dumps({kind: fuzz(*readers[kind], n, seed, Path(folder)) for kind in readers}))


def fuzz(files, read, n, seed, folder):
    """How many damaged files were read and refused, and the memory that took."""
    originals = [file.read_bytes() for file in files]
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rng, outcome = np.random.default_rng(seed), {"read": 0, "refused": 0}
    for i in range(n):
        which = int(rng.integers(len(files)))
        files[which].write_bytes(mutate(originals[which], rng))
        signal.alarm(SECONDS_PER_FILE)  # a hang ends the process
        try:
            read()
            outcome["read"] += 1
        except BrianLDAError as error:
            assert str(error).strip(), "an error without a message"
            outcome["refused"] += 1
        except BaseException:
            (folder / "culprit").write_bytes(files[which].read_bytes())
            traceback.print_exc()
            raise SystemExit(f"file {i} of seed {seed}: no error of ours") from None
        finally:
            signal.alarm(0)
        files[which].write_bytes(originals[which])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {**outcome, "megabytes_more": round((peak - used) / 1e6, 1)}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
