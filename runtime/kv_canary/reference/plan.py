"""The whole plan of one step: what to verify, and where each write chain starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kv_canary.reference.plan_entries import plan_entries
from kv_canary.reference.plan_offsets import plan_offsets
from kv_canary.reference.plan_rotation import plan_rotation

if TYPE_CHECKING:
    from kv_canary_kernels.structs import VerifyPlan, WritePlan


def plan(
    *,
    verify_plan_out: VerifyPlan,
    write_plan_out: WritePlan,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    full_to_swa_index_mapping: Tensor | None,
    verify_capacity: int,
    req_to_verify_expected_tokens: Tensor | None,
    req_to_verify_expected_tokens_valid_lens: Tensor | None,
    kv_token_id_vs_position_offset: int,
    verify_rotation: Tensor | None = None,
    verify_total: Tensor | None = None,
) -> None:
    """Fill both plans of one step from the batch and the tables, in device memory only.

    Args:
        verify_plan_out: what to verify; only its active entries are written.
        write_plan_out: where each request's writes start, and the slot before each of them.
        req_pool_indices: int64 [bs], row of each request; 0 is padding.
        prefix_lens: int64 [bs], tokens already in the cache.
        extend_seq_lens: int64 [bs], tokens being written in this step.
        req_to_token: int32 [max_reqs, max_seq_len], slot of each position of each row.
        swa_window_size: tokens in the sliding window; 0 means no window.
        full_to_swa_index_mapping: int64 [lut_len], full slot to SWA slot, or None.
        verify_capacity: entries that the verify plan holds.
        req_to_verify_expected_tokens: int32 [rows, columns], or None for no token check.
        req_to_verify_expected_tokens_valid_lens: int64 [bs], columns that hold a token, by
            batch index; None only without req_to_verify_expected_tokens.
        kv_token_id_vs_position_offset: column of a position's token minus that position.
        verify_rotation: int64 [1], first entry to plan when the batch asks for more than the
            capacity, moved on by the capacity; None plans nothing then.
        verify_total: int64 [1], takes the entries that the batch asks for; or None.
    """
    verify_offsets = torch.empty(
        req_pool_indices.shape[0] + 1, dtype=torch.int64, device=req_pool_indices.device
    )
    plan_offsets(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        extend_seq_lens=extend_seq_lens,
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        out_verify_offsets_scratch=verify_offsets,
        out_write_offsets=write_plan_out.write_offsets,
        out_write_seed_slot_indices=write_plan_out.write_seed_slot_indices,
        out_verify_num_valid=verify_plan_out.verify_num_valid,
        out_verify_enable=verify_plan_out.enable,
        out_write_num_valid_reqs=write_plan_out.write_num_valid_reqs,
        swa_window_size=swa_window_size,
        verify_capacity=verify_capacity,
    )

    def write_entries(offsets: Tensor) -> None:
        plan_entries(
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_offsets_scratch=offsets,
            verify_enable=verify_plan_out.enable,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            out_verify_slot_indices=verify_plan_out.verify_slot_indices,
            out_verify_expected_tokens=verify_plan_out.verify_expected_tokens,
            out_verify_expected_positions=verify_plan_out.verify_expected_positions,
            out_verify_prev_slot_indices=verify_plan_out.verify_prev_slot_indices,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            swa_window_size=swa_window_size,
        )

    if verify_rotation is None:
        write_entries(verify_offsets)
        return
    # Over capacity the entries are planned twice: moved back by the start, and those before the
    # start once more behind the last. What comes to lie outside the capacity is not written.
    verify_plan_out.enable.fill_(1)
    total = verify_offsets[-1]
    is_over = total > verify_capacity
    start = torch.where(is_over, verify_rotation % total.clamp(min=1), 0)
    write_entries(verify_offsets - start)
    write_entries(torch.where(is_over, verify_offsets - start + total, verify_capacity))
    plan_rotation(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
        verify_capacity=verify_capacity,
        verify_rotation=verify_rotation,
        verify_total=verify_total,
    )
