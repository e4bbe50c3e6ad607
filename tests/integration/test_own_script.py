"""A network of ours in a script of the user's own, in Brian's standalone mode."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from brian_lda.simulation.standalone import compiler_found

SCRIPT = Path(__file__).with_name("own_script.py")


@pytest.mark.complete
@pytest.mark.skipif(not compiler_found(), reason="no C++ compiler")
def test_own_monitors_and_device_in_standalone_mode(tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report.pop("error") < 1e-12  # of the weights, after 200 updates
    assert report == {
        "n_winners": 200,
        "heard_the_words": True,
        "falls_with_each_win": True,
        "inside_python": 20,
        "device_is_the_user_s": True,
        "same_again": True,
    }
