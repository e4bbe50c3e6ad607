"""Chip profiles: what ships is complete, what is wrong is refused with file and field."""

import numpy as np
import pytest

from brian_lda.errors import ChipProfileError
from brian_lda.hardware.profiles import EVIDENCE, FIELDS, available_chips, load_chip

GOOD = {
    "fan_in": (256, "U"),
    "cores": (4, "U"),
    "learns": (True, "U"),
    "external_memory": (False, "U"),
}


def write(path, figures, head='name = "mine"\ndescription = "my chip"\n', **entries):
    """A profile; `entries` are put into every table, None leaves one out."""

    def toml(value):
        return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')

    text = head
    for field, (value, evidence) in figures.items():
        unit = FIELDS[field].unit if field in FIELDS else "?"
        table = {"value": value, "unit": unit, "evidence": evidence, "source": "measured",
                 "condition": "1 V"} | entries  # fmt: skip
        text += f"[{field}]\n"
        text += "".join(f"{k} = {toml(v)}\n" for k, v in table.items() if v is not None)
    path.write_text(text)
    return path


def test_all_chips_of_the_table_are_there():
    assert available_chips() == [
        "brainscales2", "dynapse", "loihi1", "loihi2", "spinnaker1", "spinnaker2",
        "truenorth_paper", "truenorth_silicon",
    ]  # fmt: skip


@pytest.mark.parametrize("name", available_chips())
def test_every_number_has_unit_condition_source_and_evidence(name):
    chip = load_chip(name)
    assert chip.name == name
    for field, figure in chip.figures.items():
        assert figure.evidence in EVIDENCE and len(figure.source) > 5
        assert figure.unit == FIELDS[field].unit
        assert figure.condition or figure.unit not in ("J", "W")
        # nobody's word is passed on without saying where else it was looked for
        assert bool(figure.looked_for) == (figure.evidence == "Q")
        assert "second-hand" not in figure.source


def test_power_of_truenorth_is_the_line_of_its_measurements():
    """Akopyan et al. (2015), Fig. 17: mW at Hz, 2^20 neurons with 128 active synapses."""
    watts, rates = np.array([68e-3, 71e-3, 94e-3]), np.array([11.58, 20.07, 95.93])
    events = 2**20 * 128 * rates
    slope = (watts[2] - watts[0]) / (events[2] - events[0])
    for name in ("truenorth_paper", "truenorth_silicon"):
        chip = load_chip(name)
        assert chip.get("synaptic_event_joules") == pytest.approx(slope, rel=5e-3)
        static = watts[0] - slope * events[0]
        assert chip.get("static_watts") == pytest.approx(static, rel=5e-3)
        assert chip.get("packet_joules") == pytest.approx(32 * 26e-12)
        assert static + slope * events[1] == pytest.approx(watts[1], rel=0.02)
        # "wrong by -41 % at 11.58 Hz and by +256 % at 95.93 Hz"
        wrong = chip.get("average_event_joules") / (watts / events) - 1
        np.testing.assert_allclose(wrong[[0, 2]], [-0.41, 2.56], atol=0.005)


def test_figures_of_the_papers_chip_and_unknown_ones():
    paper = load_chip("truenorth_paper")
    assert paper.get("fan_in") == 256 and paper.evidence("fan_in") == "P"
    assert paper.get("memory_bytes") == 52_000_000 and paper.get("weight_bits") is None
    assert load_chip("spinnaker2").get("neurons_per_core") is None  # unknown is absent, never 0
    with pytest.raises(KeyError, match="no field of a chip profile"):
        paper.get("fanin")


def test_a_file_of_the_users_own(tmp_path):
    chip = load_chip(write(tmp_path / "mine.toml", GOOD))
    assert chip.name == "mine" and chip.get("fan_in") == 256 and chip.evidence("cores") == "U"
    assert load_chip(str(tmp_path / "mine.toml")).figures == chip.figures


@pytest.mark.parametrize("name", ["../chips/loihi1", "/etc/passwd", "chips/loihi1", "", "tpu"])
def test_names_never_become_paths(name):
    with pytest.raises(ChipProfileError, match="there is no chip"):
        load_chip(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cores": None}, "cores is missing"),
        ({"learns": None}, "learns is missing"),
        ({"fan_in": None}, "no limit on synapses"),
        ({"fan_in": (2, "U")}, "fan_in .* must be at least 3; found 2"),
        ({"fan_in": (-5, "U")}, "must be at least 3"),
        ({"fan_in": (25.5, "U")}, "fan_in .* must be a int; found 25.5"),
        ({"fan_in": (True, "U")}, "must be a int; found True"),
        ({"learns": (1, "U")}, "learns .* must be a bool"),
        ({"fan_in": (256, "X")}, "evidence of fan_in must be one of P, R, S, D, Q, U; found 'X'"),
        ({"fanin": (256, "U")}, "unknown field fanin"),
        ({"static_watts": (-0.1, "U")}, "static_watts .* at least 0"),
        ({"synapses": (100, "U")}, "fan_in = 256 contradicts synapses = 100"),
        ({"external_memory_bytes": (9, "U")}, "external_memory = False contradicts external_mem"),
        ({"weight_format": ("float", "U"), "weight_bits": (9, "U")}, "a float has 16, 32 or 64"),
        ({"weight_format": ("real", "U")}, "weight_format must be 'fixed' or 'float'"),
        ({"learns": (False, "U"), "plastic_update_joules": (1e-12, "U")}, "no weight ever chang"),
        ({"memory_bytes": (99, "U"), "synapse_bytes_per_core": (9, "U")}, "all cores together"),
    ],
)
def test_wrong_profiles_name_file_and_field(tmp_path, change, message):
    figures = {k: v for k, v in (GOOD | change).items() if v is not None}
    with pytest.raises(ChipProfileError, match=message) as error:
        load_chip(write(tmp_path / "mine.toml", figures))
    assert "mine.toml" in str(error.value)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"unit": "pJ"}, "synaptic_event_joules is given in 'J' .unit.; found 'pJ'"),
        ({"unit": None}, "must be a table with value, unit, evidence and source"),
        ({"unit": 1}, "unit of synaptic_event_joules must be a text; found 1"),
        ({"source": " "}, "source of synaptic_event_joules must be a text; found ' '"),
        ({"condition": None}, "synaptic_event_joules needs a condition: the voltage, rate"),
        ({"condition": ""}, "needs a condition"),
        ({"evidence": "Q"}, "looked_for says which primary source was looked for"),
        ({"looked_for": "a paper"}, "has evidence 'U'; looked_for says"),
        ({"page": "7"}, "may have condition and looked_for; found"),
    ],
)
def test_where_a_figure_comes_from_is_checked(tmp_path, entries, message):
    figures = {"synaptic_event_joules": (1e-12, "U")}
    with pytest.raises(ChipProfileError, match=message) as error:
        load_chip(write(tmp_path / "mine.toml", figures, **entries))
    assert "mine.toml" in str(error.value)


def test_files_that_are_no_profile(tmp_path):
    with pytest.raises(ChipProfileError, match="cannot read"):
        load_chip(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("fan_in = [")
    with pytest.raises(ChipProfileError, match=r"bad.toml is not TOML"):
        load_chip(tmp_path / "bad.toml")
    (tmp_path / "bare.toml").write_text('name = "a"\ndescription = "b"\nfan_in = 256\n')
    with pytest.raises(ChipProfileError, match="fan_in must be a table with value, unit, evid"):
        load_chip(tmp_path / "bare.toml")
    with pytest.raises(ChipProfileError, match="name must be a text"):
        load_chip(write(tmp_path / "nameless.toml", GOOD, head='description = "b"\n'))
