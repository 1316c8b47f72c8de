"""Diagnoses of spots whose stamp is right, and whose bytes are not the ones it was made for."""

from __future__ import annotations

from collections.abc import Iterator

from kv_canary.findings.diagnosis import Diagnosis, Spot
from kv_canary.findings.finding import Cause, Certainty
from kv_canary.findings.scene import BYTES, Scene, is_blank
from kv_canary.findings.stamps import judge_owner
from kv_canary.findings.tables import Stamp

_NEIGHBOURS = (-2, -1, 1, 2)


def judge_bytes(spot: Spot, scene: Scene) -> Diagnosis:
    """Return why the bytes of a spot changed after its tail was stamped."""
    again = _stamped_again(spot, scene)
    if again is not None:
        return again
    halves = sorted({each.half for each in spot.opening if BYTES in each.reasons})
    sentences = [
        (
            f"Token, position and chain hash are as they should be, but the bytes of "
            f"{' and '.join(halves)} do not hash to the stamp: they changed after it was made."
        )
    ]
    moved = _moved_bytes(spot, scene)
    if moved is not None:
        return moved
    home = _own_home(spot, scene)
    if home is not None:
        row, position, slot, count = home
        delta = position - spot.position
        also = f", as with {count - 1} of its neighbours" if count > 1 else ""
        sentences.append(
            f"The bytes there are those that slot {slot} was stamped over, row {row}'s position "
            f"{position}: {delta:+d} from where they lie{also}."
        )
        certainty: Certainty = "certain" if count > 1 else "likely"
        return scene.made(spot, Cause.SHIFTED, certainty, sentences, delta=delta)
    first = next(each for each in spot.opening if BYTES in each.reasons)
    copies = [slot for slot in scene.homes_of_bytes(first) if slot != spot.slot]
    if copies:
        sentences.append(
            f"The same bytes were stamped in slot {', '.join(map(str, copies[:3]))}: they are a "
            "copy."
        )
    sentences += _late_write(spot, scene)
    return scene.made(spot, Cause.CHANGED_AFTER_STAMP, "certain", sentences)


def _stamped_again(spot: Spot, scene: Scene) -> Diagnosis | None:
    """Diagnose bytes that the very forward which found them stored for another token.

    That forward stamped the head anew before its tail was verified, so that the tail still held the
    old stamp, and only the bytes were wrong.
    """
    later = next((each for each in spot.later if each.reasons & ~BYTES), None)
    write = scene.written_meanwhile(spot)
    now = scene.stamp_now(spot)
    if write is not None:
        sentence = (
            f"The same forward, step {write.step}, wrote row {write.row}'s position "
            f"{write.position} into this slot: the bytes are that token's, and the tail is "
            "stamped only after this check."
        )
    elif later is not None:
        now = later.stored
        sentence = f"The slot was stamped again by step {later.step}."
    elif spot.first.phase != "sweep" and spot.first.step not in scene.tables.batches:
        sentence = "The slot has been stamped again since; the host has no copy of that batch."
    else:
        return None
    if now is None or is_blank(now) or _is_same(now, spot.stored):
        return None
    return judge_owner(spot, now, scene, first_sentence=sentence, write=write)


def _is_same(first: Stamp, second: Stamp) -> bool:
    return first[:3] == second[:3]


def _moved_bytes(spot: Spot, scene: Scene) -> Diagnosis | None:
    """Diagnose bytes that are the row's own, copied here without their stamps."""
    writes = [scene.tables.write_of(spot.group, row, spot.position) for row in spot.rows]
    written = {write.slot: write for write in writes if write is not None}
    for slot, stamp in _homes(spot, scene):
        if slot == spot.slot or slot not in written or _is_same(stamp, spot.stored):
            continue
        write = written[slot]
        sentence = (
            f"The bytes are those that row {write.row} wrote for position {spot.position} into "
            f"slot {slot} in step {write.step}, and the stamp here is another one: token "
            f"{spot.stored.token} instead of {stamp.token}. They were copied without their stamps."
        )
        return scene.made(
            spot, Cause.NEVER_STAMPED, "certain", [sentence], is_foreign=True, is_leftover=True
        )
    return None


def _own_home(spot: Spot, scene: Scene) -> tuple[int, int, int, int] | None:
    """Return row, position and slot of the row's own token whose bytes lie here, or None.

    The last number counts the spot and its neighbours whose bytes are as far off: two tokens may
    have the same bytes by chance, a whole run of them does not.
    """
    best: tuple[int, int, int, int] | None = None
    for row in spot.rows:
        for delta in _deltas(spot.group, row, spot.position, scene):
            count = 1 + sum(
                delta in _deltas(spot.group, row, spot.position + side, scene)
                for side in _NEIGHBOURS
            )
            slot = scene.tables.slot_at(spot.group, row, spot.position + delta)
            if slot is not None and (best is None or count > best[3]):
                best = (row, spot.position + delta, slot, count)
    return best


def _deltas(group: str, row: int, position: int, scene: Scene) -> set[int]:
    """Return how far off the row's tokens are whose bytes lie at a position of it."""
    return {
        stamp.position - position
        for spot in scene.spots_at(group, row, position)
        for slot, stamp in _homes(spot, scene)
        if slot != spot.slot and scene.tables.slot_at(group, row, stamp.position) == slot
    }


def _homes(spot: Spot, scene: Scene) -> Iterator[tuple[int, Stamp]]:
    for each in spot.opening:
        if BYTES in each.reasons:
            for slot in scene.homes_of_bytes(each):
                stamp = scene.tables.stamp(spot.group, "tail", each.half, slot)
                if stamp is not None:
                    yield slot, stamp


def _late_write(spot: Spot, scene: Scene) -> list[str]:
    """Return a sentence if the slot was another row's shortly before."""
    writes = scene.tables.writers(spot.group, spot.slot)
    earlier = [write for write in writes[:-1] if write.row not in spot.rows]
    if not earlier or writes[-1].row not in spot.rows:
        return []
    before, last = earlier[-1], writes[-1]
    return [
        (
            f"The slot was row {before.row}'s in step {before.step} and became row {last.row}'s in "
            f"step {last.step}: a store for the former that landed late would look like this "
            "(late write)."
        )
    ]
