"""That the canary runs, and how much of what it was asked for it checks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A canary's counts; those of the device are from the last copy that came back.

    Args:
        mode: off, log, raise or collect.
        is_armed: whether forwards are checked.
        is_closed: whether the canary was closed.
        forwards: forwards that the host went through, those being captured into a graph not
            counted.
        forwards_captured: forwards that were captured into a graph.
        forwards_failed: forwards that ended in an exception, so that no tail was stamped.
        forwards_on_device: forwards that the device ran, replays of graphs included.
        launches: verify and write launches that the device ran.
        slots_checked: entries that verify launches walked, in all halves and phases.
        slots_stamped: canaries that were stored, in all halves and phases.
        violations: violations since arm.
        rows_lost: of those, the ones that found the ring full, so that they were counted but not
            kept.
        wanted: entries that the last forward asked to verify, by group.
        checked: entries that it did verify, by group; the next one goes on where it stopped.
        seconds_since_poll: seconds since the last poll; None before the first.
        seconds_since_status: age of the counts of the device, in seconds; None before there are
            any.
        is_stalled: forwards were entered since the last health check, and the device's counts did
            not move.
    """

    mode: str
    is_armed: bool
    is_closed: bool
    forwards: int
    forwards_captured: int
    forwards_failed: int
    forwards_on_device: int
    launches: int
    slots_checked: int
    slots_stamped: int
    violations: int
    rows_lost: int
    wanted: dict[str, int]
    checked: dict[str, int]
    seconds_since_poll: float | None
    seconds_since_status: float | None
    is_stalled: bool

    @classmethod
    def nothing(cls, *, mode: str) -> Health:
        """Return the health of a canary that does nothing."""
        return cls(
            mode=mode,
            is_armed=False,
            is_closed=False,
            forwards=0,
            forwards_captured=0,
            forwards_failed=0,
            forwards_on_device=0,
            launches=0,
            slots_checked=0,
            slots_stamped=0,
            violations=0,
            rows_lost=0,
            wanted={},
            checked={},
            seconds_since_poll=None,
            seconds_since_status=None,
            is_stalled=False,
        )

    @property
    def share_checked(self) -> float:
        """Share of what the last forward asked for that was verified, 0 to 1."""
        wanted = sum(self.wanted.values())
        # The copy may have been made while the next forward was being planned.
        return min(1.0, sum(self.checked.values()) / wanted) if wanted else 1.0

    def __str__(self) -> str:
        if self.mode == "off":
            return "kv_canary: off"
        state = "closed" if self.is_closed else "armed" if self.is_armed else "not armed"
        stalled = "STALLED: forwards are entered and nothing runs; " if self.is_stalled else ""
        return (
            f"kv_canary: {stalled}{state}, mode {self.mode}; {self.forwards_on_device:,} forwards, "
            f"{self.launches:,} launches, {self.slots_checked:,} slots checked, "
            f"{self.slots_stamped:,} stamped, {self.share_checked:.0%} of the last forward's "
            f"prefix checked; {self.violations:,} violations, {self.rows_lost:,} of them lost"
        )
