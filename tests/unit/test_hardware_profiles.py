"""Chip profiles: what ships is complete, what is wrong is refused with file and field."""

import pytest

from brian_lda.errors import ChipProfileError
from brian_lda.hardware.profiles import EVIDENCE, available_chips, load_chip

GOOD = {
    "fan_in": (256, "U"),
    "cores": (4, "U"),
    "learns": (True, "U"),
    "external_memory": (False, "U"),
}


def write(path, figures, head='name = "mine"\ndescription = "my chip"\n'):
    def toml(value):
        return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')

    tables = [
        f'[{field}]\nvalue = {toml(value)}\nevidence = "{evidence}"\nsource = "measured"\n'
        for field, (value, evidence) in figures.items()
    ]
    path.write_text(head + "\n".join(tables))
    return path


def test_all_chips_of_the_table_are_there():
    assert available_chips() == [
        "brainscales2", "dynapse", "loihi1", "loihi2", "spinnaker1", "spinnaker2",
        "truenorth_paper", "truenorth_silicon",
    ]  # fmt: skip


@pytest.mark.parametrize("name", available_chips())
def test_every_number_has_source_and_evidence(name):
    chip = load_chip(name)
    assert chip.name == name
    for figure in chip.figures.values():
        assert figure.evidence in EVIDENCE and len(figure.source) > 5


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
        ({"fan_in": (256, "X")}, "evidence of fan_in must be one of P, S, Q, D, U; found 'X'"),
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


def test_files_that_are_no_profile(tmp_path):
    with pytest.raises(ChipProfileError, match="cannot read"):
        load_chip(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("fan_in = [")
    with pytest.raises(ChipProfileError, match=r"bad.toml is not TOML"):
        load_chip(tmp_path / "bad.toml")
    (tmp_path / "bare.toml").write_text('name = "a"\ndescription = "b"\nfan_in = 256\n')
    with pytest.raises(ChipProfileError, match="fan_in must be a table with value, evidence"):
        load_chip(tmp_path / "bare.toml")
    with pytest.raises(ChipProfileError, match="name must be a text"):
        load_chip(write(tmp_path / "nameless.toml", GOOD, head='description = "b"\n'))
