"""What a fault is: what happened in the field, what is done, and what a canary must say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kv_canary.canary.config import RealKv
from kv_canary.findings import Cause
from kv_canary.replay.canary import Injection
from kv_canary.replay.scene import InjectFault
from kv_canary_kernels.constants import FailReason

STEPS_UNSEEN: Final = 12
"""Steps that a replay goes on after a fault that nothing should be found of."""

_NO_CHECK = FailReason(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault."""

    name: str
    """Its name, in words joined by hyphens."""
    happened: str
    """One sentence of what happened in the field."""
    inject: InjectFault
    """Does it, as soon as there is a victim that somebody will read."""
    cause: Cause | None
    """What a finding must name; None for a fault that no stamp can see."""
    checks: FailReason = _NO_CHECK
    """The checks that may see it; at least one of them does."""
    why_unseen: str = ""
    """Why nothing is found; empty for a fault that is."""
    needs_window: bool = False
    """Whether it needs a sliding window."""
    needs_drafts: bool = False
    """Whether it needs draft tokens that are rejected."""
    bytes_covered: tuple[RealKv, ...] = ("none", "partial", "all")
    """The settings of real_kv that it is about."""

    def injection(self, step: int) -> Injection:
        """Return what a replay needs to inject it.

        Args:
            step: first step in which it may strike.
        """
        return Injection(
            name=self.name,
            inject=self.inject,
            step=step,
            steps_after=None if self.is_detectable else STEPS_UNSEEN,
        )

    @property
    def is_detectable(self) -> bool:
        """Whether a canary sees it."""
        return self.cause is not None
