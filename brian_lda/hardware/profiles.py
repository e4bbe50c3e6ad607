"""Chips as data: `chips/NAME.toml`, one file per chip, or a file of the user's own.

Each figure of a chip is a table with three entries, for example::

    [fan_in]
    value = 256
    evidence = "P"
    source = "Xiao, Chen & Zhu (2018), appendix 'Network pruning'"

Evidence: P the paper's own, S read in the maker's operating software, Q quoted second-hand from the
primary paper, D derived, U the user's own. What is not known is left out; a rule that needs it is
then not checked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from brian_lda.errors import ChipProfileError

EVIDENCE = {
    "P": "the paper's own",
    "S": "read in the maker's operating software",
    "Q": "quoted second-hand from the primary paper",
    "D": "derived",
    "U": "the user's own",
}
LARGEST_FIGURE = 1e18  # beyond any chip; what is computed from it must not overflow
SMALLEST_FAN_IN = 3  # a private word, the shared synapse of all others, a document

# field: (kind, smallest value, what it says)
FIELDS: dict[str, tuple[type, float, str]] = {
    "fan_in": (int, SMALLEST_FAN_IN, "synapses onto one neuron"),
    "axons_per_core": (int, SMALLEST_FAN_IN, "different inputs of all neurons of a core"),
    "neurons_per_core": (int, 1, "neurons on a core"),
    "cores": (int, 1, "cores on a chip"),
    "synapses": (int, SMALLEST_FAN_IN, "synapses on a chip"),
    "memory_bytes": (int, 1, "memory of a chip for synapses, bytes"),
    "synapse_bytes_per_core": (int, 1, "memory of a core for the synapses of its neurons, bytes"),
    "core_memory_bytes": (int, 1, "memory of a core for the state of its neurons, bytes"),
    "weight_bits": (int, 1, "bits of a weight"),
    "weight_format": (str, 0, "'fixed' or 'float'"),
    "learns": (bool, 0, "whether synapses learn on the chip"),
    "fan_out": (int, 1, "neurons that one neuron can reach"),
    "routing_entries": (int, 1, "entries of a chip's routing table"),
    "external_memory": (bool, 0, "whether synapses can be swapped out and in"),
    "external_memory_bytes": (int, 1, "size of the external memory, bytes"),
    "synaptic_event_joules": (float, 0, "energy of one synaptic event"),
    "plastic_update_joules": (float, 0, "energy of one change of a weight"),
    "neuron_active_joules": (float, 0, "energy of one update of a neuron that fires"),
    "neuron_idle_joules": (float, 0, "energy of one update of a neuron that does not"),
    "packet_joules": (float, 0, "energy of one packet between chips"),
    "hop_joules": (float, 0, "energy of one spike over one hop"),
    "average_event_joules": (float, 0, "energy of an event, static power included, at one rate"),
    "static_watts": (float, 0, "power of a chip that does nothing"),
    "busy_core_watts": (float, 0, "further power of each core at work"),
}
REQUIRED = ("cores", "learns", "external_memory")
CAPACITIES = ("fan_in", "axons_per_core", "synapses", "memory_bytes", "synapse_bytes_per_core")


@dataclass(frozen=True)
class Figure:
    """A number of a chip, with where it comes from."""

    value: Any
    evidence: str
    source: str


@dataclass(frozen=True)
class ChipProfile:
    """What is known of a chip; `figures` holds only known fields (see `FIELDS`)."""

    name: str
    description: str
    figures: Mapping[str, Figure]

    def get(self, field: str) -> Any:
        """The value of a field, None where it is not known."""
        if field not in FIELDS:
            raise KeyError(f"{field} is no field of a chip profile; known: {', '.join(FIELDS)}.")
        figure = self.figures.get(field)
        return None if figure is None else figure.value

    def evidence(self, field: str) -> str:
        """Label of a field's evidence, "" where it is not known."""
        return self.figures[field].evidence if field in self.figures else ""


def available_chips() -> list[str]:
    """Names of the chips that come with the package."""
    return sorted(_shipped())


def load_chip(name_or_path: str | Path) -> ChipProfile:
    """Read the profile of a chip.

    Parameters
    ----------
    name_or_path : str or Path
        A name of `available_chips()`, or the path of a TOML file (ends in .toml).

    Raises
    ------
    ChipProfileError
        Names the file and the field.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".toml"):
        file = Path(name_or_path)
    else:  # looked up in the list, never joined to a path
        shipped = _shipped()
        if text not in shipped:
            raise ChipProfileError(
                f"there is no chip {text!r}; known: {', '.join(sorted(shipped))}. A profile of "
                "your own is given as the path of its .toml file."
            )
        file = shipped[text]
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ChipProfileError(f"cannot read the chip profile {file}: {error}.") from error
    except (ValueError, RecursionError) as error:  # numbers of 4300 digits, a thousand brackets
        raise ChipProfileError(f"{file} is not TOML: {error}.") from error
    return parse_chip(data, str(file.name))


def parse_chip(data: Mapping[str, Any], file: str) -> ChipProfile:
    """A profile from plain data; `file` is named in errors."""
    data = dict(data)
    texts = {}
    for field in ("name", "description"):
        texts[field] = data.pop(field, None)
        if not isinstance(texts[field], str) or not texts[field]:
            raise ChipProfileError(f"{file}: {field} must be a text; found {texts[field]!r}.")
    unknown = sorted(set(data) - set(FIELDS))
    if unknown:
        raise ChipProfileError(
            f"{file}: unknown field {unknown[0]}; known fields: {', '.join(FIELDS)}."
        )
    figures = {field: _figure(file, field, table) for field, table in data.items()}
    chip = ChipProfile(texts["name"], texts["description"], figures)
    missing = [field for field in REQUIRED if field not in figures]
    if missing:
        raise ChipProfileError(f"{file}: {missing[0]} is missing ({FIELDS[missing[0]][2]}).")
    if not any(field in figures for field in CAPACITIES):
        raise ChipProfileError(
            f"{file}: no limit on synapses at all; give at least one of {', '.join(CAPACITIES)}."
        )
    _check_consistent(chip, file)
    return chip


def _figure(file: str, field: str, table: Any) -> Figure:
    kind, smallest, meaning = FIELDS[field]
    if not isinstance(table, dict) or set(table) != {"value", "evidence", "source"}:
        found = sorted(table) if isinstance(table, dict) else repr(table)
        raise ChipProfileError(
            f"{file}: {field} must be a table with value, evidence and source; found {found}."
        )
    value, evidence, source = table["value"], table["evidence"], table["source"]
    is_accepted = isinstance(value, (int, float) if kind is float else kind)
    if not is_accepted or (isinstance(value, bool) and kind is not bool):
        raise ChipProfileError(
            f"{file}: {field} ({meaning}) must be a {kind.__name__}; found {value!r}."
        )
    if kind in (int, float) and not smallest <= value < LARGEST_FIGURE:
        raise ChipProfileError(
            f"{file}: {field} ({meaning}) must be at least {smallest}; found {value!r}."
            + (
                " A topic neuron has a private word, the shared synapse of all other words and a "
                "document synapse: less cannot hold a topic model."
                if smallest == SMALLEST_FAN_IN
                else ""
            )
        )
    if not isinstance(evidence, str) or evidence not in EVIDENCE:
        raise ChipProfileError(
            f"{file}: evidence of {field} must be one of {', '.join(EVIDENCE)}; found {evidence!r}."
        )
    if not isinstance(source, str) or not source.strip():
        raise ChipProfileError(f"{file}: source of {field} must be a text; found {source!r}.")
    return Figure(value, evidence, source)


def _check_consistent(chip: ChipProfile, file: str) -> None:
    """Refuse fields that cannot both be true."""

    def contradict(first: str, second: str, why: str) -> None:
        raise ChipProfileError(
            f"{file}: {first} = {chip.get(first)!r} contradicts {second} = {chip.get(second)!r}: "
            f"{why}."
        )

    get = chip.get
    if get("weight_format") not in (None, "fixed", "float"):
        raise ChipProfileError(
            f"{file}: weight_format must be 'fixed' or 'float'; found {get('weight_format')!r}."
        )
    if get("weight_format") == "float" and get("weight_bits") not in (None, 16, 32, 64):
        contradict("weight_format", "weight_bits", "a float has 16, 32 or 64 bits")
    if get("synapses") and get("fan_in") and get("fan_in") > get("synapses"):
        contradict("fan_in", "synapses", "one neuron would have more synapses than the chip")
    if not get("external_memory") and get("external_memory_bytes"):
        contradict("external_memory", "external_memory_bytes", "there is none to have a size")
    if not get("learns") and get("plastic_update_joules"):
        contradict("learns", "plastic_update_joules", "no weight ever changes")
    per_core, memory = get("synapse_bytes_per_core"), get("memory_bytes")
    if per_core and memory and per_core * get("cores") < memory:
        contradict("memory_bytes", "synapse_bytes_per_core", "all cores together have less")


def _shipped() -> dict[str, Any]:
    folder = resources.files("brian_lda.hardware") / "chips"
    return {f.name[:-5]: f for f in folder.iterdir() if f.name.endswith(".toml")}
