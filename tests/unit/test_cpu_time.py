"""CPU time: of this process, of children that have ended, and of those that live."""

import subprocess
import sys
import time

import pytest

from brian_lda.cpu_time import cpu_seconds

BUSY = "import time\nwhile time.process_time() < 0.4: pass\nprint('done', flush=True)\n"


def test_own_work_counts_and_waiting_does_not():
    start = cpu_seconds()
    while cpu_seconds() - start < 0.2:
        pass
    worked = cpu_seconds()
    assert worked - start > 0.1
    time.sleep(0.5)
    assert cpu_seconds() - worked < 0.2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="living children: /proc")
def test_a_child_counts_once_while_it_lives_and_after():
    start = cpu_seconds()
    child = subprocess.Popen(
        [sys.executable, "-c", BUSY + "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    alive = cpu_seconds() - start
    assert alive > 0.35
    child.communicate(b"\n")
    assert alive - 0.05 < cpu_seconds() - start < alive + 0.35  # no less, and not twice
