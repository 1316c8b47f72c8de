"""YAML as text with positions: what a file says, and where, before anybody asks what it means.

Composed nodes rather than `safe_load`: they keep lines, columns, duplicate keys and raw text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

MAX_SPEC_BYTES = 1 << 18
"""A spec is written by hand. A quarter of a megabyte of it is a wrong path."""
MAX_NESTING = 20
"""The language itself nests half as deep."""
_LISTED = 12
"""Names that an error lists before it stops at the nearest ones."""
_SHOWN_WIDTH = 140


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

    def covers(self, other: Span) -> bool:
        """Whether another stretch begins inside this one."""
        return (
            self.file == other.file
            and self.line == other.line
            and self.column <= other.column < self.column + self.length
        )


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
    if len(line) <= _SHOWN_WIDTH:
        return line, column
    start = max(0, column - 60)
    before = "…" if start else ""
    after = "…" if start + _SHOWN_WIDTH < len(line) else ""
    return before + line[start : start + _SHOWN_WIDTH] + after, column - start + len(before)


class SpecError(Exception):
    """The spec author's mistakes, all of one run, sorted by place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.span, p.message)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Problems:
    """Collects mistakes, so that one run reports them all, and each of them once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Span, str], Problem] = {}
        self._lines: dict[str, list[str]] = {}
        self._spoiled: list[Span] = []
        self._borrower: Span | None = None
        self._borrowed: list[tuple[Span, Problem]] = []

    @property
    def found(self) -> list[Problem]:
        """What was reported so far."""
        return list(self._found.values())

    def count(self) -> int:
        """How much was reported or put aside so far."""
        return len(self._found) + len(self._borrowed)

    def remember(self, file: str, text: str) -> None:
        """Keep a file's lines, to quote them beside a mistake."""
        self._lines[file] = text.split("\n")

    def line(self, file: str, number: int) -> str | None:
        """A line of a file that was read, counted from 1."""
        lines = self._lines.get(file, [])
        return lines[number - 1] if 0 < number <= len(lines) else None

    def report(
        self,
        span: Span,
        message: str,
        *,
        allowed: str | Iterable[str] | None = None,
        near: str | None = None,
    ) -> None:
        """Add one mistake, unless what stands there was reported as spoiled."""
        if any(spoiled.covers(span) for spoiled in self._spoiled):
            return
        if allowed is not None and not isinstance(allowed, str):
            allowed = ", ".join(allowed) or "none here"
        problem = Problem(
            span=span,
            message=message,
            source_line=self.line(span.file, span.line),
            allowed=allowed,
            near=near,
        )
        if self._borrower is not None and span.file != self._borrower.file:
            self._borrowed.append((self._borrower, problem))
        else:
            self._found.setdefault((span, message), problem)

    def unknown(self, span: Span, what: str, word: str, known: Iterable[str]) -> None:
        """Report a name that is none of the known ones, with the nearest of them."""
        names = list(known)
        self.report(
            span,
            f"unknown {what} `{word}`",
            allowed=listed(word, names),
            near=nearest(word, names),
        )

    def spoil(self, span: Span) -> None:
        """Whatever else is wrong with this stretch of text follows from what was reported."""
        # What is missing at its end is found one character behind it.
        self._spoiled.append(replace(span, length=span.length + 1))

    @contextmanager
    def borrowed(self, borrower: Span) -> Iterator[None]:
        """Put aside what is found in other files: text that `borrower` reads as its own.

        A mistake in that text is its own file's. What is wrong only where it is borrowed is
        reported at the borrower, by `settle`.
        """
        outer, self._borrower = self._borrower, borrower
        try:
            yield
        finally:
            self._borrower = outer

    def settle(self) -> None:
        """Report what is wrong with borrowed text where it was borrowed, and only there."""
        lent = [span for span, _ in self._found]
        for borrower, problem in self._borrowed:
            if not any(span.covers(problem.span) or problem.span.covers(span) for span in lent):
                place = f"{problem.span.file}:{problem.span.line}"
                self.report(
                    borrower,
                    f"what stands in {place} cannot stand here: {problem.message}",
                    allowed=problem.allowed,
                    near=problem.near,
                )
        self._borrowed.clear()

    def raise_if_any(self) -> None:
        """Raise SpecError when anything was reported."""
        self.settle()
        if self._found:
            raise SpecError(self.found)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one most likely stands for, or None."""
    matches = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def listed(word: str, known: Iterable[str]) -> str:
    """The known names in order; of very many, those that are most like a misspelt one."""
    names = sorted(set(known))
    if len(names) <= _LISTED:
        return ", ".join(names) or "none here"
    near = sorted(difflib.get_close_matches(word, names, n=_LISTED // 2, cutoff=0.0))
    return f"{', '.join(near)} and {len(names) - len(near)} more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A YAML scalar: its text as written, unresolved."""

    span: Span
    text: str
    quoted: bool
    raw: str = ""
    """The text with quotes and folds, as it stands in the file from `span` on."""

    def at(self, start: int, length: int = 1) -> Span:
        """Where a piece of the text stands in the file; the whole scalar where nobody can tell."""
        places = _places(self.text, self.raw)
        if not places:
            return self.span
        if start >= len(places):
            line, column = places[-1]
            return self._span(line, column + 1, 1)
        line, column = places[start]
        last_line, last_column = places[min(start + max(length, 1), len(places)) - 1]
        return self._span(line, column, last_column - column + 1 if last_line == line else 1)

    def _span(self, line: int, column: int, length: int) -> Span:
        first = self.span
        if line == 0:
            column += first.column - 1
        return Span(file=first.file, line=first.line + line, column=column + 1, length=length)


def _places(value: str, raw: str) -> list[tuple[int, int]]:
    """Line and column in the raw text of each character of the value, past quotes and folds."""
    at = 0
    quote = raw[:1] if raw[:1] in ("'", '"') and len(raw) >= 2 and raw[-1] == raw[0] else ""
    if quote:
        at = 1
    elif raw[:1] in ("|", ">"):
        at = raw.find("\n") + 1
    lines: list[tuple[int, int]] = []
    line = column = 0
    for character in raw:
        lines.append((line, column))
        line, column = (line + 1, 0) if character == "\n" else (line, column + 1)
    found: list[tuple[int, int]] = []
    for character in value:
        blank = character.isspace()
        while not blank and at < len(raw) and raw[at].isspace():
            at += 1
        escaped = raw[at : at + 2] in ('\\"', "\\\\") if quote == '"' else raw[at : at + 2] == "''"
        at += 1 if quote and escaped else 0
        if blank:
            found.append(lines[min(at, len(raw) - 1)])
            at += 1 if raw[at : at + 1] == character else 0
        elif raw[at : at + 1] == character:
            found.append(lines[at])
            at += 1
        else:
            return []
    return found


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
_NOTHING = re.compile(r"~|null|Null|NULL")
_STRANGE = re.compile(
    r"[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Control characters, and what some readers take for a line break and others do not."""


def load(path: Path, shown: str, problems: Problems) -> MappingNode | None:
    """Read one YAML file into nodes; report what makes that impossible and return None."""
    whole = Span(file=shown, line=0, column=0)
    text = read_text(path, shown, problems)
    if text is None:
        return None
    if all(line.lstrip().startswith("#") or not line.strip() for line in text.split("\n")):
        problems.report(whole, "the file is empty", allowed="a mapping; see spec/README.md")
        return None
    if _tabs(text, shown, problems):
        return None
    loader = _Loader(text, shown, problems)
    documents: list[yaml.Node] = []
    try:
        while loader.check_node():
            if documents:
                mark = loader.peek_event().start_mark  # type: ignore[no-untyped-call]
                problems.report(
                    Span(file=shown, line=mark.line + 1, column=mark.column + 1, length=3),
                    "a second YAML document in one file",
                    allowed="one document",
                )
                return None
            document = loader.get_node()
            if document is not None:
                documents.append(document)
    except yaml.MarkedYAMLError as error:
        problems.report(*_not_yaml(error, text, shown), allowed=_YAML_ADVICE)
        return None
    except _TooDeepError as error:
        problems.report(
            error.span, "this is nested too deeply", allowed=f"at most {MAX_NESTING} levels"
        )
        return None
    finally:
        loader.dispose()
    node = _convert(documents[0], text, shown, problems) if documents else None
    if isinstance(node, MappingNode):
        return node
    if node is not None:
        problems.report(
            node.span, "a spec must be a mapping", allowed="`key: value` lines; see spec/README.md"
        )
    return None


_YAML_ADVICE = (
    'quotes around text that holds ": " or " #" or begins with a sign, and an even indentation'
)


def _not_yaml(error: yaml.MarkedYAMLError, text: str, shown: str) -> tuple[Span, str]:
    mark = error.problem_mark or error.context_mark
    message = f"this is not YAML: {error.problem or 'it cannot be read'}"
    if error.context:
        message += f" ({error.context})"
    if mark is None:
        return Span(file=shown, line=0, column=0), message
    line, column = mark.line, mark.column
    lines = text.split("\n")
    # At the end of the file nothing is left to point at: the last line with text stands for it.
    while line > 0 and (line >= len(lines) or not lines[line].strip()):
        line -= 1
        column = len(lines[line]) if line < len(lines) else 0
    return Span(file=shown, line=line + 1, column=column + 1), message


class _TooDeepError(Exception):
    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self.span = span


class _Loader(yaml.SafeLoader):
    """Composes nodes; anchors, aliases and tags, which hide what a spec says, are reported."""

    def __init__(self, text: str, shown: str, problems: Problems) -> None:
        super().__init__(text)
        self._shown = shown
        self._problems = problems
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        end = event.end_mark
        length = end.column - mark.column if end.line == mark.line else 1

        def place(covered: int) -> Span:
            return Span(
                file=self._shown,
                line=mark.line + 1,
                column=mark.column + 1,
                length=max(1, covered),
            )

        if isinstance(event, yaml.AliasEvent):
            self.get_event()  # type: ignore[no-untyped-call]
            span = place(length)
            self._problems.report(
                span, f"an alias `*{event.anchor}`", allowed="the value written out, or `like:`"
            )
            self._problems.spoil(span)
            return yaml.ScalarNode("tag:yaml.org,2002:str", "", mark, end)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._problems.report(
                place(len(event.anchor) + 1),
                f"an anchor `&{event.anchor}`",
                allowed="the value written out, or `like:`",
            )
            event.anchor = None
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            shown = event.tag.replace("tag:yaml.org,2002:", "!!")
            span = place(len(shown))
            self._problems.report(span, f"a tag `{shown}`", allowed="plain values")
            self._problems.spoil(span)
            event.tag = None
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise _TooDeepError(place(1))
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[arg-type]
        self._depth -= 1
        return node


def read_text(path: Path, shown: str, problems: Problems) -> str | None:
    """Read a file as UTF-8 text of a sensible size; report why not and return None."""
    whole = Span(file=shown, line=0, column=0)
    try:
        if path.is_dir():
            problems.report(whole, "this is a folder", allowed="a file")
            return None
        if path.exists() and not path.is_file():
            problems.report(whole, "this is no regular file", allowed="a file")
            return None
        size = path.stat().st_size
        if size > MAX_SPEC_BYTES:
            problems.report(
                whole,
                f"the file is {size} bytes long",
                allowed=f"at most {MAX_SPEC_BYTES} bytes",
            )
            return None
        data = path.read_bytes()
    except FileNotFoundError:
        problems.report(whole, "there is no such file")
        return None
    except OSError as error:
        problems.report(whole, f"the file cannot be read: {error.strerror}")
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.report(
            whole,
            f"byte {error.start} (0x{data[error.start]:02x}, on line {line}) is not UTF-8",
            allowed="UTF-8 text",
        )
        return None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    problems.remember(shown, text)
    if strange := _STRANGE.search(text):
        line = text.count("\n", 0, strange.start())
        column = strange.start() - (text.rfind("\n", 0, strange.start()) + 1)
        problems.report(
            Span(file=shown, line=line + 1, column=column + 1),
            f"character U+{ord(strange.group()):04X} is no text",
            allowed="printable characters and newlines",
        )
        return None
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


def _convert(node: yaml.Node, text: str, shown: str, problems: Problems) -> Node:
    span = _span(node, shown)
    if isinstance(node, yaml.ScalarNode):
        scalar = Scalar(
            span=span,
            text=node.value,
            quoted=node.style is not None,
            raw=text[node.start_mark.index : node.end_mark.index],
        )
        if node.style is None:
            _refuse_traps(scalar, problems)
        return scalar
    if isinstance(node, yaml.SequenceNode):
        items = tuple(_convert(item, text, shown, problems) for item in node.value)
        return SequenceNode(span=span, items=items)
    assert isinstance(node, yaml.MappingNode)
    entries: list[tuple[Scalar, Node]] = []
    first: dict[str, Scalar] = {}
    for key_node, value_node in node.value:
        key = _convert(key_node, text, shown, problems)
        value = _convert(value_node, text, shown, problems)
        if not isinstance(key, Scalar):
            problems.report(_span(key_node, shown), "a key must be a word", allowed="`word: ...`")
            continue
        if key.text in first:
            problems.report(
                key.span,
                f"duplicate key `{key.text}`, first on line {first[key.text].span.line}",
                allowed="each key once",
            )
            continue
        first[key.text] = key
        entries.append((key, value))
    return MappingNode(span=span, entries=tuple(entries))


def _span(node: yaml.Node, shown: str) -> Span:
    start, end = node.start_mark, node.end_mark
    length = end.column - start.column if end.line == start.line else 1
    return Span(file=shown, line=start.line + 1, column=start.column + 1, length=max(1, length))


def _refuse_traps(scalar: Scalar, problems: Problems) -> None:
    """Plain scalars that YAML 1.1 reads as something else than they look like."""
    word = scalar.text
    if _BOOLEAN_TRAP.fullmatch(word):
        read, allowed = "a truth value", f'true, false, or "{word}" in quotes'
    elif _SEXAGESIMAL.fullmatch(word):
        read, allowed = "a number in base 60", f'a decimal number, or "{word}" in quotes'
    elif _OCTAL.fullmatch(word):
        read = "an octal number"
        allowed = "a decimal number without leading zeros, or 0x hexadecimal"
    elif _DATE.fullmatch(word):
        read, allowed = "a date", f'"{word}" in quotes'
    elif _NOTHING.fullmatch(word):
        read, allowed = "nothing", f'the key left out, or "{word}" in quotes'
    else:
        return
    problems.report(scalar.span, f"YAML reads `{word}` as {read}", allowed=allowed)
    problems.spoil(scalar.span)
