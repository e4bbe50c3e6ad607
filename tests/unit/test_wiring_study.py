"""What studies ask for: the paper's numbers, in the runs that are carried out.

Numbers of the paper are quoted from Xiao, Chen & Zhu (AAAI 2018); "appendix" is its section
"Details of the experiments".
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from brian_lda.runs import RunConfig, make_model
from brian_lda.step_rules import AdaGrad, RMSProp, VarianceTracking
from brian_lda.sweeps import experiments
from study.classification import classification_config
from study.comparison import _runs
from study.paper_settings import large_corpora, small_corpora
from study.script import SEEDS, Study

SIMS = Path(__file__).resolve().parents[2] / "sims"
# Appendix, Tab. "Dataset: NIPS", "Dataset: Nytimes", "Dataset: PubMed". In each row: the
# algorithm; varphi; lambda; "a (1 + t/b)^-c" or "RMSP with eta = ..."; local iterations.
SAMPLER = (0.01, 0.1, 0.2, 0.5, 0.75, 1.0)  # "0.01, 0.1, 0.2, 0.5, 0.75, 1"
MAP = (1.01, 1.1, 1.2, 1.5, 1.75, 2.0)  # "1.01, 1.1, 1.2, 1.5, 1.75, 2"
VARIATIONAL = (0.51, 0.6, 0.7, 1.0, 1.25, 1.5)  # "0.51, 0.6, 0.7, 1, 1.25, 1.5"
PAPER = {
    "nips": (
        {"n_topics": 50, "iterations": 1000},  # "K = 50, global iterations: 1000"
        ("svi", 0.51, VARIATIONAL, {"step": [0.1, 10000.0, 0.7]}, 5),
        ("sgmcmc", 0.01, SAMPLER, {"step": [0.05, 1000.0, 0.7]}, 10),
        ("semi_spike_lda", 0.0, SAMPLER, {"word_step": 0.5}, 10),
        ("du_spike_lda", 0.0, MAP, {"word_step": 0.5, "doc_step": 1.0}, 30),
    ),
    "nytimes": (
        # "K = 50, global iterations: 3000, mini-batch size: 1000"
        {"n_topics": 50, "iterations": 3000, "batch_size": 1000},
        ("svi", 0.51, VARIATIONAL, {"step": [0.01, 10000.0, 0.6]}, 30),
        ("sgmcmc", 0.01, SAMPLER, {"step": [0.005, 1000.0, 0.7]}, 30),
        ("semi_spike_lda", 0.0, SAMPLER, {"word_step": 0.1}, 30),
        ("du_spike_lda", 0.0, MAP, {"word_step": 0.05, "doc_step": 1.0}, 30),
    ),
    "pubmed": (
        # "K = 50, global iterations: 5000, mini-batch size: 1000"
        {"n_topics": 50, "iterations": 5000, "batch_size": 1000},
        ("svi", 0.51, VARIATIONAL, {"step": [0.05, 10000.0, 0.6]}, 30),
        ("sgmcmc", 0.01, SAMPLER, {"step": [0.0001, 1000.0, 0.7]}, 30),
        ("semi_spike_lda", 0.0, SAMPLER, {"word_step": 0.05}, 30),
        ("du_spike_lda", 0.0, MAP, {"word_step": 0.05, "doc_step": 1.0}, 30),
    ),
}


class FakeStudy:
    """Takes note of the runs instead of carrying them out."""

    def __init__(self, scale="paper"):
        self.options = SimpleNamespace(data_dir=None, scale=scale, topics=None)
        self.backend = self.unfinished = None
        self.seeds = list(range(SEEDS))
        self.tasks = []

    task = Study.task

    def at_hand(self, corpora):
        return list(corpora)

    def sweep(self, tasks):
        self.tasks += tasks
        return SimpleNamespace(results={}, finished=list)

    def write(self, *arguments):
        pass


def script(name):
    spec = importlib.util.spec_from_file_location(name, SIMS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configs_of(setting):
    study = FakeStudy()
    _runs(study, setting, setting.lamdas)
    return [task.config for task in study.tasks]


@pytest.mark.parametrize("corpus", list(PAPER))
def test_runs_of_the_large_corpora_have_the_numbers_of_the_appendix(corpus):
    runs = [config for config in configs_of(large_corpora("paper")) if config["corpus"] == corpus]
    common, *rows = PAPER[corpus]
    for config in runs:
        assert (config["n_topics"], config["iterations"]) == (
            common["n_topics"], common["iterations"],
        )  # fmt: skip
        assert config["options"]["batch_size"] == common.get("batch_size", 50)  # ours on NIPS
    for algorithm, varphi, lamdas, steps, local_iterations in rows:
        steps = {
            name: step if name == "step" else {"rule": "RMSProp", "decay": 0.9, "epsilon": 1e-8,
                                               "eta": step}
            for name, step in steps.items()
        }  # fmt: skip
        if algorithm.endswith("spike_lda"):
            steps["integrator"] = "euler"  # as printed
        found = [
            config
            for config in runs
            if config["algorithm"] == algorithm
            and steps == {n: v for n, v in config["options"].items() if n in steps} != {}
        ]
        assert {(c["prior"], c["seed"]) for c in found} == {
            (x, s) for x in lamdas for s in (0, 1, 2)
        }
        assert len(found) == 3 * len(lamdas)  # "averaged from 3 different runs" (Sec. 4)
        assert {c["word_prior"] for c in found} == {varphi}
        assert {c["options"]["local_iterations"] for c in found} == {local_iterations}
    ours = [c for c in runs if c["options"].keys() == {"batch_size", "local_iterations"}]
    assert {c["algorithm"] for c in ours} == {"semi_spike_lda", "du_spike_lda"}
    assert {c["options"]["local_iterations"] for c in ours} == {5}
    assert {c["word_prior"] for c in ours} == {None}
    assert len(runs) == 18 * (len(rows) + 2)


def test_runs_of_the_small_corpora_have_the_numbers_of_the_figures():
    """Fig. "Impact of lambda. Small datasets": KOS, 20NG, Enron, K = 200; lambda (1 + lambda)."""
    runs = configs_of(small_corpora("paper"))
    assert {c["corpus"] for c in runs} == {"kos", "20ng", "enron"}
    assert {c["n_topics"] for c in runs} == {200} and {c["seed"] for c in runs} == {0, 1, 2}
    priors = {a: {c["prior"] for c in runs if c["algorithm"] == a} for a in
              ("cgs", "ed_spike_lda", "ed_spike_plsi")}  # fmt: skip
    # "For Enron, c=24 when lambda = 1.01, c=72 when lambda = 1.05, c=2.7 when lambda = 1.1"
    assert {1.01, 1.05, 1.1} < priors["ed_spike_lda"]
    assert {round(prior + 1.0, 9) for prior in priors["cgs"]} == priors["ed_spike_lda"]
    assert priors["ed_spike_plsi"] == {None}  # "ed-SpikePLSI has no lambda to tune"
    assert all(c["evaluate_every"] == c["iterations"] // 20 for c in runs)


def test_every_run_of_the_papers_figures_can_be_made():
    for setting in (large_corpora, small_corpora):
        for scale in ("tiny", "small", "paper"):
            for config in configs_of(setting(scale)):
                make_model(RunConfig(**config))._check_parameters()


def test_classification_has_the_papers_priors_and_svm_rows():
    """ "We set lambda = 0.05 for CGS and lambda = 1.05 for ed-SpikeLDA" (Sec. 4)."""
    table = script("table_classification")
    assert table.SCALES["paper"].lamdas == (0.05,)
    for algorithm, prior in (("cgs", 0.05), ("ed_spike_lda", 1.05), ("semi_spike_lda", 0.05)):
        config = classification_config(algorithm, "20ng", 100, 0.05, 0.01, 7, 3, "validation")
        assert config == {
            "algorithm": algorithm, "corpus": "20ng", "n_topics": 100, "prior": prior,
            "word_prior": 0.01, "iterations": 7, "seed": 3, "options": {},
            "judged_on": "validation",
        }  # fmt: skip
    # Tab. "Classification accuracy on 20NG": binary and multi-class, mean and deviation
    assert table.PAPER["cgs"] == {"binary_accuracy": (72.8, 3.8), "accuracy": (63.5, 0.2)}
    assert table.PAPER["ed_spike_lda"] == {"binary_accuracy": (72.5, 2.4), "accuracy": (57.6, 3.3)}


def test_the_table_of_the_papers_own_rules_has_the_rules_of_the_appendix():
    """ "Adaptive step size schedule": which rule for which synapse of which algorithm."""
    models = script("table_quality").models(50, 10)
    rules = {
        "ed-spike-plsi-paper": (VarianceTracking(), VarianceTracking()),
        "ed-spike-lda-paper": (VarianceTracking(), AdaGrad()),
        "du-spike-lda-paper": (RMSProp(eta=0.5), RMSProp(eta=1.0)),  # Tab. "Dataset: NIPS"
        "semi-spike-lda-paper": (RMSProp(eta=0.5), None),
    }
    local_iterations = {"du-spike-lda-paper": 30, "semi-spike-lda-paper": 10}  # same table
    for name, expected in rules.items():
        model = models[name]
        assert (model.word_step, model.doc_step) == expected, name
        assert model.integrator == "euler" and getattr(model, "topic_word_prior", 0.0) == 0.0
        assert model.n_topics == 50
        assert getattr(model, "local_iterations", None) == local_iterations.get(name)


def test_the_papers_rule_is_the_same_in_the_table_and_in_the_figures():
    """Where a figure at a smaller scale cuts its local iterations, the line says so."""
    models = script("table_quality").models(50, 10)
    for scale, note in (
        ("paper", "paper's steps"), ("small", "paper's steps, T = 5"),
        ("tiny", "paper's steps, T = 2"),
    ):  # fmt: skip
        setting = large_corpora(scale)
        for algorithm in ("semi_spike_lda", "du_spike_lda"):
            first_corpus = next(iter(setting.variants.values()))
            (variant,) = [
                v for v in first_corpus if v.algorithm == algorithm and "word_step" in v.options
            ]
            assert variant.note == note
            config = RunConfig(
                algorithm=algorithm, backend="rate", options=variant.options,
                word_prior=variant.word_prior,
            )  # fmt: skip
            of_figure = make_model(config).get_params()
            of_table = models[f"{algorithm.replace('_', '-')}-paper"].get_params()
            differing = {name for name in of_table if of_table[name] != of_figure[name]}
            allowed = {"n_topics", "batch_size", "max_iter", "random_state"}
            assert differing <= allowed | (set() if scale == "paper" else {"local_iterations"})


def test_the_table_of_pruning_asks_for_the_papers_networks():
    """ "p-15", "p-20": pre-training takes 15 and 20 iterations; 200 private words (appendix)."""
    table, study = script("table_pruning"), FakeStudy()
    table.figure = lambda scale, rows: None
    table.make(study)
    kinds = {(t.function, t.config["algorithm"]) for t in study.tasks}
    configs = {
        (t.function, t.config["algorithm"], t.config["n_topics"], t.config["seed"]): t.config
        for t in study.tasks
    }
    assert len(kinds) == 3 and len(configs) == len(study.tasks) == 3 * 2 * 3  # kinds, K, seeds
    for (function, algorithm, _, _), config in configs.items():
        assert config["judged_on"] == "test" and config["corpus"] == "20ng"
        if algorithm == "cgs":
            assert (function, config["prior"]) == (experiments.CLASSIFY, 0.05)
            continue
        assert (config["iterations"], config["prior"]) == (100, 1.05)
        if function == experiments.PRUNE:
            assert config["pretraining"] == [15, 20] and config["n_private"] == 200
            assert config["docs_on_chip"] == 50
        else:
            fan_in = {"word_synapses": 200, "document_slots": 50}
            assert config["options"] == {"constraints": fan_in}
    # Tab. "Classification on 20NG, where the p-x means pre-training takes x iterations"
    assert table.PAPER == {
        "CGS": (72.8, 63.5), "ed-SpikeLDA": (72.5, 57.6), "p-15": (73.0, 60.0),
        "p-20": (73.8, 62.2),
    }  # fmt: skip
