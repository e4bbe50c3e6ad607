"""Does a topic model fit a neuromorphic chip, what must be pruned, what crosses between chips?

================  ===============================================================================
profiles          chips as data (`chips/*.toml`), each number with source and evidence
plan              a network as plain numbers, from sizes or from a trained model
rules             small named checks: (used, maximum) of each resource
feasibility       `check(plan, chip, n_chips)`: which rule binds, what nearby would fit
pruning           private and shared word synapses; pre-train, prune, go on training
fan_in            pruned beside split: neurons, cores, memory, events, packets, energy
workload          rates and private words, measured in a run or synthetic
partition         topics on chips: hypergraph partitioning, index order, random
checker           limits and traffic recomputed from a placement, independently
locality          proof from the Brian objects that spikes alone cross; `network_audit` by name
packets           packets between chips, counted from the spikes that a network has fired
referee           fewer of them for the same law
account, counted  what one race costs: predicted from sizes; counted in a training run
energy, memory    dynamic + static energy of a token; memory of every algorithm
report            all of it for one network and one chip; `report_page` shows it
================  ===============================================================================
"""

from brian_lda.hardware.checker import count_traffic
from brian_lda.hardware.counted import CountedRun, counted_run
from brian_lda.hardware.feasibility import CheckReport, check
from brian_lda.hardware.memory import Memory, memory_table
from brian_lda.hardware.partition import hypergraph_placement, index_placement, random_placement
from brian_lda.hardware.plan import NetworkPlan, plan_of_run
from brian_lda.hardware.profiles import ChipProfile, available_chips, load_chip
from brian_lda.hardware.pruning import (
    PAPER_DOCS_ON_CHIP,
    PAPER_PRIVATE_WORDS,
    prune_and_continue,
    prune_words,
)
from brian_lda.hardware.report import hardware_report
from brian_lda.hardware.report_page import as_page, as_text
from brian_lda.hardware.workload import synthetic_workload, workload_of_run

__all__ = [
    "PAPER_DOCS_ON_CHIP",
    "PAPER_PRIVATE_WORDS",
    "CheckReport",
    "ChipProfile",
    "CountedRun",
    "Memory",
    "NetworkPlan",
    "as_page",
    "as_text",
    "available_chips",
    "check",
    "count_traffic",
    "counted_run",
    "hardware_report",
    "hypergraph_placement",
    "index_placement",
    "load_chip",
    "memory_table",
    "plan_of_run",
    "prune_and_continue",
    "prune_words",
    "random_placement",
    "synthetic_workload",
    "workload_of_run",
]
