"""The documentation site: `sphinx-build -W --keep-going -c docs . build/site`, offline.

The source is the whole repository, so that links between its pages work here as they do there.
"""

import importlib.metadata
import re
from html import escape

from docutils.nodes import SkipNode, image
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

project = "brian_lda"
author = "the brian_lda authors"
release = importlib.metadata.version("brian_lda")
root_doc = "docs/index"
include_patterns = [
    "docs/*.md", "models/README.md", "notebooks/*.ipynb", "CONTRIBUTING.md", "CHANGELOG.md",
]  # fmt: skip

extensions = [
    "myst_nb",  # pages in Markdown, notebooks executed
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",  # docstrings as in numpy
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # `name` in docstrings

nb_execution_mode = "auto"  # they are stored without outputs
nb_execution_in_temp = True  # what they write is not left here
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress of the library

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name types and axes
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_math_renderer = "mathml"  # a browser draws it by itself: the site needs no network
html_title = "brian_lda"
html_show_copyright = False
html_extra_path = ["start"]
html_copy_source = False


def as_mathml(block):
    """Formulas as MathML; what docutils cannot translate stays TeX."""

    def visit(translator, node):
        tex = re.sub(r"\\[bB]igg?(?![a-z])", "", node.astext())  # sizes of brackets
        if block and "&" in tex:
            tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
        try:
            html = latex2mathml.tex2mathml(tex, as_block=block)
        except MathError:
            html = f"<code>{escape(node.astext())}</code>"
        translator.body.append(html)
        raise SkipNode

    return visit, None


def keep_underscores(app, what, name, obj, options, lines):
    """`components_ : array` is a name; to Sphinx a word that ends so is a link."""
    lines[:] = [re.sub(r"^(\w+)_ :", r"\1\\_ :", line) for line in lines]


def miss_figures(app, doctree, docname):
    """A notebook that was executed has drawn something; a warning here is an error in CI."""
    if docname.startswith("notebooks/") and not any(doctree.findall(image)):
        logging.getLogger(__name__).warning("no figure was drawn", location=docname)


def setup(app):
    app.connect("doctree-resolved", miss_figures)
    app.add_html_math_renderer("mathml", as_mathml(False), as_mathml(True))
    app.connect("autodoc-process-docstring", keep_underscores, priority=100)  # before napoleon
