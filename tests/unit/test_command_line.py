"""python -m brian_lda: what it lists, what it clears, what it refuses."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from brian_lda import command_line
from brian_lda.algorithms import ALGORITHMS, SPIKING
from brian_lda.corpus import NAMED_CORPORA

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BRIAN_LDA_CACHE", str(tmp_path))
    (tmp_path / "networks" / "abc").mkdir(parents=True)
    (tmp_path / "networks" / "abc" / "main").write_bytes(b"x" * 2_000_000)
    (tmp_path / "kos").mkdir()
    (tmp_path / "kos" / "docword").write_bytes(b"x" * 1_000_000)
    return tmp_path


def test_help_lists_what_is_here(cache, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    options = [algorithm.option for algorithm in ALGORITHMS]
    for name in (*NAMED_CORPORA, *options, "reuters", "bars", "sims/train.py", "brian2"):
        assert name in text
    assert "compiler:" in text
    assert f"{cache / 'networks'} (1 compiled networks, 2.0 MB; with downloaded corpora 3.0" in text


@pytest.mark.parametrize("found", [True, False])
def test_compiler_is_told(found, cache, monkeypatch):
    monkeypatch.setattr(command_line, "compiler_found", lambda: found)
    assert ("install g++" in command_line.overview()) is not found


def test_clearing_takes_networks_and_leaves_corpora(cache, capsys):
    assert command_line.main(["cache"]) == 0
    assert (cache / "networks").exists()
    assert command_line.main(["cache", "--clear"]) == 0
    assert not (cache / "networks").exists() and (cache / "kos" / "docword").exists()
    assert command_line.main(["cache", "--clear"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["abc", "2.0", "MB"]  # of the list, one line a program
    assert "2.0 MB" in lines[2] and "nothing to clear" in lines[3]


def test_report_of_no_run_is_a_message(tmp_path, capsys):
    assert command_line.main(["report", str(tmp_path)]) == 2
    assert "error:" in capsys.readouterr().err


def test_without_the_repository_there_are_no_scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "SCRIPTS", tmp_path / "none")
    assert "source repository" in command_line.overview()


@pytest.mark.parametrize("algorithm", SPIKING, ids=lambda a: a.name)
def test_a_network_is_shown_as_its_brian_objects_are(algorithm, cache, capsys):
    sizes = ["--words", "7", "--documents", "5", "--topics", "3"]
    assert command_line.main(["show", algorithm.option, *sizes]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{algorithm.title} (models/{algorithm.name}.py), Race")
    for layer in ("words: 7 neurons", "documents: 5 neurons", "topics: 3 neurons", "inhibition: 1"):
        assert f"  {layer}" in text
    for line in ("alpha: words -> topics", "silencing: inhibition -> topics", "latency = -log("):
        assert line in text
    # What stands in the file of the network stands here: the statements of its pathways.
    source = (ROOT / "models" / f"{algorithm.name}.py").read_text(encoding="utf-8")
    learning = [p for p in ("w += h_post*gain_post/g_post", "p += h_post", "w += h_post")
                if p in source]  # fmt: skip
    assert all(statement in text for statement in learning)
    ticks = text[text.index("A TICK") :]
    assert ticks.index("alpha_excite") < ticks.index("topics_fire") < ticks.index("silencing_")


def test_clocked_time_is_another_network(cache, capsys):
    assert command_line.main(["show", "ed-spike-lda", "--inhibition", "poisson"]) == 0
    text = capsys.readouterr().out
    assert ", Poisson" in text and "event tie: n_attempts > 1" in text and "latency" not in text


def test_the_page_of_a_network_is_one_file_with_a_drawing(cache, tmp_path, capsys):
    page = tmp_path / "network.html"
    assert command_line.main(["show", "semi-spike-lda", "--html", str(page)]) == 0
    html = page.read_text(encoding="utf-8")
    assert "data:image/svg+xml" in html and "memory: tokens" in html
    assert "http" not in html.replace("http://www.w3.org", "")
    assert command_line.main(["show", "ed-spike-lda", "--html", str(tmp_path / "no" / "x")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "cgs"], "a baseline without a network"),
        (["show", "nonsense"], "algorithm must be one of"),
        (["show", "ed-spike-lda", "--inhibition", "x"], "inhibition must be one of race"),
        (["show", "ed-spike-lda", "--topics", "0"], "n_topics must be an integer of at least 1"),
        (["compare", "cgs"], "a baseline without a network"),
        (["compare", "ed-spike-lda", "--corpus", "nowhere"], "Unknown corpus"),
    ],
)
def test_mistakes_get_one_line(arguments, message, cache, capsys):
    assert command_line.main(arguments) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ") and errors.count("\n") == 1 and message in errors


def test_comparing_hands_over_to_compare_twins(cache, tmp_path, monkeypatch, capsys):
    asked = {}

    class Comparison:
        def __str__(self):
            return "AGREE"

        def plot(self):
            return Figure()

    def compare_twins(model, corpus, **arguments):
        asked.update(arguments, model=model, corpus=corpus.name)
        return Comparison()

    monkeypatch.setattr("brian_lda.comparison.compare_twins", compare_twins)
    options = ["--corpus", "bars", "--topics", "4", "--seeds", "2", "--simulator", "numpy"]
    options += ["--figure", str(tmp_path / "twins.png")]
    assert command_line.main(["compare", "semi-spike-lda", *options]) == 0
    assert "AGREE" in capsys.readouterr().out and (tmp_path / "twins.png").is_file()
    assert asked["corpus"] == "bars" and asked["seeds"] == 2
    model = asked["model"]
    assert type(model).__name__ == "SemiSpikeLDA" and model.n_topics == 4
    assert model.brian2_options == {"simulator": "numpy"}
