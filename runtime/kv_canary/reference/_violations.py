"""What a launch found, recorded in the violation ring and, beside it, in the evidence ring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kv_canary.reference._canaries import Context
from kv_canary.reference._requests import INT32_MAX
from kv_canary.reference._sizes import reading_is_free

WRITE_INDEX_LIMIT = 2**30
"""A write index from here on, or below 0, does not move: so the counter never comes round."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Violations:
    """Rows to record, one element each; a number stands for as many of itself."""

    slot: Tensor
    position: Tensor
    stored_token: Tensor | int
    expected_token: Tensor | int
    stored_chain_hash: Tensor | int
    expected_aux: Tensor | int
    """Expected chain hash, or what else was wanted, by the reason."""
    reason_bits: Tensor | int
    expected_position: Tensor
    """This and what follows is evidence."""
    stored_real_kv_hash: Tensor | int
    recomputed_real_kv_hash: Tensor | int
    previous_slot: Tensor
    index: Tensor
    """Entry of the verify plan, or token of the write."""
    request: Tensor | int
    """Request in the batch, or -1."""


def record(
    context: Context, is_violation: Tensor, describe: Callable[[Tensor], Violations]
) -> None:
    """Add the violations to the counter, and fill the rows of the rings that are still free.

    Row k of the ring takes the violation that is as many after the first as k is after the
    counter. Asking each row for its violation needs no count of them on the host.

    Args:
        context: its rings and counters; kernel_run_counter must not have moved yet.
        is_violation: bool [n], in the order of recording.
        describe: returns the rows of int64 [m] indexes into is_violation; whatever it says
            about one where that is false is dropped.
    """
    count = is_violation.shape[0]
    ring, write_index = context.violation_ring, context.violation_write_index
    if count == 0:
        return
    up_to = is_violation.cumsum(0)
    total = up_to[-1]
    before = write_index.to(torch.int64)
    moves = (before >= 0) & (before < WRITE_INDEX_LIMIT)

    first, end = 0, ring.shape[0]
    if reading_is_free(total):
        first = int(before) if moves else end
        end = min(end, first + int(total))
    if first < end:
        rank = torch.arange(first, end, dtype=torch.int64, device=ring.device) - before
        is_taken = moves & (rank >= 0) & (rank < total)
        index = torch.searchsorted(up_to, rank, right=True).clamp(max=count - 1)
        found = describe(index)
        _fill(
            ring[first:end],
            is_taken,
            int(context.kernel_kind),
            found.slot,
            found.position,
            found.stored_token,
            found.expected_token,
            found.stored_chain_hash,
            found.expected_aux,
            found.reason_bits,
        )
        if context.evidence_ring is not None:
            _fill(
                context.evidence_ring[first:end],
                is_taken,
                found.expected_position,
                found.stored_real_kv_hash,
                found.recomputed_real_kv_hash,
                found.previous_slot,
                found.index,
                context.kernel_run_counter,
                found.request,
                0,
            )
    write_index.copy_(torch.where(moves, (before + total).clamp(max=INT32_MAX), before))


def _fill(rows: Tensor, is_taken: Tensor, *columns: Tensor | int) -> None:
    """Write columns, each int64 [m], [1] or a number, to those rows of int64 [m, 8] taken."""
    for column, value in enumerate(columns):
        rows[:, column] = torch.where(is_taken, value, rows[:, column])
