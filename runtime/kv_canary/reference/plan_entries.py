"""Verify offsets to verify entries: the second half of the plan."""

from __future__ import annotations

import torch
from torch import Tensor

from kv_canary.reference._requests import (
    NO_EXPECTED_TOKEN,
    NO_SLOT,
    UNREACHABLE_SLOT,
    Requests,
    read_where,
    slot_at,
)


def plan_entries(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    full_to_swa_index_mapping: Tensor | None,
    verify_offsets_scratch: Tensor,
    verify_enable: Tensor,
    req_to_verify_expected_tokens: Tensor | None,
    req_to_verify_expected_tokens_valid_lens: Tensor | None,
    out_verify_slot_indices: Tensor,
    out_verify_expected_tokens: Tensor,
    out_verify_expected_positions: Tensor,
    out_verify_prev_slot_indices: Tensor,
    kv_token_id_vs_position_offset: int,
    swa_window_size: int,
) -> None:
    """Write one verify entry per cached position in the window; nothing when the plan is off.

    Entries that no request owns stay as they were. Where a damaged scratch makes the ranges of
    two requests overlap, which of the two is written there is unspecified.

    Args:
        req_pool_indices: int64 [bs], row of each request; 0 is padding.
        prefix_lens: int64 [bs], tokens already in the cache.
        req_to_token: int32 [max_reqs, max_seq_len], slot of each position of each row.
        full_to_swa_index_mapping: int64 [lut_len], full slot to SWA slot, or None.
        verify_offsets_scratch: int64 [at least bs + 1], where each request's entries start.
        verify_enable: int32 [1]; 0 means that nothing is written.
        req_to_verify_expected_tokens: int32 [rows, columns], or None for no token check.
        req_to_verify_expected_tokens_valid_lens: int64 [bs], columns that hold a token, by
            batch index; None only without req_to_verify_expected_tokens.
        out_verify_slot_indices: int64 [verify_capacity].
        out_verify_expected_tokens: int64 [verify_capacity]; -1 means no token check.
        out_verify_expected_positions: int64 [verify_capacity], in tokens.
        out_verify_prev_slot_indices: int64 [verify_capacity]; -1 means no predecessor.
        kv_token_id_vs_position_offset: column of a position's token minus that position.
        swa_window_size: tokens in the sliding window; 0 means no window.
    """
    batch_size = req_pool_indices.shape[0]
    if batch_size == 0:
        return
    requests = Requests.read(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
    )
    owner, local, is_owned = _owners_of_entries(
        starts=verify_offsets_scratch[:batch_size],
        counts=requests.verify_count,
        longest=max(1, req_to_token.shape[1]),
        capacity=out_verify_slot_indices.shape[0],
    )
    is_owned &= verify_enable != 0

    is_sound = is_owned & requests.is_sound[owner]
    row = requests.row[owner]
    position = requests.window_start[owner] + local
    slot = slot_at(
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        row=row,
        position=position,
        readable=is_sound,
        otherwise=UNREACHABLE_SLOT,
    )
    prev_slot = slot_at(
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        row=row,
        position=position - 1,
        readable=is_sound & (position > 0),
        otherwise=NO_SLOT,
    )
    expected_token = torch.full_like(owner, NO_EXPECTED_TOKEN)
    if req_to_verify_expected_tokens is not None:
        assert req_to_verify_expected_tokens_valid_lens is not None, "the validator saw to this"
        rows, columns = req_to_verify_expected_tokens.shape
        # Beyond these bounds no position has a column at all; so cut, the sum cannot wrap.
        offset = min(max(kv_token_id_vs_position_offset, -req_to_token.shape[1]), columns)
        column = position + offset
        expected_token = read_where(
            req_to_verify_expected_tokens,
            (row, column),
            is_sound
            & (row < rows)
            & (column >= 0)
            & (column < columns)
            & (column < req_to_verify_expected_tokens_valid_lens[owner]),
            NO_EXPECTED_TOKEN,
        )

    is_bad = requests.is_bad[owner]
    for out, value in (
        (out_verify_slot_indices, slot),
        (out_verify_expected_tokens, expected_token),
        (
            out_verify_expected_positions,
            torch.where(is_bad, requests.reported_position[owner], position),
        ),
        (out_verify_prev_slot_indices, torch.where(is_bad, 0, prev_slot)),
    ):
        considered = out[: owner.shape[0]]
        considered.copy_(torch.where(is_owned, value, considered))


def _owners_of_entries(
    *, starts: Tensor, counts: Tensor, longest: int, capacity: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return, per entry from 0 on, its request, its index inside that request, and if it has one.

    Asking each entry for its owner, rather than each request for its entries, needs no total: on
    a GPU the host never waits for one, and no entry outside the capacity can come up.

    Args:
        starts: int64 [bs], any values at all; bs is at least 1.
        counts: int64 [bs], each in [0, longest].
        longest: largest count there can be.
        capacity: entries that the plan holds.
    """
    # A range that starts outside these bounds has no entry in the plan; so cut, no sum can wrap.
    starts = starts.clamp(min=-longest, max=capacity)
    ends = starts + counts
    first = starts.clamp(min=0)
    # An empty range must not hide the owner of the entry it starts at: it goes past the end.
    first, by_first = torch.where(first < ends, first, capacity).sort(stable=True)
    # Reading the last end back is free on a CPU and spares the rest of the plan.
    considered = min(capacity, max(0, int(ends.max()))) if ends.device.type == "cpu" else capacity
    entry = torch.arange(considered, dtype=torch.int64, device=starts.device)
    rank = torch.searchsorted(first, entry, right=True) - 1
    owner = by_first[rank.clamp(min=0)]
    return owner, entry - starts[owner], (rank >= 0) & (entry < ends[owner])
