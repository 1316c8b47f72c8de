"""What a mutant is: one small edit of a spec's text, with a name that stays when lines move."""

from __future__ import annotations

import difflib
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

COMPARISONS: dict[str, tuple[str, str, str]] = {
    "<": ("<=", "!=", ">="),
    "<=": ("<", "==", ">"),
    ">": (">=", "!=", "<="),
    ">=": (">", "==", "<"),
    "==": ("!=", "<=", ">="),
    "!=": ("==", "<", ">"),
}
"""Instead of each comparison: its neighbours, which differ from it in one case, and its opposite.

Whoever notices these notices every other comparison in its place too.
"""
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
STEPS = (("up", 1), ("down", -1))


class Family(Enum):
    """What is edited."""

    RULES = "rules"
    BODIES = "bodies"
    GUARDS = "guards"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Other text in one place of one file."""

    file: str
    """Relative to the spec folder; of guards, a generated file beside it."""
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit of one expression, by offsets from the expression's beginning."""

    kind: str
    """`compare-2-lt`: what is done, to which of its kind, and what stands there then."""
    start: int
    end: int
    text: str
    words: str
    """For a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit of a spec, under a name."""

    id: str
    family: Family
    file: str
    line: int
    """Where the edit begins, counted from 1."""
    source: str
    """That line, without the spaces around it."""
    kind: str
    words: str
    replacements: tuple[Replacement, ...]

    def texts(self, files: Mapping[str, str]) -> dict[str, str]:
        """The files that are edited, as they read then."""
        found: dict[str, str] = {}
        for change in sorted(self.replacements, key=lambda r: (r.file, -r.start)):
            text = found.get(change.file, files[change.file])
            found[change.file] = text[: change.start] + change.text + text[change.end :]
        return found

    def diff(self, files: Mapping[str, str], folder: str) -> str:
        """The edit as `patch -p1` takes it, beside the spec folder."""
        pieces: list[str] = []
        for file, text in sorted(self.texts(files).items()):
            pieces += difflib.unified_diff(
                files[file].splitlines(keepends=True),
                text.splitlines(keepends=True),
                posixpath.normpath(f"a/{folder}/{file}"),
                posixpath.normpath(f"b/{folder}/{file}"),
            )
        return "".join(
            piece if piece.endswith("\n") else f"{piece}\n\\ No newline at end of file\n"
            for piece in pieces
        )


def made(
    files: Mapping[str, str],
    family: Family,
    owner: str,
    kind: str,
    words: str,
    replacements: Iterable[Replacement],
) -> Mutant:
    """A mutant; its first replacement is the edit, any others follow from it."""
    first, *rest = replacements
    text = files[first.file]
    line = text.count("\n", 0, first.start) + 1
    source = text.split("\n")[line - 1].strip()
    return Mutant(
        id=f"{owner}:{kind}",
        family=family,
        file=first.file,
        line=line,
        source=source,
        kind=kind,
        words=words,
        replacements=(first, *rest),
    )


class Counted:
    """Numbers what is of one kind in one place, from 1."""

    def __init__(self) -> None:
        self._seen: Counter[object] = Counter()

    def next(self, *key: object) -> int:
        """The number of the next one."""
        self._seen[key] += 1
        return self._seen[key]


def line_starts(text: str) -> list[int]:
    """Where each line of a text begins."""
    found = [0]
    for line in text.splitlines(keepends=True):
        found.append(found[-1] + len(line))
    return found
