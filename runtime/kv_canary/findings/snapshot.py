"""What a canary knew at one moment, on the CPU: the only thing that findings are made from.

Rings, tables, stamps and the last few batches; never a byte of K or V, and never who damaged what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from torch import Tensor

SNAPSHOT_VERSION: Final = 1
"""Version of the fields below; a dump of a newer one is refused."""

FULL: Final = "full"
"""Name of the group that stands for the whole pool."""
WINDOW: Final = "window"
"""Name of the group that stands for the sliding-window pool."""

Half = Literal["K", "V"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HalfSnapshot:
    """The stamps of K or of V in one group, as the fields token, position, prev_hash, kv hash."""

    half: Half
    """Which of the two."""
    head: Tensor
    """int64 [num_slots, 4], stamped before the forward; its hash over the bytes is always 0."""
    tail: Tensor
    """int64 [num_slots, 4], stamped after the forward."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSnapshot:
    """One pool."""

    name: str
    """"full" or "window"."""
    num_slots: int
    """Slots of the pool, the padding slot 0 among them."""
    window_size: int
    """Tokens in the sliding window; 0 in the full group."""
    mapping: Tensor | None
    """int64 [lut_len], full slot to slot of this group, 0 where evicted; None in the full group."""
    halves: tuple[HalfSnapshot, ...]
    """Those that are stamped."""
    page_sizes: tuple[int, ...] = ()
    """Slots in a page of each of its sources; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepSnapshot:
    """The batch of one forward, as the host saw it."""

    step: int
    """Number of the forward from 0, as in the evidence ring."""
    req_pool_indices: Tensor
    """int64 [bs], row of each request; 0 is padding."""
    prefix_lens: Tensor
    """int64 [bs], tokens in the cache before it."""
    extend_seq_lens: Tensor
    """int64 [bs], tokens it wrote."""
    positions: Tensor
    """int64 [tokens], in batch order."""
    out_cache_loc: Tensor
    """int64 [tokens], slot of the full pool that each token was written to."""
    captured: bool = False
    """Replayed from a graph: the host saw no batch, and the tensors are empty."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """Everything at one moment."""

    version: int = SNAPSHOT_VERSION
    """Version of these fields."""
    hash_format: str
    """"serial" or "parallel"."""
    real_kv_mode: str
    """"none", "partial" or "all": what the tail's hash covers of the bytes."""
    req_to_token: Tensor
    """int32 [rows, columns], full slot of each position of each row."""
    groups: tuple[GroupSnapshot, ...]
    """The full group, and the window group where there is one."""
    violations: Tensor
    """int64 [n, 8], the rows of the ring that were recorded, in its order."""
    evidence: Tensor
    """int64 [n, 8], the evidence ring's row of each."""
    violation_count: int
    """Violations seen; more than n when the ring was full and the rest was lost."""
    steps: tuple[StepSnapshot, ...] = ()
    """The last few forwards, oldest first."""
    verify_wanted: dict[str, int]
    """Entries that the last forward asked to verify, by group."""
    verify_checked: dict[str, int]
    """Entries that it did verify, by group."""
    expected_tokens: Tensor | None = None
    """int32 [rows, columns], token that each position of a row should hold, or None."""
    expected_valid: Tensor | None = None
    """int64 [rows], columns of expected_tokens that are known, from the first; or None."""
