# Generated from spec/kernels/plan_entries.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Write the verify entries of each request, from the offsets that plan_offsets left in the scratch.

The other half of the plan. Each cached token that the step reads becomes one entry: its slot, the
slot before it, the position and the token that should be there. A scratch offset, whatever it
holds, never lets an entry be written outside the plan's arrays.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

REQ_POOL_IDX_PADDING = tl.constexpr(constants.REQ_POOL_IDX_PADDING)
TOKEN_BLOCK = tl.constexpr(256)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "req_pool_indices_ptr",
    "prefix_lens_ptr",
    "req_to_token_ptr",
    "verify_offsets_scratch_ptr",
    "verify_enable_ptr",
    "out_verify_slot_indices_ptr",
    "out_verify_expected_tokens_ptr",
    "out_verify_expected_positions_ptr",
    "out_verify_prev_slot_indices_ptr",
    "full_to_swa_index_mapping_ptr",
    "req_to_verify_expected_tokens_ptr",
    "req_to_verify_expected_tokens_valid_lens_ptr",
    "bs",
    "max_reqs",
    "max_seq_len",
    "lut_len",
    "token_rows",
    "token_columns",
    "verify_capacity",
    "kv_token_id_vs_position_offset",
    "swa_window_size",
]


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _plan_entries_kernel(
    req_pool_indices_ptr,
    prefix_lens_ptr,
    req_to_token_ptr,
    verify_offsets_scratch_ptr,
    verify_enable_ptr,
    out_verify_slot_indices_ptr,
    out_verify_expected_tokens_ptr,
    out_verify_expected_positions_ptr,
    out_verify_prev_slot_indices_ptr,
    full_to_swa_index_mapping_ptr,
    req_to_verify_expected_tokens_ptr,
    req_to_verify_expected_tokens_valid_lens_ptr,
    bs: tl.int64,
    max_reqs: tl.int64,
    max_seq_len: tl.int64,
    lut_len: tl.int64,
    token_rows: tl.int64,
    token_columns: tl.int64,
    verify_capacity: tl.int64,
    kv_token_id_vs_position_offset: tl.int64,
    swa_window_size: tl.int64,
):
    request = tl.program_id(0)
    is_enabled = tl.load(verify_enable_ptr).to(tl.int64)
    verify_offsets_scratch_request_in_range = (request >= 0) & (request < bs + 1)
    first_entry = tl.load(
        verify_offsets_scratch_ptr + request.to(tl.int64),
        mask=verify_offsets_scratch_request_in_range,
        other=-1,
    )
    first_entry_in_domain = (0 - max_seq_len <= first_entry) & (first_entry <= verify_capacity)
    # A wild offset writes nothing: no entry from verify_capacity on is in range, and none wraps.
    first_entry = tl.where(first_entry_in_domain, first_entry, verify_capacity)
    rotation_span = tl.zeros([], tl.int64)
    # The entries of one request, a block of positions at a time. Every index is compared with
    # its own dimension, so that no table, however damaged, leads outside a tensor.
    own_row_request_in_range = (request >= 0) & (request < bs)
    row = tl.load(
        req_pool_indices_ptr + request.to(tl.int64),
        mask=own_row_request_in_range,
        other=REQ_POOL_IDX_PADDING,
    )
    row_in_domain = (row >= 0) & (row < max_reqs)
    own_prefix_request_in_range = (request >= 0) & (request < bs)
    prefix = tl.load(
        prefix_lens_ptr + request.to(tl.int64),
        mask=own_prefix_request_in_range,
        other=0,
    )
    prefix_in_domain = (prefix >= 0) & (prefix <= max_seq_len)
    is_sound = row_in_domain & prefix_in_domain
    cached_len = tl.where(is_sound, prefix, 0)
    window_start = tl.where(swa_window_size > 0, tl.maximum(cached_len - swa_window_size, 0), 0)
    is_planned = (row != REQ_POOL_IDX_PADDING) & (is_enabled != 0)
    entry_count = tl.where(is_planned, tl.where(is_sound, cached_len - window_start, 1), 0)
    # An offset far beyond every position only has to stay there: clamped, the sum cannot wrap.
    token_offset = tl.maximum(kv_token_id_vs_position_offset.to(tl.int64), -(2**62))
    token_offset = tl.minimum(token_offset, 2**62)
    known_len = tl.zeros([], tl.int64)
    if req_to_verify_expected_tokens_valid_lens_ptr is not None:
        req_to_verify_expected_tokens_valid_lens_request_in_range = (request >= 0) & (request < bs)
        known_len = tl.load(
            req_to_verify_expected_tokens_valid_lens_ptr + request.to(tl.int64),
            mask=req_to_verify_expected_tokens_valid_lens_request_in_range,
            other=0,
        )
    first = tl.program_id(1) * TOKEN_BLOCK
    step = tl.num_programs(1) * TOKEN_BLOCK
    for start in range(first, entry_count, step):
        index = (start + tl.arange(0, TOKEN_BLOCK)).to(tl.int64)
        is_entry = index < entry_count
        is_token = is_entry & is_sound
        position = window_start + index
        req_to_token_row_in_range = (row >= 0) & (row < max_reqs)
        req_to_token_position_in_range = (position >= 0) & (position < max_seq_len)
        slot = tl.load(
            req_to_token_ptr + row.to(tl.int64) * max_seq_len + position.to(tl.int64),
            mask=(is_token & req_to_token_row_in_range & req_to_token_position_in_range) != 0,
            other=-2,
        ).to(tl.int64)
        has_previous = is_token & (position > 0)
        previous_row_in_range = (row >= 0) & (row < max_reqs)
        previous_position_in_range = (position - 1 >= 0) & (position - 1 < max_seq_len)
        previous = tl.load(
            req_to_token_ptr + row.to(tl.int64) * max_seq_len + (position - 1).to(tl.int64),
            mask=(has_previous & previous_row_in_range & previous_position_in_range) != 0,
            other=-1,
        ).to(tl.int64)
        if full_to_swa_index_mapping_ptr is not None:
            full_to_swa_index_mapping_slot_in_range = (slot >= 0) & (slot < lut_len)
            slot_in_window = tl.load(
                full_to_swa_index_mapping_ptr + slot.to(tl.int64),
                mask=full_to_swa_index_mapping_slot_in_range,
                other=-2,
            )
            slot = tl.where(slot < 0, slot, slot_in_window)
            previous_mapping_slot_in_range = (previous >= 0) & (previous < lut_len)
            previous_in_window = tl.load(
                full_to_swa_index_mapping_ptr + previous.to(tl.int64),
                mask=previous_mapping_slot_in_range,
                other=-2,
            )
            previous = tl.where(previous < 0, previous, previous_in_window)
        expected_token = tl.full([TOKEN_BLOCK], -1, tl.int64)
        if req_to_verify_expected_tokens_ptr is not None:
            column = position + token_offset
            is_known = is_token & (column < known_len)
            req_to_verify_expected_tokens_row_in_range = (row >= 0) & (row < token_rows)
            req_to_verify_expected_tokens_column_in_range = (column >= 0) & (column < token_columns)
            expected_token = tl.load(
                req_to_verify_expected_tokens_ptr
                + row.to(tl.int64) * token_columns
                + column.to(tl.int64),
                mask=(
                    is_known
                    & req_to_verify_expected_tokens_row_in_range
                    & req_to_verify_expected_tokens_column_in_range
                )
                != 0,
                other=-1,
            ).to(tl.int64)
        # A wild row or length: one entry that names it, with a slot that verify reports.
        position = tl.where(is_sound, position, tl.where(row_in_domain, prefix, 0))
        previous = tl.where(is_sound, previous, 0)
        # Entries before the first planned one stand behind the last: coverage rotates.
        entry = first_entry + index
        entry = tl.where(entry < 0, entry + rotation_span, entry)
        out_verify_slot_indices_entry_in_range = (entry >= 0) & (entry < verify_capacity)
        tl.store(
            out_verify_slot_indices_ptr + entry.to(tl.int64),
            slot,
            mask=(is_entry & out_verify_slot_indices_entry_in_range) != 0,
        )
        out_verify_expected_tokens_entry_in_range = (entry >= 0) & (entry < verify_capacity)
        tl.store(
            out_verify_expected_tokens_ptr + entry.to(tl.int64),
            expected_token,
            mask=(is_entry & out_verify_expected_tokens_entry_in_range) != 0,
        )
        out_verify_expected_positions_entry_in_range = (entry >= 0) & (entry < verify_capacity)
        tl.store(
            out_verify_expected_positions_ptr + entry.to(tl.int64),
            position,
            mask=(is_entry & out_verify_expected_positions_entry_in_range) != 0,
        )
        out_verify_prev_slot_indices_entry_in_range = (entry >= 0) & (entry < verify_capacity)
        tl.store(
            out_verify_prev_slot_indices_ptr + entry.to(tl.int64),
            previous,
            mask=(is_entry & out_verify_prev_slot_indices_entry_in_range) != 0,
        )
