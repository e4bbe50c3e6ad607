"""The page of results: every number in the column of its limit."""

from study.results_page import _constraints, _memory, _pm, _pruning


def row(corpus, limit, value, mean, measure="perplexity"):
    return {
        "corpus": corpus, "backend": "rate", "K": "50", "passes": "30", "measure": measure,
        "limit": limit, "value": value, "n_runs": "3", "mean": str(mean), "spread": "2.25",
    }  # fmt: skip


def test_limits_of_chips_are_columns_and_corpora_lines():
    rows = [
        row("kos", "none", "", 1500), row("kos", "weight_bits", "4", 1800.4),
        row("kos", "packet_loss", "0.05", 1600), row("20ng", "none", "", 68.04, "accuracy"),
        row("20ng", "packet_loss", "0.05", 61.26, "accuracy"),
        row("20ng", "dead_synapses", "0.2", 59, "accuracy"),
    ]  # fmt: skip
    header, _, kos, newsgroups = _constraints(rows).splitlines()
    assert header == "|  | without limits | 4 bits | 5 % lost | 20 % dead |"
    where = "K = 50, rate level, 30 passes"
    assert kos == f"| KOS, {where}: perplexity | 1500 ± 2 | 1800 ± 2 | 1600 ± 2 |  |"
    assert newsgroups == (f"| 20NG, {where}: accuracy | 68.0 ± 2.2 |  | 61.3 ± 2.2 | 59.0 ± 2.2 |")


def test_what_was_counted_follows_the_memory_and_only_where_it_was():
    sizes = dict.fromkeys(
        ("weights", "eligibility", "local_weights", "assignments", "corpus", "total"), "2000000"
    )
    counts = {
        "passes": "200", "races": "84000000", "spikes": "3", "synaptic_events": "149",
        "plastic_writes": "53", "packets": "6.25", "dynamic_joules": "1.044", "cpu_seconds": "99.6",
    }  # fmt: skip
    row = {"corpus": "kos", "K": "50", "algorithm": "ed_spike_plsi"}
    row |= {f"{name}_bytes": value for name, value in sizes.items()}
    counted = row | {f"counted_{name}": value for name, value in counts.items()}
    assert len(_memory([row]).splitlines()) == 3
    lines = _memory([row | {"counted_races": ""}, counted]).splitlines()
    assert lines[4] == "" and len(lines) == 8
    cells = "KOS | ed-SpikePLSI | 200 | 84.0 | 3.00 | 149.00 | 53.00 | 6.25 | 1.04 | 100"
    assert lines[7] == f"| {cells} |"


def test_one_run_has_no_spread():
    row = {"accuracy": "70.52", "accuracy_spread": "0", "n_runs": "1"}
    assert _pm(row, "accuracy", 1) == "70.5"
    assert _pm(row | {"n_runs": "3", "accuracy_spread": "0.26"}, "accuracy", 1) == "70.5 ± 0.3"


def test_perplexity_of_pruned_networks_has_a_column_where_some_run_measured_it():
    accuracies = {"binary_accuracy": "75.04", "accuracy": "71.25"}
    spreads = {f"{name}_spread": "1" for name in accuracies}
    papers = {"paper_binary_accuracy": "73.0", "paper_accuracy": "60.0"}
    row = {"network": "p-15", "n_topics": "100", "n_runs": "3", **accuracies, **spreads, **papers}
    assert "perplexity" not in _pruning([row, {**row, "perplexity": ""}])
    measured = {"perplexity": "3453.2", "perplexity_spread": "2.6"}
    header, _, first, second = _pruning([row, row | measured]).splitlines()
    assert header == "|  | K | binary | paper | 20 classes | paper | perplexity |"
    assert first == "| p-15 | 100 | 75.0 ± 1.0 | 73.0 | 71.2 ± 1.0 | 60.0 |  |"
    assert second.endswith("| 3453 ± 3 |")
