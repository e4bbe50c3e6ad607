"""Nonsense in the equations that Brian gets as text, one statement at a time.

cosmic-ray sees strings as they are: for it a network is one long constant. Here every string of a
file is read line by line, and each line that Brian would execute is made wrong in turn:

==============  ================  =================================================================
line            kind              what becomes of it
==============  ================  =================================================================
``x += f``      plus one          ``x += (f) + 1``, also for subexpressions ``x = f : 1``
``x += f``      halved            ``x += 0.5*(f)``
``x += f``      left out          ``x = x``
``f``           plus one, halved  as above: expressions that set first values
``h > 0``       turned round      ``not (h > 0)``: thresholds and events
``h > 0``       never             ``(h > 0) and 1 < 0``
==============  ================  =================================================================
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

FIRST_KINDS = ("plus one", "turned round")  # one for each statement
STATEMENT = re.compile(r"(?P<left>\w+)\s*(?P<operator>[-+*/]?=)(?!=)\s*(?P<right>.+)", re.DOTALL)
SUBEXPRESSION = re.compile(r"(?P<right>.+?)\s:\s[\w ]+(\([\w, ]*\))?", re.DOTALL)
DECLARATION = re.compile(r"\w+ : [\w ]+(\([\w, ]*\))?")


@dataclass(frozen=True)
class Mutant:
    """One fault: the file's whole source, and the lines that differ."""

    kind: str
    source: str
    before: str
    after: str
    line: int = 0


@dataclass(frozen=True)
class Line:
    """What Brian reads as one line, without its comment, and where it stands in the file."""

    text: str
    start: int


def equation_mutants(source: str, *, every_kind: bool) -> list[Mutant]:
    """All mutants of the equations in a source text, in the order of its lines.

    Parameters
    ----------
    source : str
    every_kind : bool
        False: only `FIRST_KINDS`.
    """
    mutants = []
    for line in sorted(_lines_of_equations(source), key=lambda line: line.start):
        for kind, changed in _nonsense(line.text):
            if every_kind or kind in FIRST_KINDS:
                end = line.start + len(line.text)
                mutated = source[: line.start] + changed + source[end:]
                number = source[: line.start].count("\n") + 1
                texts = (" ".join(text.split()) for text in (line.text, changed))
                mutants.append(Mutant(kind, mutated, *texts, number))
    return mutants


def _nonsense(text: str) -> Iterator[tuple[str, str]]:
    found = STATEMENT.fullmatch(text)
    if found is None:
        if _is_condition(text):
            yield "turned round", f"not ({text})"
            yield "never", f"({text}) and 1 < 0"
        else:
            yield "plus one", f"({text}) + 1"
            yield "halved", f"0.5*({text})"
        return
    left, right = found["left"], found["right"]
    subexpression = SUBEXPRESSION.fullmatch(right)
    if subexpression:
        right = subexpression["right"]
    begin = found.start("right")
    before, after = text[:begin], text[begin + len(right) :]
    is_zero = right in ("0", "1e300", "-1e300")
    yield "plus one", f"{before}{'1' if is_zero else f'({right}) + 1'}{after}"
    if not is_zero:
        yield "halved", f"{before}0.5*({right}){after}"
    if not subexpression:
        yield "left out", f"{left} = {left}"


def _lines_of_equations(source: str) -> Iterator[Line]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:  # ast counts columns in bytes of UTF-8
        text = source[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(text.encode()[:column].decode())

    tree = ast.parse(source)
    ignored = _ignored_strings(tree)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node not in ignored and (is_text or isinstance(node, ast.JoinedStr)):
            assert isinstance(node, ast.expr)
            assert node.end_lineno is not None and node.end_col_offset is not None
            first = offset(node.lineno, node.col_offset)
            last = offset(node.end_lineno, node.end_col_offset)
            yield from _lines_of_string(source[first:last], first)


def _lines_of_string(literal: str, start: int) -> Iterator[Line]:
    """The lines that Brian would execute, of a literal that stands at `start`."""
    quotes = re.match(r'\w*("""|"|\'\'\'|\')', literal)
    assert quotes is not None
    inner, start = literal[quotes.end() : -len(quotes[1])], start + quotes.end()
    lines = re.split(r"(\n|\\n)", inner)  # at line ends, also those that are written as \\n
    while lines:
        held = lines.pop(0)
        while lines and _open_brackets(held):
            held += lines.pop(0)
        text = held if "\n" in held else held.partition("#")[0]
        stripped = text.strip()
        if _is_equation(stripped):
            yield Line(stripped, start + text.index(stripped))
        start += len(held)


def _open_brackets(text: str) -> bool:
    code = re.sub(r"#[^\n]*", "", text)
    return code.count("(") > code.count(")")


def _is_equation(text: str) -> bool:
    if not text or DECLARATION.fullmatch(text):
        return False
    if STATEMENT.fullmatch(text):
        return True
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    if not isinstance(tree, (ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Call)):
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return bool(names)


def _is_condition(text: str) -> bool:
    return isinstance(ast.parse(text, mode="eval").body, (ast.Compare, ast.BoolOp))


def _ignored_strings(tree: ast.Module) -> set[ast.AST]:
    """Docstrings, the wording of errors, parts of f-strings (which are read as a whole)."""
    ignored: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            first = node.body[0]
            if isinstance(first, ast.Expr):
                ignored.add(first.value)
        if isinstance(node, ast.Raise):
            ignored.update(ast.walk(node))
        if isinstance(node, ast.JoinedStr):
            ignored.update(child for child in ast.walk(node) if child is not node)
    return ignored
