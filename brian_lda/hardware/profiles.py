"""Chips as data: `chips/NAME.toml`, one file per chip, or a file of the user's own.

Each figure of a chip is a table, for example::

    [synaptic_event_joules]
    value = 23.6e-12
    unit = "J"
    condition = "0.75 V, pre-silicon"
    evidence = "R"
    source = "Davies et al. (2018), IEEE Micro 38(1), Table 2 (p. 96)"

`unit` is the one that the field has (`FIELDS`), so that a figure in pJ is not taken for one in J.
`condition` says under which voltage, rate or load the figure holds; energy and power need one.
`evidence` is a label of `EVIDENCE`. A figure that is quoted second-hand (Q) also says, in
`looked_for`, which primary source was looked for and not found. What is not known is left out; a
rule that needs it is then not checked.
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
    "P": "the AAAI paper's own",
    "R": "read in the primary paper",
    "S": "read in the maker's software or data sheet",
    "D": "derived from such figures",
    "Q": "quoted second-hand; the primary source was looked for and not found",
    "U": "the user's own",
}
LARGEST_FIGURE = 1e18  # beyond any chip; what is computed from it must not overflow
SMALLEST_FAN_IN = 3  # a private word, the shared synapse of all others, a document


@dataclass(frozen=True)
class Field:
    """What a profile can say of a chip."""

    kind: type
    smallest: float
    unit: str
    meaning: str


FIELDS = {
    "fan_in": Field(int, SMALLEST_FAN_IN, "synapses", "synapses onto one neuron"),
    "axons_per_core": Field(int, SMALLEST_FAN_IN, "axons", "different inputs of a core's neurons"),
    "neurons_per_core": Field(int, 1, "neurons", "neurons on a core"),
    "cores": Field(int, 1, "cores", "cores on a chip"),
    "synapses": Field(int, SMALLEST_FAN_IN, "synapses", "synapses on a chip"),
    "memory_bytes": Field(int, 1, "bytes", "memory of a chip for synapses"),
    "synapse_bytes_per_core": Field(int, 1, "bytes", "memory of a core for its neurons' synapses"),
    "core_memory_bytes": Field(int, 1, "bytes", "memory of a core for its neurons' state"),
    "weight_bits": Field(int, 1, "bits", "bits of a weight"),
    "weight_format": Field(str, 0, "format", "'fixed' or 'float'"),
    "learns": Field(bool, 0, "yes/no", "whether synapses learn on the chip"),
    "fan_out": Field(int, 1, "neurons", "neurons that one neuron can reach"),
    "routing_entries": Field(int, 1, "entries", "entries of a chip's routing table"),
    "external_memory": Field(bool, 0, "yes/no", "whether synapses can be swapped out and in"),
    "external_memory_bytes": Field(int, 1, "bytes", "size of the external memory"),
    "synaptic_event_joules": Field(float, 0, "J", "one synaptic event"),
    "plastic_update_joules": Field(float, 0, "J", "one change of a weight"),
    "neuron_active_joules": Field(float, 0, "J", "one update of a neuron that fires"),
    "neuron_idle_joules": Field(float, 0, "J", "one update of a neuron that does not"),
    "packet_joules": Field(float, 0, "J", "one packet from a chip to the next"),
    "hop_joules": Field(
        float, 0, "J", "one spike over one hop of the network on chip, not between chips"
    ),
    "average_event_joules": Field(float, 0, "J", "an event with its share of static power"),
    "static_watts": Field(float, 0, "W", "power of a chip that does nothing"),
    "busy_core_watts": Field(float, 0, "W", "further power of each core at work"),
}
REQUIRED = ("cores", "learns", "external_memory")
CAPACITIES = ("fan_in", "axons_per_core", "synapses", "memory_bytes", "synapse_bytes_per_core")


@dataclass(frozen=True)
class Figure:
    """A number of a chip, with where it comes from (see the head of this file)."""

    value: Any
    evidence: str
    source: str
    unit: str = ""
    condition: str = ""
    looked_for: str = ""


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
        raise ChipProfileError(f"{file}: {missing[0]} is missing ({FIELDS[missing[0]].meaning}).")
    if not any(field in figures for field in CAPACITIES):
        raise ChipProfileError(
            f"{file}: no limit on synapses at all; give at least one of {', '.join(CAPACITIES)}."
        )
    _check_consistent(chip, file)
    return chip


def _figure(file: str, field: str, table: Any) -> Figure:
    needed = {"value", "unit", "evidence", "source"}
    allowed = needed | {"condition", "looked_for"}
    if not isinstance(table, dict) or not needed <= set(table) <= allowed:
        found = sorted(table) if isinstance(table, dict) else repr(table)
        raise ChipProfileError(
            f"{file}: {field} must be a table with value, unit, evidence and source, and may have "
            f"condition and looked_for; found {found}."
        )
    figure = Figure(**table)
    _check_value(file, field, figure.value)
    _check_origin(file, field, figure)
    return figure


def _check_value(file: str, field: str, value: Any) -> None:
    kind, smallest, meaning = FIELDS[field].kind, FIELDS[field].smallest, FIELDS[field].meaning
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


def _check_origin(file: str, field: str, figure: Figure) -> None:
    """Unit, condition, label and source of a figure."""
    for entry in ("unit", "evidence", "source", "condition", "looked_for"):
        text = getattr(figure, entry)
        may_be_empty = entry in ("condition", "looked_for")
        if not isinstance(text, str) or not (text.strip() or may_be_empty):
            raise ChipProfileError(f"{file}: {entry} of {field} must be a text; found {text!r}.")
    unit = FIELDS[field].unit
    if figure.unit != unit:
        raise ChipProfileError(
            f"{file}: {field} is given in {unit!r} (unit); found {figure.unit!r}."
        )
    if figure.evidence not in EVIDENCE:
        raise ChipProfileError(
            f"{file}: evidence of {field} must be one of {', '.join(EVIDENCE)}; found "
            f"{figure.evidence!r}."
        )
    if unit in ("J", "W") and not figure.condition:
        raise ChipProfileError(
            f"{file}: {field} needs a condition: the voltage, rate or load at which it holds (or "
            "that it is not stated)."
        )
    if (figure.evidence == "Q") != bool(figure.looked_for):
        raise ChipProfileError(
            f"{file}: {field} has evidence {figure.evidence!r}; looked_for says which primary "
            "source was looked for and not found, and stands with evidence Q and no other."
        )


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
