"""What a finding says: one fault, where it shows, its likely cause, and why we think so."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kv_canary.findings.decode import Violation

Certainty = Literal["certain", "likely", "possible"]
"""certain: an exact test on hashes, tables or the recorded batches holds. likely: every test that
could be made fits, and one that would decide lacks its data. possible: nothing speaks against it.
"""

CERTAINTIES: tuple[Certainty, ...] = ("possible", "likely", "certain")
"""From the weakest to the strongest."""

_COLUMNS = 100
_LABEL = 10


class Cause(Enum):
    """What most likely happened; the value is the stable name in JSON."""

    ANOTHER_OWNER = "another_owner"
    """The stamp in the slot is one of another sequence."""
    NEVER_STAMPED = "never_stamped"
    """Nobody stamped the slot for the token that the table says is there."""
    CHANGED_AFTER_STAMP = "changed_after_stamp"
    """The bytes, or the stamp itself, changed after the stamp was made."""
    SHIFTED = "shifted"
    """The request's own tokens, at other positions than the table says."""
    WINDOW_EDGE = "window_edge"
    """The window pool alone is wrong, at its frontier or in the map to it."""
    WILD_SLOT = "wild_slot"
    """A slot outside the pool."""
    WILD_ROW_OR_LENGTH = "wild_row_or_length"
    """A row outside the table, or a length that no row can have."""
    PADDING_SLOT = "padding_slot"
    """A real token is at the padding slot."""
    WRONG_INPUT = "wrong_input"
    """The forward was given another token or position than was expected of it."""
    OFFSETS = "offsets"
    """The write offsets of a request are broken, so that it stamped nothing."""
    UNEXPLAINED = "unexplained"
    """Something is wrong, and what the canary knows does not say what."""

    @property
    def title(self) -> str:
        """The cause in words, as the head of a finding."""
        return _TITLES[self]


_TITLES = {
    Cause.ANOTHER_OWNER: "another sequence's stamp is in the slot",
    Cause.NEVER_STAMPED: "the slot was never stamped for this token",
    Cause.CHANGED_AFTER_STAMP: "changed after it was stamped",
    Cause.SHIFTED: "the request's own tokens, shifted",
    Cause.WINDOW_EDGE: "wrong in the window pool alone: its edge, or the map to it",
    Cause.WILD_SLOT: "a slot outside the pool",
    Cause.WILD_ROW_OR_LENGTH: "a row or a length outside the table",
    Cause.PADDING_SLOT: "a real token at the padding slot",
    Cause.WRONG_INPUT: "the forward's input is not what was expected",
    Cause.OFFSETS: "broken write offsets",
    Cause.UNEXPLAINED: "unexplained",
}


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of whole numbers, as a person would write it down: 3, 7-9."""

    parts: tuple[range, ...]
    """In order, apart from one another, none empty."""

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Ranges:
        """Collect numbers in any order, each as often as it comes."""
        parts: list[range] = []
        for number in sorted(set(numbers)):
            if parts and parts[-1].stop == number:
                parts[-1] = range(parts[-1].start, number + 1)
            else:
                parts.append(range(number, number + 1))
        return cls(tuple(parts))

    def __iter__(self) -> Iterator[int]:
        return (number for part in self.parts for number in part)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __contains__(self, number: object) -> bool:
        return any(number in part for part in self.parts)

    def __str__(self) -> str:
        shown = [
            str(part.start) if len(part) == 1 else f"{part.start}-{part.stop - 1}"
            for part in self.parts[:8]
        ]
        more = len(self) - sum(map(len, self.parts[:8]))
        return ", ".join(shown) + (f" and {more:,} more" if more else "")

    def to_json(self) -> list[list[int]]:
        """Return [first, last] of each part, both included."""
        return [[part.start, part.stop - 1] for part in self.parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault."""

    cause: Cause
    """The likely cause class."""
    certainty: Certainty
    """How sure that is."""
    group: str
    """"full" or "window": the pool it shows in; both are wrong where it says "full" and a launch
    tag names the window pool; "unknown" for a launch tag that is not ours."""
    halves: tuple[str, ...]
    """"K", "V" or both."""
    launch_tags: tuple[str, ...]
    """Names of the launches that reported it, in their order."""
    requests: tuple[int, ...]
    """Rows of req_to_token whose tokens are wrong; empty where nobody can tell."""
    other_requests: tuple[int, ...]
    """Rows that hold or wrote what is there instead; empty where there is none or none is known."""
    positions: Ranges
    """Token positions in those requests, in tokens."""
    slots: Ranges
    """Slots of the group's pool."""
    first_step: int
    """Number of the forward that reported it first, from 0; of the sweep, where only sweeps did;
    -1 where the canary keeps no evidence ring."""
    last_step: int
    """Number of the forward that reported it last."""
    checks: tuple[str, ...]
    """Names of the FailReason bits, lowest first."""
    evidence: tuple[str, ...]
    """Sentences with numbers: what was found, and what the cause is read from."""
    advice: str
    """What to look at next."""
    violations: tuple[Violation, ...]
    """Every violation that it explains, in the ring's order."""
    repeats: int = 0
    """How many reports told of it again since it was told first; 0 in a new finding. Evidence and
    violations stay the first report's; requests, positions, slots and last_step follow."""

    def to_json(self) -> dict[str, object]:
        """Return plain data; the keys are the fields', hashes are texts of 16 digits."""
        return {
            "cause": self.cause.value,
            "title": self.cause.title,
            "certainty": self.certainty,
            "group": self.group,
            "halves": list(self.halves),
            "launch_tags": list(self.launch_tags),
            "requests": list(self.requests),
            "other_requests": list(self.other_requests),
            "positions": self.positions.to_json(),
            "slots": self.slots.to_json(),
            "first_step": self.first_step,
            "last_step": self.last_step,
            "checks": list(self.checks),
            "evidence": list(self.evidence),
            "advice": self.advice,
            "violations": [violation.to_json() for violation in self.violations],
            "repeats": self.repeats,
        }

    def __str__(self) -> str:
        lines = [f"{self.cause.title} ({self.cause.value}, {self.certainty})"]
        lines += _labelled("where", self._where())
        lines += _labelled("seen", self._seen())
        if self.repeats:
            lines += _labelled("told", f"before; {_times(self.repeats)} again since")
        for sentence in self.evidence:
            lines += _labelled("why" if sentence is self.evidence[0] else "", sentence)
        lines += _labelled("look at", self.advice)
        return "\n".join(lines)

    def still_there(self) -> str:
        """Return one line that says of a fault that was told before how it goes on."""
        return (
            f"still there: {self.cause.value}, {self._where()}; first in step {self.first_step}, "
            f"last in step {self.last_step}, reported {_times(self.repeats)} again"
        )

    def _where(self) -> str:
        parts = [f"{self.group} pool, {' and '.join(self.halves)}"]
        parts.append(
            _counted("row", self.requests) if self.requests else "no row that could be told"
        )
        if self.positions:
            parts.append(f"position{_plural(self.positions)} {self.positions}")
        if self.slots:
            parts.append(f"slot{_plural(self.slots)} {self.slots}")
        if self.other_requests:
            parts.append("there instead: " + _counted("row", self.other_requests))
        return "; ".join(parts)

    def _seen(self) -> str:
        word = "sweep" if all(tag.startswith("SWEEP") for tag in self.launch_tags) else "step"
        steps = f"in {word} {self.first_step}" if self.first_step >= 0 else f"in an unknown {word}"
        if self.last_step != self.first_step:
            steps = f"first in {word} {self.first_step}, last in {word} {self.last_step}"
        count = len(self.violations)
        return (
            f"{steps}; {count:,} violation{'' if count == 1 else 's'}: {' + '.join(self.checks)}; "
            f"by {', '.join(self.launch_tags)}"
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _plural(numbers: Ranges) -> str:
    return "" if len(numbers) == 1 else "s"


def _counted(word: str, numbers: tuple[int, ...]) -> str:
    ranges = Ranges.of(numbers)
    return f"{word}{_plural(ranges)} {ranges}"


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        width=_COLUMNS,
        initial_indent=f"  {label:<{_LABEL}}",
        subsequent_indent=" " * (2 + _LABEL),
        break_long_words=False,
        break_on_hyphens=False,
    )
