"""One self-contained HTML page: text, tables, figures and small interactive blocks.

A page needs no network and no file beside it: figures are inside, scripts and data too. Every
string that is given to a page is escaped; only the markup and the script of `interactive` are
taken as they are, and they are the program's own, never the user's.

>>> page = HtmlPage("Run <1>")
>>> page.section("Result").table([{"word": "R&D", "p": 0.123456}])  # doctest: +ELLIPSIS
<...HtmlPage object at ...>
>>> "R&amp;D" in page.html() and "0.1235" in page.html()
True
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from brian_lda.errors import ParameterError
from brian_lda.files.atomic import atomic_file
from brian_lda.files.json_files import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 2.2rem; font-size: 1.3rem;
     border-bottom: 1px solid #ddd; } h3 { font-size: 1.05rem; margin-bottom: .3rem; }
.subtitle { color: #666; margin-top: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .92rem; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e5e5e5; text-align: left;
         vertical-align: top; }
th { background: #f5f6f8; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } figure svg, figure img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: .92rem; }
pre { background: #f5f6f8; padding: .7rem; overflow-x: auto; font-size: .85rem; }
"""


class HtmlPage:
    """A page that is filled from top to bottom; every method returns the page.

    Parameters
    ----------
    title : str
    subtitle : str, optional
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self._title = title
        self._subtitle = subtitle
        self._parts: list[str] = []
        self._n_blocks = 0

    def section(self, heading: str, *, level: int = 2) -> HtmlPage:
        """A heading; level 2 is a section, 3 a part of one."""
        if level not in (2, 3, 4):
            raise ParameterError(f"level must be 2, 3 or 4; found {level!r}.")
        self._parts.append(f"<h{level}>{escape(heading)}</h{level}>")
        return self

    def paragraph(self, text: str) -> HtmlPage:
        """Plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")
        return self

    def preformatted(self, text: str) -> HtmlPage:
        """Text whose line breaks and blanks count: code, a log."""
        self._parts.append(f"<pre>{escape(text)}</pre>")
        return self

    def table(
        self,
        rows: Sequence[Mapping[str, Any]] | Sequence[Sequence[Any]],
        *,
        columns: Sequence[str] | None = None,
        caption: str = "",
    ) -> HtmlPage:
        """A table.

        Parameters
        ----------
        rows : sequence of mappings, or of sequences
            A missing key and None are shown as an empty cell, a list or tuple as lines.
        columns : sequence of str, optional
            Headings; of mappings, which keys and in which order (default: as they appear).
        caption : str
        """
        if columns is None:
            named = [row for row in rows if isinstance(row, Mapping)]
            columns = list(dict.fromkeys(key for row in named for key in row))
        cells = [
            [row.get(column) for column in columns] if isinstance(row, Mapping) else row
            for row in rows
        ]
        head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in cells)
        self._parts.append(
            '<div class="wide"><table>'
            + (f"<caption>{escape(caption)}</caption>" if caption else "")
            + (f"<thead><tr>{head}</tr></thead>" if head else "")
            + f"<tbody>{body}</tbody></table></div>"
        )
        return self

    def figure(self, figure: Figure, *, caption: str = "", image: str = "svg") -> HtmlPage:
        """A matplotlib figure, embedded.

        Parameters
        ----------
        figure : Figure
        caption : str
        image : {"svg", "png"}
            SVG stays sharp; PNG is smaller for images and for very many points.
        """
        if image not in ("svg", "png"):
            raise ParameterError(f"image must be 'svg' or 'png'; found {image!r}.")
        stream = io.BytesIO()
        kind = "svg+xml" if image == "svg" else "png"
        figure.savefig(stream, format=image, bbox_inches="tight", dpi=150)
        # As an <img>, not inline: the ids inside two inline SVGs would clash.
        data = base64.b64encode(stream.getvalue()).decode("ascii")
        self._parts.append(
            f'<figure><img alt="{escape(caption)}" src="data:image/{kind};base64,{data}">'
            + (f"<figcaption>{escape(caption)}</figcaption>" if caption else "")
            + "</figure>"
        )
        return self

    def interactive(self, script: str, data: Any, *, markup: str = "", style: str = "") -> HtmlPage:
        """A block that the reader can play with.

        Parameters
        ----------
        script : str
            Body of a JavaScript function of `root` (the block's div) and `data`.
        data : anything that JSON holds, numpy arrays and numbers included
            May hold the user's words: it is escaped. The script must show them with
            `textContent`, never with `innerHTML`.
        markup : str
            HTML inside the div.
        style : str
            CSS of the block.
        """
        if re.search(r"</script", script, re.IGNORECASE) or "<!--" in script:
            raise ParameterError("the script of a block may not hold '</script' or '<!--'.")
        self._n_blocks += 1
        name = f"block-{self._n_blocks}"
        self._parts.append(
            (f"<style>{style}</style>" if style else "")
            + f'<div id="{name}">{markup}</div>'
            + f'<script type="application/json" id="{name}-data">{embedded_json(data)}</script>'
            + "<script>(function (root, data) {\n"
            + script
            + f'\n}})(document.getElementById("{name}"), '
            + f'JSON.parse(document.getElementById("{name}-data").textContent));</script>'
        )
        return self

    def html(self) -> str:
        """The page as text."""
        subtitle = f'<p class="subtitle">{escape(self._subtitle)}</p>' if self._subtitle else ""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self._title)}</title><style>{STYLE}</style></head>\n<body>"
            f"<h1>{escape(self._title)}</h1>{subtitle}\n"
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page; the file is either complete or not there."""
        path = Path(path)
        with atomic_file(path) as scratch:
            scratch.write_text(self.html(), encoding="utf-8")
        return path


def format_number(value: SupportsFloat) -> str:
    """Integers with thin groups of three digits, other numbers with four significant digits.

    >>> format_number(1234567), format_number(0.000123456), format_number(1632.4)
    ('1 234 567', '0.0001235', '1632')
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}".replace(",", " ")
    value = float(value)
    if np.isfinite(value) and abs(value) >= 1e4:
        return f"{value:,.0f}".replace(",", " ") if abs(value) < 1e12 else f"{value:.3e}"
    return f"{value:.4g}"


def embedded_json(data: Any) -> str:
    """JSON that no string in it can end the script element that holds it."""
    text = json.dumps(data, default=plain, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, (Real, np.bool_)):
        return f'<td class="number">{escape(format_number(value))}</td>'
    if isinstance(value, (list, tuple)):
        return f"<td>{'<br>'.join(escape(str(line)) for line in value)}</td>"
    return f"<td>{escape(str(value))}</td>"
