"""One diagnosis for every fault that the violations tell of; what follows from it goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kv_canary.findings.chains import judge_chain
from kv_canary.findings.decode import Violation
from kv_canary.findings.diagnosis import Diagnosis, Spot
from kv_canary.findings.finding import Cause
from kv_canary.findings.origin import UNKNOWN_ORIGIN
from kv_canary.findings.ranges import judge_ranges, tells_stamp
from kv_canary.findings.real_bytes import judge_bytes
from kv_canary.findings.scene import BYTES, CHAIN, Scene, is_blank
from kv_canary.findings.snapshot import FULL, WINDOW
from kv_canary.findings.stamps import judge_foreign, judge_stamp
from kv_canary.findings.tables import Tables
from kv_canary.findings.window import renamed_at_edge


def diagnose(violations: Sequence[Violation], tables: Tables) -> list[Diagnosis]:
    """Return what is wrong, entry by entry; several diagnoses may be one fault's.

    Every violation is in at least one of them.

    Args:
        violations: all of them, decoded.
        tables: the snapshot.
    """
    scene = Scene(tables, [each for each in violations if tells_stamp(each, tables)])
    return judge_ranges(violations, tables) + _Roots(scene).diagnoses()


class _Roots:
    """Diagnoses of spots, and the slots whose successors cannot have a right chain hash.

    Args:
        scene: all spots.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._found: list[Diagnosis] = []
        self._by_slot: dict[tuple[str, int], int] = {}
        self._by_place: dict[tuple[str, int, int], int] = {}
        self._followers: dict[int, list[Violation]] = {}

    def diagnoses(self) -> list[Diagnosis]:
        """Return one diagnosis a spot, or one that the spots after it follow from."""
        spots = self._scene.spots
        for spot in spots:
            if not _is_only_behind(spot):
                self._add(spot, self._judge(spot))
        for spot in filter(_is_only_behind, spots):
            root = self._root_of(spot)
            if root is None:
                self._add(spot, judge_chain(spot, self._scene))
            else:
                self._followers.setdefault(root, []).extend(spot.violations)
        return [
            replace(each, followers=tuple(self._followers.get(index, ())))
            for index, each in enumerate(self._found)
        ]

    def _judge(self, spot: Spot) -> Diagnosis:
        if is_blank(spot.stored):
            return judge_stamp(spot, self._scene, None)
        before = next(
            (
                self._found[index]
                for row in spot.rows
                if (index := self._by_place.get((spot.group, row, spot.position - 1))) is not None
            ),
            None,
        )
        if spot.reasons == BYTES and before is not None and before.is_foreign:
            # The stamp continues a stamp of another sequence, so it is of that sequence too.
            return judge_foreign(spot, self._scene, UNKNOWN_ORIGIN)
        if spot.reasons & ~CHAIN == BYTES and self._is_stamp_own(spot):
            return judge_bytes(spot, self._scene)
        return judge_stamp(spot, self._scene, before)

    def _is_stamp_own(self, spot: Spot) -> bool:
        """Whether a spot whose token and position are right has its own stamp."""
        if CHAIN not in spot.reasons:
            return True
        chains = {self._scene.own_chain(spot.group, row, spot.position) for row in spot.rows}
        if chains - {None}:
            return spot.stored.prev_hash in chains
        return self._scene.is_bad_slot(spot.group, spot.previous_slot)

    def _add(self, spot: Spot, diagnosis: Diagnosis) -> None:
        if spot.group == WINDOW and not self._is_wrong_in_full(spot):
            diagnosis = renamed_at_edge(spot, diagnosis, self._scene)
        index = len(self._found)
        self._found.append(replace(diagnosis, stored_delta=spot.stored.position - spot.position))
        if spot.reasons == BYTES and diagnosis.cause is Cause.CHANGED_AFTER_STAMP:
            # The stamp is sound, and so is what continues it.
            return
        for slot in diagnosis.slots:
            self._by_slot.setdefault((diagnosis.group, slot), index)
        for row in diagnosis.rows:
            for place in diagnosis.places:
                self._by_place.setdefault((diagnosis.group, row, place), index)

    def _is_wrong_in_full(self, spot: Spot) -> bool:
        """Whether the full pool's stamp is wrong at the same place."""
        return any(
            (FULL, row, spot.position) in self._by_place
            or any(each.reasons == CHAIN for each in self._scene.spots_at(FULL, row, spot.position))
            for row in spot.rows
        )

    def _root_of(self, spot: Spot) -> int | None:
        """Return the diagnosis of the slot before a spot that is wrong in its chain alone."""
        if spot.previous_slot > 0:
            root = self._by_slot.get((spot.group, spot.previous_slot))
            if root is not None:
                return root
        places = ((spot.group, row, spot.position - 1) for row in spot.rows)
        return next((self._by_place[place] for place in places if place in self._by_place), None)


def _is_only_behind(spot: Spot) -> bool:
    """Whether a spot fails in its chain alone, so that the slot before it may be the cause."""
    return spot.reasons == CHAIN and not is_blank(spot.stored)
