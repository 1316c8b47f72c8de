# Generated from spec/kernels/plan_offsets.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Turn per-request lengths into verify and write offsets, in one launch over the batch.

Half of the plan, for callers that keep the scratch themselves. Each request gets the offset of its
first verify entry (in the scratch) and of its first write entry, and the slot that its write chain
starts from. Tables are never trusted: a request whose row or length is wild gets one verify entry,
which plan_entries fills so that verify reports it.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

PLAN_BS_BLOCK_SIZE = tl.constexpr(constants.PLAN_BS_BLOCK_SIZE)
REQ_POOL_IDX_PADDING = tl.constexpr(constants.REQ_POOL_IDX_PADDING)
TOKEN_BLOCK = tl.constexpr(256)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "req_pool_indices_ptr",
    "prefix_lens_ptr",
    "extend_seq_lens_ptr",
    "req_to_token_ptr",
    "out_verify_offsets_scratch_ptr",
    "out_write_offsets_ptr",
    "out_write_seed_slot_indices_ptr",
    "out_verify_num_valid_ptr",
    "out_verify_enable_ptr",
    "out_write_num_valid_reqs_ptr",
    "full_to_swa_index_mapping_ptr",
    "bs",
    "max_reqs",
    "max_seq_len",
    "lut_len",
    "write_offsets_len",
    "write_req_capacity",
    "swa_window_size",
    "verify_capacity",
]


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _plan_offsets_kernel(
    req_pool_indices_ptr,
    prefix_lens_ptr,
    extend_seq_lens_ptr,
    req_to_token_ptr,
    out_verify_offsets_scratch_ptr,
    out_write_offsets_ptr,
    out_write_seed_slot_indices_ptr,
    out_verify_num_valid_ptr,
    out_verify_enable_ptr,
    out_write_num_valid_reqs_ptr,
    full_to_swa_index_mapping_ptr,
    bs: tl.int64,
    max_reqs: tl.int64,
    max_seq_len: tl.int64,
    lut_len: tl.int64,
    write_offsets_len: tl.int64,
    write_req_capacity: tl.int64,
    swa_window_size: tl.int64,
    verify_capacity: tl.int64,
):
    request = tl.program_id(0)
    # What each request of the batch adds to the verify plan, as a vector. A request whose row or
    # length is wild adds one entry, so that verify has something to report.
    requests = tl.arange(0, PLAN_BS_BLOCK_SIZE)
    req_pool_indices_request_in_range = (requests >= 0) & (requests < bs)
    rows = tl.load(
        req_pool_indices_ptr + requests.to(tl.int64),
        mask=req_pool_indices_request_in_range,
        other=REQ_POOL_IDX_PADDING,
    )
    rows_in_domain = (rows >= 0) & (rows < max_reqs)
    prefix_lens_request_in_range = (requests >= 0) & (requests < bs)
    prefixes = tl.load(
        prefix_lens_ptr + requests.to(tl.int64),
        mask=prefix_lens_request_in_range,
        other=0,
    )
    prefixes_in_domain = (prefixes >= 0) & (prefixes <= max_seq_len)
    are_real = rows != REQ_POOL_IDX_PADDING
    are_sound = rows_in_domain & prefixes_in_domain
    cached = tl.where(are_sound, prefixes, 0)
    window_starts = tl.where(swa_window_size > 0, tl.maximum(cached - swa_window_size, 0), 0)
    verify_counts = tl.where(are_real, tl.where(are_sound, cached - window_starts, 1), 0)
    entry_total = tl.sum(verify_counts)
    # What each request writes, clamped below 2^31, so that no sum over a block can wrap.
    extend_seq_lens_request_in_range = (requests >= 0) & (requests < bs)
    extends = tl.load(
        extend_seq_lens_ptr + requests.to(tl.int64),
        mask=extend_seq_lens_request_in_range,
        other=0,
    )
    write_counts = tl.where(are_real, tl.minimum(tl.maximum(extends, 0), 2147483647), 0)
    is_enabled = (entry_total <= verify_capacity).to(tl.int32)
    verify_offset = tl.sum(tl.where(requests < request, verify_counts, 0))
    out_verify_offsets_scratch_request_in_range = (request >= 0) & (
        request < PLAN_BS_BLOCK_SIZE + 1
    )
    tl.store(
        out_verify_offsets_scratch_ptr + request.to(tl.int64),
        verify_offset,
        mask=out_verify_offsets_scratch_request_in_range,
    )
    # Each request's program writes its offset and its seed, the program after them the totals.
    write_offset = tl.sum(tl.where(requests < request, write_counts, 0))
    out_write_offsets_boundary_in_range = (request >= 0) & (request < write_offsets_len)
    tl.store(
        out_write_offsets_ptr + request.to(tl.int64),
        write_offset,
        mask=out_write_offsets_boundary_in_range,
    )
    if request < bs:
        own = requests == request
        own_row = tl.sum(tl.where(own, rows, 0))
        own_cached = tl.sum(tl.where(own, cached, 0))
        own_writes = tl.sum(tl.where(own & are_sound, write_counts, 0))
        has_seed = (own_writes > 0) & (own_cached > 0)
        seed_row_in_range = (own_row >= 0) & (own_row < max_reqs)
        seed_position_in_range = (own_cached - 1 >= 0) & (own_cached - 1 < max_seq_len)
        seed = tl.load(
            req_to_token_ptr + own_row.to(tl.int64) * max_seq_len + (own_cached - 1).to(tl.int64),
            mask=(has_seed & seed_row_in_range & seed_position_in_range) != 0,
            other=-1,
        ).to(tl.int64)
        if full_to_swa_index_mapping_ptr is not None:
            seed_mapping_slot_in_range = (seed >= 0) & (seed < lut_len)
            seed_in_window = tl.load(
                full_to_swa_index_mapping_ptr + seed.to(tl.int64),
                mask=seed_mapping_slot_in_range,
                other=-2,
            )
            seed = tl.where(seed < 0, seed, seed_in_window)
        out_write_seed_slot_indices_request_in_range = (request >= 0) & (
            request < write_req_capacity
        )
        tl.store(
            out_write_seed_slot_indices_ptr + request.to(tl.int64),
            seed,
            mask=out_write_seed_slot_indices_request_in_range,
        )
    else:
        # The count is an int32, whatever the capacity.
        verify_valid = tl.minimum(tl.minimum(entry_total, verify_capacity), 2147483647)
        tl.store(out_verify_num_valid_ptr, verify_valid)
        tl.store(out_verify_enable_ptr, is_enabled)
        tl.store(out_write_num_valid_reqs_ptr, bs)
        for start in range(bs + 1, write_offsets_len, TOKEN_BLOCK):
            boundary = start + tl.arange(0, TOKEN_BLOCK)
            tail_boundary_in_range = (boundary >= 0) & (boundary < write_offsets_len)
            tl.store(
                out_write_offsets_ptr + boundary.to(tl.int64),
                tl.zeros([TOKEN_BLOCK], tl.int64),
                mask=tail_boundary_in_range,
            )
