"""The page builder: escaping, numbers, embedding."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from brian_lda.errors import ParameterError
from brian_lda.files.html_page import HtmlPage, embedded_json, format_number

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def parsed(page):
    tags = Tags()
    tags.feed(page.html())
    return tags


def test_everything_from_the_user_is_escaped():
    page = HtmlPage(HOSTILE, HOSTILE).section(HOSTILE).paragraph(HOSTILE).preformatted(HOSTILE)
    page.table([{HOSTILE: HOSTILE}], caption=HOSTILE)
    page.figure(Figure(figsize=(1, 1)), caption=HOSTILE)
    page.interactive("root.textContent = data.word;", {"word": HOSTILE})
    tags = parsed(page)
    images = [attrs for tag, attrs in tags.seen if tag == "img"]
    assert [image["src"][:5] for image in images] == ["data:"]  # ours, and none of the user's
    assert images[0]["alt"] == HOSTILE
    assert tags.text.count(HOSTILE) == 10  # every one is there, as text
    assert sum(tag == "script" for tag, _ in tags.seen) == 2


def test_embedded_json_reads_back():
    data = {"word": HOSTILE, "x": np.arange(3), "n": np.float64(0.5)}
    text = embedded_json(data)
    assert not re.search("[<>&]", text)
    assert json.loads(text) == {"word": HOSTILE, "x": [0, 1, 2], "n": 0.5}
    with pytest.raises(ValueError):
        embedded_json([float("nan")])  # JavaScript's JSON.parse would refuse the page


def test_script_that_would_end_itself_is_refused():
    with pytest.raises(ParameterError, match="</script"):
        HtmlPage("t").interactive("var x = '</SCRIPT>';", {})


def test_rows_of_a_table():
    rows = [{"a": 1, "b": None}, {"a": 2.5, "c": True}]
    html = HtmlPage("t").table(rows).html()
    assert "<th>a</th><th>b</th><th>c</th>" in html
    assert '<td class="number">2.5</td><td></td><td class="number">yes</td>' in html
    html = HtmlPage("t").table([[("<", "b")]]).html()
    assert "<td>&lt;<br>b</td>" in html
    html = HtmlPage("t").table([[1, "x"]], columns=["number", "name"]).html()
    assert "<th>number</th><th>name</th>" in html and "<td>x</td>" in html


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (-1234, "-1 234"), (0.1 + 0.2, "0.3"), (1e-9, "1e-09"), (123456.7, "123 457"),
     (np.int64(10**6), "1 000 000"), (float("inf"), "inf"), (False, "no"), (1e15, "1.000e+15")],
)  # fmt: skip
def test_numbers(value, text):
    assert format_number(value).replace("\N{THIN SPACE}", " ") == text


@pytest.mark.parametrize(("image", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_figures_are_inside_the_page(image, magic):
    html = HtmlPage("t").figure(Figure(figsize=(1, 1)), image=image).html()
    data = re.search('base64,([^"]+)', html).group(1)
    assert base64.b64decode(data).startswith(magic)
    assert "http" not in html  # nothing is fetched


def test_save_replaces_whole_files_only(tmp_path):
    path = tmp_path / "page.html"
    HtmlPage("first").save(path)
    broken = HtmlPage("second")
    broken._parts.append(None)
    with pytest.raises(TypeError):
        broken.save(path)
    assert "first" in path.read_text() and list(tmp_path.iterdir()) == [path]
