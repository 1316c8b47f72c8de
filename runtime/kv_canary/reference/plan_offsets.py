"""Per-request lengths to verify and write offsets: the first half of the plan."""

from __future__ import annotations

import torch
from torch import Tensor

from kv_canary.reference._requests import (
    INT32_MAX,
    NO_SLOT,
    Requests,
    exclusive_prefix_sum,
    slot_at,
)
from kv_canary_kernels.constants import REQ_POOL_IDX_PADDING


def plan_offsets(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    req_to_token: Tensor,
    full_to_swa_index_mapping: Tensor | None,
    out_verify_offsets_scratch: Tensor,
    out_write_offsets: Tensor,
    out_write_seed_slot_indices: Tensor,
    out_verify_num_valid: Tensor,
    out_verify_enable: Tensor,
    out_write_num_valid_reqs: Tensor,
    swa_window_size: int,
    verify_capacity: int,
) -> None:
    """Write where each request's verify and write entries start, and each write chain's seed.

    Args:
        req_pool_indices: int64 [bs], row of each request; 0 is padding.
        prefix_lens: int64 [bs], tokens already in the cache.
        extend_seq_lens: int64 [bs], tokens being written in this step.
        req_to_token: int32 [max_reqs, max_seq_len], slot of each position of each row.
        full_to_swa_index_mapping: int64 [lut_len], full slot to SWA slot, or None.
        out_verify_offsets_scratch: int64 [at least bs + 1]; entries 0 to bs are written.
        out_write_offsets: int64 [at least bs + 1]; entries after bs become 0.
        out_write_seed_slot_indices: int64 [at least bs]; entries 0 to bs - 1 are written.
        out_verify_num_valid: int32 [1].
        out_verify_enable: int32 [1]; 0 when more entries are wanted than the capacity holds.
        out_write_num_valid_reqs: int32 [1].
        swa_window_size: tokens in the sliding window; 0 means no window.
        verify_capacity: entries that a verify plan holds.
    """
    batch_size = req_pool_indices.shape[0]
    requests = Requests.read(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
    )

    verify_offsets = exclusive_prefix_sum(requests.verify_count)
    verify_total = verify_offsets[batch_size:]
    out_verify_offsets_scratch[: batch_size + 1] = verify_offsets
    out_verify_num_valid.copy_(verify_total.clamp(max=min(verify_capacity, INT32_MAX)))
    out_verify_enable.copy_(verify_total <= verify_capacity)

    # A bad request still writes: later requests of the batch keep their offsets.
    write_count = torch.where(
        req_pool_indices == REQ_POOL_IDX_PADDING, 0, extend_seq_lens.clamp(min=0, max=INT32_MAX)
    )
    out_write_offsets[: batch_size + 1] = exclusive_prefix_sum(write_count)
    out_write_offsets[batch_size + 1 :] = 0
    out_write_num_valid_reqs.fill_(batch_size)
    out_write_seed_slot_indices[:batch_size] = slot_at(
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        row=requests.row,
        position=requests.prefix_len - 1,
        readable=requests.is_sound & (requests.prefix_len > 0) & (write_count > 0),
        otherwise=NO_SLOT,
    )
