"""Who is there to be damaged: requests whose cached tokens somebody will still read."""

from __future__ import annotations

from dataclasses import dataclass

from kv_canary.replay.check import BatchEntry
from kv_canary.replay.pool import RunningRequest
from kv_canary.replay.scene import Scene


@dataclass(frozen=True, slots=True)
class Reader:
    """A request of this step's batch with cached tokens, all of which the step reads."""

    entry: BatchEntry
    request: RunningRequest

    @property
    def row(self) -> int:
        """Its row of the table."""
        return self.entry.row

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return self.entry.prefix


def readers(scene: Scene, *, least: int = 2) -> list[Reader]:
    """Return the requests with so many cached tokens, which are read in this step, shuffled."""
    found = [
        Reader(entry, entry.request)
        for entry in scene.batch
        if entry.request is not None and entry.prefix >= least
    ]
    scene.random.shuffle(found)
    return found


def readers_again(scene: Scene, *, least: int = 2) -> list[Reader]:
    """Return those that are sure to be in the next step too: they decode, and are not done."""
    return [
        reader
        for reader in readers(scene, least=least)
        if reader.length >= reader.request.prompt_length
        and reader.length + 1 < reader.request.total_length
    ]


def own_start(scene: Scene, reader: Reader) -> int:
    """Return the first position whose page nobody but the request holds."""
    return len(reader.request.blocks) * scene.pool.block_pages * scene.page_size


def own_pages(scene: Scene, reader: Reader) -> list[int]:
    """Return the places in a request of the pages that it alone holds and that are full."""
    size = scene.page_size
    return list(range(own_start(scene, reader) // size, reader.length // size))


def any_position(scene: Scene, reader: Reader, *, first: int = 0) -> int:
    """Return a cached position of a request, from `first` on."""
    return scene.random.randrange(first, reader.length)


def own_positions(scene: Scene, reader: Reader) -> range:
    """Return the cached positions whose pages nobody but the request holds."""
    return range(own_start(scene, reader), reader.length)


def is_in_window(scene: Scene, reader: Reader, position: int) -> bool:
    """Whether a position is in the window of a request in this step; always without a window."""
    return not scene.window or position >= reader.length - scene.window


def where(reader: Reader, position: int, slot: int) -> str:
    """Return row, position and slot in words."""
    return f"row {reader.row}, position {position}, slot {slot}"
