"""What a fault finds when it strikes: one step of a replay, just before its forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from random import Random
from typing import Protocol

from torch import Tensor

from kv_canary.replay.check import BatchEntry
from kv_canary.replay.memory import KvMemory
from kv_canary.replay.pool import PagedPool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """The tensors of one forward, as Canary.forward takes them."""

    req_pool_indices: Tensor
    """int64 [bs], row of each request; 0 is padding."""
    prefix_lens: Tensor
    """int64 [bs], tokens in the cache."""
    extend_seq_lens: Tensor
    """int64 [bs], tokens that this forward writes."""
    input_ids: Tensor
    """int64 [tokens]."""
    positions: Tensor
    """int64 [tokens]."""
    out_cache_loc: Tensor
    """int64 [tokens], slot of the full pool."""

    def arguments(self) -> dict[str, Tensor]:
        """Return the keywords of Canary.forward."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """What a fault did."""

    what: str
    """One sentence, with row, position and slot."""
    steps_until_read: int | None
    """Steps until somebody reads the damage: 0 is this one. None where nothing of it is left."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """One step: tables are filled, the forward has not begun. A fault may change all tensors."""

    step: int
    """Number of the step, from 0."""
    random: Random
    """Decides which victim it is."""
    batch: tuple[BatchEntry, ...]
    """What the step does, padding included."""
    pool: PagedPool
    """The books."""
    window: int
    """Tokens in the sliding window; 0 for none."""
    columns: int
    """Positions that a row of the table holds."""
    num_slots: int
    """Slots of the full pool."""
    table: Tensor
    """int32 [rows, columns], slot of each position."""
    mapping: Tensor | None
    """int64 [num_slots], full slot to window slot."""
    rows_before: Mapping[int, Tensor]
    """By row of a request that came with a cached prefix in this step: the row as it was before."""
    drafted: Mapping[int, int]
    """By number of a request: its tokens that the last step drafted, and that were rejected."""
    inputs: Inputs
    """The forward's tensors."""
    memory: KvMemory
    """Bytes and stamps."""
    covers_bytes: bool
    """Whether stamps cover bytes, so that what this forward overwrites is seen when it ends."""
    before_store: list[Callable[[], None]] = field(default_factory=list)
    """Called inside the forward, before the bytes of its tokens are stored."""
    after_store: list[Callable[[], None]] = field(default_factory=list)
    """Called inside the forward, when they are stored."""

    @property
    def page_size(self) -> int:
        """Slots in a page."""
        return self.pool.page_size

    def slot(self, entry: BatchEntry, position: int) -> int:
        """Return the slot that the table has at a position of a request."""
        return int(self.table[entry.row, position])

    @property
    def steps_until_overwritten_is_read(self) -> int:
        """Steps until a slot is verified that this forward writes for somebody else."""
        return 0 if self.covers_bytes else 1

    def first_token(self, entry: BatchEntry) -> int:
        """Return where an entry's tokens begin in the forward's tensors."""
        index = next(i for i, each in enumerate(self.batch) if each is entry)
        return sum(each.extend for each in self.batch[:index])

    def place(self, entry: BatchEntry) -> int:
        """Return an entry's place in the batch."""
        return next(i for i, each in enumerate(self.batch) if each is entry)


class InjectFault(Protocol):
    """A fault: called in each step until it finds a victim."""

    def __call__(self, scene: Scene) -> Injected | None:
        """Damage the scene and say what was done, or do nothing and return None."""
        ...
