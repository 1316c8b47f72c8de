"""Which findings are news, and which tell again of a fault that was told before.

Note [One fault, told once]
A damaged entry fails in every forward that reads it. It is the same fault while it holds the same
token for the same position, was not seen to be written anew by a row that reads it, and failed not
long ago. What a fault spreads to beside its entries is the fault too. A fault keeps the cause that
it was told with, unless a surer one is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kv_canary.findings.decode import UNKNOWN_STEP, Violation
from kv_canary.findings.finding import CERTAINTIES, Finding, Ranges
from kv_canary.findings.snapshot import Snapshot
from kv_canary.findings.tables import Tables

_FORGOTTEN_AFTER: Final = 64
"""Forwards, or sweeps, without it after which a fault counts as gone."""
_MOST_NEW: Final = 16
"""Positions, or slots, that a fault spreads to between two reports; with more it is told anew."""

_Entry = tuple[object, ...]


@dataclass(slots=True, eq=False)
class _Fault:
    """What was told of one fault."""

    number: int
    finding: Finding
    """As it was told, with the steps and places that were seen since."""
    entries: dict[_Entry, int]
    """Entries that failed, and in which forward last."""
    swept: dict[_Entry, int]
    """The same for sweeps, which have a count of their own."""


class Told:
    """What was told, for as long as the same may be found again."""

    def __init__(self) -> None:
        self._faults: list[_Fault] = []
        self._count = 0

    def take(self, found: Sequence[Finding], snapshot: Snapshot) -> list[tuple[int, Finding]]:
        """Return number and finding of each fault that was found; news have no repeats.

        Numbers count the faults in the order in which they were told first.

        Args:
            found: the findings of a snapshot.
            snapshot: the snapshot.
        """
        tables = Tables(snapshot)
        for group in {each.group for finding in found for each in finding.violations}:
            tables.seek_writers(
                group,
                [e.slot for finding in found for e in finding.violations if e.group == group],
            )
        # Two findings of one snapshot are two faults.
        known = tuple(self._faults)
        taken: dict[int, Finding] = {}
        for finding in found:
            fault = _fault_of(finding, known, tables)
            if fault is None:
                fault = _Fault(self._count, finding, {}, {})
                self._count += 1
                self._faults.append(fault)
            elif fault.number not in taken:
                fault.finding = _again(fault.finding, finding)
            _note(fault, finding)
            taken[fault.number] = fault.finding
        self._forget()
        return list(taken.items())

    def _forget(self) -> None:
        """Drop what was not seen for long, as it would not be known again."""
        forwards = max((step for each in self._faults for step in each.entries.values()), default=0)
        sweeps = max((step for each in self._faults for step in each.swept.values()), default=0)
        for fault in self._faults:
            for entries, now in ((fault.entries, forwards), (fault.swept, sweeps)):
                for entry in [e for e, step in entries.items() if now - step > _FORGOTTEN_AFTER]:
                    del entries[entry]
        self._faults = [each for each in self._faults if each.entries or each.swept]


def _entry_of(violation: Violation) -> _Entry:
    """Return what makes two violations ones of the same entry."""
    if violation.kind == "write":
        # Each forward has an input of its own.
        return ("write", violation.group, violation.step, violation.request)
    place = (violation.group, violation.slot, violation.expected_position, violation.expected_token)
    # Many rows may read a slot that exists, and the others are each row's own matter.
    return place if violation.slot > 0 else (*place, violation.rows, violation.position)


def _note(fault: _Fault, finding: Finding) -> None:
    for each in finding.violations:
        entries = fault.swept if each.phase == "sweep" else fault.entries
        entry = _entry_of(each)
        entries[entry] = max(each.step, entries.get(entry, each.step))


def _fault_of(finding: Finding, known: Sequence[_Fault], tables: Tables) -> _Fault | None:
    """Return the fault that a finding tells of again; None if it tells of something apart, too."""
    shares = [
        (len({_entry_of(each) for each in _repeated(fault, finding, tables)}), fault)
        for fault in known
    ]
    shares = [(count, fault) for count, fault in shares if count]
    if not shares:
        return None
    # Of equals the last told, whose cause is the surest.
    best = max(shares, key=lambda share: (share[0], share[1].number))[1]
    told = best.finding
    is_surer = CERTAINTIES.index(finding.certainty) > CERTAINTIES.index(told.certainty)
    if is_surer and finding.cause is not told.cause:
        return None
    all_told = [fault.finding for _, fault in shares]
    positions = Ranges.of(each for one in all_told for each in one.positions)
    slots = Ranges.of(each for one in all_told if one.group == finding.group for each in one.slots)
    is_near = _touches(positions, finding.positions) or _touches(slots, finding.slots)
    return best if is_near else None


def _repeated(fault: _Fault, finding: Finding, tables: Tables) -> Iterator[Violation]:
    for each in finding.violations:
        entry = _entry_of(each)
        entries = fault.swept if each.phase == "sweep" else fault.entries
        others = fault.entries if each.phase == "sweep" else fault.swept
        last = entries.get(entry)
        if last is None:
            # The two counts do not compare.
            if entry in others:
                yield each
            continue
        is_unknown = UNKNOWN_STEP in (each.step, last)
        if not is_unknown and each.phase != "sweep" and _is_anew(each, last, tables):
            continue
        if is_unknown or each.step - last <= _FORGOTTEN_AFTER:
            yield each


def _is_anew(violation: Violation, last: int, tables: Tables) -> bool:
    """Return whether a row that reads an entry wrote it after it failed last."""
    if violation.slot <= 0 or violation.kind == "write":
        return False
    if violation.expected_token < 0 and violation.step - last > max(1, len(tables.batches)):
        # Without its token, only a record of all forwards since shows that it is the same.
        return True
    return any(
        last < write.step <= violation.step
        and write.row in violation.rows
        and write.place == violation.expected_position
        for write in tables.writers(violation.group, violation.slot)
    )


def _touches(told: Ranges, found: Ranges) -> bool:
    """Return whether each run that was found meets, or is next to, one that was told."""
    is_near = all(
        any(part.start <= old.stop and old.start <= part.stop for old in told.parts)
        for part in found.parts
    )
    return is_near and len(found) <= len(told) + _MOST_NEW


def _again(told: Finding, found: Finding) -> Finding:
    """Return a finding as it was told, with what was seen of it since."""
    return replace(
        told,
        repeats=told.repeats + 1,
        requests=tuple(sorted({*told.requests, *found.requests})),
        other_requests=tuple(sorted({*told.other_requests, *found.other_requests})),
        positions=Ranges.of((*told.positions, *found.positions)),
        slots=(Ranges.of((*told.slots, *found.slots)) if told.group == found.group else told.slots),
        last_step=max(told.last_step, found.last_step),
    )
