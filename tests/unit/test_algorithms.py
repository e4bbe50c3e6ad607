"""The registry of algorithms: every path leads somewhere, and nothing else lists algorithms."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import brian_lda
from brian_lda import estimators
from brian_lda.algorithms import ALGORITHMS, SPIKING, Algorithm, find_algorithm
from brian_lda.errors import ParameterError
from brian_lda.estimators.base import TopicModel
from brian_lda.hardware.account import race_account
from brian_lda.hardware.memory import memory_table
from brian_lda.hardware.network_audit import audit_algorithm
from brian_lda.hardware.plan import NetworkPlan
from brian_lda.runs import RunConfig, make_model
from brian_lda.runs.run import EVALUATE_EVERY
from study.arguments import algorithm_among
from study.priors import lambda_of, prior_of

ROOT = Path(brian_lda.__file__).resolve().parent
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
every_network = pytest.mark.parametrize("algorithm", SPIKING, ids=lambda a: a.name)


def class_name(title: str) -> str:
    """ed-SpikeLDA -> EdSpikeLDA."""
    return "".join(part[0].upper() + part[1:] for part in title.split("-"))


def test_the_five_networks_and_the_baselines():
    assert [a.name for a in SPIKING] == [
        "spike_cgs", "ed_spike_lda", "ed_spike_plsi", "du_spike_lda", "semi_spike_lda",
    ]  # fmt: skip
    assert [a.name for a in ALGORITHMS if not a.is_spiking] == ["cgs", "svi", "sgmcmc"]
    for field in ("name", "title", "option", "estimator"):
        values = [getattr(a, field) for a in ALGORITHMS]
        assert len(set(values)) == len(values), field


@every_network
def test_one_name_in_every_room(algorithm):
    assert algorithm.title.lower().replace("-", "") == algorithm.name.replace("_", "")
    assert algorithm.option == algorithm.name.replace("_", "-")
    name = class_name(algorithm.title)
    assert algorithm.estimator == f"brian_lda.estimators.{algorithm.name}.{name}"
    assert algorithm.twin == f"brian_lda.reference.{algorithm.name}.{name}Reference"
    assert algorithm.network == f"brian_lda.models.{algorithm.name}"
    assert algorithm.load_network().build


@every_algorithm
def test_every_path_leads_to_what_it_names(algorithm):
    estimator = algorithm.load_estimator()
    assert issubclass(estimator, TopicModel)
    assert estimator.__name__ == algorithm.estimator_name
    assert f"{estimator.__module__}.{estimator.__name__}" == algorithm.estimator  # where it lives
    assert getattr(brian_lda, algorithm.estimator_name) is estimator
    assert estimator.spiking == algorithm.is_spiking
    twin = algorithm.load_twin()
    if algorithm.twin is not None:
        assert f"{twin.__module__}.{twin.__name__}" == algorithm.twin
        assert getattr(estimator, "_twin", twin) is twin  # the estimator runs the same one
    if not algorithm.is_spiking:
        with pytest.raises(ParameterError, match="baseline without a spiking network"):
            algorithm.load_network()


@every_algorithm
def test_the_estimator_is_what_the_registry_says(algorithm):
    known = algorithm.load_estimator()._get_param_names()
    assert ("doc_topic_prior" in known) == (algorithm.prior != "none")
    assert ("batch_size" in known) == (algorithm.iteration == "mini-batch")
    assert EVALUATE_EVERY[algorithm.iteration] >= 1
    model = make_model(RunConfig(algorithm.name, prior=prior_of(algorithm.name, 0.1)))
    model._check_parameters()  # lambda has the offset that it needs
    if algorithm.prior == "map":
        with pytest.raises(ParameterError, match="> 1"):
            make_model(RunConfig(algorithm.name, prior=0.1))._check_parameters()
    expected = None if algorithm.prior == "none" else 0.1
    assert lambda_of(algorithm.name, prior_of(algorithm.name, 0.1)) == expected


def test_all_estimators_are_registered():
    public = {
        name
        for name in estimators.__all__
        if isinstance(found := getattr(estimators, name), type) and issubclass(found, TopicModel)
    }
    assert public - {"TopicModel"} == {a.estimator_name for a in ALGORITHMS}
    assert public <= set(brian_lda.__all__)


@every_network
def test_the_hardware_tools_take_every_network_from_here(algorithm):
    sizes = {"n_topics": 4, "n_words": 9, "n_docs": 5, "n_tokens": 40}
    assert [m.algorithm for m in memory_table(**sizes)] == [a.name for a in SPIKING]
    plan = NetworkPlan(algorithm.name, 4, 9, 5)
    assert (plan.title, plan.keeps_all_documents) == (
        algorithm.title, algorithm.keeps_all_documents,
    )  # fmt: skip
    assert race_account(algorithm.name, n_topics=4, n_words=9, doc_length=8).spikes >= 3
    assert audit_algorithm(algorithm.name).n_statements > 0


def test_a_sixth_network_needs_no_other_table(monkeypatch):
    """A line in the registry is enough for sizes, costs, priors and the command line."""
    sixth = Algorithm(
        "sixth", "Sixth", "brian_lda.estimators.semi_spike_lda.SemiSpikeLDA",
        "brian_lda.reference.semi_spike_lda.SemiSpikeLDAReference",
        "brian_lda.models.semi_spike_lda", "mini-batch", "sampler",
        remembers_topics=True,
    )  # fmt: skip
    for name, table in (("ALGORITHMS", ALGORITHMS), ("SPIKING", SPIKING)):
        for module in list(sys.modules.values()):
            if getattr(module, name, None) is table and module.__name__.startswith("brian_lda"):
                monkeypatch.setattr(module, name, (*table, sixth))
    sizes = {"n_topics": 4, "n_words": 9}
    account, semi = (race_account(n, **sizes, doc_length=8) for n in ("sixth", "semi_spike_lda"))
    assert account.plastic_writes == semi.plastic_writes
    memory = memory_table(**sizes, n_docs=5, n_tokens=40)
    assert memory[-1].algorithm == "sixth" and memory[-1].total == memory[-2].total
    assert not NetworkPlan("sixth", 4, 9, 5).keeps_all_documents
    assert prior_of("sixth", 0.1) == 0.1
    assert type(make_model(RunConfig("sixth"))).__name__ == "SemiSpikeLDA"
    assert audit_algorithm("sixth").n_statements > 0


def test_no_other_table_is_keyed_by_algorithms():
    """Nothing in the package lists the five names again, under either spelling."""
    names = {a.name for a in SPIKING} | {a.option for a in SPIKING}
    names |= {a.estimator_name for a in SPIKING} | {a.title for a in SPIKING}
    found = []
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            keys = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            texts = {key.value for key in keys if isinstance(key, ast.Constant)}
            if len(texts & names) > 2 and path.name != "__init__.py":  # there, `__all__`
                found.append(f"{path}:{node.lineno}")
    assert found == []


def test_names_on_the_command_line_have_hyphens():
    read = algorithm_among(SPIKING)
    assert read("ed-spike-lda") == "ed_spike_lda"
    for wrong in ("ed_spike_lda", "cgs", "spike-lda"):
        with pytest.raises(Exception, match=f"expected one of spike-cgs, .*; found '{wrong}'"):
            read(wrong)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ParameterError, match="one of spike_cgs, .*sgmcmc; found 'ed-spike-lda'"):
        find_algorithm("ed-spike-lda")
    with pytest.raises(ParameterError, match="found 'svi', a baseline without a network"):
        find_algorithm("svi", SPIKING)


@pytest.mark.complete  # quick: test_rooms.py, of the whole library
def test_the_registry_does_not_import_brian():
    code = (
        "import sys, brian_lda, brian_lda.algorithms as a; "
        "[x.load_estimator() for x in a.ALGORITHMS]; sys.exit('brian2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_old_names_are_gone():
    for old in ("SpikeLDA", "SpikePLSI"):
        assert not hasattr(brian_lda, old)
    for module in ("estimators.spike_lda", "estimators.baselines", "reference.delayed"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"brian_lda.{module}")
