"""sims/other_engines.py: each engine on a tiny network, and mistakes that get one line."""

import runpy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from brian_lda.errors import PlacementError
from brian_lda.hardware.engines import spynnaker
from brian_lda.hardware.engines.exported import Tokens
from brian_lda.hardware.engines.fixed_point import BoardArithmetic

SCRIPT = Path(__file__).resolve().parents[2] / "sims" / "other_engines.py"
TINY = ["--corpus", "bars", "--topics", "4", "--passes", "2", "--documents", "2"]


@pytest.fixture(scope="module")
def engines():
    return runpy.run_path(str(SCRIPT))["main"]


def test_mistakes_get_one_line(engines, tmp_path, monkeypatch, capsys):
    def error_of(*arguments):
        assert engines([str(argument) for argument in arguments]) == 2
        message = capsys.readouterr().err.strip()
        assert message.startswith("error: ") and "\n" not in message
        return message

    assert "not the folder of a finished run" in error_of("nest", "--run", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.h5").write_text("no model")
    assert str(tmp_path) in error_of("sanafe", "--run", tmp_path)  # wrong files
    monkeypatch.setattr(spynnaker, "find_spec", lambda name: None)
    assert "pip install 'brian_lda[spynnaker]'" in error_of("spynnaker", *TINY)


@pytest.mark.skipif(find_spec("sanafe") is None, reason="needs sanafe: 'brian_lda[sanafe]'")
def test_sanafe_prints_both_energies(engines, capfd):
    assert engines(["sanafe", *TINY, "--tokens", "150"]) == 0
    lines = capfd.readouterr().out.splitlines()
    totals = [line.split()[-2:] for line in lines if " total " in line]
    assert len(totals) == 2 and all(theirs == ours for theirs, ours in totals)
    share = float(lines[-1].rpartition("(")[2].split()[0])
    assert abs(share) < 2.0  # the two steps more of 150


needs_spynnaker = pytest.mark.skipif(
    find_spec("spynnaker") is None, reason="needs sPyNNaker: pip install 'brian_lda[spynnaker]'"
)


@needs_spynnaker
def test_a_small_network_is_mapped():
    rng = np.random.default_rng(0)
    phi, theta = rng.dirichlet(np.ones(20), size=4), rng.dirichlet(np.ones(4), size=3)
    tokens = Tokens(rng.integers(20, size=30), rng.integers(3, size=30))
    use = spynnaker.map_network(phi, theta, tokens)
    assert use.network_cores == 4 and use.cores["topics"] == 1 and use.chips == 1
    assert use.routing_entries == 4  # one for each core that sends
    # what the arithmetic model assumes is what sPyNNaker chose
    assert use.weight_steps["excitatory"] == BoardArithmetic().step


@pytest.mark.complete
def test_what_spynnaker_says_is_passed_on_in_one_line(monkeypatch):
    monkeypatch.setattr(spynnaker, "find_spec", lambda name: True)
    monkeypatch.setattr(spynnaker, "NETWORK", "elsewhere.npz")  # the job finds no network
    with pytest.raises(PlacementError, match="sPyNNaker could not map the network: ") as error:
        spynnaker.map_network(np.full((2, 3), 1 / 3), np.full((1, 2), 0.5), Tokens(
            np.array([0]), np.array([0])))  # fmt: skip
    assert "\n" not in str(error.value)
