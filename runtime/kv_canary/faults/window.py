"""Faults of the sliding-window pool alone: its frontier, and the map to it."""

from __future__ import annotations

from kv_canary.faults.victims import readers, readers_again, where
from kv_canary.replay.scene import Injected, Scene


def free_frontier_early(scene: Scene) -> Injected | None:
    """Give the window page of a window's first tokens to a request that fills it."""
    size, mapping = scene.page_size, scene.mapping
    if mapping is None:
        return None
    for reader in readers_again(scene, least=scene.window + 1):
        # The first page in the window whose last token the next step still reads.
        start = reader.length - scene.window
        if start % size == size - 1:
            continue
        page = start // size
        old = [scene.slot(reader.entry, page * size + i) for i in range(size)]
        for entry in scene.batch:
            if entry.request is None or entry.request is reader.request:
                continue
            first = -(-entry.prefix // size) * size
            if first + size > entry.prefix + entry.extend:
                continue
            new = entry.request.slots[first : first + size]
            mapping[new] = mapping[old]
            return Injected(
                what=f"row {reader.row} has {reader.length} tokens, and the window page of "
                f"positions {page * size}-{page * size + size - 1} was freed and given to row "
                f"{entry.row} for positions {first}-{first + size - 1}",
                steps_until_read=scene.steps_until_overwritten_is_read,
            )
    return None


def map_two_to_one(scene: Scene) -> Injected | None:
    """Let the map send two slots of the full pool to one of the window pool."""
    mapping = scene.mapping
    if mapping is None:
        return None
    for reader in readers(scene, least=2):
        start = max(0, reader.length - scene.window)
        places = range(start, reader.length)
        for other in readers(scene, least=2):
            first = max(0, other.length - scene.window)
            theirs = scene.random.randrange(first, other.length)
            position = scene.random.choice(places)
            slot, second = scene.slot(reader.entry, position), scene.slot(other.entry, theirs)
            is_same_token = other.request.tokens[theirs] == reader.request.tokens[position]
            if slot == second or is_same_token or not int(mapping[second]):
                continue
            mapping[slot] = int(mapping[second])
            return Injected(
                what=f"{where(reader, position, slot)}: the map says window slot "
                f"{int(mapping[slot])}, which is that of slot {second}",
                steps_until_read=0,
            )
    return None


def clear_map_early(scene: Scene) -> Injected | None:
    """Clear the map of a position that is still in the window."""
    if scene.mapping is None:
        return None
    for reader in readers(scene, least=2):
        position = scene.random.randrange(max(0, reader.length - scene.window), reader.length)
        slot = scene.slot(reader.entry, position)
        scene.mapping[slot] = 0
        return Injected(
            what=f"{where(reader, position, slot)}: the map says 0", steps_until_read=None
        )
    return None
