"""Mutants of kernel bodies, their fragments and functions.

Note [A body as Python reads it]
A macro is taken out of the text and a name of its length put in its place. What remains is Python,
and what stands in its parentheses is Python too, as are the texts in it. So every edit is of
a node that Python's own parser found, and a place in a node is a place in the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from kv_canary_codegen.mutate.mutants import (
    Counted,
    Edit,
    Family,
    Mutant,
    Replacement,
    line_starts,
    made,
)

_MACRO = re.compile(r"\{\{(.*?)\}\}")
_CALL = re.compile(r"\s*(?P<call>\w+\(.*\))\s*", re.DOTALL)
_OPERATORS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
"""Instead of each comparison: what differs from it where both sides are equal."""
_PLACED = ("store", "atomic_add", "load")
_SHAPES = frozenset(
    ("arange", "zeros", "full", "sum", "max", "cumsum", "gather", "reshape", "permute", "split",
     "associative_scan", "program_id", "num_programs", "reduce", "expand_dims", "broadcast_to")
)  # fmt: skip
"""Of these, a number is a shape or an axis, which the compiler judges."""


def body_mutants(files: Mapping[str, str]) -> tuple[Mutant, ...]:
    """Every mutant of the bodies, fragments and functions of a spec, in the files' order."""
    found: list[Mutant] = []
    for file, text in sorted(files.items()):
        if file.endswith(".py.jinja"):
            found += _Body(files, file, text).mutants()
    return tuple(found)


def owner_of(file: str) -> str:
    """What mutants of a body's file are called after."""
    path = Path(file)
    stem = path.name.removesuffix(".py.jinja")
    return stem if path.parent.name == "kernels" else f"{path.parent.name}.{stem}"


class _Piece:
    """Python text inside a file, and where its lines begin in the file."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self.text = text
        self.starts = starts

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Where a node stands in the file."""
        assert node.end_lineno is not None, "parsed text has places"
        assert node.end_col_offset is not None, "parsed text has places"
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def between(self, start: int, end: int) -> str:
        """The text from one place in the file to another."""
        return self.text[start - self.starts[0] : end - self.starts[0]]

    def of(self, node: ast.expr) -> str:
        """A node's text."""
        return self.between(*self.span(node))


class _Body:
    """One file of Triton text with macros in it."""

    def __init__(self, files: Mapping[str, str], file: str, text: str) -> None:
        assert text.isascii(), f"{file}: Python counts bytes, and places here are letters"
        self.files = files
        self.file = file
        self.owner = owner_of(file)
        self.counted = Counted()
        self.macros: dict[int, tuple[int, str]] = {}
        """Where a macro stands: the place and the text of the call in it."""
        self.tree = ast.parse(_MACRO.sub(self._name, text))
        self.piece = _Piece(text, line_starts(text))

    def _name(self, match: re.Match[str]) -> str:
        inner = _CALL.fullmatch(match.group(1))
        if inner is not None:
            self.macros[match.start()] = (match.start(1) + inner.start("call"), inner["call"])
        return "_" * len(match.group())

    def mutants(self) -> Iterator[Mutant]:
        """Every mutant of the file, in its order."""
        yield from self._statements(self.tree.body, self.owner)

    def _statements(self, body: Sequence[ast.stmt], owner: str) -> Iterator[Mutant]:
        for node in body:
            match node:
                case ast.FunctionDef():
                    inner = owner if node.name == "kernel" else f"{owner}.{node.name}"
                    yield from self._statements(node.body, inner)
                case ast.If() | ast.While():
                    yield from self._expression(node.test, f"{owner}.if")
                    yield from self._statements([*node.body, *node.orelse], owner)
                case ast.For():
                    yield from self._expression(node.iter, f"{owner}.for")
                    yield from self._statements(node.body, owner)
                case ast.Assign() | ast.AugAssign():
                    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                    names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
                    yield from self._expression(node.value, f"{owner}.{'-'.join(names)}")
                case ast.Return(value=value) if value is not None:
                    yield from self._expression(value, f"{owner}.return")
                case ast.Expr():
                    yield from self._expression(node.value, owner)

    def _expression(self, node: ast.expr, owner: str) -> Iterator[Mutant]:
        place = self.piece.span(node)[0]
        if place in self.macros:
            start, text = self.macros[place]
            yield from self._macro(start, text, owner)
        else:
            yield from self._made(_edits(node, self.piece, Counted()), owner)

    def _macro(self, start: int, text: str, owner: str) -> Iterator[Mutant]:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return
        argument = call.args[0]
        if call.func.id in _PLACED and isinstance(argument, ast.Constant):
            piece = _Piece(text, [start + offset for offset in line_starts(text)])
            edits = _macro_edits(call, piece, Counted())
            yield from self._made(edits, f"{owner}.{call.func.id}-{argument.value!s}")

    def _made(self, edits: Iterator[Edit], owner: str) -> Iterator[Mutant]:
        """Mutants of one expression, their numbers going on where the last of its owner ended."""
        for edit in edits:
            kind = edit.kind.partition("-")[0]
            name = f"{kind}-{self.counted.next(owner, kind)}"
            change = Replacement(file=self.file, start=edit.start, end=edit.end, text=edit.text)
            yield made(self.files, Family.BODIES, owner, name, edit.words, [change])


def _macro_edits(call: ast.Call, piece: _Piece, counted: Counted) -> Iterator[Edit]:
    """Edits of what a macro is given: its mask, its texts, and two of its arguments exchanged."""
    given = {keyword.arg: keyword for keyword in call.keywords}
    if "mask" in given:
        start, end = piece.span(given["mask"])
        lead = piece.between(piece.starts[0], start)
        yield Edit(
            kind="mask-1", start=start - (len(lead) - len(lead.rstrip(" ,"))), end=end, text="",
            words="the mask is left out",
        )  # fmt: skip
    values = [given[name].value for name in ("value", "mask") if name in given]
    for node in (*call.args[1:], *values):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            first = piece.span(node)[0] + 1
            inner = _Piece(node.value, [first + offset for offset in line_starts(node.value)])
            yield from _edits(ast.parse(node.value, mode="eval").body, inner, counted)
    if isinstance(call.func, ast.Name) and call.func.id != "load":
        yield from _swaps([*call.args[1:], *values[:1]], piece)


def _swaps(nodes: Sequence[ast.expr], piece: _Piece) -> Iterator[Edit]:
    """Each two neighbours among a store's indices and its value exchanged."""
    for number, (first, second) in enumerate(pairwise(nodes), start=1):
        one, other = piece.span(first), piece.span(second)
        left, right = (f'"{piece.of(node).strip(chr(34))}"' for node in (first, second))
        if left != right:
            yield Edit(
                kind=f"swap-{number}",
                start=one[0],
                end=other[1],
                text=f"{right}{piece.between(one[1], other[0])}{left}",
                words=f"{left} and {right} change places",
            )


def _edits(node: ast.expr, piece: _Piece, counted: Counted) -> Iterator[Edit]:
    """Edits of one expression."""
    bounds = _bounds(node)
    for found in _in_order(node):
        match found:
            case ast.Compare():
                yield from _compare_edits(found, piece, counted)
            case ast.Constant() if found in bounds:
                yield from _number_edits(found, piece, counted)
            case ast.BinOp(op=ast.BitAnd()) | ast.BoolOp(op=ast.And()):
                yield from _and_edits(found, piece, counted)
            case ast.Call(func=ast.Attribute(attr="where"), args=[_, first, _]):
                start, end = piece.span(found)
                yield Edit(
                    kind=f"where-{counted.next('where')}",
                    start=start,
                    end=end,
                    text=f"({piece.of(first)})",
                    words="`tl.where` gives its first choice always",
                )


def _bounds(node: ast.expr) -> set[ast.expr]:
    """Numbers that something is compared with, limited by, or moved by."""
    found: set[ast.expr] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Compare():
                found.update((inner.left, *inner.comparators))
            case ast.BinOp():
                found.update((inner.left, inner.right))
            case ast.Call(func=ast.Name(id="range")):
                found.update(inner.args)
            case ast.Call(func=ast.Attribute(attr="minimum" | "maximum")):
                found.update(inner.args)
    return {n for n in found if isinstance(n, ast.Constant) and type(n.value) is int}


def _in_order(node: ast.expr) -> Iterator[ast.expr]:
    """A node and those below it, in the text's order, without shapes and axes."""
    yield node
    match node:
        case ast.BinOp(op=ast.BitAnd()) | ast.BoolOp():
            children = _terms(node)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments):
            shaped = name in _SHAPES
            given = arguments[1:2] if name == "full" else arguments[:1] if shaped else arguments
            plain = shaped and name != "full"
            children = [owner, *(a for a in given if not (plain and isinstance(a, ast.Constant)))]
        case ast.Subscript(value=value):
            children = [value]
        case ast.List() | ast.Tuple():
            children = [n for n in node.elts if not isinstance(n, ast.Constant)]
        case _:
            children = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    for child in children:
        yield from _in_order(child)


def _terms(node: ast.expr) -> list[ast.expr]:
    """What `&` or `and` joins."""
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return [*_terms(node.left), node.right]
    return [node]


def _compare_edits(node: ast.Compare, piece: _Piece, counted: Counted) -> Iterator[Edit]:
    sides = pairwise([node.left, *node.comparators])
    for (left, right), operator in zip(sides, node.ops, strict=True):
        sign, other = _OPERATORS[type(operator)]
        after = piece.span(left)[1]
        start = after + piece.between(after, piece.span(right)[0]).index(sign)
        yield Edit(
            kind=f"compare-{counted.next('compare')}",
            start=start,
            end=start + len(sign),
            text=other,
            words=f"`{sign}` becomes `{other}`",
        )


def _number_edits(node: ast.Constant, piece: _Piece, counted: Counted) -> Iterator[Edit]:
    assert isinstance(node.value, int), "a bound"
    start, end = piece.span(node)
    yield Edit(
        kind=f"literal-{counted.next('literal')}",
        start=start,
        end=end,
        text=str(node.value + 1),
        words=f"`{piece.of(node)}` becomes `{node.value + 1}`",
    )


def _and_edits(node: ast.expr, piece: _Piece, counted: Counted) -> Iterator[Edit]:
    """Each term of what `&` or `and` joins left out."""
    sign = "and" if isinstance(node, ast.BoolOp) else "&"
    terms = _terms(node)
    first, last = piece.span(node)
    cuts = []
    for left, right in pairwise(terms):
        after = piece.span(left)[1]
        cuts.append(after + piece.between(after, piece.span(right)[0]).index(sign))
    starts, ends = [first, *(cut + len(sign) for cut in cuts)], [*cuts, last]
    texts = [piece.between(*place).strip() for place in zip(starts, ends, strict=True)]
    for place, text in enumerate(texts):
        yield Edit(
            kind=f"term-{counted.next('term')}",
            start=first,
            end=last,
            text=f" {sign} ".join([*texts[:place], *texts[place + 1 :]]),
            words=f"`{text}` is left out of what `{sign}` joins",
        )
