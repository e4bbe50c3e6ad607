"""Small faults in a source file, one at a time.

The faults are cosmic-ray's (another operator, another comparison, a number one more or less, a
condition turned round, a loop that never runs ...), and three of our own for what it leaves alone
and plasticity is made of: `+=`, statements that write, `min` and `max`. Equations that Brian
gets as text: `equations.py`.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from equations import Mutant
from parso.python.tree import ExprStmt, Keyword, Name
from parso.python.tree import Operator as OperatorLeaf

PER_PLACE = 2  # of the replacements that a kind of fault offers at one place


class Swap(Operator):
    """A leaf whose text is a key of `swaps` becomes the value."""

    swaps: dict[str, str]

    def mutate(self, node, index):
        node.value = self.swaps[node.value]
        return node

    @classmethod
    def examples(cls):
        return ()


class SwapAugmentedAssignment(Swap):
    """`x += y` becomes `x -= y`, and so on."""

    swaps = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}

    def mutation_positions(self, node):
        if isinstance(node, OperatorLeaf) and node.value in self.swaps:
            yield node.start_pos, node.end_pos


class DeleteStatement(Operator):
    """A statement that writes into an array or an attribute, or adds to a variable, is left out."""

    def mutation_positions(self, node):
        if isinstance(node, ExprStmt) and (
            node.children[0].type == "atom_expr" or node.children[1].type == "operator"
            and node.children[1].value in SwapAugmentedAssignment.swaps
        ):  # fmt: skip
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def examples(cls):
        return ()


class SwapFunction(Swap):
    """`min` becomes `max`, `any` becomes `all`, and so on."""

    pairs = (("min", "max"), ("minimum", "maximum"), ("any", "all"), ("argmin", "argmax"),
             ("ceil", "floor"), ("zeros", "ones"), ("tau_1", "tau_2"))  # fmt: skip
    swaps = {a: b for a, b in pairs} | {b: a for a, b in pairs}

    def mutation_positions(self, node):
        if isinstance(node, Name) and node.value in self.swaps and not node.is_definition():
            yield node.start_pos, node.end_pos


def make_mutants(
    source: str, rng: random.Random, at_most: int | None
) -> tuple[list[Mutant], Counter]:
    """A reproducible sample of the mutants of a source text, and how many were skipped and why."""
    places: dict[tuple, list[tuple[Operator, int]]] = {}
    skipped: Counter = Counter()
    kept_out, nodes = _spans_kept_out(source), list(ast_nodes(get_ast(source)))
    for name, operator in _operators():
        positions = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (start, end) in enumerate(positions):
            reason = next((why for why, a, b in kept_out if a <= start and end <= b), None)
            reason = reason or _trivial(name)
            if reason:
                skipped[reason] += 1
            else:
                place = places.setdefault((name.partition("_")[0], start, end), [])
                place.append((operator, occurrence))
    possible = []
    for (kind, _, _), choices in sorted(places.items()):
        few = rng.sample(choices, min(PER_PLACE, len(choices)))
        possible += [(kind, operator, occurrence) for operator, occurrence in few]
        skipped["left out of the sample"] += len(choices) - len(few)
    rng.shuffle(possible)
    mutants, seen = [], {ast.dump(ast.parse(source))}
    for kind, operator, occurrence in possible:
        if len(mutants) == at_most:
            skipped["left out of the sample"] += 1
            continue
        mutated = mutate_code(source, operator, occurrence)
        try:
            dump = ast.dump(ast.parse(mutated))
        except SyntaxError:
            skipped["not Python any more"] += 1
            continue
        if dump in seen:
            skipped["same program"] += 1
            continue
        seen.add(dump)
        mutants.append(Mutant(kind, mutated, *_changed_lines(source, mutated)))
    return sorted(mutants, key=lambda mutant: mutant.line), skipped


def _operators() -> Iterator[tuple[str, Operator]]:
    for name in sorted(plugins.operator_names()):
        operator = plugins.get_operator(name)
        if not operator.arguments() and not name.endswith("/NoOp"):
            yield name.partition("/")[2], operator()
    for operator in (SwapAugmentedAssignment, DeleteStatement, SwapFunction):
        yield operator.__name__, operator()


def _trivial(name: str) -> str | None:
    """Replacements that say nothing about the tests."""
    kind, *ends = name.split("_")
    bits = {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"}
    if kind == "ReplaceBinaryOperator" and len(bits & set(ends)) == 1:
        return "bit operator on numbers that are none: a TypeError"
    if kind == "ReplaceComparisonOperator" and len({"Is", "IsNot"} & set(ends)) == 1:
        return "identity in place of equality"
    if kind == "ReplaceUnaryOperator" and "Invert" in ends:
        return "bit operator on numbers that are none: a TypeError"
    return None


def _spans_kept_out(source: str) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    """(reason, start, end) of code whose change no test should see."""
    spans = []

    def add(reason: str, node: ast.AST | None) -> None:
        if node is not None:
            end = (node.end_lineno, node.end_col_offset)
            spans.append((reason, (node.lineno, node.col_offset), end))

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            for annotation in [a.annotation for a in arguments if a] + [node.returns]:
                add("annotation", annotation)
        if isinstance(node, ast.AnnAssign):
            add("annotation", node.annotation)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:  # njit's inline, cache, parallel: speed alone
                spans.append(("decorator", (decorator.lineno, decorator.col_offset - 1),
                              (decorator.end_lineno, decorator.end_col_offset + 1)))  # fmt: skip
        if isinstance(node, ast.Raise):
            add("wording of an error", node)
    return spans


def _changed_lines(source: str, mutated: str) -> tuple[str, str, int]:
    before, after = source.splitlines(), mutated.splitlines()
    first = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    last = 1
    while before[-last] == after[-last] and len(before) - last > first:
        last += 1
    ends = len(before) - last + 1, len(after) - last + 1
    texts = (
        " ".join(" ".join(lines[first:end]).split())
        for lines, end in zip((before, after), ends, strict=True)
    )
    return *texts, first + 1
