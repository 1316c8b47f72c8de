"""What a replay can be told; all sizes are in replayed tokens, that is, after scaling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The sizes of the engine that a trace is replayed on."""

    scale: int = 16
    """Lengths are divided by this, 1 to 512."""
    seed: int = 0
    """Decides token ids and the order in which pages are handed out."""
    window: int = 0
    """Tokens in the sliding window; 0 for none. With one, each step is planned for both pools."""
    page_size: int | None = None
    """Slots in a page; must divide a block. None: the largest divisor that also divides 16."""
    pool_slots: int | None = None
    """Slots of the full pool. None: 2,097,152 / scale."""
    window_pool_slots: int | None = None
    """Slots of the window pool. None: a quarter of the full pool's."""
    max_batch: int = 64
    """Most requests that run at once."""
    chunk: int = 1024
    """Most prompt tokens that one step computes, over all requests."""
    step_ms: int = 400
    """How far one step moves the virtual clock that arrivals wait for, in trace milliseconds."""
    verify_capacity: int | None = None
    """Entries of a verify plan. None: enough for any step; fewer lets steps go over capacity."""
    token_offset: int = 0
    """Column of a position's expected token minus that position."""
    device: str = "cpu"
    """Where the tables are and the plan runs, as torch names it."""

    def pool_slots_at_scale(self) -> int:
        """Return the slots of the full pool."""
        return self.pool_slots or max(1, 2_097_152 // self.scale)

    def window_pool_slots_at_scale(self) -> int:
        """Return the slots of the window pool."""
        return self.window_pool_slots or max(1, self.pool_slots_at_scale() // 4)
