"""Online algorithms hold O(K V + mini-batch): a corpus on disk stays there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

N_DOCS, N_WORDS, WORDS_PER_DOC = 40_000, 500, 60
LIMIT_MIB = 8.0  # of anonymous memory that training may add once it is under way


@pytest.fixture(scope="module")
def large_docword(tmp_path_factory):
    """A UCI file whose counts would take 2.4 million entries, 18 MiB, in memory."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    words = np.sort(rng.integers(0, N_WORDS // WORDS_PER_DOC, (N_DOCS, WORDS_PER_DOC)), axis=1)
    words += np.arange(WORDS_PER_DOC) * (N_WORDS // WORDS_PER_DOC) + 1
    docs = np.repeat(np.arange(1, N_DOCS + 1), WORDS_PER_DOC)
    table = np.column_stack([docs, np.sort(words, axis=1).ravel(), np.ones_like(docs)])
    with open(folder / "docword.large.txt", "w") as file:
        file.write(f"{N_DOCS}\n{N_WORDS}\n{len(table)}\n")
        for part in np.array_split(table, 40):
            file.write("\n".join(" ".join(map(str, row)) for row in part.tolist()) + "\n")
    (folder / "vocab.large.txt").write_text("".join(f"word{w}\n" for w in range(N_WORDS)))
    return folder / "docword.large.txt"


@pytest.mark.complete
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads RssAnon from /proc")
@pytest.mark.parametrize("estimator", ["SemiSpikeLDA", "DuSpikeLDA", "StochasticGradientMCMCLDA"])
def test_training_from_disk_stays_below_the_limit(estimator, large_docword, tmp_path):
    program = f"""
        import re
        from brian_lda import {estimator}
        from brian_lda.corpus import TokenStore

        def anonymous_mib():
            return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

        samples = []
        store = TokenStore.build({str(large_docword)!r}, {str(tmp_path / "store")!r})
        model = {estimator}(
            n_topics=10, max_iter=625, batch_size=64, random_state=0, local_iterations=1, n_jobs=1,
            callbacks=[lambda model, record: samples.append(anonymous_mib())],
        ).fit(store)
        assert model.history_[-1]["tokens"] == store.n_tokens  # a whole pass
        print(max(samples) - samples[9])
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < LIMIT_MIB
