"""Every fault is run on a small pool, and what was found is held against what was promised."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from kv_canary.canary.config import REAL_KV
from kv_canary.faults.fault import Fault
from kv_canary.replay.canary import (
    CanaryOptions,
    CanarySummary,
    replay_with_canary,
)
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import BLOCK_TOKENS, TraceRequest
from kv_canary_kernels.constants import FailReason

SCALE: Final = 64
"""Lengths are divided by this: a block is 8 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault at one seed."""

    fault: Fault
    """Which."""
    seed: int
    """Decides trace, pool, victim and step."""
    summary: CanarySummary
    """The replay."""

    @property
    def steps_until_found(self) -> int | None:
        """Steps from the fault to the first finding; 0 is its own. None if nothing was found."""
        found, injected = self.summary.found_step, self.summary.injected_step
        return None if found is None or injected is None else found - injected

    @property
    def checks(self) -> FailReason:
        """Every check that saw it."""
        seen = FailReason(0)
        for finding in self.summary.findings:
            for name in finding.checks:
                seen |= FailReason[name]
        return seen

    def disappointments(self) -> list[str]:
        """Return what is not as the fault promises, in words; empty if all is."""
        summary, fault = self.summary, self.fault
        if summary.injected is None:
            return ["it found no victim"]
        found = [(each.cause.value, each.certainty) for each in summary.findings]
        if fault.cause is None:
            return [f"it was found: {found}"] if found else []
        if not found:
            return ["nothing was found"]
        wrong = []
        if self.steps_until_found != summary.injected.steps_until_read:
            wrong.append(
                f"it was found after {self.steps_until_found} steps, and read after "
                f"{summary.injected.steps_until_read}"
            )
        if len(found) != 1 or summary.findings[0].cause is not fault.cause:
            wrong.append(f"found {found}, promised {fault.cause.value}")
        if not self.checks & fault.checks:
            wrong.append(f"seen by {self.checks!r}, promised {fault.checks!r}")
        return wrong


def small_trace(seed: int) -> tuple[TraceRequest, ...]:
    """Return a made-up trace in which every fault finds a victim soon.

    Requests come a few steps apart, share system prompts of two blocks, and answer for a while.

    Args:
        seed: decides lengths and arrivals.
    """
    random = Random(seed)
    requests = []
    time = 0
    for number in range(24):
        system = number % 3
        blocks = random.randint(4, 6)
        own = tuple(1000 + 10 * number + i for i in range(blocks - 2))
        requests.append(
            TraceRequest(
                number=number,
                line=number + 1,
                timestamp=time,
                input_length=BLOCK_TOKENS * (blocks - 1) + random.randint(1, BLOCK_TOKENS),
                output_length=SCALE * random.randint(6, 16),
                hash_ids=(10 * system, 10 * system + 1, *own),
            )
        )
        time += random.choice((0, 400, 800, 1600))
    return tuple(requests)


def small_settings(fault: Fault | None, seed: int) -> tuple[ReplaySettings, CanaryOptions]:
    """Return sizes and options for a fault: windows, bytes and hashes take turns with the seed.

    Args:
        fault: the fault, or None for a clean replay.
        seed: decides what is left open.
    """
    has_window = seed % 2 == 0 or (fault is not None and fault.needs_window)
    has_drafts = seed % 4 == 1 or (fault is not None and fault.needs_drafts)
    covered = REAL_KV if fault is None else fault.bytes_covered
    settings = ReplaySettings(
        scale=SCALE,
        seed=seed,
        window=14 if has_window else 0,
        page_size=4,
        pool_slots=480,
        window_pool_slots=256,
        max_batch=8,
        chunk=24,
    )
    options = CanaryOptions(
        real_kv=covered[seed % len(covered)],
        hash_format="parallel" if seed // 2 % 2 == 0 else "serial",
        drafts=2 if has_drafts else 0,
    )
    return settings, options


def run_trial(fault: Fault, seed: int) -> Trial:
    """Run one fault once.

    Args:
        fault: which.
        seed: decides trace, pool, victim and the step from which on it may strike.
    """
    settings, options = small_settings(fault, seed)
    summary = replay_with_canary(
        small_trace(seed),
        settings,
        options,
        injection=fault.injection(8 + seed % 7),
    )
    return Trial(fault=fault, seed=seed, summary=summary)
