"""YAML as text with positions: what a file says, and where, before anybody asks what it means.

`yaml.compose` rather than `safe_load`: it keeps lines, columns, duplicate keys and raw text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

MAX_SPEC_BYTES = 1 << 20
"""A spec is written by hand. A megabyte of it is a wrong path."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """A stretch of one line of one file."""

    file: str
    """Path as the reader typed it, or relative to the project."""
    line: int
    """From 1; 0 means the whole file."""
    column: int
    """From 1."""
    length: int = 1
    """Characters covered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in a spec, with what would be right."""

    span: Span
    message: str
    source_line: str | None
    allowed: str | None
    near: str | None

    def __str__(self) -> str:
        place = self.span.file
        if self.span.line:
            place += f":{self.span.line}:{self.span.column}"
        lines = [f"{place}: {self.message}"]
        if self.source_line is not None:
            number = f"{self.span.line:5d}"
            shown, column = _around(self.source_line, self.span.column)
            carets = "^" * max(1, min(self.span.length, len(shown) - column + 1))
            lines.append(f"{number} | {shown}".rstrip())
            lines.append(f"{' ' * len(number)} | {' ' * (column - 1)}{carets}")
        hints = []
        if self.allowed is not None:
            hints.append(f"allowed: {self.allowed}")
        if self.near is not None:
            hints.append(f"did you mean `{self.near}`?")
        if hints:
            lines.append("  " + "; ".join(hints))
        return "\n".join(lines)


def _around(line: str, column: int) -> tuple[str, int]:
    """Cut a very long line down to what stands around a column; control characters become `?`."""
    line = "".join(c if c.isprintable() else ("→" if c == "\t" else "?") for c in line)
    if len(line) <= 160:
        return line, column
    start = max(0, column - 60)
    return "…" + line[start : start + 140] + "…", column - start + 1


class SpecError(Exception):
    """The spec author's mistakes, all of one run, sorted by place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.span, p.message)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(slots=True)
class Problems:
    """Collects mistakes, so that one run reports them all."""

    found: list[Problem] = field(default_factory=list)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def remember(self, file: str, text: str) -> None:
        """Keep a file's lines, to quote them beside a mistake."""
        self._lines[file] = text.split("\n")

    def report(
        self,
        span: Span,
        message: str,
        *,
        allowed: str | Iterable[str] | None = None,
        near: str | None = None,
    ) -> None:
        """Add one mistake."""
        lines = self._lines.get(span.file, [])
        quoted = lines[span.line - 1] if 0 < span.line <= len(lines) else None
        if allowed is not None and not isinstance(allowed, str):
            allowed = ", ".join(allowed)
        problem = Problem(
            span=span, message=message, source_line=quoted, allowed=allowed, near=near
        )
        if problem not in self.found:
            self.found.append(problem)

    def unknown(self, span: Span, what: str, word: str, known: Iterable[str]) -> None:
        """Report a name that is none of the known ones, with the nearest of them."""
        names = sorted(known)
        self.report(
            span,
            f"unknown {what} `{word}`",
            allowed=names or "none here",
            near=nearest(word, names),
        )

    def raise_if_any(self) -> None:
        """Raise SpecError when anything was reported."""
        if self.found:
            raise SpecError(self.found)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one most likely stands for, or None."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A YAML scalar: its text as written, unresolved."""

    span: Span
    text: str
    quoted: bool
    offsets: tuple[Span, ...] = ()
    """Place of each character of `text`, where it can be told; else empty."""

    def at(self, start: int, length: int = 1) -> Span:
        """Where a piece of the text stands in the file."""
        if start < len(self.offsets):
            place = self.offsets[start]
            last = self.offsets[min(start + max(length, 1), len(self.offsets)) - 1]
            same_line = last.line == place.line
            covered = last.column - place.column + 1 if same_line else 1
            return Span(file=place.file, line=place.line, column=place.column, length=covered)
        if self.offsets and start >= len(self.offsets):
            end = self.offsets[-1]
            return Span(file=end.file, line=end.line, column=end.column + 1, length=1)
        return self.span


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceNode:
    """A YAML list."""

    span: Span
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingNode:
    """A YAML mapping: keys in order, each once."""

    span: Span
    entries: tuple[tuple[Scalar, Node], ...]

    def __iter__(self) -> Iterator[tuple[Scalar, Node]]:
        return iter(self.entries)


Node = Scalar | SequenceNode | MappingNode

_BOOLEAN_TRAP = re.compile(r"(?:yes|no|on|off)", re.IGNORECASE)
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_OCTAL = re.compile(r"[-+]?0[0-9_]+")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[Tt\s].*)?")


def load(path: Path, shown: str, problems: Problems) -> MappingNode | None:
    """Read one YAML file into nodes; report what makes that impossible and return None."""
    whole = Span(file=shown, line=0, column=0)
    text = read_text(path, shown, problems)
    if text is None:
        return None
    if not text.strip() or all(line.lstrip().startswith("#") or not line.strip()
                               for line in text.split("\n")):  # fmt: skip
        problems.report(whole, "the file is empty", allowed="a mapping; see spec/README.md")
        return None
    if _tabs(text, shown, problems):
        return None
    try:
        events_ok = _refuse_features(text, shown, problems)
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader)) if events_ok else []
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        words = error.problem or "cannot be read"
        context = f" ({error.context})" if error.context else ""
        problems.report(
            Span(file=shown, line=line, column=column), f"this is not YAML: {words}{context}"
        )
        return None
    except yaml.YAMLError as error:
        problems.report(whole, f"this is not YAML: {' '.join(str(error).split())}")
        return None
    except RecursionError:
        problems.report(whole, "this is nested too deeply to be a spec")
        return None
    if not events_ok:
        return None
    if len(documents) != 1:
        problems.report(
            whole, f"{len(documents)} YAML documents in one file", allowed="one document"
        )
        return None
    node = _convert(documents[0], text, shown, problems)
    if isinstance(node, MappingNode):
        return node
    if node is not None:
        problems.report(
            node.span, "a spec is a mapping", allowed="`key: value` lines; see spec/README.md"
        )
    return None


def read_text(path: Path, shown: str, problems: Problems) -> str | None:
    """Read a file as UTF-8 text of a sensible size; report why not and return None."""
    whole = Span(file=shown, line=0, column=0)
    try:
        if path.is_dir():
            problems.report(whole, "is a folder", allowed="a file")
            return None
        size = path.stat().st_size
        if size > MAX_SPEC_BYTES:
            problems.report(
                whole, f"is {size} bytes long", allowed=f"at most {MAX_SPEC_BYTES} bytes"
            )
            return None
        data = path.read_bytes()
    except FileNotFoundError:
        problems.report(whole, "there is no such file")
        return None
    except OSError as error:
        problems.report(whole, f"cannot be read: {error.strerror}")
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.report(
            whole,
            f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8",
            allowed="UTF-8 text",
        )
        return None
    if "\0" in text:
        problems.report(whole, f"byte {data.index(0)} is NUL", allowed="UTF-8 text")
        return None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    problems.remember(shown, text)
    return text


def _tabs(text: str, shown: str, problems: Problems) -> bool:
    found = False
    for number, line in enumerate(text.split("\n"), start=1):
        indent = line[: len(line) - len(line.lstrip())]
        if "\t" in indent and line.strip():
            found = True
            problems.report(
                Span(file=shown, line=number, column=indent.index("\t") + 1),
                "a tab in the indentation",
                allowed="spaces",
            )
    return found


def _refuse_features(text: str, shown: str, problems: Problems) -> bool:
    """Anchors, aliases and tags hide what a spec says; there is no use for them here."""
    before = len(problems.found)
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        mark = event.start_mark
        assert mark is not None
        span = Span(file=shown, line=mark.line + 1, column=mark.column + 1)
        if isinstance(event, yaml.AliasEvent):
            problems.report(
                span, f"an alias `*{event.anchor}`", allowed="the value written out, or `like:`"
            )
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            problems.report(
                span, f"an anchor `&{event.anchor}`", allowed="the value written out, or `like:`"
            )
        if (
            isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
            and event.tag is not None
        ):
            problems.report(span, f"a tag `{event.tag}`", allowed="plain values")
    return len(problems.found) == before


def _convert(node: yaml.Node, text: str, shown: str, problems: Problems) -> Node | None:
    span = _span(node, shown)
    if isinstance(node, yaml.ScalarNode):
        scalar = Scalar(
            span=span,
            text=node.value,
            quoted=node.style is not None,
            offsets=_offsets(node, text, shown),
        )
        if node.style is None:
            _refuse_traps(scalar, problems)
        return scalar
    if isinstance(node, yaml.SequenceNode):
        items = [_convert(item, text, shown, problems) for item in node.value]
        return SequenceNode(span=span, items=tuple(item for item in items if item is not None))
    assert isinstance(node, yaml.MappingNode)
    entries: list[tuple[Scalar, Node]] = []
    first: dict[str, Scalar] = {}
    for key_node, value_node in node.value:
        key = _convert(key_node, text, shown, problems)
        value = _convert(value_node, text, shown, problems)
        if not isinstance(key, Scalar):
            problems.report(_span(key_node, shown), "a key that is not a word", allowed="words")
            continue
        if key.text in first:
            problems.report(
                key.span, f"duplicate key `{key.text}`, first on line {first[key.text].span.line}"
            )
            continue
        first[key.text] = key
        if value is not None:
            entries.append((key, value))
    return MappingNode(span=span, entries=tuple(entries))


def _span(node: yaml.Node, shown: str) -> Span:
    start, end = node.start_mark, node.end_mark
    length = end.column - start.column if end.line == start.line else 1
    return Span(file=shown, line=start.line + 1, column=start.column + 1, length=max(1, length))


def _offsets(node: yaml.ScalarNode, text: str, shown: str) -> tuple[Span, ...]:
    """Place of each character of a scalar, by walking value and source together past the folds."""
    raw = text[node.start_mark.index : node.end_mark.index]
    at = 0
    if node.style in ("'", '"'):
        at = 1
    elif node.style in ("|", ">"):
        at = raw.index("\n") + 1
    line, column = node.start_mark.line, node.start_mark.column
    places: list[tuple[int, int]] = []
    for character in raw:
        places.append((line, column))
        if character == "\n":
            line, column = line + 1, 0
        else:
            column += 1
    spans: list[Span] = []
    for character in node.value:
        while at < len(raw) and raw[at].isspace() and not character.isspace():
            at += 1
        if character.isspace():
            here = min(at, len(raw) - 1)
        elif at < len(raw) and raw[at] == character:
            here = at
            at += 1
        else:
            return ()
        found_line, found_column = places[here]
        spans.append(Span(file=shown, line=found_line + 1, column=found_column + 1))
        if character.isspace() and at < len(raw) and raw[at] == character:
            at += 1
    return tuple(spans)


def _refuse_traps(scalar: Scalar, problems: Problems) -> None:
    """Plain scalars that YAML 1.1 reads as something else than they look like."""
    word = scalar.text
    if _BOOLEAN_TRAP.fullmatch(word):
        problems.report(
            scalar.span,
            f"YAML reads `{word}` as a truth value",
            allowed=f'true, false, or "{word}" in quotes',
        )
    elif _SEXAGESIMAL.fullmatch(word):
        problems.report(
            scalar.span,
            f"YAML reads `{word}` as a number in base 60",
            allowed=f'a decimal number, or "{word}" in quotes',
        )
    elif _OCTAL.fullmatch(word):
        problems.report(
            scalar.span,
            f"YAML reads `{word}` as an octal number",
            allowed="a decimal number without leading zeros, or 0x hexadecimal",
        )
    elif _DATE.fullmatch(word):
        problems.report(
            scalar.span, f"YAML reads `{word}` as a date", allowed=f'"{word}" in quotes'
        )
