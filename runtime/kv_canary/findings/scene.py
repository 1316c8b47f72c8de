"""All spots of a snapshot side by side: what a diagnosis asks about an entry and its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kv_canary.findings.decode import Violation
from kv_canary.findings.diagnosis import (
    Diagnosis,
    Key,
    Spot,
    found_text,
    place_keys,
    rows_text,
    sentence_start,
    slot_keys,
)
from kv_canary.findings.finding import Cause, Certainty
from kv_canary.findings.origin import Origin, Question, is_within, origin_of
from kv_canary.findings.snapshot import FULL, GroupSnapshot
from kv_canary.findings.tables import Stamp, Tables, Write
from kv_canary.reference._hashes import ANCHOR_HASH
from kv_canary_kernels.constants import FailReason

CHAIN: Final = FailReason.VERIFY_CHAIN_HASH_MISMATCH
POSITION: Final = FailReason.VERIFY_POSITION_MISMATCH
BYTES: Final = FailReason.VERIFY_REAL_KV_HASH_MISMATCH
TOKEN: Final = FailReason.VERIFY_TOKEN_MISMATCH


class Scene:
    """What fails, entry by entry, in the tables and buffers of a snapshot.

    Args:
        tables: questions to the snapshot.
        violations: verify rows that compared a stamp.
    """

    def __init__(self, tables: Tables, violations: Iterable[Violation]) -> None:
        self.tables = tables
        self.spots = _spots_of(violations)
        """The full group's first, then by position: what starts a run comes before the rest."""
        self._spots_at: dict[tuple[str, int, int], list[Spot]] = {}
        self._sound_below: dict[str, dict[int, int]] = {}
        for spot in self.spots:
            below = self._sound_below.setdefault(spot.group, {})
            # A wrong chain hash may be the fault of the slot before.
            first = spot.position - (1 if CHAIN in spot.reasons else 0)
            for row in spot.rows:
                self._spots_at.setdefault((spot.group, row, spot.position), []).append(spot)
                below[row] = max(0, min(first, below.get(row, first)))
        self._bad_slots = {(spot.group, spot.slot) for spot in self.spots}
        self._chained: dict[tuple[str, int], tuple[int, ...]] = {}
        self._seek()

    def _seek(self) -> None:
        """Ask the tables at once for what the diagnoses will ask one by one."""
        tables = self.tables
        self._homes: dict[tuple[str, str, int], tuple[int, ...]] = {}
        for group in {spot.group for spot in self.spots}:
            spots = [spot for spot in self.spots if spot.group == group]
            stamps = {
                (spot.slot, stamp)
                for spot in spots
                for stamp in (spot.stored, self.stamp_now(spot))
                if stamp is not None
            }
            tables.seek_predecessors(group, [stamp.prev_hash for _, stamp in stamps])
            tables.seek_writers(
                group, [slot for spot in spots for slot in (spot.slot, spot.previous_slot)]
            )
            tables.seek_full_slots(
                group,
                [
                    slot
                    for each, stamp in stamps
                    for slot in (each, *tables.predecessors(group, stamp.prev_hash))
                ],
            )
            places = [(spot.previous_slot, spot.position - 1) for spot in spots]
            for slot, stamp in stamps:
                places.append((slot, stamp.position))
                places += [
                    (before, stamp.position - 1)
                    for before in tables.predecessors(group, stamp.prev_hash)
                ]
            tables.seek_holders(group, places)
            for half in {each.half for spot in spots for each in spot.violations}:
                hashes = {
                    each.computed_real_kv_hash
                    for spot in spots
                    for each in spot.violations
                    if each.half == half and BYTES in each.reasons
                }
                for value, hits in tables.slots_with_kv_hash(group, half, hashes).items():
                    if hits.total == len(hits.places):
                        self._homes[group, half, value] = hits.places

    # Neighbours ----------------------------------------------------------------------------------

    def spots_at(self, group: str, row: int, position: int) -> Sequence[Spot]:
        """Return the spots of a row's position."""
        return self._spots_at.get((group, row, position), ())

    def slots_with_chain(self, group: str, chain_hash: int) -> tuple[int, ...]:
        """Return the slots whose stamps store a chain hash; none if they are too many."""
        if (group, chain_hash) not in self._chained:
            # Those of the whole scene at once: each search goes over the pool.
            wanted = {chain_hash} | {
                chain
                for spot in self.spots
                if spot.group == group
                for row in spot.rows
                if (chain := self.own_chain(group, row, spot.position)) is not None
            }
            found = self.tables.slots_with_chain(group, wanted)
            for value in wanted:
                hits = found.get(value)
                is_few = hits is not None and hits.total == len(hits.places)
                self._chained[group, value] = hits.places if hits is not None and is_few else ()
        return self._chained[group, chain_hash]

    def is_bad_slot(self, group: str, slot: int) -> bool:
        """Return whether a slot has a spot of its own."""
        return (group, slot) in self._bad_slots

    def homes_of_bytes(self, violation: Violation) -> tuple[int, ...]:
        """Return the slots that were stamped over the bytes that were found; few, or none."""
        key = (violation.group, violation.half, violation.computed_real_kv_hash)
        return self._homes.get(key, ())

    def group(self, name: str) -> GroupSnapshot:
        """Return a group that has spots."""
        found = self.tables.group(name)
        assert found is not None, "a spot's group is one of the snapshot's"
        return found

    def page_size(self, group: str) -> int:
        """Return the slots in a page of a group; 1 where nobody said."""
        return max((1, *self.group(group).page_sizes))

    def is_short(self, group: str, delta: int) -> bool:
        """Return whether a distance is less than a page: whole pages are handed out, not off."""
        return abs(delta) < max(2, self.page_size(group))

    # Stamps --------------------------------------------------------------------------------------

    def own_chain(self, group: str, row: int, position: int) -> int | None:
        """Return the chain hash that a row's own tokens give a position, or None if unknown."""
        below = self._sound_below.get(group, {}).get(row, position)
        return self.tables.own_chain(group, row, position, sound_below=below)

    def fits(self, row: int, stamp: Stamp) -> bool | None:
        """Return whether a stamp's token is the row's at its position, or None if unknown."""
        token = self.tables.expected_token(row, stamp.position)
        return None if token is None else token == stamp.token

    def stamp_now(self, spot: Spot) -> Stamp | None:
        """Return what the slot's head holds now; both halves are stamped alike."""
        return self.tables.stamp(spot.group, "head", spot.first.half, spot.slot)

    def origin(self, spot: Spot, stamp: Stamp) -> Origin:
        """Return whose a stamp is that stands at a spot."""
        return origin_of(self._question(spot, stamp), self.tables)

    def _question(self, spot: Spot, stamp: Stamp) -> Question:
        return Question(
            group=spot.group,
            slot=spot.slot,
            position=spot.position,
            previous_slot=spot.previous_slot,
            rows=spot.rows,
            stamp=stamp,
            sound_below=self._sound_below.get(spot.group, {}),
        )

    def sound_buffers(self, spot: Spot) -> list[tuple[str, str]]:
        """Return the buffers that hold the expected stamp, while others do not."""
        tables, bad = self.tables, {each.buffer for each in spot.violations}
        token = next((e.expected_token for e in spot.violations if e.expected_token >= 0), None)
        if token is None and spot.rows:
            token = tables.expected_token(spot.rows[0], spot.position)
        sound = []
        for phase, half in tables.buffers(spot.group):
            stamp = tables.stamp(spot.group, phase, half, spot.slot)
            if (phase, half) in bad or stamp is None or is_blank(stamp):
                continue
            is_right = stamp.position == spot.position and token in (None, stamp.token)
            if is_right and self._continues(stamp, spot, phase, half):
                sound.append((phase, half))
        return sound

    def _continues(self, stamp: Stamp, spot: Spot, phase: str, half: str) -> bool:
        if spot.previous_slot == 0:
            return True
        if spot.previous_slot < 0:
            return stamp.prev_hash == ANCHOR_HASH
        before = self.tables.stamp(spot.group, phase, half, spot.previous_slot)
        return before is not None and self.tables.successor(before) == stamp.prev_hash

    # Batches -------------------------------------------------------------------------------------

    def written_meanwhile(self, spot: Spot) -> Write | None:
        """Return the write that the forward which first found a spot made into its slot itself."""
        first = spot.first
        if first.phase == "sweep":
            return None
        writes = self.tables.writers(spot.group, spot.slot)
        return next((write for write in reversed(writes) if write.step == first.step), None)

    def history(self, spot: Spot) -> list[str]:
        """Return what the recorded batches say about who had the slot when."""
        tables = self.tables
        foreign = [
            write for write in tables.writers(spot.group, spot.slot) if write.row not in spot.rows
        ]
        for row in spot.rows:
            own = tables.write_of(spot.group, row, spot.position)
            if own is not None and own.slot == spot.slot:
                return [self._overwritten_text(spot, own, foreign)]
            seen = tables.first_seen(row)
            if own is None and seen is not None and seen[1] > spot.position:
                text = self.unwritten_text(spot, row)
                return [f"{text}{_foreign_text(foreign, seen[0])}."] if text else []
        return []

    def unwritten_text(self, spot: Spot, row: int) -> str:
        """Return that no recorded batch wrote a row's position, or nothing if one did."""
        tables = self.tables
        if tables.has_written(row, spot.position):
            return ""
        came = tables.came_with(row)
        if came is not None:
            step, prefix = came
            return (
                f"Row {row} did not write position {spot.position}: it came with {prefix} cached "
                f"tokens in step {step}"
            )
        count = len(tables.batches)
        recorded = f"the last {count} recorded forwards" if count > 1 else "the recorded forward"
        return sentence_start(f"{recorded} did not write row {row}'s position {spot.position}")

    def may_be_own(self, spot: Spot, stamp: Stamp) -> bool:
        """Return whether a row that reads a spot may have a token at a stamp's position."""
        question = self._question(spot, stamp)
        return any(is_within(row, question, self.tables) for row in spot.rows)

    def _overwritten_text(self, spot: Spot, own: Write, foreign: Sequence[Write]) -> str:
        text = f"Row {own.row} wrote position {spot.position} there in step {own.step}"
        later = [write for write in foreign if write.step >= own.step]
        if not later:
            return f"{text}; no recorded batch wrote there since."
        last = later[-1]
        there = self.tables.slot_at(spot.group, last.row, last.place)
        if there == spot.slot:
            why = "the slot was handed out twice"
        else:
            why = (
                f"row {last.row} maps position {last.place} to slot {there} now, so that write "
                "went astray, or came late (late write)"
            )
        return f"{text}, and row {last.row} wrote over it in step {last.step}: {why}."

    # Diagnoses -----------------------------------------------------------------------------------

    def made(
        self,
        spot: Spot,
        cause: Cause,
        certainty: Certainty,
        sentences: Iterable[str],
        *,
        others: tuple[int, ...] = (),
        misplaced_to: int | None = None,
        delta: int = 0,
        is_foreign: bool = False,
        is_leftover: bool = False,
        starts_afresh: bool = False,
        advice: str = "",
        shown_by: Spot | None = None,
    ) -> Diagnosis:
        """Return a diagnosis of a spot, with the numbers of what failed in front of the reasons.

        Args:
            spot: what is wrong.
            cause: why.
            certainty: how sure that is.
            sentences: how it is known.
            shown_by: the spot that failed, if it is another one.
            others, misplaced_to, delta, is_foreign, is_leftover, starts_afresh, advice: as in
                Diagnosis.
        """
        failed = spot if shown_by is None else shown_by
        keys: set[Key] = place_keys(spot.rows, [spot.position])
        keys |= slot_keys(spot.group, [spot.slot])
        if cause is Cause.CHANGED_AFTER_STAMP:
            # What damages memory runs over neighbours, whoever has them.
            keys |= slot_keys(spot.group, [spot.slot + 1])
        else:
            keys |= {("row", spot.group, row) for row in (*spot.rows, *others)}
        return Diagnosis(
            cause=cause,
            certainty=certainty,
            group=spot.group,
            violations=tuple(spot.violations),
            sentences=(
                found_text(failed.first, failed.rows, failed.position, failed.slot),
                *sentences,
            ),
            rows=spot.rows,
            others=others,
            places=(spot.position,),
            slots=(spot.slot,),
            keys=frozenset(keys),
            previous_slot=spot.previous_slot,
            misplaced_to=misplaced_to,
            delta=delta,
            is_foreign=is_foreign,
            is_leftover=is_leftover,
            starts_afresh=starts_afresh,
            advice=advice,
        )


def is_blank(stamp: Stamp) -> bool:
    """Return whether a stamp looks like memory that nobody stamped: one value in its fields."""
    return stamp.token == stamp.position == stamp.prev_hash


def buffers_text(buffers: Iterable[tuple[str, str]]) -> str:
    """Return buffers in words."""
    return "the " + " and ".join(f"{phase} of {half}" for phase, half in buffers)


def _spots_of(violations: Iterable[Violation]) -> list[Spot]:
    """Collect violations by group, slot and expected position."""
    spots: dict[Key, Spot] = {}
    for each in violations:
        key = (each.group, each.slot, each.expected_position)
        if key not in spots:
            spots[key] = Spot(
                group=each.group,
                slot=each.slot,
                position=each.expected_position,
                previous_slot=each.previous_slot,
            )
        spots[key].violations.append(each)
    for spot in spots.values():
        spot.settle()
    return sorted(spots.values(), key=lambda spot: (spot.group != FULL, spot.position, spot.slot))


def _foreign_text(foreign: Sequence[Write], first_step: int) -> str:
    """Return what other rows did to a slot, as the end of a sentence.

    Args:
        foreign: their recorded writes into it.
        first_step: the first recorded forward of the row that reads it.
    """
    if not foreign:
        return ""
    last = foreign[-1]
    text = f"; {rows_text([last.row])} wrote into the slot in step {last.step}"
    if last.step < first_step:
        return (
            f"{text}, before: a prefix that outlived its slots would look like this (stale prefix),"
            " and so would a stale entry of the table"
        )
    return text
