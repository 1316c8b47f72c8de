"""Diagnoses of spots that are wrong in their chain alone, behind a slot that seems sound.

Either the spot's own stamp was replaced by one of the same token and position, or the one before
was: its chain hash, position and token may all pass their checks.
"""

from __future__ import annotations

from kv_canary.findings.diagnosis import Diagnosis, Spot, rows_text
from kv_canary.findings.finding import Cause
from kv_canary.findings.scene import Scene, buffers_text, is_blank
from kv_canary.findings.stamps import difference_text, differences, judge_blank, judge_damage
from kv_canary.findings.tables import Stamp
from kv_canary.reference._hashes import ANCHOR_HASH


def judge_chain(spot: Spot, scene: Scene) -> Diagnosis:
    """Return why a spot does not continue the slot before it."""
    stored = spot.stored
    if is_blank(stored):
        return judge_blank(spot, scene)
    if stored.prev_hash == ANCHOR_HASH and spot.position > 0:
        return _started_afresh(spot, scene)
    sound = scene.sound_buffers(spot)
    if sound:
        return _broken_in_some_buffers(spot, scene, sound)
    is_own = stored.prev_hash in [
        scene.own_chain(spot.group, row, spot.position) for row in spot.rows
    ]
    if not is_own:
        origin = scene.origin(spot, stored)
        if origin.kind == "other":
            return scene.made(
                spot,
                Cause.ANOTHER_OWNER,
                origin.certainty,
                [*origin.sentences, *scene.history(spot)],
                others=origin.rows,
                is_foreign=True,
                is_leftover=origin.certainty != "certain",
            )
        damaged = judge_damage(spot, scene)
        if damaged is not None:
            return damaged
    before = _replaced_before(spot, scene, is_proven=is_own)
    if before is not None:
        return before
    sentence = (
        f"Token and position are right, but the stamp does not continue slot {spot.previous_slot}: "
        "that slot, or this one, was stamped for another sequence at the same position."
    )
    return scene.made(
        spot,
        Cause.ANOTHER_OWNER,
        "possible",
        [sentence, *scene.history(spot)],
        is_leftover=True,
    )


def _started_afresh(spot: Spot, scene: Scene) -> Diagnosis:
    tables = scene.tables
    written = [
        write
        for row in spot.rows
        if (write := tables.write_of(spot.group, row, spot.position)) is not None
    ] or list(tables.writers(spot.group, spot.slot)[-1:])
    sentence = (
        "The stored chain hash is that of the first token of a sequence: the forward that stamped "
        "it knew of no token before it"
    )
    if written:
        last = written[-1]
        sentence += f". That was step {last.step}, for {rows_text([last.row])}"
    return scene.made(
        spot, Cause.WILD_ROW_OR_LENGTH, "possible", [f"{sentence}."], starts_afresh=True
    )


def _broken_in_some_buffers(spot: Spot, scene: Scene, sound: list[tuple[str, str]]) -> Diagnosis:
    """Diagnose this stamp, or the one before, as changed in the buffers that fail."""
    tables, stored = scene.tables, spot.stored
    good = tables.stamp(spot.group, *sound[0], spot.slot)
    assert good is not None, "it was read a moment ago"
    damaged = judge_damage(spot, scene) if good.prev_hash != stored.prev_hash else None
    if damaged is not None:
        return damaged
    here = tables.stamp(spot.group, *spot.first.buffer, spot.previous_slot)
    there = tables.stamp(spot.group, *sound[0], spot.previous_slot)
    how = ""
    if here is not None and there is not None and differences(there, here):
        how = f": {difference_text(there, here)}"
    sentence = (
        f"Slot {spot.slot} continues it in {buffers_text(sound)} and not in what "
        f"{spot.first.launch_tag} read, so the stamp in slot {spot.previous_slot} was changed "
        f"there{how}. All buffers are stamped alike."
    )
    return scene.made(
        _slot_before(spot, scene),
        Cause.CHANGED_AFTER_STAMP,
        "certain",
        [sentence],
        shown_by=spot,
    )


def _replaced_before(spot: Spot, scene: Scene, *, is_proven: bool) -> Diagnosis | None:
    """Diagnose the slot before a spot, which passed its own checks.

    Args:
        spot: wrong in its chain alone.
        scene: all spots.
        is_proven: the spot's own stamp is exactly the row's, so it must be the one before.
    """
    before = _slot_before(spot, scene)
    stamp = scene.tables.stamp(spot.group, *spot.first.buffer, before.slot)
    if stamp is None:
        return None
    origin = scene.origin(before, stamp)
    if origin.kind != "other" and not is_proven:
        return None
    return scene.made(
        before,
        Cause.ANOTHER_OWNER,
        origin.certainty if origin.kind == "other" else "likely",
        [
            _before_text(spot, before, stamp, is_proven=is_proven),
            *origin.sentences,
            *scene.history(before),
        ],
        others=origin.rows,
        shown_by=spot,
    )


def _before_text(spot: Spot, before: Spot, stamp: Stamp, *, is_proven: bool) -> str:
    holds = f"it holds token {stamp.token} at position {stamp.position}"
    if is_proven:
        return (
            f"Recomputed from the row's own tokens, slot {spot.slot} stores exactly the right "
            f"chain hash; so slot {before.slot}, before it, was stamped again: {holds}."
        )
    return f"Slot {spot.slot} does not continue slot {before.slot}, before it; {holds}."


def _slot_before(spot: Spot, scene: Scene) -> Spot:
    """Return the slot before a spot, as a spot with the same violations."""
    earlier = -1
    if spot.position > 1 and spot.rows:
        earlier = scene.tables.slot_at(spot.group, spot.rows[0], spot.position - 2) or 0
    before = Spot(
        group=spot.group,
        slot=spot.previous_slot,
        position=spot.position - 1,
        previous_slot=earlier,
        violations=spot.violations,
    )
    before.settle()
    return before
