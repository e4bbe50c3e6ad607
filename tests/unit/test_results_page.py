"""The page of results: every number in the column of its limit."""

from study.results_page import _constraints


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
