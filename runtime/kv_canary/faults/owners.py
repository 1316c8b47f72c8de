"""Slots that come to have two owners, or lose the one that is read."""

from __future__ import annotations

from kv_canary.faults.victims import (
    Reader,
    own_pages,
    own_positions,
    readers,
    readers_again,
    where,
)
from kv_canary.replay.check import BatchEntry
from kv_canary.replay.pool import RunningRequest
from kv_canary.replay.scene import Injected, Scene


def share_slot_at_same_positions(scene: Scene) -> Injected | None:
    """Give a prefill the page that a running request holds at the same place."""
    return _share_page(scene, is_same=True)


def share_slot_at_other_positions(scene: Scene) -> Injected | None:
    """Give a prefill a page that a running request holds at another place."""
    return _share_page(scene, is_same=False)


def _share_page(scene: Scene, *, is_same: bool) -> Injected | None:
    size = scene.page_size
    for owner in readers_again(scene):
        for entry, request, page in _pages_written(scene):
            if request is owner.request:
                continue
            pages = [each for each in own_pages(scene, owner) if (each == page) is is_same]
            pages = [each for each in pages if _tokens_differ(scene, owner, each, request, page)]
            if not pages:
                continue
            theirs = scene.random.choice(pages)
            first = page * size
            slots = owner.request.slots[theirs * size : (theirs + 1) * size]
            _write_to(scene, entry, request, first, slots)
            return Injected(
                what=f"row {request.row} got slots {slots[0]}-{slots[-1]} for positions {first}-"
                f"{first + size - 1}; row {owner.row} holds them for positions {theirs * size}-"
                f"{theirs * size + size - 1}",
                steps_until_read=scene.steps_until_overwritten_is_read,
            )
    return None


def _pages_written(scene: Scene) -> list[tuple[BatchEntry, RunningRequest, int]]:
    """Return the pages that this step fills from first to last slot, with their requests."""
    size = scene.page_size
    return [
        (entry, entry.request, page)
        for entry in scene.batch
        if entry.request is not None
        for page in range(-(-entry.prefix // size), (entry.prefix + entry.extend) // size)
    ]


def _tokens_differ(
    scene: Scene, owner: Reader, theirs: int, request: RunningRequest, page: int
) -> bool:
    size = scene.page_size
    old = owner.request.tokens[theirs * size : (theirs + 1) * size]
    new = request.tokens[page * size : (page + 1) * size]
    return all(a != b for a, b in zip(old, new, strict=True))


def _write_to(
    scene: Scene, entry: BatchEntry, request: RunningRequest, position: int, slots: list[int]
) -> None:
    """Let a request's positions of this step be written to other slots, as its table has it too."""
    last = position + len(slots)
    request.slots[position:last] = slots
    values = scene.table.new_tensor(slots)
    scene.table[request.row, position:last] = values
    token = scene.first_token(entry) + position - entry.prefix
    scene.inputs.out_cache_loc[token : token + len(slots)] = values.to(
        scene.inputs.out_cache_loc.dtype
    )


def keep_prefix_index_entry(scene: Scene) -> Injected | None:
    """Let a prefix hit give pages that were freed, and are another request's by now."""
    size = scene.page_size
    for reader in readers(scene, least=size):
        if reader.row not in scene.rows_before:
            continue
        for other in readers(scene, least=size):
            if other.request is reader.request:
                continue
            pages = own_pages(scene, other)
            shared = reader.length // size
            count = min(len(pages), scene.pool.block_pages, shared)
            if count == 0:
                continue
            start = (shared - count) * size
            slots = [
                slot
                for page in pages[:count]
                for slot in other.request.slots[page * size : (page + 1) * size]
            ]
            if set(slots) & set(reader.request.slots):
                continue
            scene.table[reader.row, start : start + len(slots)] = scene.table.new_tensor(slots)
            reader.request.slots[start : start + len(slots)] = slots
            scene.memory.canary.prefix_hit(reader.row, reader.request.tokens[: reader.length])
            return Injected(
                what=f"row {reader.row} came with {reader.length} cached tokens; the index gave "
                f"slots {slots[0]}-{slots[-1]} for positions {start}-{reader.length - 1}, which "
                f"row {other.row} was given after they were freed",
                steps_until_read=0,
            )
    return None


def keep_row_of_last_request(scene: Scene) -> Injected | None:
    """Lose the write of a cached prefix into a row that was used before."""
    for reader in readers(scene):
        before = scene.rows_before.get(reader.row)
        if before is None:
            continue
        prefix = before[: reader.length]
        own = scene.table[reader.row, : reader.length]
        differs = (prefix != own).nonzero()[:, 0].tolist()
        if not differs or not bool((prefix > 0).all()):
            continue
        if any(_holds_same(scene, int(prefix[i]), reader, i) for i in differs):
            continue
        if reader.entry.extend and reader.length == reader.request.cached_length:
            scene.table[reader.row, : reader.length] = prefix
            scene.memory.canary.prefix_hit(reader.row, reader.request.tokens[: reader.length])
            return Injected(
                what=f"row {reader.row} still holds the slots of the request before, from position "
                f"{differs[0]} to {differs[-1]}",
                steps_until_read=0,
            )
    return None


def _holds_same(scene: Scene, slot: int, reader: Reader, position: int) -> bool:
    """Whether a slot holds the token that a reader expects, stamped for some sequence."""
    stamp = scene.memory.stamps()[0][0].view(scene.inputs.positions.dtype)[slot].tolist()
    return bool(stamp[0] == reader.request.tokens[position])


def store_to_victim(scene: Scene) -> Injected | None:
    """Let a decoding request's token be stored in a slot that another request reads."""
    for writer in readers_again(scene):
        for victim in readers_again(scene):
            if victim.request is writer.request:
                continue
            places = list(own_positions(scene, victim))
            if not places:
                continue
            position = scene.random.choice(places)
            slot = scene.slot(victim.entry, position)
            scene.inputs.out_cache_loc[scene.first_token(writer.entry)] = slot
            own = scene.slot(writer.entry, writer.length)
            return Injected(
                what=f"row {writer.row}'s token of position {writer.length} went into slot {slot} "
                f"instead of {own}; row {victim.row} reads it at position {position}",
                steps_until_read=scene.steps_until_overwritten_is_read,
            )
    return None


def store_to_free_slot(scene: Scene) -> Injected | None:
    """Let a decoding request's token be stored in a slot that nobody holds."""
    free = scene.pool.free_pages()
    for writer in readers_again(scene):
        if not free:
            return None
        slot = scene.random.choice(scene.pool.slots_of(scene.random.choice(free)))
        scene.inputs.out_cache_loc[scene.first_token(writer.entry)] = slot
        own = scene.slot(writer.entry, writer.length)
        return Injected(
            what=f"{where(writer, writer.length, own)}: the token went into free slot {slot}",
            steps_until_read=1,
        )
    return None
