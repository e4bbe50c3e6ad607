"""A network with all limits of its chips, in spikes, or without any: one line of the on-chip table.

Packets and swaps are counted in the run, and so are the synapses of the topic neurons.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brian_lda.corpus import holdout_split, load_corpus
from brian_lda.errors import ParameterError
from brian_lda.hardware.partition import index_placement
from brian_lda.hardware.pruning import prune_and_continue
from brian_lda.runs import RunConfig, make_model
from brian_lda.sweeps.experiments import accuracies, with_labels

ON_CHIP = "brian_lda.sweeps.on_chip:on_chip"
NETWORKS = ("whole", "split", "pruned")
LIMITS = ("weight_bits", "packet_loss", "latency", "n_chips")


def on_chip(config: dict[str, Any], *, data_dir: str | None = None) -> dict[str, Any]:
    """Train ed-SpikeLDA in spikes within limits, and judge it.

    Parameters
    ----------
    config : dict
        Fields of `RunConfig`, with `iterations` passes in all; "network": "whole", "split" or
        "pruned"; "n_private" and "docs_on_chip", n and m of a network that is split or pruned;
        "pretraining": passes of the whole network before it is pruned; "rule" of pruning; "limits":
        None or a dict of weight_bits, packet_loss, latency (ticks between the topic neurons and
        the inhibition) and n_chips, which hold the topics in index order. They begin with the
        pruned network: pre-training is ideal.

    Returns
    -------
    dict
        perplexity (held-out halves of the test documents); accuracies if the corpus has labels;
        fan_in, the most synapses of a topic neuron as Brian counts them; reads and writes of
        documents, and those of the plan; packets between chips a token; seconds.
    """
    config = dict(config)
    own = ("network", "n_private", "docs_on_chip", "pretraining", "rule", "limits")
    network, n, m, pretraining, rule, limits = (config.pop(name) for name in own)
    _check(network, limits)
    corpus = with_labels(load_corpus(config["corpus"], data_dir=data_dir))
    parts = holdout_split(corpus, seed=0, use_stored_split=corpus.split is not None)
    model: Any = make_model(RunConfig(**config))
    options, passes = dict(model.brian2_options or {}), config["iterations"]
    if network == "whole":
        model.fit(parts.train)
    elif network == "split":
        model.set_params(constraints={"word_synapses": n, "document_slots": m}).fit(parts.train)
    else:
        model.set_params(max_iter=pretraining).fit(parts.train)
        in_limits, chips = _as_parameters(limits, config["n_topics"])
        model.set_params(constraints=in_limits, brian2_options={**options, **chips})
        model = prune_and_continue(
            model, parts.train, n_passes=passes - pretraining, n_private=n, rule=rule,
            docs_on_chip=m,
        )  # fmt: skip
    found = {
        "perplexity": model.heldout_score(parts.observed, parts.heldout).perplexity,
        "passes": model.n_iter_,
        "seconds": model.history_[-1]["seconds"],
        **_counted(model.trainer_, pretraining if network == "pruned" else 0, limits),
    }
    if corpus.labels is not None and corpus.split is not None:
        found |= accuracies(model, corpus.part("train"), corpus.part("test"))
    return found


def _check(network: str, limits: dict[str, Any] | None) -> None:
    if network not in NETWORKS:
        raise ParameterError(f"network must be one of {NETWORKS}; found {network!r}.")
    if limits is not None and (network != "pruned" or set(limits) != set(LIMITS)):
        raise ParameterError(
            f"limits, {', '.join(LIMITS)}, are those of a pruned network; found {limits!r} for "
            f"{network!r}."
        )


def _as_parameters(
    limits: dict[str, Any] | None, n_topics: int
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """(constraints, further brian2_options) of the estimator."""
    if limits is None:
        return None, {}
    chip_of_topic = index_placement(n_topics, limits["n_chips"]).tolist()
    constraints = {
        "weight_bits": limits["weight_bits"],
        "packet_loss": limits["packet_loss"],
        "chip_of_topic": chip_of_topic,
    }
    inhibition = {"kind": "windowed", "latency": limits["latency"], "window": 1}
    return constraints, {"inhibition": inhibition, "count": True}


def _counted(trainer: Any, first_pass: int, limits: dict[str, Any] | None) -> dict[str, Any]:
    """What the run itself has counted."""
    network, sizes = trainer.network, trainer.network.network.sizes
    limited = network.network.most_synapses  # by Brian's own count; without a limit all have all
    found: dict[str, Any] = {"fan_in": sum(limited.values()) or sizes.n_words + sizes.n_docs}
    if (slots := getattr(network, "slots", None)) is not None:
        plan = trainer.planned_swaps(first_pass, trainer.state()["n_passes"].item())
        found |= {"reads": slots.reads, "writes": slots.writes}
        found |= {"planned_reads": plan.reads, "planned_writes": plan.writes}
    if limits is not None:
        from brian_lda.hardware.packets import count_packets  # imports Brian2: seconds

        placement = index_placement(network.parameters.n_topics, limits["n_chips"])
        packets = count_packets(network.network, placement, limits["n_chips"])
        found["packets"] = float(np.sum(packets.matrix))
        found["ticks"] = float(network.network.counted["words"].sum() / packets.n_tokens)
    return found
