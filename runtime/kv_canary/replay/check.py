"""A plan as the pool's books have it, and the comparison of a launched plan with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kv_canary.errors import PlanMismatchError
from kv_canary.replay.pool import PagedPool, RunningRequest
from kv_canary_kernels.constants import REQ_POOL_IDX_PADDING

if TYPE_CHECKING:
    from kv_canary_kernels.structs import VerifyPlan, WritePlan

UNWRITTEN = -7_777_777
"""Stands in the verify arrays before a step that is over capacity, and must stand there after."""

VERIFY_FIELDS = (
    "verify_slot_indices",
    "verify_expected_tokens",
    "verify_expected_positions",
    "verify_prev_slot_indices",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEntry:
    """One place of a batch: a request with what it does in this step, or padding."""

    request: RunningRequest | None
    """The request, or None for padding."""
    prefix: int
    """Tokens already in the cache."""
    extend: int
    """Tokens being written in this step."""
    known: int
    """Positions, from 0, whose token the expected-token table holds."""

    @property
    def row(self) -> int:
        """Row of req_to_token, also that of padding."""
        return REQ_POOL_IDX_PADDING if self.request is None else self.request.row


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGroup:
    """One of the pools that a step is planned for."""

    name: str
    """`full` or `window`."""
    window: int
    """Tokens in the sliding window; 0 for the full pool."""
    verify_capacity: int
    """Entries that its verify plan holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPlan:
    """What one comparison went through."""

    values: int
    """Numbers compared, one by one."""
    verify_entries: int
    """Verify entries among them, each of four numbers."""
    write_entries: int
    """Tokens that the plan says are written."""
    is_over_capacity: bool
    """Whether more entries were wanted than the plan holds."""


def compare_plan(
    *,
    step: int,
    group: PlanGroup,
    batch: Sequence[BatchEntry],
    pool: PagedPool,
    token_offset: int,
    verify_plan: VerifyPlan,
    write_plan: WritePlan,
) -> ComparedPlan:
    """Hold every value that a plan promises against the pool's books.

    Args:
        step: number of the step, from 0.
        group: the pool that was planned for.
        batch: what the step does, padding included, in batch order.
        pool: the books.
        token_offset: column of a position's expected token minus that position.
        verify_plan: as the launch left it; where the step is over capacity, its four arrays held
            UNWRITTEN before the launch.
        write_plan: as the launch left it.

    Raises:
        PlanMismatchError: the first value that differs, with whose it is.
    """
    wanted_columns: tuple[list[int], list[int], list[int], list[int]] = ([], [], [], [])
    slots, tokens, positions, prev_slots = wanted_columns
    write_offsets = [0]
    seeds: list[int] = []
    first_entry: list[int] = []
    for entry in batch:
        first_entry.append(len(slots))
        request = entry.request
        if request is None:
            write_offsets.append(write_offsets[-1])
            seeds.append(-1)
            continue
        start = max(0, entry.prefix - group.window) if group.window else 0
        before = max(0, start - 1)
        if group.window:
            own = pool.window_slots(request, before, entry.prefix)
        else:
            own = request.slots[before : entry.prefix]
        slots += own[start - before :]
        if start == 0 < entry.prefix:
            prev_slots.append(-1)
        prev_slots += own[: len(own) - 1]
        positions += range(start, entry.prefix)
        tokens += _expected_tokens(request, start, entry, token_offset)
        write_offsets.append(write_offsets[-1] + entry.extend)
        seeds.append(own[-1] if own and entry.extend else -1)

    total = len(slots)
    is_over = total > group.verify_capacity
    write_total = write_offsets[-1]
    write_offsets += [0] * (write_plan.write_offsets.shape[0] - len(write_offsets))
    found_seeds = write_plan.write_seed_slot_indices[: len(batch)].tolist()
    active = group.verify_capacity if is_over else total
    compared = 0

    def compare(field: str, found: list[int], wanted: list[int]) -> None:
        nonlocal compared
        compared += len(wanted)
        if found == wanted:
            return
        index = next(i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b)
        owner: BatchEntry | None = None
        position: int | None = None
        if field in VERIFY_FIELDS and not is_over:
            owner = next(
                entry
                for entry, first in zip(reversed(batch), reversed(first_entry), strict=True)
                if first <= index and entry.request is not None and entry.prefix
            )
            position = positions[index]
        elif field == "write_seed_slot_indices":
            owner = batch[index]
            position = owner.prefix - 1 if owner.prefix else None
        elif field == "write_offsets" and 0 < index <= len(batch):
            # The offset after a request is the first that its own write count moves.
            owner = batch[index - 1]
        request = None if owner is None else owner.request
        raise PlanMismatchError(
            step=step,
            group=group.name,
            field=f"{field}[{index}]",
            request=None if request is None else request.number,
            row=None if request is None else request.row,
            position=None if request is None else position,
            found=found[index],
            wanted=wanted[index],
        )

    # Counts first: when one of them is wrong, what it counts is only a consequence.
    compare("write_num_valid_reqs", write_plan.write_num_valid_reqs.tolist(), [len(batch)])
    compare("write_offsets", write_plan.write_offsets.tolist(), write_offsets)
    compare("enable", verify_plan.enable.tolist(), [0 if is_over else 1])
    compare("verify_num_valid", verify_plan.verify_num_valid.tolist(), [active])
    compare("write_seed_slot_indices", found_seeds, seeds)
    for field, wanted in zip(VERIFY_FIELDS, wanted_columns, strict=True):
        found = getattr(verify_plan, field)[:active].tolist()
        compare(field, found, [UNWRITTEN] * active if is_over else wanted)
    return ComparedPlan(
        values=compared,
        verify_entries=0 if is_over else total,
        write_entries=write_total,
        is_over_capacity=is_over,
    )


def wanted_entries(group: PlanGroup, batch: Sequence[BatchEntry]) -> int:
    """Return how many verify entries a step wants, whether or not the plan can hold them."""
    lengths = [entry.prefix for entry in batch if entry.request is not None]
    return sum(min(length, group.window) if group.window else length for length in lengths)


def _expected_tokens(
    request: RunningRequest, start: int, entry: BatchEntry, token_offset: int
) -> list[int]:
    # A position's column is the position plus the offset; before column 0 there is no token.
    first = min(max(start, -token_offset), entry.prefix)
    last = max(first, min(entry.known, entry.prefix))
    return [-1] * (first - start) + request.tokens[first:last] + [-1] * (entry.prefix - last)
