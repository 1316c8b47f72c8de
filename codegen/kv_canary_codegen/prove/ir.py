"""Triton IR as printed text, parsed into a small model: functions, blocks, operations, types.

Only the printer's form is read: one operation a line, a region's lines between its braces. Nothing
is dropped: a line of an unknown operation becomes an operation all the same, and a line that cannot
be read at all is an `IrError`, never a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MEMORY_OPERATIONS = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
"""Operations that touch memory by a pointer."""
OTHER_MEMORY = re.compile(
    r"tt\.(descriptor_\w+|experimental_descriptor\w*|elementwise_inline_asm|extern_elementwise)"
)
"""Operations that may touch memory in ways that are not modelled."""


class IrError(Exception):
    """The text is not what Triton prints."""


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar (no shape) or a tile of elements; `element` as printed: i64, f32, ptr<i64>."""

    element: str
    shape: tuple[int, ...] | None = None

    @property
    def pointer(self) -> bool:
        """Whether the elements are addresses."""
        return self.element.startswith("ptr<")

    @property
    def pointee(self) -> str:
        """For a pointer, what it points at."""
        return self.element[4:-1].partition(",")[0].strip()

    @property
    def bits(self) -> int | None:
        """Width of an integer element; None for anything else."""
        found = re.fullmatch(r"[iu](\d+)", self.element)
        return int(found[1]) if found else None

    @property
    def count(self) -> int:
        """Lanes."""
        lanes = 1
        for extent in self.shape or ():
            lanes *= extent
        return lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in the source that was compiled."""

    file: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: `results = name text {regions}`."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    text: str
    """What stands between the name and the types."""
    types: str
    """What stands after the colon; `->` and all."""
    regions: tuple[Region, ...]
    place: Place | None

    def integer(self, key: str) -> int | None:
        """An integer attribute, `key = 4 : i32`."""
        found = re.search(rf"\b{key} = (-?\d+)", self.text)
        return int(found[1]) if found else None

    @property
    def touches_memory(self) -> bool:
        """Whether it loads, stores, or may."""
        return self.name in MEMORY_OPERATIONS or OTHER_MEMORY.fullmatch(self.name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A label, its arguments, and operations in order."""

    label: str
    arguments: tuple[tuple[str, Type], ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Blocks, the first of them the entry."""

    blocks: tuple[Block, ...]

    def operations(self) -> Iterator[Operation]:
        """Every operation in it, those in nested regions too."""
        for block in self.blocks:
            for operation in block.operations:
                yield operation
                for region in operation.regions:
                    yield from region.operations()


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of the module."""

    name: str
    public: bool
    arguments: tuple[tuple[str, Type], ...]
    body: Region


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A whole module."""

    functions: tuple[Function, ...]

    def operations(self) -> Iterator[Operation]:
        """Every operation of every function."""
        for function in self.functions:
            yield from function.body.operations()


_VALUE = r"%[A-Za-z0-9_$.\-]+(?:#\d+)?"
_RESULTS = re.compile(rf"({_VALUE}(?::\d+)?(?:, {_VALUE}(?::\d+)?)*) = (.*)", re.DOTALL)
_NAME = re.compile(r'"([\w.]+)"|([A-Za-z_][\w.]*)')
_LOCATION = re.compile(r"#loc(\d*) = loc\((.*)\)$")


def parse(text: str) -> Module:
    """The module that a text prints.

    Raises:
        IrError: A line is none that Triton's printer writes.
    """
    return _Reader(text).module()


def parse_type(text: str) -> Type:
    """`i64`, `tensor<256xi1>`, `!tt.ptr<i64>`, `tensor<4x!tt.ptr<i32>>`."""
    text = text.strip()
    tile = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", text)
    if tile:
        shape = tuple(int(extent) for extent in tile[1].split("x") if extent)
        return Type(_element(tile[2].partition(", #")[0]), shape)
    return Type(_element(text))


def _element(text: str) -> str:
    pointer = re.fullmatch(r"!tt\.ptr<(.*)>", text.strip())
    return f"ptr<{pointer[1]}>" if pointer else text.strip()


def split_top(text: str, separator: str = ",") -> list[str]:
    """Split where no bracket is open."""
    parts, depth, start = [], 0, 0
    at = 0
    while at < len(text):
        if text.startswith("->", at):
            at += 2
            continue
        character = text[at]
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        elif depth == 0 and text.startswith(separator, at):
            parts.append(text[start:at].strip())
            at += len(separator)
            start = at
            continue
        at += 1
    last = text[start:].strip()
    return [*parts, last] if parts or last else []


def result_types(types: str) -> list[Type]:
    """What stands after an arrow or `to`, else the types that are listed."""
    after = types.rpartition("->")[2] if "->" in types else types.rpartition(" to ")[2]
    after = after.strip()
    if after.startswith("(") and after.endswith(")"):
        after = after[1:-1]
    return [parse_type(part) for part in split_top(after)]


def operand_types(types: str) -> list[Type]:
    """What stands before an arrow or `to`."""
    before = types.partition("->")[0] if "->" in types else types.partition(" to ")[0]
    before = before.strip()
    if before.startswith("(") and before.endswith(")"):
        before = before[1:-1]
    return [parse_type(part) for part in split_top(before)]


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines: list[tuple[str, str | None]] = []
        self.locations: dict[str, str] = {}
        self.places: dict[str, Place | None] = {}
        self.at = 0
        for line in text.split("\n"):
            stripped = line.strip()
            location = _LOCATION.match(stripped)
            if location:
                self.locations[location[1]] = location[2]
            elif stripped:
                self.lines.append(_without_locations(stripped))

    def module(self) -> Module:
        functions: list[Function] = []
        while self.at < len(self.lines):
            line, _ = self.lines[self.at]
            if line.startswith("tt.func"):
                functions.append(self._function())
            elif re.match(r"(builtin\.)?module\b.*\{$|\}$|\{-#$|#", line):
                self.at += 1
            else:
                raise IrError(f"outside every function: {line}")
        return Module(functions=tuple(functions))

    def _function(self) -> Function:
        line, _ = self.lines[self.at]
        head = re.match(r"tt\.func (public |private )?@(\"[^\"]*\"|[\w.$\-]+)\(", line)
        if head is None or not line.endswith("{"):
            raise IrError(f"not a function: {line}")
        close = _matching(line, head.end() - 1)
        arguments = []
        for part in split_top(line[head.end() : close]):
            name, _, kind = part.partition(":")
            arguments.append((name.strip(), parse_type(_without_attributes(kind))))
        self.at += 1
        body = self._region(tuple(arguments))
        self._expect_close()
        return Function(
            name=head[2].strip('"'),
            public=head[1] != "private ",
            arguments=tuple(arguments),
            body=body,
        )

    def _expect_close(self) -> str:
        line, _ = self.lines[self.at]
        if not line.startswith("}"):
            raise IrError(f"a region does not end: {line}")
        self.at += 1
        return line

    def _region(self, arguments: tuple[tuple[str, Type], ...] = ()) -> Region:
        """Blocks up to the line that closes them, which stays unread."""
        blocks: list[Block] = []
        label = ""
        operations: list[Operation] = []
        begun = False
        while True:
            if self.at >= len(self.lines):
                raise IrError("the text ends inside a region")
            line, _ = self.lines[self.at]
            if line.startswith("}"):
                break
            header = re.match(r"\^(\w+)(?:\((.*)\))?:", line)
            if header:
                if begun:
                    blocks.append(
                        Block(label=label, arguments=arguments, operations=tuple(operations))
                    )
                label, operations = header[1], []
                arguments = tuple(_block_arguments(header[2] or ""))
                begun = True
                self.at += 1
                continue
            begun = True
            operations.append(self._operation())
        blocks.append(Block(label=label, arguments=arguments, operations=tuple(operations)))
        return Region(blocks=tuple(blocks))

    def _operation(self) -> Operation:
        line, reference = self.lines[self.at]
        self.at += 1
        results: tuple[str, ...] = ()
        rest = line
        if line.startswith("%"):
            found = _RESULTS.match(line)
            if found is None:
                raise IrError(f"not an operation: {line}")
            results, rest = _expanded(found[1]), found[2]
        name = _NAME.match(rest)
        if name is None:
            raise IrError(f"not an operation: {line}")
        text = rest[name.end() :].strip()
        regions: list[Region] = []
        tail = ""
        if text.endswith("({") or (text.endswith("{") and text != "{"):
            generic = text.endswith("({")
            text = text[: -2 if generic else -1].strip()
            regions.append(self._region())
            while True:
                closing, closing_reference = self.lines[self.at]
                self.at += 1
                reference = closing_reference or reference
                if closing in ("} else {", "} do {", "}, {"):
                    regions.append(self._region())
                    continue
                tail = closing.lstrip("}").lstrip(")").strip()
                break
        body, types = _split_types(text)
        if tail:
            # Types of the generic form, or attributes of a loop.
            tail_body, tail_types = _split_types(tail)
            body = f"{body} {tail_body}".strip()
            types = tail_types or types
        return Operation(
            name=name[1] or name[2],
            results=results,
            operands=tuple(re.findall(_VALUE, body)),
            text=body,
            types=types,
            regions=tuple(regions),
            place=self._place(reference),
        )

    def _place(self, reference: str | None) -> Place | None:
        if reference is None:
            return None
        if reference not in self.places:
            self.places[reference] = None
            self.places[reference] = self._resolved(reference)
        return self.places[reference]

    def _resolved(self, reference: str, depth: int = 0) -> Place | None:
        """Of a call, the place that called: it lies in the kernel."""
        plain = re.match(r'"(.*)":(\d+):\d+$', reference)
        if plain:
            return Place(file=plain[1], line=int(plain[2]))
        if depth > 50:
            return None
        called = re.match(r"callsite\(.* at (#loc\d*|.*)\)$", reference)
        named = re.match(r'"(?:[^"\\]|\\.)*"\((.*)\)$', reference)
        alias = re.match(r"#loc(\d*)$", reference)
        if called:
            return self._resolved(called[1], depth + 1)
        if named:
            return self._resolved(named[1], depth + 1)
        if alias and alias[1] in self.locations:
            return self._resolved(self.locations[alias[1]], depth + 1)
        return None


def _without_locations(line: str) -> tuple[str, str | None]:
    """A line without its `loc(...)`s, and what the last of them says."""
    reference = None
    while True:
        start = -1
        at, quoted = 0, False
        while at < len(line):
            character = line[at]
            if character == '"' and (at == 0 or line[at - 1] != "\\"):
                quoted = not quoted
            elif not quoted and line.startswith(" loc(", at):
                start = at
                break
            at += 1
        if start < 0:
            return line.strip(), reference
        close = _matching(line, start + 4)
        reference = line[start + 5 : close]
        line = line[:start] + line[close + 1 :]


def _matching(line: str, start: int) -> int:
    """Where the bracket at `start` closes."""
    depth, quoted = 0, False
    for at in range(start, len(line)):
        character = line[at]
        if character == '"' and line[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return at
    raise IrError(f"a bracket does not close: {line}")


def _without_attributes(text: str) -> str:
    return text.partition("{")[0].strip()


def _block_arguments(text: str) -> list[tuple[str, Type]]:
    found = []
    for part in split_top(text):
        name, _, kind = part.partition(":")
        found.append((name.strip(), parse_type(kind)))
    return found


def _expanded(text: str) -> tuple[str, ...]:
    """`%a:2` stands for `%a#0` and `%a#1`."""
    found: list[str] = []
    for part in text.split(", "):
        name, _, count = part.partition(":")
        found.extend([name] if not count else [f"{name}#{i}" for i in range(int(count))])
    return tuple(found)


def _split_types(text: str) -> tuple[str, str]:
    """An operation's text, and its types: what stands after the first colon outside brackets."""
    depth = 0
    at = 0
    while at < len(text):
        if text.startswith("->", at):
            if depth == 0:
                # `scf.if %c -> (i64)` has types without a colon.
                colon = text.find(" : ", at)
                end = colon if colon >= 0 else len(text)
                return f"{text[:at]} {text[end:]}".strip(), text[at:end].strip()
            at += 2
            continue
        character = text[at]
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        elif depth == 0 and (text.startswith(" : ", at) or text.startswith(": ", at)):
            return text[:at].strip(), text[at:].lstrip(" :").strip()
        at += 1
    return text.strip(), ""
