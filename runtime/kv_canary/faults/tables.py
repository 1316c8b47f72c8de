"""Entries of req_to_token that are wrong, and lengths that are."""

from __future__ import annotations

from kv_canary.faults.victims import any_position, readers, readers_again, where
from kv_canary.replay.scene import Injected, Scene


def shift_entry_at_page_boundary(scene: Scene) -> Injected | None:
    """Let the first entry of a page point one slot too far."""
    size = scene.page_size
    for reader in readers(scene, least=size + 2):
        page = scene.random.randrange(1, (reader.length - 2) // size + 1)
        position = page * size
        slot = scene.slot(reader.entry, position)
        scene.table[reader.row, position] = slot + 1
        return Injected(
            what=f"{where(reader, position, slot)}: the table says slot {slot + 1}",
            steps_until_read=0,
        )
    return None


def swap_entries(scene: Scene) -> Injected | None:
    """Exchange two entries of a row."""
    for reader in readers(scene, least=4):
        one, other = scene.random.sample(range(reader.length), 2)
        if reader.request.tokens[one] == reader.request.tokens[other]:
            continue
        row = scene.table[reader.row]
        row[one], row[other] = int(row[other]), int(row[one])
        return Injected(
            what=f"row {reader.row}: the entries of positions {one} and {other} are exchanged",
            steps_until_read=0,
        )
    return None


def reset_row(scene: Scene) -> Injected | None:
    """Set the row of a running request to zero."""
    for reader in readers(scene):
        scene.table[reader.row].zero_()
        return Injected(
            what=f"row {reader.row} was set to 0 with {reader.length} tokens in the cache",
            steps_until_read=0,
        )
    return None


def use_padding_slot(scene: Scene) -> Injected | None:
    """Take 0, which a failed allocation returned, for a slot."""
    for reader in readers_again(scene):
        slot = scene.slot(reader.entry, reader.length)
        scene.table[reader.row, reader.length] = 0
        scene.inputs.out_cache_loc[scene.first_token(reader.entry)] = 0
        return Injected(
            what=f"{where(reader, reader.length, slot)}: the allocator said slot 0",
            steps_until_read=1,
        )
    return None


def point_past_pool(scene: Scene) -> Injected | None:
    """Let an entry of a row lie past the end of the pool."""
    for reader in readers(scene):
        position = any_position(scene, reader)
        slot = scene.slot(reader.entry, position)
        wild = scene.num_slots + scene.random.randrange(1000)
        scene.table[reader.row, position] = wild
        return Injected(
            what=f"{where(reader, position, slot)}: the table says slot {wild} of "
            f"{scene.num_slots}",
            steps_until_read=0,
        )
    return None


def lengthen_past_row(scene: Scene) -> Injected | None:
    """Give a request a prefix that is longer than a row of the table."""
    for reader in readers(scene):
        length = scene.columns + scene.random.randrange(1, 1000)
        scene.inputs.prefix_lens[scene.place(reader.entry)] = length
        return Injected(
            what=f"row {reader.row}: the prefix of {reader.length} tokens is given as {length}, "
            f"and a row has {scene.columns} positions",
            steps_until_read=0,
        )
    return None


def keep_rejected_draft(scene: Scene) -> Injected | None:
    """Count a rejected draft as cached, while positions and tokens go on without it."""
    for reader in readers(scene):
        if not scene.drafted.get(reader.request.number) or reader.entry.extend != 1:
            continue
        position = reader.length
        if (position + 1) % scene.page_size == 0 or position + 1 >= scene.columns:
            continue
        slot = scene.slot(reader.entry, position)
        scene.inputs.prefix_lens[scene.place(reader.entry)] = position + 1
        scene.inputs.out_cache_loc[scene.first_token(reader.entry)] = slot + 1
        scene.table[reader.row, position + 1] = slot + 1
        return Injected(
            what=f"{where(reader, position, slot)}: the rejected draft stays, and the token of "
            f"position {position} goes into slot {slot + 1} behind it",
            steps_until_read=0,
        )
    return None
