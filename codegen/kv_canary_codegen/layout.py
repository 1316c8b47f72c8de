"""One line, or one item a line: what the formatter would decide, decided while generating.

A statement is read by Python's own parser, and becomes a document: texts, places where a line may
end, and groups of both that stay on one line if they fit. The rules are the formatter's: brackets
break before operators do, parentheses that a statement may have around its value come only where
they help, and a trailing comma that the text has keeps one item a line.
"""

from __future__ import annotations

import ast
import keyword
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeAlias

WIDTH = 100


# Statements.


def statement(text: str, indent: int = 0) -> str:
    """A statement, or the header of one, as the formatter would have it at an indentation.

    The text may stand on several lines, without comments. One that fits on its line stays as it is,
    and so does what is no assignment, expression, assertion, `return`, `if`, `while` or `for`.
    """
    if "\n" not in text and indent + len(text) <= WIDTH:
        return text
    doc = _statement(" ".join(line.strip() for line in text.strip().split("\n")))
    return text if doc is None else _printed(doc, indent)


@cache
def _statement(text: str) -> _Doc | None:
    """The document of a statement that stands on one line; None where it has an unknown form."""
    turned = text.startswith("elif ")
    header = re.match(r"(elif|if|while|for)\b", text) is not None
    try:
        reader = _Reader(f"{text[2:] if turned else text}{' pass' if header else ''}")
        (node,) = reader.tree.body
        doc = reader.statement(node)
    except (SyntaxError, ValueError):
        return None
    return ("el", doc) if turned else doc


def item(text: str, indent: int, *, lead: str = "", tail: str = ",") -> str:
    """An item in brackets that has its lines for itself: an argument, an element, an operand.

    Args:
        text: The item; one on several lines stays as it is.
        indent: Where its line begins.
        lead: What stands before it in its line.
        tail: What follows it.
    """
    if "\n" in text or indent + len(lead) + len(text) + len(tail) <= WIDTH:
        return lead + text + tail
    doc = _item(text)
    return lead + text + tail if doc is None else _printed((lead, doc, tail), indent)


@cache
def _item(text: str) -> _Doc | None:
    """The document of an item; None where it has an unknown form."""
    name = re.match(r'\w+=(?!=)|"[^"]*": ', text)
    head = name.group() if name else ""
    try:
        reader = _Reader(f"_({text[len(head) :]})")
        (node,) = reader.tree.body
        assert isinstance(node, ast.Expr)
        assert isinstance(node.value, ast.Call)
        (value,) = node.value.args
        return _Group((head, reader.expression(value, _INSIDE)))
    except (SyntaxError, ValueError):
        return None


def call(head: str, items: Sequence[str], tail: str, *, indent: int) -> str:
    """`head item, item tail` on one line if it fits, else one item a line with a trailing comma."""
    line = head + ", ".join(items) + tail
    if indent + len(line) <= WIDTH and "\n" not in line:
        return line
    inner = "".join(f"{placed(item(each, indent + 4), 4)}\n" for each in items)
    return f"{head}\n{inner}{tail}"


def spread(head: str, items: Sequence[str], tail: str, *, indent: int) -> str:
    """A tuple with one item a line, however short; one with less than two as short as it may be.

    Head ends with the opening parenthesis and tail begins with the closing one.
    """
    if len(items) < 2:
        inner = f"{items[0]}," if items else ""
        return item(f"({inner})", indent, lead=head[:-1], tail=tail[1:])
    inner = "".join(f"{placed(item(each, indent + 4), 4)}\n" for each in items)
    return f"{head}\n{inner}{tail}"


def imported(module: str, names: Iterable[str]) -> str:
    """An import of names out of a module, sorted: constants, classes, functions."""
    plain = sorted({name for name in names if " as " not in name}, key=_place_of_name)
    lines = [call(f"from {module} import ", plain, "", indent=0)] if plain else []
    if plain and "\n" in lines[0]:
        lines = [call(f"from {module} import (", plain, ")", indent=0)]
    return "\n".join([*lines, *(f"from {module} import {n}" for n in sorted(names) if " as " in n)])


def _place_of_name(name: str) -> tuple[int, list[tuple[str, int]]]:
    """Where a name stands among those of one import: `int8` before `int16`."""
    parts = re.findall(r"(\D*)(\d*)", name)
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(word, int(number or 0)) for word, number in parts]


def block(lines: Iterable[str]) -> list[str]:
    """Lines of statements, those that are too long or on several lines laid out anew.

    Comments that are too long for where they stand are broken anew as well, and go before the
    statement that they end.
    """
    found: list[str] = []
    rest = list(lines)
    while rest:
        line = rest[0]
        indent = len(line) - len(line.lstrip())
        count = 1
        if line.lstrip().startswith("#"):
            while count < len(rest) and rest[count].startswith(f"{line[:indent]}#"):
                count += 1
            found += _comments(rest[:count], indent)
        else:
            count = _count_of_lines(rest)
            found += _broken_anew(rest[:count], indent)
        del rest[:count]
    return found


_STRING_OR_COMMENT = re.compile(r"""\"(?:[^"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(#.*)""")


def _count_of_lines(lines: Sequence[str]) -> int:
    """How many lines the first statement takes."""
    depth = 0
    for number, line in enumerate(lines):
        if line.count('"""') == 1:
            ends = (n for n, later in enumerate(lines) if n > number and '"""' in later)
            return next(ends, number) + 1
        if "#" in line or '"' in line or "'" in line:
            line = _STRING_OR_COMMENT.sub("", line)
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0 and not line.endswith("\\"):
            return number + 1
    return len(lines)


def _broken_anew(lines: list[str], indent: int) -> list[str]:
    fits = len(lines) == 1 and len(lines[0]) <= WIDTH
    if fits or any('"""' in line or line.endswith("\\") for line in lines):
        return lines
    matches = [found for line in lines for found in _STRING_OR_COMMENT.finditer(line)]
    comments = [found.group(1) for found in matches if found.group(1)]
    if len(lines) > 1 and comments:
        return lines
    text = lines[0][: -len(comments[0])].rstrip() if comments else "\n".join(lines)
    before = _comments([" " * indent + comment for comment in comments], indent)
    return [*before, *placed(statement(text.strip(), indent), indent).split("\n")]


def _comments(lines: list[str], indent: int) -> list[str]:
    if all(len(line) <= WIDTH for line in lines):
        return lines
    words = " ".join(line.strip().removeprefix("#").strip() for line in lines)
    return placed(commented(words, indent=indent), indent).split("\n")


def chain(operator: str, terms: Sequence[str], *, indent: int, head: str, tail: str) -> str:
    """`head a and b tail` as the formatter would have it, one term a line where one has comments.

    Head ends with the opening parenthesis and tail begins with the closing one. Lines of a term
    that begin with a hash go before its operator.
    """
    if not any(term.startswith("#") for term in terms):
        line = f" {operator} ".join(terms)
        bare = head.removesuffix("(") + line
        if tail == ")" and indent + len(bare) <= WIDTH:
            return bare
        return statement(f"{head}{line}{tail}", indent)
    lines = []
    for number, term in enumerate(terms):
        *comments, text = term.split("\n")
        lines += [f"    {comment}" for comment in comments]
        lead = f"{operator} " if number else ""
        lines.append(placed(item(text, indent + 4, lead=lead, tail=""), 4))
    return "\n".join([head, *lines, tail])


# Prose and literals.


def placed(text: str, indent: int) -> str:
    """A block of lines moved right, empty lines left empty."""
    return textwrap.indent(text, " " * indent)


def wrapped(text: str, *, indent: int = 0, hang: int = 0, width: int = WIDTH) -> str:
    """Prose broken into lines; `hang` more spaces before all but the first."""
    return "\n".join(
        textwrap.wrap(
            text,
            width=width - indent,
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def commented(text: str, *, indent: int = 0) -> str:
    """Prose as comment lines."""
    return "\n".join(f"# {line}" for line in wrapped(text, indent=indent + 2).split("\n"))


def docstring(first: str, rest: str = "", *, indent: int = 0) -> str:
    """A docstring: one line if it fits, else a summary, an empty line and the rest."""
    first, rest = (text.replace("\\", "\\\\").replace('"""', "'''") for text in (first, rest))
    if not rest and indent + len(first) + 6 <= WIDTH and not first.endswith('"'):
        return f'"""{first}"""'
    summary = wrapped(first, indent=indent + (3 if rest else 6))
    parts = [f'"""{summary}']
    if rest:
        parts += ["", rest]
    parts.append('"""')
    return "\n".join(parts)


def literal(text: str) -> str:
    """A string literal with the quotes that the formatter prefers."""
    body = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    if '"' in body and "'" not in body:
        return f"'{body}'"
    return '"' + body.replace('"', '\\"') + '"'


def string(text: str, *, indent: int, tail: str = "", prefix: str = "") -> str:
    """A string literal, in pieces that stand under each other when it does not fit on a line.

    `prefix` is `f` where pieces hold replacement fields; a field is never broken.
    """
    one = prefix + literal(text) if not prefix else _formatted(text)
    if indent + len(one) + len(tail) <= WIDTH:
        return one
    kept = re.sub(r"\{[^{}]*\}", lambda m: m.group().replace(" ", "\0"), text) if prefix else text
    words = [word.replace("\0", " ") for word in kept.split(" ")]
    pieces: list[str] = []
    line = ""
    for number, word in enumerate(words):
        piece = word if number == len(words) - 1 else word + " "
        shown = _formatted(line + piece) if prefix else literal(line + piece)
        if line and indent + len(shown) + len(tail) > WIDTH:
            pieces.append(line)
            line = ""
        line += piece
    pieces.append(line)
    return "\n".join(_formatted(p) if prefix else literal(p) for p in pieces)


def _formatted(text: str) -> str:
    """An f-string where there is a field, else a plain literal."""
    if "{" not in text.replace("{{", "") and "}" not in text.replace("}}", ""):
        return literal(text.replace("{{", "{").replace("}}", "}"))
    return "f" + literal(text)


# Documents.


class UnknownFormError(ValueError):
    """A statement has a part that nothing here lays out."""


class _End:
    """Where a line may end; shown as `flat` where it does not."""

    __slots__ = ("expands", "flat")

    def __init__(self, flat: str, *, expands: bool = False) -> None:
        self.flat = flat
        self.expands = expands


_SPACE_OR_END = _End(" ")
_MAYBE_END = _End("")
_ALWAYS_END = _End("", expands=True)


class _Indented:
    """Lines inside stand four columns further right; with `group`, only where that is broken."""

    __slots__ = ("content", "expands", "group")

    def __init__(self, content: _Doc, group: _Group | None = None) -> None:
        self.content = content
        self.group = group
        self.expands = _expands(content)


class _Group:
    """Stays on one line if it fits; `within`: only where that group is broken is it a group."""

    __slots__ = ("broken", "content", "expands", "within")

    def __init__(
        self, content: _Doc = "", within: _Group | None = None, *, expands: bool = False
    ) -> None:
        self.within = within
        self.broken = False
        self.content = content
        self.expands = expands or _expands(content)

    def hold(self, content: _Doc) -> None:
        """Give a group its content, which may name the group."""
        self.content = content
        self.expands = _expands(content)


class _Choice:
    """One thing where a group is broken, another where it is not."""

    __slots__ = ("broken", "expands", "flat", "group")

    def __init__(
        self, group: _Group | None, broken: _Doc, flat: _Doc = "", *, expands: bool = False
    ) -> None:
        self.group = group
        self.broken = broken
        self.flat = flat
        self.expands = expands


class _Bracket:
    """A bracket inside optional parentheses: it may break, and they stay away if that is enough."""

    __slots__ = ("content", "expands", "group", "inner")

    def __init__(self, content: _Doc, group: _Group) -> None:
        self.content = content
        self.group = group
        self.inner = _expands(content)
        self.expands = False


class _Fitting:
    """In parentheses on lines of its own if it fits there and not here."""

    __slots__ = ("expands", "group")

    def __init__(self, group: _Group) -> None:
        self.group = group
        self.expands = False


class _First:
    """The first of several ways that fits, the first of them on one line; else the last."""

    __slots__ = ("expands", "ways")

    def __init__(self, ways: Sequence[_Doc]) -> None:
        self.ways = ways
        self.expands = False


_Doc: TypeAlias = (
    "str | tuple[_Doc, ...] | _End | _Indented | _Group | _Choice | _Bracket | _Fitting | _First"
)
_Piece: TypeAlias = tuple[int, bool, bool, "_Doc"]
"""Indentation, whether lines do not end, whether all lines are measured, and what is shown."""


def _expands(doc: _Doc) -> bool:
    if isinstance(doc, str):
        return False
    if isinstance(doc, tuple):
        return any(_expands(part) for part in doc)
    return doc.expands


def _printed(doc: _Doc, indent: int) -> str:
    """A document that begins at a column, broken where it does not fit."""
    out: list[str] = []
    column = indent
    measured = False
    stack: list[_Piece] = [(indent, False, False, doc)]
    while stack:
        at, flat, whole, part = stack.pop()
        if isinstance(part, str):
            out.append(part)
            column += len(part)
        elif isinstance(part, tuple):
            stack += [(at, flat, whole, inner) for inner in part[::-1]]
        elif isinstance(part, _End):
            if flat and part is not _ALWAYS_END:
                out.append(part.flat)
                column += len(part.flat)
            else:
                out.append("\n" + " " * (at - indent))
                column = at
                measured = False
        elif isinstance(part, _Group):
            if part.within is not None and not part.within.broken:
                stack.append((at, flat, whole, part.content))
                continue
            if part.expands:
                part.broken = True
            elif flat and measured:
                part.broken = False
            else:
                measured = True
                part.broken = False
                part.broken = not _fits((at, True, False, part.content), stack, column)
            stack.append((at, not part.broken, whole, part.content))
        elif isinstance(part, _Indented):
            further = part.group is None or part.group.broken
            stack.append((at + 4 if further else at, flat, whole, part.content))
        elif isinstance(part, _Choice):
            broken = not flat if part.group is None else part.group.broken
            stack.append((at, flat, whole, part.broken if broken else part.flat))
        elif isinstance(part, _Bracket):
            if not part.group.broken:
                measured = False
            stack.append((at, flat, whole, part.content))
        elif isinstance(part, _Fitting):
            group = part.group
            measured = True
            group.broken = False
            if _fits((at, True, False, group.content), stack, column):
                stack.append((at, True, whole, group.content))
                continue
            group.broken = True
            opened = (at, False, True, ("(", _Indented((_ALWAYS_END, group.content))))
            if _fits(opened, stack, column):
                around = ("(", _Indented((_ALWAYS_END, group.content)), _ALWAYS_END, ")")
                stack.append((at, False, whole, around))
            else:
                group.broken = False
                stack.append((at, True, whole, group.content))
                measured = False
        else:
            measured = True
            for number, way in enumerate(part.ways):
                flat_way = number == 0
                last = number == len(part.ways) - 1
                if last or _fits((at, flat_way, False, way), stack, column):
                    stack.append((at, flat_way, whole, way))
                    break
    return "".join(out)


def _fits(first: _Piece, rest: Sequence[_Piece], column: int) -> bool:
    """Whether what comes next, up to the end of its line, stays within the width."""
    todo = [first]
    after = len(rest)
    while True:
        if todo:
            at, flat, whole, part = todo.pop()
        elif after:
            after -= 1
            at, flat, whole, part = rest[after]
        else:
            return True
        if isinstance(part, str):
            column += len(part)
            if column > WIDTH:
                return False
        elif isinstance(part, tuple):
            todo += [(at, flat, whole, inner) for inner in part[::-1]]
        elif isinstance(part, _End):
            if flat and part is not _ALWAYS_END:
                column += len(part.flat)
            elif flat or not whole:
                return True
            else:
                column = at
        elif isinstance(part, _Group):
            if part.within is None or part.within.broken:
                flat = flat and not part.expands
                part.broken = not flat
            todo.append((at, flat, whole, part.content))
        elif isinstance(part, _Indented):
            further = part.group is None or part.group.broken
            todo.append((at + 4 if further else at, flat, whole, part.content))
        elif isinstance(part, _Choice):
            broken = not flat if part.group is None else part.group.broken
            todo.append((at, flat, whole, part.broken if broken else part.flat))
        elif isinstance(part, _Bracket):
            if flat and not part.group.broken:
                todo.append((at, False, True, part.content))
            elif flat and part.inner:
                return False
            else:
                todo.append((at, flat, whole, part.content))
        elif isinstance(part, _Fitting):
            part.group.broken = not flat
            todo.append((at, flat, whole, part.group.content))
        else:
            todo.append((at, flat, whole, part.ways[0 if flat else -1]))


def _flat(doc: _Doc) -> str:
    """A document on one line."""
    if isinstance(doc, str):
        return doc
    if isinstance(doc, tuple):
        return "".join(map(_flat, doc))
    if isinstance(doc, _End | _Choice):
        return doc.flat if isinstance(doc, _End) else _flat(doc.flat)
    if isinstance(doc, _Fitting):
        return _flat(doc.group)
    return _flat(doc.ways[0] if isinstance(doc, _First) else doc.content)


# Statements and expressions as documents.

_INSIDE = _Group()
"""The surroundings of an expression that stands in brackets: lines may end anywhere."""
_Around: TypeAlias = "_Group | None"
"""`_INSIDE`, a group that may become parentheses, or None: no line may end outside brackets."""


def _own(around: _Group) -> _Group | None:
    """The group that decides on line ends, where it is not the nearest one."""
    return None if around is _INSIDE else around


_BINARY = {
    ast.Pow: ("**", 2), ast.Mult: ("*", 4), ast.MatMult: ("@", 4), ast.Div: ("/", 4),
    ast.FloorDiv: ("//", 4), ast.Mod: ("%", 4), ast.Add: ("+", 5), ast.Sub: ("-", 5),
    ast.LShift: ("<<", 6), ast.RShift: (">>", 6), ast.BitAnd: ("&", 7), ast.BitXor: ("^", 8),
    ast.BitOr: ("|", 9), ast.Eq: ("==", 10), ast.NotEq: ("!=", 10), ast.Lt: ("<", 10),
    ast.LtE: ("<=", 10), ast.Gt: (">", 10), ast.GtE: (">=", 10), ast.Is: ("is", 10),
    ast.IsNot: ("is not", 10), ast.In: ("in", 10), ast.NotIn: ("not in", 10),
    ast.And: ("and", 11), ast.Or: ("or", 11),
}  # fmt: skip
"""Text and looseness of each operator that stands between two operands."""
_ATTRIBUTE, _INVERTED, _CONDITIONAL = 1, 3, 13
"""Looseness of what is no operator between two operands."""
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not "}
_NEVER, _FITTING, _LINES = range(3)
"""When a statement's value gets parentheses: never, if it fits in them only, if it takes lines."""


class _Reader:
    """Makes documents of the parts of one statement, which stands on one line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._offsets: Sequence[int] = range(len(text) + 1)
        if not text.isascii():
            self._offsets = [at for at, sign in enumerate(text) for _ in sign.encode()]
            self._offsets.append(len(text))
        self._wrapped: dict[int, bool] = {}

    # What the text says beside the tree.

    def _start(self, node: ast.expr) -> int:
        return self._offsets[node.col_offset]

    def _stop(self, node: ast.expr) -> int:
        return self._offsets[node.end_col_offset or 0]

    def source(self, node: ast.expr) -> str:
        """The text of a part as it stands."""
        return self.text[self._start(node) : self._stop(node)]

    def wrapped(self, node: ast.expr) -> bool:
        """Whether a part stands in parentheses that are its own and no call's."""
        found = self._wrapped.get(id(node))
        if found is None:
            found = self._wrapped[id(node)] = self._stands_wrapped(node)
        return found

    def _stands_wrapped(self, node: ast.expr) -> bool:
        text = self.text
        before = self._start(node) - 1
        while text[before] == " " and before > 0:
            before -= 1
        if before < 0 or text[before] != "(" or text[self._stop(node) :].lstrip()[:1] != ")":
            return False
        head = text[:before].rstrip()
        word = re.search(r"\w+$", head)
        if word is not None:
            return keyword.iskeyword(word.group()) and not word.group()[0].isupper()
        return not head.endswith((")", "]", '"', "'"))

    def _ends_with_comma(self, node: ast.expr) -> bool:
        """Whether a trailing comma stands before the bracket that a part ends with."""
        return self.text[: self._stop(node) - 1].rstrip().endswith(",")

    # Where lines may end.

    def _group(self, content: _Doc, around: _Around) -> _Doc:
        if around is None:
            return content
        return _Group(content, _own(around))

    def _end(self, around: _Around, end: _End) -> _Doc:
        if around is None:
            return end.flat
        return end if around is _INSIDE else _Choice(around, end, end.flat)

    def _bracketed(self, left: str, content: _Doc, right: str, around: _Around) -> _Doc:
        group = _Group((left, _Indented((_MAYBE_END, content)), _MAYBE_END, right))
        return group if around is None or around is _INSIDE else _Bracket(group, around)

    def _listed(self, items: Sequence[_Doc], *, comma: bool) -> _Doc:
        """Items on one line or one a line; `comma`: the text has a trailing comma, which keeps."""
        parts: list[_Doc] = []
        for number, item in enumerate(items):
            last = number == len(items) - 1
            parts += [item] if last else [item, ",", _SPACE_OR_END]
        if comma or len(items) > 1:
            parts.append(_Choice(None, ",", expands=comma))
        return tuple(parts)

    # Expressions.

    def expression(self, node: ast.expr, around: _Around) -> _Doc:
        """A part with the parentheses that it has."""
        if self.wrapped(node):
            return self._bracketed("(", self.bare(node, _INSIDE), ")", around)
        return self.bare(node, around)

    def bare(self, node: ast.expr, around: _Around) -> _Doc:
        """A part without parentheses of its own."""
        form = _FORMS.get(type(node))
        if form is None:
            raise UnknownFormError(type(node).__name__)
        return form(self, node, around)

    def _name(self, node: ast.Name, around: _Around) -> _Doc:
        return node.id

    def _constant(self, node: ast.Constant, around: _Around) -> _Doc:
        text = self.source(node)
        if isinstance(node.value, str | bytes):
            return self._string(text)
        return text

    def _formatted(self, node: ast.JoinedStr, around: _Around) -> _Doc:
        return self._string(self.source(node))

    def _string(self, text: str) -> str:
        """One literal; its quotes are double where it holds neither."""
        plain = re.fullmatch(r"""(\w*)(?:"([^"\\]|\\.)*"|'([^'\\]|\\.)*')""", text)
        if plain is None:
            raise UnknownFormError("several literals, or one over several lines")
        inner = text[len(plain.group(1)) + 1 : -1]
        if text.endswith("'") and '"' not in inner and "\\" not in inner:
            return f'{plain.group(1)}"{inner}"'
        return text

    def _binary(self, node: ast.expr, around: _Around) -> _Doc:
        parts: list[ast.expr | tuple[str, int]] = []
        self._flatten(node, parts)
        return self._group(self._operation(parts, around), around)

    def _flatten(self, node: ast.expr, parts: list[ast.expr | tuple[str, int]]) -> None:
        """Operands and operators of all operations that no parentheses tell apart."""
        operands: list[ast.expr]
        operators: Sequence[ast.AST]
        if isinstance(node, ast.BinOp):
            operands, operators = [node.left, node.right], [node.op]
        elif isinstance(node, ast.Compare):
            operands, operators = [node.left, *node.comparators], node.ops
        else:
            assert isinstance(node, ast.BoolOp)
            operands, operators = node.values, [node.op] * (len(node.values) - 1)
        for number, operand in enumerate(operands):
            if number:
                parts.append(_BINARY[type(operators[number - 1])])
            if isinstance(operand, _OPERATIONS) and not self.wrapped(operand):
                self._flatten(operand, parts)
            else:
                parts.append(operand)

    def _operation(self, parts: Sequence[ast.expr | tuple[str, int]], around: _Around) -> _Doc:
        if len(parts) == 1:
            assert isinstance(parts[0], ast.expr)
            return self.expression(parts[0], around)
        loosest = max(part[1] for part in parts if isinstance(part, tuple))
        docs: list[_Doc] = []
        begin = 0
        for place, part in enumerate(parts):
            if not isinstance(part, tuple) or part[1] != loosest:
                continue
            docs.append(self._side(parts[begin:place], around))
            if part[0] == "**" and self._is_plain(parts[place - 1], parts[place + 1]):
                space = "" if around is None else _Choice(_own(around), " ")
                docs += [self._end(around, _MAYBE_END), part[0], space]
            else:
                docs += [self._end(around, _SPACE_OR_END), f"{part[0]} "]
            begin = place + 1
        docs.append(self._side(parts[begin:], around))
        return tuple(docs)

    def _is_plain(self, *operands: ast.expr | tuple[str, int]) -> bool:
        """Whether a power stands without spaces."""
        return all(
            isinstance(operand, ast.expr) and not self.wrapped(operand) and _is_plain(operand)
            for operand in operands
        )

    def _side(self, parts: Sequence[ast.expr | tuple[str, int]], around: _Around) -> _Doc:
        doc = self._operation(parts, around)
        return doc if len(parts) == 1 else self._group(doc, around)

    def _unary(self, node: ast.UnaryOp, around: _Around) -> _Doc:
        operand = node.operand
        power = isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Pow)
        if power and not self.wrapped(operand):
            inner = self._bracketed("(", self.bare(operand, _INSIDE), ")", around)
            return (_UNARY[type(node.op)], inner)
        return (_UNARY[type(node.op)], self.expression(operand, around))

    def _conditional(self, node: ast.IfExp, around: _Around) -> _Doc:
        return self._group(self._ways(node, around), around)

    def _ways(self, node: ast.IfExp, around: _Around) -> _Doc:
        other = node.orelse
        nested = isinstance(other, ast.IfExp) and not self.wrapped(other)
        end = self._end(around, _SPACE_OR_END)
        return (
            self.expression(node.body, around),
            end,
            "if ",
            self.expression(node.test, around),
            end,
            "else ",
            self._ways(other, around)
            if nested and isinstance(other, ast.IfExp)
            else self.expression(other, around),
        )

    # Chains of attributes, calls and subscripts.

    def _is_fluent(self, node: ast.expr) -> bool:
        """Whether two attributes or more follow brackets, so that a line may begin with a dot."""
        count = 0
        part = node
        while True:
            if isinstance(part, ast.Attribute):
                part = part.value
                if self.wrapped(part):
                    count += 1
                    break
                if isinstance(part, ast.Call | ast.Subscript):
                    count += 1
            elif isinstance(part, ast.Call):
                part = part.func
            elif isinstance(part, ast.Subscript):
                part = part.value
            else:
                if self.wrapped(part):
                    count += 1
                break
            if self.wrapped(part):
                break
        return count >= 2

    def _link(self, node: ast.expr, around: _Around, *, fluent: bool) -> _Doc:
        """What stands before a dot or bracket of a chain."""
        if self.wrapped(node):
            return self._bracketed("(", self.bare(node, _INSIDE), ")", around)
        if not fluent:
            return self.bare(node, around)
        if isinstance(node, ast.Attribute):
            return self._attribute_of(node, around, fluent=True)
        if isinstance(node, ast.Call):
            return self._call_of(node, around, fluent=True)
        if isinstance(node, ast.Subscript):
            return self._subscript_of(node, around, fluent=True)
        return self.bare(node, around)

    def _attribute(self, node: ast.Attribute, around: _Around) -> _Doc:
        fluent = self._is_fluent(node)
        doc = self._attribute_of(node, around, fluent=fluent)
        return _Group(doc) if fluent else doc

    def _attribute_of(self, node: ast.Attribute, around: _Around, *, fluent: bool) -> _Doc:
        value = node.value
        end: _Doc = ""
        if fluent and (self.wrapped(value) or isinstance(value, ast.Call | ast.Subscript)):
            end = self._end(around, _MAYBE_END)
        return (self._link(value, around, fluent=fluent), end, f".{node.attr}")

    def _call(self, node: ast.Call, around: _Around) -> _Doc:
        fluent = self._is_fluent(node)
        doc = self._call_of(node, around, fluent=fluent)
        return _Group(doc) if fluent else doc

    def _call_of(self, node: ast.Call, around: _Around, *, fluent: bool) -> _Doc:
        return (self._link(node.func, around, fluent=fluent), self._arguments(node, around))

    def _arguments(self, node: ast.Call, around: _Around) -> _Doc:
        if not node.args and not node.keywords:
            return "()"
        comma = self._ends_with_comma(node)
        if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp):
            return self._bracketed("(", self._comprehension(node.args[0]), ")", around)
        items: list[tuple[int, _Doc]] = [
            (self._start(item), self.expression(item, _INSIDE)) for item in node.args
        ]
        for item in node.keywords:
            value = self.expression(item.value, _INSIDE)
            head = f"{item.arg}=" if item.arg is not None else "**"
            items.append((self._offsets[item.col_offset], (head, value)))
        items.sort(key=lambda pair: pair[0])
        listed = _Group(self._listed([doc for _, doc in items], comma=comma))
        return self._bracketed("(", listed, ")", around)

    def _subscript(self, node: ast.Subscript, around: _Around) -> _Doc:
        fluent = self._is_fluent(node)
        doc = self._subscript_of(node, around, fluent=fluent)
        return _Group(doc) if fluent else doc

    def _subscript_of(self, node: ast.Subscript, around: _Around, *, fluent: bool) -> _Doc:
        return (self._link(node.value, around, fluent=fluent), self._index(node, around))

    def _index(self, node: ast.Subscript, around: _Around) -> _Doc:
        index = node.slice
        if isinstance(index, ast.Tuple) and not self._has_own_parentheses(index):
            if len(index.elts) == 1:
                return self._bracketed(
                    "[", (self.expression(index.elts[0], _INSIDE), ","), "]", around
                )
            items = [self.expression(item, _INSIDE) for item in index.elts]
            listed = _Group(self._listed(items, comma=self._ends_with_comma(node)))
            return self._bracketed("[", listed, "]", around)
        return self._bracketed("[", self.expression(index, _INSIDE), "]", around)

    def _slice(self, node: ast.Slice, around: _Around) -> _Doc:
        parts = [part for part in (node.lower, node.upper, node.step) if part is not None]
        space = "" if all(_is_literal(part) for part in parts) else " "
        docs: list[_Doc] = []
        if node.lower is not None:
            docs += [self.expression(node.lower, around), space]
        docs.append(":")
        if node.upper is not None:
            docs += [space, self.expression(node.upper, around)]
        if node.step is not None:
            docs += [space, ":", space, self.expression(node.step, around)]
        return tuple(docs)

    # Collections.

    def _has_own_parentheses(self, node: ast.Tuple) -> bool:
        """Whether a tuple's parentheses are its own; its first element may have some too."""
        if not node.elts:
            return True
        first = node.elts[0]
        opened = self.text[self._start(node) : self._start(first)].count("(")
        after = re.match(r"[ )]*", self.text[self._stop(first) :])
        return opened > (after.group().count(")") if after is not None else 0)

    def _tuple(self, node: ast.Tuple, around: _Around) -> _Doc:
        if not node.elts:
            return "()"
        if len(node.elts) == 1:
            only = self.expression(node.elts[0], _INSIDE)
            return self._bracketed("(", (only, ","), ")", around)
        if self._has_own_parentheses(node):
            return self._bracketed("(", self._sequence(node, node.elts, _INSIDE), ")", around)
        return self._if_long(self._sequence(node, node.elts, _INSIDE, comma=False))

    def _sequence(
        self,
        node: ast.expr,
        items: Sequence[ast.expr],
        around: _Around,
        *,
        comma: bool | None = None,
    ) -> _Doc:
        comma = self._ends_with_comma(node) if comma is None else comma
        return self._listed([self.expression(item, around) for item in items], comma=comma)

    def _list(self, node: ast.List, around: _Around) -> _Doc:
        if not node.elts:
            return "[]"
        return self._bracketed("[", self._sequence(node, node.elts, _INSIDE), "]", around)

    def _set(self, node: ast.Set, around: _Around) -> _Doc:
        return self._bracketed("{", self._sequence(node, node.elts, _INSIDE), "}", around)

    def _dict(self, node: ast.Dict, around: _Around) -> _Doc:
        if not node.values:
            return "{}"
        items: list[_Doc] = []
        for key, value in zip(node.keys, node.values, strict=True):
            shown = self.expression(value, _INSIDE)
            items.append(
                ("**", shown)
                if key is None
                else _Group((self.expression(key, _INSIDE), ": ", shown))
            )
        listed = self._listed(items, comma=self._ends_with_comma(node))
        return self._bracketed("{", listed, "}", around)

    def _starred(self, node: ast.Starred, around: _Around) -> _Doc:
        return ("*", self.expression(node.value, around))

    def _named(self, node: ast.NamedExpr, around: _Around) -> _Doc:
        target = self.expression(node.target, around)
        return _Group((target, " := ", self.expression(node.value, around)))

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> _Doc:
        docs: list[_Doc] = [_Group(self.expression(node.elt, _INSIDE))]
        for each in node.generators:
            docs += [_SPACE_OR_END, "for ", self._target(each.target), " in "]
            docs.append(self.expression(each.iter, _INSIDE))
            for condition in each.ifs:
                docs += [_SPACE_OR_END, "if ", self.expression(condition, _INSIDE)]
        return _Group(tuple(docs))

    def _comprehended(
        self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp, around: _Around
    ) -> _Doc:
        pair = {ast.ListComp: "[]", ast.SetComp: "{}"}.get(type(node), "()")
        return self._bracketed(pair[0], self._comprehension(node), pair[1], around)

    def _target(self, node: ast.expr) -> _Doc:
        if isinstance(node, ast.Tuple):
            if len(node.elts) == 1:
                return (self.expression(node.elts[0], _INSIDE), ",")
            return ", ".join(self.source(item) for item in node.elts)
        return self.expression(node, _INSIDE)

    # Values of statements, which get parentheses where they help.

    def _if_long(self, content: _Doc) -> _Doc:
        around = (_Choice(None, "("), _Indented((_MAYBE_END, content)), _MAYBE_END)
        return _Group((*around, _Choice(None, ")")))

    def _optional(self, content: Callable[[_Group], _Doc]) -> _Doc:
        group = _Group()
        inner = _Indented((_MAYBE_END, content(group)), group)
        group.hold((_Choice(group, "("), inner, _MAYBE_END, _Choice(group, ")")))
        return group

    def value(
        self, node: ast.expr, *, kept: bool = False, tight: bool = False, test: bool = False
    ) -> _Doc:
        """A statement's value.

        Args:
            node: The value.
            kept: It keeps the parentheses that it has.
            tight: It is an assertion's, and fits in parentheses whatever it is.
            test: It is a condition.
        """
        named = isinstance(node, ast.NamedExpr) and not test
        if named or (kept and self.wrapped(node)):
            return self._bracketed("(", self.bare(node, _INSIDE), ")", None)
        needs = self._needs(node)
        if needs == _FITTING and not tight:
            if kept:
                return self.bare(node, None)
            group = _Group()
            group.hold(self.bare(node, group))
            return _Fitting(group)
        if needs == _NEVER:
            return self.bare(node, None)
        if self._breaks_inside(node):
            return self._optional(lambda group: self.bare(node, group))
        return self._if_long(self.bare(node, _INSIDE))

    def _needs(self, node: ast.expr) -> int:
        """When a part gets parentheses as a statement's value."""
        if isinstance(node, ast.Name | ast.Constant | ast.JoinedStr):
            return _FITTING
        if isinstance(node, ast.Attribute):
            if self._is_fluent(node):
                return _LINES
            if isinstance(node.value, ast.Name):
                return _FITTING
            return _NEVER if self.wrapped(node.value) else self._needs(node.value)
        if isinstance(node, ast.Call | ast.Subscript):
            if self._is_fluent(node):
                return _LINES
            inner = node.func if isinstance(node, ast.Call) else node.value
            if self.wrapped(inner):
                return _NEVER
            needs = self._needs(inner)
            return _NEVER if needs == _FITTING else needs
        if isinstance(node, ast.UnaryOp):
            if self.wrapped(node.operand):
                return _NEVER
            return max(self._needs(node.operand), _FITTING)
        if isinstance(node, (*_OPERATIONS, ast.IfExp, ast.NamedExpr)):
            return _LINES
        return _NEVER

    def _breaks_inside(self, node: ast.expr) -> bool:
        """Whether a value may break in its own brackets, and so do without parentheses."""
        seen = _Seen(self)
        seen.inner(node)
        if not seen.brackets or seen.count > 1:
            return False
        if seen.loosest == _ATTRIBUTE:
            return True
        return self._ends_in_brackets(seen.last) or self._ends_in_brackets(seen.first)

    def _ends_in_brackets(self, node: ast.expr | None) -> bool:
        if node is None or isinstance(node, ast.Subscript):
            return False
        return self.has_brackets(node, empty=False)

    def has_brackets(self, node: ast.expr, *, empty: bool = True) -> bool:
        """Whether a part ends in brackets; `empty`: empty ones count."""
        if self.wrapped(node):
            return True
        if isinstance(node, ast.Call):
            return empty or bool(node.args or node.keywords)
        if isinstance(node, ast.Tuple):
            return self._has_own_parentheses(node) and (empty or bool(node.elts))
        if isinstance(node, ast.List | ast.Set):
            return empty or bool(node.elts)
        if isinstance(node, ast.Dict):
            return empty or bool(node.values)
        comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        return isinstance(node, (ast.Subscript, *comprehensions))

    # Statements.

    def statement(self, node: ast.stmt) -> _Doc:
        """A statement, or the header of one whose body is left out."""
        match node:
            case ast.Assign(targets=[target]):
                return self._assigned(target, self.expression(target, None), " = ", node.value)
            case ast.AugAssign():
                operator = f" {_BINARY[type(node.op)][0]}= "
                target = node.target
                return self._assigned(target, self.expression(target, None), operator, node.value)
            case ast.AnnAssign(value=ast.expr() as value):
                head = (self.expression(node.target, None), ": ")
                return self._assigned(
                    node.annotation, (*head, self.expression(node.annotation, None)), " = ", value
                )
            case ast.Expr():
                if isinstance(node.value, ast.BinOp) and isinstance(node.value.op, _ARITHMETIC):
                    return self.value(node.value, kept=True)
                return self.expression(node.value, None)
            case ast.Return(value=ast.expr() as value):
                return ("return ", self._returned(value))
            case ast.Assert():
                docs: list[_Doc] = ["assert ", self.value(node.test, tight=True)]
                if node.msg is not None:
                    docs += [", ", self.value(node.msg, tight=True)]
                return tuple(docs)
            case ast.If() | ast.While():
                word = "if " if isinstance(node, ast.If) else "while "
                return (word, self.value(node.test, test=True), ":")
            case ast.For():
                return ("for ", self._target(node.target), " in ", self.value(node.iter), ":")
        raise UnknownFormError(type(node).__name__)

    def _returned(self, value: ast.expr) -> _Doc:
        if (
            isinstance(value, ast.Tuple)
            and len(value.elts) == 2
            and not self._has_own_parentheses(value)
        ):
            return self._optional(
                lambda group: self._sequence(value, value.elts, group, comma=False)
            )
        return self.value(value)

    def _assigned(self, target: ast.expr, head: _Doc, operator: str, value: ast.expr) -> _Doc:
        """Target and value; a target in brackets may break too."""
        if not isinstance(target, ast.Tuple) and not self.has_brackets(target):
            return (head, operator, self.value(value))
        needs = self._needs(value)
        chained = isinstance(value, ast.Attribute | ast.Call | ast.Subscript)
        fitting = needs == _FITTING and not isinstance(value, ast.UnaryOp)
        if not (fitting or (chained and needs == _NEVER)):
            return (head, operator, self.value(value))
        if _expands(head):
            return (head, operator, self.bare(value, None))
        bare = self.bare(value, _Group())
        flat = _flat(head)
        inside = self.bare(value, _INSIDE)
        ways: list[_Doc] = [(flat, operator, bare)]
        if chained:
            ways.append((flat, operator, _Group(bare, expands=True)))
        inner = _Group((_Indented((_MAYBE_END, inside)), _MAYBE_END), expands=True)
        ways.append((flat, operator, "(", inner, ")"))
        ways.append((_Group(head, expands=True), operator, bare))
        return _First(ways)


class _Seen:
    """What stands outside brackets in a value: operators, and its first and last part."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.brackets = False
        self.loosest = 0
        self.count = 0
        self.first: ast.expr | None = None
        self.last: ast.expr | None = None
        self.begun = False

    def _operator(self, looseness: int, count: int = 1) -> None:
        if looseness > self.loosest:
            self.loosest, self.count = looseness, count
        elif looseness == self.loosest:
            self.count += count

    def part(self, node: ast.expr) -> None:
        """Look at an operand, or whatever else a part has in it."""
        self.last = node
        if self.reader.wrapped(node):
            self.brackets = True
        else:
            self.inner(node)
        if not self.begun:
            self.begun = True
            self.first = node

    def inner(self, node: ast.expr) -> None:
        """Look at a part without the parentheses that it may have."""
        match node:
            case ast.Dict() | ast.List() | ast.Set() | ast.ListComp() | ast.SetComp():
                self.brackets = True
            case ast.DictComp() | ast.GeneratorExp():
                self.brackets = True
            case ast.Tuple():
                self.brackets = self.brackets or self.reader.has_brackets(node)
            case ast.BoolOp():
                self._operator(_BINARY[type(node.op)][1], len(node.values) - 1)
                for operand in node.values:
                    self.part(operand)
            case ast.BinOp():
                self._operator(_BINARY[type(node.op)][1])
                self.part(node.left)
                self.part(node.right)
            case ast.Compare():
                self._operator(_BINARY[type(node.ops[0])][1], len(node.ops))
                for operand in (node.left, *node.comparators):
                    self.part(operand)
            case ast.IfExp():
                self._operator(_CONDITIONAL, 2)
                for operand in (node.test, node.body, node.orelse):
                    self.part(operand)
            case ast.Call():
                self.brackets = True
                self.part(node.func)
                self.last = node
            case ast.Subscript():
                self.brackets = True
                self.part(node.value)
                self.last = node
            case ast.UnaryOp():
                if isinstance(node.op, ast.Invert):
                    self._operator(_INVERTED)
                self.begun = True
                self.part(node.operand)
            case ast.Attribute():
                if self.reader.has_brackets(node.value):
                    self._operator(_ATTRIBUTE)
                self.part(node.value)
                self.last = node
            case ast.Starred():
                self.begun = True
            case ast.NamedExpr():
                self.part(node.target)
                self.part(node.value)


def _is_plain(part: ast.expr | tuple[str, int]) -> bool:
    """Whether a power's operand is so short that `**` stands without spaces."""
    while isinstance(part, ast.Attribute):
        part = part.value
        if not isinstance(part, ast.Name | ast.Attribute):
            return False
    if isinstance(part, ast.UnaryOp) and not isinstance(part.op, ast.Not):
        return _is_plain(part.operand)
    return isinstance(part, ast.Name) or (
        isinstance(part, ast.Constant) and isinstance(part.value, int | float | complex | None)
    )


def _is_literal(node: ast.expr) -> bool:
    """Whether a slice's bound is so short that its colon stands without spaces."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return _is_literal(node.operand)
    return isinstance(node, ast.Name | ast.Constant)


_ARITHMETIC = (ast.Add, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Sub)
_OPERATIONS = (ast.BinOp, ast.BoolOp, ast.Compare)
_FORMS: dict[type[ast.expr], Callable[[_Reader, Any, _Around], _Doc]] = {
    ast.Attribute: _Reader._attribute,
    ast.BinOp: _Reader._binary,
    ast.BoolOp: _Reader._binary,
    ast.Call: _Reader._call,
    ast.Compare: _Reader._binary,
    ast.Constant: _Reader._constant,
    ast.Dict: _Reader._dict,
    ast.GeneratorExp: _Reader._comprehended,
    ast.IfExp: _Reader._conditional,
    ast.JoinedStr: _Reader._formatted,
    ast.List: _Reader._list,
    ast.ListComp: _Reader._comprehended,
    ast.Name: _Reader._name,
    ast.NamedExpr: _Reader._named,
    ast.Set: _Reader._set,
    ast.SetComp: _Reader._comprehended,
    ast.Slice: _Reader._slice,
    ast.Starred: _Reader._starred,
    ast.Subscript: _Reader._subscript,
    ast.Tuple: _Reader._tuple,
    ast.UnaryOp: _Reader._unary,
}
