"""Bytes and stamps that are not what they were when the forward ended."""

from __future__ import annotations

from kv_canary.faults.victims import (
    Reader,
    any_position,
    is_in_window,
    own_positions,
    readers,
    where,
)
from kv_canary.replay.memory import BYTES_PER_TOKEN
from kv_canary.replay.scene import Injected, Scene

COVERED_BYTES = 16
"""First bytes of a token that a canary covers in partial mode."""


def flip_byte(scene: Scene) -> Injected | None:
    """Flip a bit of K or V of a cached token."""
    return _flip(scene, first=0, last=COVERED_BYTES)


def flip_uncovered_byte(scene: Scene) -> Injected | None:
    """Flip a bit behind the bytes that stamps cover in partial mode."""
    return _flip(scene, first=COVERED_BYTES, last=BYTES_PER_TOKEN)


def _flip(scene: Scene, *, first: int, last: int) -> Injected | None:
    for reader in readers(scene):
        position = any_position(scene, reader)
        slot = scene.slot(reader.entry, position)
        pool = scene.memory.pools[0]
        layers = list(pool.each_layer())
        number = scene.random.randrange(len(layers))
        byte = scene.random.randrange(first, last)
        held = pool.bytes_of(layers[number], slot)
        held[byte] = int(held[byte]) ^ (1 << scene.random.randrange(8))
        return Injected(
            what=f"{where(reader, position, slot)}: a bit of byte {byte} of "
            f"{'V' if number == len(layers) - 1 else f'K, layer {number},'} flipped",
            steps_until_read=0,
        )
    return None


def write_late(scene: Scene) -> Injected | None:
    """Let bytes of the last owner's tokens land when the slots are another request's."""
    for reader in readers(scene):
        places = own_positions(scene, reader) or range(reader.length)
        count = min(len(places), scene.random.randint(1, scene.page_size))
        first = scene.random.randrange(places.start, places.stop - count + 1)
        slots = [scene.slot(reader.entry, first + i) for i in range(count)]
        pool = scene.memory.pools[0]
        for slot in slots:
            for layer in pool.each_layer():
                held = pool.bytes_of(layer, slot)
                held += scene.random.randrange(1, 256)
        return Injected(
            what=f"row {reader.row}, positions {first}-{first + count - 1}, slots {slots}: bytes "
            "of the last owner landed",
            steps_until_read=0,
        )
    return None


def reload_shifted(scene: Scene) -> Injected | None:
    """Bring tokens back from the host, each with its stamp, one slot off."""
    for reader in readers(scene, least=4):
        places = _reloaded(scene, reader, spare=1)
        if places is None:
            continue
        slots = [scene.slot(reader.entry, each) for each in (*places, places.stop)]
        scene.memory.move(zip(slots[1:], slots, strict=False), with_stamps=True)
        return Injected(
            what=f"row {reader.row}, positions {places.start}-{places.stop - 1}: each got what "
            "belongs to the next",
            steps_until_read=0,
        )
    return None


def _reloaded(scene: Scene, reader: Reader, *, spare: int) -> range | None:
    """Return positions to bring back, in the window, with some cached ones after them."""
    own = own_positions(scene, reader)
    start = max(own.start, reader.length - scene.window if scene.window else 0)
    places = range(start, reader.length - spare)
    if len(places) < 2:
        return None
    count = scene.random.randint(2, min(len(places), 2 * scene.page_size))
    first = scene.random.choice(places[: len(places) - count + 1])
    return range(first, first + count)


def reload_without_stamps(scene: Scene) -> Injected | None:
    """Bring pages back from the host into other slots, and leave the canary's buffers behind."""
    size = scene.page_size
    for reader in readers(scene, least=size):
        pages = [
            page
            for page in range(own_positions(scene, reader).start // size, reader.length // size)
            if is_in_window(scene, reader, page * size)
        ]
        free = scene.pool.free_pages()
        twins = scene.pool.free_twins()
        if not pages or not free or (scene.window and not twins):
            continue
        index = scene.random.choice(pages)
        fresh = scene.random.choice(free)
        scene.pool.take_page(fresh)
        new = scene.pool.slots_of(fresh)
        if scene.mapping is not None:
            twin = scene.random.choice(twins)
            scene.pool.take_twin(twin)
            mapped = scene.pool.slots_of(twin)
            scene.mapping[new.start : new.stop] = scene.mapping.new_tensor(list(mapped))
        old = [scene.slot(reader.entry, index * size + i) for i in range(size)]
        scene.memory.move(zip(old, new, strict=True), with_stamps=False)
        scene.table[reader.row, index * size : (index + 1) * size] = scene.table.new_tensor(
            list(new)
        )
        return Injected(
            what=f"row {reader.row}, positions {index * size}-{(index + 1) * size - 1}: brought "
            f"back into slots {new.start}-{new.stop - 1} without their stamps",
            steps_until_read=0,
        )
    return None


def damage_stamp(scene: Scene) -> Injected | None:
    """Let a stray store hit the canary's own buffer."""
    for reader in readers(scene):
        position = any_position(scene, reader)
        slot = scene.slot(reader.entry, position)
        buffer = scene.random.choice(scene.memory.stamps()[0])
        # The chain hash: its bytes are any, where a token's may be the expected one of nobody.
        byte = scene.random.randrange(16, 24)
        buffer[slot, byte] = int(buffer[slot, byte]) ^ (1 << scene.random.randrange(8))
        return Injected(
            what=f"{where(reader, position, slot)}: a bit of the stamp flipped", steps_until_read=0
        )
    return None
