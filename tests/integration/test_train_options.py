"""Options of sims/train.py, nested ones too: clocked time, and one clear line for each mistake."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from brian_lda import EdSpikeLDA, TopicModel
from brian_lda.algorithms import SPIKING
from brian_lda.corpus import load_corpus, write_uci
from brian_lda.errors import ParameterError
from brian_lda.estimators import base

TRAIN = Path(__file__).resolve().parents[2] / "sims" / "train.py"
NUMPY = ["--backend", "brian2", "--simulator", "numpy"]


@pytest.fixture(scope="module")
def main():
    return runpy.run_path(str(TRAIN), run_name="train")["main"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_uci(load_corpus("bars", grid=2, n_docs=8, doc_length=3, seed=0), folder)
    return str(folder)


@pytest.fixture
def train(main, corpus, tmp_path, capsys):
    """Run the script on a tiny corpus; returns its exit code, its errors and the run's folder."""

    def run(*arguments, topics=2):
        fixed = ["--corpus", corpus, "--topics", str(topics), "--iterations", "1", "--words", "0"]
        out = tmp_path / "run"
        code = main([*map(str, arguments), *fixed, "--quiet", "--out", str(out)])
        return code, capsys.readouterr().err, out

    return run


@pytest.mark.complete(but="du_spike_lda")
@pytest.mark.parametrize("algorithm", SPIKING, ids=lambda a: a.name)
def test_every_network_learns_in_clocked_time(train, algorithm):
    code, errors, out = train(
        "--algorithm", algorithm.option, *NUMPY, "--inhibition", "poisson", "--dt", "0.0005"
    )
    assert code == 0, errors
    clocked = {"simulator": "numpy", "inhibition": "poisson", "dt": 0.0005}
    assert json.loads((out / "config.json").read_text())["options"]["brian2_options"] == clocked
    model = TopicModel.load(out / "model.h5")
    assert model.brian2_options == clocked
    # Only a layer in clocked time keeps an excitability.
    assert "excitability" in model.state_


def test_a_rate_fixes_the_excitability_that_is_found_without(train):
    clocked = ("--algorithm", "ed-spike-lda", *NUMPY, "--inhibition", "poisson")
    code, errors, out = train(*clocked, "--rate", "300")
    assert code == 0, errors
    assert "excitability" not in TopicModel.load(out / "model.h5").state_


def test_flags_and_options_are_taken_together(train):
    options = json.dumps({"brian2_options": {"inhibition": "poisson"}, "max_passes": 3})
    code, errors, out = train("--algorithm", "ed-spike-lda", *NUMPY, "--options", options)
    assert code == 0, errors
    found = json.loads((out / "config.json").read_text())["options"]
    assert found == {
        "brian2_options": {"inhibition": "poisson", "simulator": "numpy"}, "max_passes": 3
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--backend", "rate", "--inhibition", "poisson"],
            "--inhibition: for spikes; add --backend brian2",
        ),
        ([*NUMPY, "--rate", "100"], "rate: numbers of clocked time, which a race does not have"),
        ([*NUMPY, "--inhibition", "race", "--dt", "0.1"], "dt: numbers of clocked time"),
        ([*NUMPY, "--inhibition", "Gauss"], "inhibition must be one of race, poisson"),
        ([*NUMPY, "--inhibition", "poisson", "--rate", "-1"], "rate must be a positive number"),
        ([*NUMPY, "--inhibition", "poisson", "--dt", "inf"], "dt must be a positive number"),
        (["--backend", "brian2", "--simulator", "gpu"], "simulator must be one of"),
    ],
)
def test_wrong_flags_get_one_line(train, arguments, message):
    code, errors, out = train("--algorithm", "ed-spike-lda", *arguments)
    require_one_line(code, errors, out, message)


def in_spikes(**options):
    return {"brian2_options": {"simulator": "numpy", **options}}


def clocked(**numbers):
    return in_spikes(inhibition={"kind": "poisson", **numbers})


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        (
            "ed-spike-lda",
            {"inhibition": "poisson"},
            "it belongs into brian2_options",
        ),
        ("ed-spike-lda", {"brian2_options": "poisson"}, "brian2_options must be a dict"),
        ("ed-spike-lda", in_spikes(simulater="cython"), "brian2_options has no simulater"),
        ("semi-spike-lda", in_spikes(batch_tokens=3), "brian2_options has no batch_tokens"),
        ("spike-cgs", in_spikes(n_topics=3), "brian2_options has no n_topics"),
        ("ed-spike-lda", {"brian2_options": {"simulator": 3}}, "simulator must be one of"),
        ("ed-spike-lda", in_spikes(inhibition=3), "inhibition must be one of race, poisson"),
        ("ed-spike-lda", in_spikes(inhibition={}), "inhibition must be one of race, poisson"),
        ("ed-spike-lda", clocked(rate="fast"), "rate must be a positive number (of Hz), or None"),
        ("ed-spike-lda", clocked(rate=True), "rate must be a positive number (of Hz), or None"),
        ("ed-spike-lda", clocked(dt=None), "dt must be a positive number (of seconds)"),
        ("ed-spike-lda", clocked(tick=1), "Poisson has no tick, only rate, dt, normalised"),
        ("ed-spike-lda", clocked(normalised="yes"), "normalised must be True or False"),
        (
            "ed-spike-lda",
            in_spikes(rate=5, inhibition={"kind": "poisson", "rate": 7}),
            "brian2_options says rate twice",
        ),
        (
            "ed-spike-lda",
            in_spikes(inhibition={"kind": "windowed", "latency": [1, 2, 3]}),
            "latency of the inhibition must be one number, or one for each of the 2 topics",
        ),
        (
            "ed-spike-lda",
            in_spikes(inhibition={"kind": "windowed", "latency": 1.5}),
            "latency must be 0 or more ticks",
        ),
        (
            "ed-spike-lda",
            in_spikes(inhibition={"kind": "windowed", "window": 0}),
            "window must be 1 or more ticks",
        ),
        ("ed-spike-lda", {"constraints": "8 bits"}, "constraints must be a Constraints(...)"),
        ("ed-spike-lda", {"constraints": {"seed": "x"}}, "seed must be an integer"),
        ("ed-spike-lda", {"constraints": {"chip_of_topic": [0.5, 1]}}, "chip_of_topic must name"),
        ("ed-spike-lda", {"word_step": "fast"}, "word_step must be None or a step rule"),
        ("ed-spike-lda", {"word_step": {}}, "word_step must be None or a step rule"),
        ("ed-spike-lda", {"word_step": {"rule": "RobbinsMonro", "skale": 1}}, "skale"),
        ("ed-spike-lda", {"gauge": "x"}, "gauge must be None, True or False"),
        ("ed-spike-lda", {"max_iter": True}, "max_iter must be None or an integer"),
        ("ed-spike-lda", {"doc_topic_prior": "x"}, "doc_topic_prior must be a number"),
        ("ed-spike-lda", {"topic_word_prior": "x"}, "topic_word_prior must be a number"),
        ("ed-spike-lda", {"random_state": 3}, "options may not hold random_state"),
        ("semi-spike-lda", {"local_iterations": "x"}, "local_iterations must be an integer"),
        ("svi", {"step": [1, 2]}, "step must be three numbers (a, b, c)"),
        ("svi", {"local_iterations": "x"}, "local_iterations must be an integer"),
        ("svi", {"total_documents": "x"}, "total_documents must be None or an integer"),
        ("sgmcmc", {"step": [0, 0, 0]}, "step must be three numbers (a, b, c) with a > 0"),
    ],
)
def test_wrong_options_get_one_line_however_deep_they_are(train, algorithm, options, message):
    backend = "brian2" if "brian2_options" in options else "rate"
    code, errors, out = train(
        "--algorithm", algorithm, "--backend", backend, "--options", json.dumps(options)
    )
    require_one_line(code, errors, out, message)


def require_one_line(code, errors, out, message):
    assert code == 2
    assert errors.startswith("error: ") and errors.count("\n") == 1
    assert message in errors
    assert not out.exists()


@pytest.mark.parametrize("algorithm", ["ed-spike-lda", "semi-spike-lda", "cgs"])
def test_more_topics_than_memory_holds_are_refused_before_it_is_filled(train, algorithm):
    code, errors, out = train(
        "--algorithm", algorithm, "--backend", "rate", topics=1_000_000_000_000
    )
    require_one_line(code, errors, out, "memory are free. Use at most ")


def test_what_is_refused_depends_on_the_memory_that_is_free(monkeypatch, bars):
    model = EdSpikeLDA(n_topics=1000, max_iter=1, random_state=0)
    n_numbers = 1000 * (bars.n_words + bars.n_docs + base.NUMBERS_PER_TOPIC)
    needed = base.BYTES_PER_WEIGHT["rate"] * n_numbers
    monkeypatch.setattr(base, "available_memory", lambda: needed - 1)
    with pytest.raises(ParameterError, match="Use at most 999 topics"):
        model.fit(bars)
    with pytest.raises(ParameterError, match="Use at most 999 topics"):
        model.partial_fit(bars)
    for memory in (needed, None):  # None: the system does not tell
        monkeypatch.setattr(base, "available_memory", lambda memory=memory: memory)
        model.fit(bars)
