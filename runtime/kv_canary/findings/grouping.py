"""One finding a fault: diagnoses with the same root are one, and consequences are folded in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kv_canary.findings.causes import diagnose
from kv_canary.findings.decode import UNKNOWN_STEP, Violation, decode, names_of
from kv_canary.findings.diagnosis import ADVICE, Diagnosis, Key, rows_text
from kv_canary.findings.finding import CERTAINTIES, Cause, Finding, Ranges
from kv_canary.findings.snapshot import FULL, Snapshot
from kv_canary.findings.tables import Tables
from kv_canary_kernels.constants import FailReason

_FARTHEST_END = 64
"""Positions behind a shift that what it leaves open may cover."""
_STAMP_CAUSES = (Cause.ANOTHER_OWNER, Cause.NEVER_STAMPED, Cause.UNEXPLAINED, Cause.SHIFTED)
"""Causes that may be the consequence of a fault that another row of the ring names."""


def find(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Return what damaged the cache, one finding a fault, the first to be seen first.

    Args:
        snapshot: what the canary knew; nothing of it is changed.
    """
    tables = Tables(snapshot)
    diagnoses = diagnose(decode(snapshot, tables), tables)
    families = _Families(diagnoses)
    families.join_by_key()
    _fold_consequences(families, tables)
    findings = [_finding(diagnoses, members) for members in families.members()]
    return tuple(
        sorted(findings, key=lambda finding: (finding.first_step, finding.violations[0].index))
    )


class _Families:
    """Diagnoses that are one fault's, and which of them are only consequences.

    Args:
        diagnoses: all of them.
    """

    def __init__(self, diagnoses: Sequence[Diagnosis]) -> None:
        self.diagnoses = diagnoses
        self._parent = list(range(len(diagnoses)))
        self._consequences: set[int] = set()

    def root(self, index: int) -> int:
        """Return the diagnosis that stands for a family."""
        while self._parent[index] != index:
            self._parent[index] = self._parent[self._parent[index]]
            index = self._parent[index]
        return index

    def join(self, first: int, second: int) -> None:
        """Make one family of two."""
        self._parent[self.root(second)] = self.root(first)

    def fold(self, consequence: int, into: int) -> None:
        """Call a diagnosis the consequence of another one, and join what they are part of."""
        self._consequences.add(consequence)
        self.join(into, consequence)

    def is_consequence(self, index: int) -> bool:
        """Return whether a diagnosis has no say about the cause."""
        return index in self._consequences

    def join_by_key(self) -> None:
        """Join diagnoses of one cause that have a key in common."""
        owner: dict[Key, int] = {}
        for index, diagnosis in enumerate(self.diagnoses):
            for key in diagnosis.keys:
                first = owner.setdefault((diagnosis.cause, *key), index)
                if first != index:
                    self.join(first, index)

    def members(self) -> list[tuple[list[int], list[int]]]:
        """Return each family's roots and consequences; one without a root is all roots."""
        families: dict[int, tuple[list[int], list[int]]] = {}
        for index in range(len(self.diagnoses)):
            roots, consequences = families.setdefault(self.root(index), ([], []))
            (consequences if index in self._consequences else roots).append(index)
        return [
            (roots, consequences) if roots else (consequences, [])
            for roots, consequences in families.values()
        ]


def _fold_consequences(families: _Families, tables: Tables) -> None:
    """Fold diagnoses that another one, of another cause, explains."""
    _fold_jumps(families)
    _fold_batch_faults(families, tables)
    _fold_misplaced(families)
    _fold_shift_ends(families)
    _fold_leftovers(families)
    _fold_twins(families)


def _fold_jumps(families: _Families) -> None:
    """A position that does not continue the slot before it, where that slot is the wrong one."""
    offsets = {
        violation.step: index
        for index, fault in _numbered(families, Cause.OFFSETS)
        for violation in fault.violations
    }
    for index, jump in enumerate(families.diagnoses):
        if not jump.is_jump:
            continue
        if jump.first_step in offsets:
            families.fold(index, offsets[jump.first_step])
            continue
        before = {place - 1 for place in jump.places}
        for other, diagnosis in enumerate(families.diagnoses):
            if diagnosis.is_jump or diagnosis.group != jump.group:
                continue
            is_behind = jump.previous_slot in diagnosis.slots or (
                not before.isdisjoint(diagnosis.places) and _share_row(jump, diagnosis)
            )
            if is_behind or not set(jump.slots).isdisjoint(diagnosis.slots):
                families.fold(index, other)
                break


def _share_row(first: Diagnosis, second: Diagnosis) -> bool:
    return not set(first.rows).isdisjoint(second.rows)


def _numbered(families: _Families, *causes: Cause) -> list[tuple[int, Diagnosis]]:
    return [
        (index, diagnosis)
        for index, diagnosis in enumerate(families.diagnoses)
        if diagnosis.cause in causes and not families.is_consequence(index)
    ]


def _fold_batch_faults(families: _Families, tables: Tables) -> None:
    """Broken offsets, a wild row, slot or input spoil what that step stamped."""
    faults = _numbered(
        families,
        Cause.OFFSETS,
        Cause.WILD_ROW_OR_LENGTH,
        Cause.WILD_SLOT,
        Cause.PADDING_SLOT,
        Cause.WRONG_INPUT,
    )
    named = [(index, fault) for index, fault in faults if not fault.starts_afresh]
    for index, diagnosis in enumerate(families.diagnoses):
        is_stamp = diagnosis.cause in _STAMP_CAUSES or diagnosis.starts_afresh
        if not is_stamp or families.is_consequence(index):
            continue
        for fault_index, fault in named:
            if fault.first_step <= diagnosis.first_step and _spoils(fault, diagnosis, tables):
                families.fold(index, fault_index)
                break


def _spoils(fault: Diagnosis, diagnosis: Diagnosis, tables: Tables) -> bool:
    """Whether a fault of a batch explains what a stamp of that batch looks like later."""
    steps = {violation.step for violation in fault.violations}
    written = [
        write.step
        for row in diagnosis.rows
        for place in diagnosis.places
        if (write := tables.write_of(diagnosis.group, row, place)) is not None
    ]
    written += [
        tables.writers(diagnosis.group, slot)[-1].step
        for slot in diagnosis.slots
        if tables.writers(diagnosis.group, slot)
    ]
    # Without the batches, whatever shows later may come of it.
    is_of_step = any(step in steps for step in written) or steps.isdisjoint(tables.batches)
    if fault.cause is Cause.OFFSETS:
        # Requests beside the broken one stamp its tokens, or lose theirs.
        return is_of_step
    if diagnosis.starts_afresh:
        return is_of_step or _share_row(fault, diagnosis)
    is_same_place = not set(fault.places).isdisjoint(diagnosis.places) and (
        not fault.rows or _share_row(fault, diagnosis)
    )
    return is_same_place and fault.cause in (Cause.WILD_SLOT, Cause.WRONG_INPUT)


def _fold_misplaced(families: _Families) -> None:
    """A row's own token in another's slot: who reads that slot, and who misses the token, are one.

    The one that reads it names the cause, unless the store was just off by one.
    """
    for index, missing in enumerate(families.diagnoses):
        if missing.misplaced_to is None or missing.misplaced_to <= 0:
            continue
        for other, reader in _numbered(families, Cause.ANOTHER_OWNER):
            if reader.group == missing.group and missing.misplaced_to in reader.slots:
                if missing.cause is Cause.SHIFTED:
                    families.fold(other, index)
                else:
                    families.fold(index, other)
                break


def _fold_shift_ends(families: _Families) -> None:
    """A shift leaves places open at its end, which hold whatever was there."""
    shifted: dict[tuple[str, int, int], tuple[int, Diagnosis]] = {}
    for index, diagnosis in _numbered(families, Cause.SHIFTED):
        for row in diagnosis.rows:
            for place in diagnosis.places:
                shifted[diagnosis.group, row, place] = (index, diagnosis)
    if not shifted:
        return
    for index, diagnosis in _numbered(families, Cause.ANOTHER_OWNER, Cause.NEVER_STAMPED):
        for row in diagnosis.rows:
            for place in diagnosis.places:
                near = _nearest(shifted, diagnosis.group, row, place)
                if near is not None:
                    families.fold(index, near)
                    break


def _nearest(
    shifted: dict[tuple[str, int, int], tuple[int, Diagnosis]], group: str, row: int, place: int
) -> int | None:
    """Return the shift whose open end a place is, if there is one."""
    for distance in range(1, _FARTHEST_END + 1):
        for side in (-distance, distance):
            found = shifted.get((group, row, place + side))
            if found is not None and distance <= max(1, abs(found[1].delta)):
                return found[0]
    return None


def _fold_leftovers(families: _Families) -> None:
    """Where a row was never stamped, what fits nobody is what was there before."""
    blank = {
        (diagnosis.group, row): index
        for index, diagnosis in _numbered(families, Cause.NEVER_STAMPED)
        for row in diagnosis.rows
    }
    for index, diagnosis in _numbered(families, Cause.ANOTHER_OWNER, Cause.CHANGED_AFTER_STAMP):
        is_other = diagnosis.cause is Cause.ANOTHER_OWNER
        if is_other and not diagnosis.is_leftover:
            continue
        for row in diagnosis.rows:
            never = blank.get((diagnosis.group, row))
            if never is None:
                continue
            # Bytes that came at the same time, over a stamp that happens to be of that place.
            first = families.diagnoses[never]
            if is_other or (first.is_leftover and first.first_step == diagnosis.first_step):
                families.fold(index, never)
                break


def _fold_twins(families: _Families) -> None:
    """What is wrong in the full pool spoils the window pool's entries of the same row too."""
    full: dict[int, int] = {}
    by_place = {
        (diagnosis.cause, diagnosis.places): index
        for index, diagnosis in enumerate(families.diagnoses)
        if diagnosis.group == FULL
    }
    for index, diagnosis in enumerate(families.diagnoses):
        if diagnosis.group == FULL and diagnosis.cause is not Cause.CHANGED_AFTER_STAMP:
            for row in diagnosis.rows:
                if row not in full or families.is_consequence(full[row]):
                    full[row] = index
    for index, diagnosis in enumerate(families.diagnoses):
        is_proven = diagnosis.cause is Cause.WINDOW_EDGE and diagnosis.certainty == "certain"
        if diagnosis.group == FULL or diagnosis.cause is Cause.CHANGED_AFTER_STAMP or is_proven:
            continue
        twin = next((full[row] for row in diagnosis.rows if row in full), None)
        if twin is None and not diagnosis.rows:
            twin = by_place.get((diagnosis.cause, diagnosis.places))
        if twin is not None:
            families.fold(index, twin)


def _finding(diagnoses: Sequence[Diagnosis], members: tuple[list[int], list[int]]) -> Finding:
    roots = [diagnoses[index] for index in members[0]]
    consequences = [diagnoses[index] for index in members[1]]
    is_guessed = any(each.step == UNKNOWN_STEP for root in roots for each in root.violations)
    lead = min(
        roots,
        key=lambda each: (
            -CERTAINTIES.index(each.certainty),
            each.group != FULL,
            each.first_step,
            each.places[:1],
            each.violations[0].index,
        ),
    )
    everyone = [*roots, *consequences]
    violations = _all_violations(everyone)
    checks = FailReason(0)
    for violation in violations:
        checks |= violation.reasons
    # Sweeps have a count of their own.
    steps = [each.step for each in violations if each.phase != "sweep"] or [
        each.step for each in violations
    ]
    tags = sorted({(violation.kernel_kind, violation.launch_tag) for violation in violations})
    # A position that does not continue a damaged slot is sound itself.
    placed = [*roots, *(each for each in consequences if not each.is_jump)]
    others = {row for each in roots for row in each.others}
    rows = {row for each in everyone for row in each.rows} | {
        row for each in everyone for violation in each.followers for row in violation.rows
    }
    return Finding(
        cause=lead.cause,
        # Without the evidence ring, what was expected is itself read from the tables.
        certainty="likely" if is_guessed and lead.certainty == "certain" else lead.certainty,
        group=lead.group,
        halves=tuple(sorted({violation.half for violation in violations})),
        launch_tags=tuple(name for _, name in tags),
        requests=tuple(sorted(rows)),
        other_requests=tuple(sorted(others)),
        positions=Ranges.of(place for each in placed for place in each.places),
        slots=Ranges.of(slot for each in placed if each.group == lead.group for slot in each.slots),
        first_step=min(steps),
        last_step=max(steps),
        checks=names_of(checks),
        evidence=_evidence(lead, roots, consequences),
        advice=lead.advice or ADVICE[lead.cause],
        violations=violations,
    )


def _all_violations(diagnoses: Iterable[Diagnosis]) -> tuple[Violation, ...]:
    by_index = {
        violation.index: violation
        for diagnosis in diagnoses
        for violation in (*diagnosis.violations, *diagnosis.followers)
    }
    return tuple(by_index[index] for index in sorted(by_index))


def _evidence(
    lead: Diagnosis, roots: Sequence[Diagnosis], consequences: Sequence[Diagnosis]
) -> tuple[str, ...]:
    sentences = list(lead.sentences)
    alike = [each for each in roots if each is not lead]
    if alike:
        places = Ranges.of(place for each in alike for place in each.places)
        count = len(alike)
        sentences.append(
            f"{count:,} more {'entry is' if count == 1 else 'entries are'} damaged in the same "
            f"way, at position{'' if len(places) == 1 else 's'} {places}."
        )
    twins = [each for each in consequences if each.group != lead.group and not each.is_jump]
    if twins:
        places = Ranges.of(place for each in twins for place in each.places)
        sentences.append(
            f"The {twins[0].group} pool is wrong there too, at "
            f"position{'' if len(places) == 1 else 's'} {places}."
        )
    jumps = Ranges.of(place for each in consequences if each.is_jump for place in each.places)
    consequences = [each for each in consequences if each.group == lead.group and not each.is_jump]
    for each in consequences[:2]:
        why = each.sentences[1:2] or each.sentences[:1]
        places = Ranges.of(each.places)
        sentences.append(
            f"It also explains {rows_text(each.rows)}, position {places}: "
            f"{why[0][:1].lower()}{why[0][1:]}"
        )
    if len(consequences) > 2:
        places = Ranges.of(place for each in consequences[2:] for place in each.places)
        sentences.append(
            f"It explains {len(consequences) - 2:,} further entries, at positions {places}."
        )
    if jumps:
        is_one = len(jumps) == 1
        sentences.append(
            f"Position{'' if is_one else 's'} {jumps} {'was' if is_one else 'were'} written behind "
            "a slot whose position is wrong, and so "
            f"{'does not continue it' if is_one else 'do not continue them'}."
        )
    followers = {
        (violation.group, violation.slot, violation.expected_position)
        for each in (*roots, *consequences)
        for violation in each.followers
    }
    if followers:
        places = Ranges.of(position for _, _, position in followers)
        is_one = len(places) == 1
        sentences.append(
            f"Position{'' if is_one else 's'} {places} {'fails' if is_one else 'fail'} in the "
            "chain alone, as the token after a damaged one must."
        )
    return tuple(sentences)
