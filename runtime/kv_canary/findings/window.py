"""Diagnoses in the window pool that its frontier, or the map to it, explains better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kv_canary.findings.decode import batch_of
from kv_canary.findings.diagnosis import Diagnosis, Spot, rows_text
from kv_canary.findings.finding import Cause, Certainty
from kv_canary.findings.scene import Scene
from kv_canary.findings.snapshot import FULL, WINDOW


def renamed_at_edge(spot: Spot, diagnosis: Diagnosis, scene: Scene) -> Diagnosis:
    """Return a window pool's diagnosis, as WINDOW_EDGE if its map or its frontier explains it.

    It is asked only where the full pool is sound: else the fault is not the window's.

    Args:
        spot: in the window group.
        diagnosis: what its stamp alone says.
        scene: all spots.
    """
    if diagnosis.cause is Cause.CHANGED_AFTER_STAMP:
        return diagnosis
    tests: tuple[Callable[[Spot, Diagnosis, Scene], tuple[Certainty, str] | None], ...] = (
        _mapped_twice,
        _taken_back,
        _at_frontier,
    )
    for test in tests:
        found = test(spot, diagnosis, scene)
        if found is not None:
            certainty, sentence = found
            where, *why = diagnosis.sentences
            return replace(
                diagnosis,
                cause=Cause.WINDOW_EDGE,
                certainty=certainty,
                sentences=(where, sentence, *why),
                keys=diagnosis.keys | {("edge",)},
            )
    return diagnosis


def _mapped_twice(spot: Spot, diagnosis: Diagnosis, scene: Scene) -> tuple[Certainty, str] | None:
    tables, (slot,), (place,) = scene.tables, diagnosis.slots, diagnosis.places
    mapped = tables.full_slots_of(WINDOW, slot)
    own = {tables.slot_at(FULL, row, place) for row in spot.rows}
    others = [each for each in mapped if each not in own]
    if slot == 0 or len(mapped) < 2 or not others:
        return None
    held = {
        tables.slot_at(FULL, row, spot.stored.position) for row in (*diagnosis.others, *spot.rows)
    }
    proven = next((each for each in others if each in held), None)
    text = f"Slots {', '.join(map(str, mapped))} of the full pool are mapped to window slot {slot}"
    if proven is None:
        return "likely", f"{text} all at once."
    return "certain", f"{text} all at once, and slot {proven} is the one whose stamp this is."


def _taken_back(spot: Spot, diagnosis: Diagnosis, scene: Scene) -> tuple[Certainty, str] | None:
    (slot,), (place,) = diagnosis.slots, diagnosis.places
    for row in spot.rows:
        full, now = (scene.tables.slot_at(group, row, place) for group in (FULL, WINDOW))
        if full is not None and now is not None and now != slot:
            return "likely", (
                f"Slot {full} of the full pool was mapped to window slot {slot} when it was "
                f"checked, and is mapped to {now} now: the window slot was taken back while row "
                f"{row} still had position {place} in its window."
            )
    return None


def _at_frontier(spot: Spot, diagnosis: Diagnosis, scene: Scene) -> tuple[Certainty, str] | None:
    first, size = spot.first, scene.group(WINDOW).window_size
    batch = batch_of(first, scene.tables)
    lengths = [
        batch.prefix_of_row[row]
        for row in spot.rows
        if batch is not None and row in batch.prefix_of_row
    ]
    if not lengths or size <= 0:
        return None
    start = max(0, max(lengths) - size)
    (place,) = diagnosis.places
    if start == 0 or place >= start + scene.page_size(WINDOW):
        return None
    return "likely", (
        f"The window of {rows_text(spot.rows)} starts at position {start} in step {first.step}, "
        "and the full pool is sound there: the window slots of its first positions were given "
        "away too early."
    )
