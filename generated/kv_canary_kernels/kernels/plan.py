# Generated from spec/kernels/plan.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Plan one step, what to verify and what to write, in one launch without scratch.

Each request's program works out the sums that it needs, so that the whole plan is one launch. The
tables are read when the kernel runs, and nothing is read back: a captured graph replays it with new
inputs. Beyond verify_capacity nothing is verified in this step, and enable says so; given a
verify_rotation, a part is verified in each step, and the next step takes the next part. Outputs
share memory neither with each other nor with inputs; nothing checks that.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

PLAN_BS_BLOCK_SIZE = tl.constexpr(constants.PLAN_BS_BLOCK_SIZE)
REQ_POOL_IDX_PADDING = tl.constexpr(constants.REQ_POOL_IDX_PADDING)
TOKEN_BLOCK = tl.constexpr(256)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "out_verify_slot_indices_ptr",
    "out_verify_expected_tokens_ptr",
    "out_verify_expected_positions_ptr",
    "out_verify_prev_slot_indices_ptr",
    "out_verify_num_valid_ptr",
    "out_verify_enable_ptr",
    "out_write_offsets_ptr",
    "out_write_seed_slot_indices_ptr",
    "out_write_num_valid_reqs_ptr",
    "req_pool_indices_ptr",
    "prefix_lens_ptr",
    "extend_seq_lens_ptr",
    "req_to_token_ptr",
    "full_to_swa_index_mapping_ptr",
    "req_to_verify_expected_tokens_ptr",
    "req_to_verify_expected_tokens_valid_lens_ptr",
    "verify_rotation_ptr",
    "bs",
    "max_reqs",
    "max_seq_len",
    "lut_len",
    "token_rows",
    "token_columns",
    "write_offsets_len",
    "write_req_capacity",
    "swa_window_size",
    "verify_capacity",
    "kv_token_id_vs_position_offset",
]


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _plan_kernel(
    out_verify_slot_indices_ptr,
    out_verify_expected_tokens_ptr,
    out_verify_expected_positions_ptr,
    out_verify_prev_slot_indices_ptr,
    out_verify_num_valid_ptr,
    out_verify_enable_ptr,
    out_write_offsets_ptr,
    out_write_seed_slot_indices_ptr,
    out_write_num_valid_reqs_ptr,
    req_pool_indices_ptr,
    prefix_lens_ptr,
    extend_seq_lens_ptr,
    req_to_token_ptr,
    full_to_swa_index_mapping_ptr,
    req_to_verify_expected_tokens_ptr,
    req_to_verify_expected_tokens_valid_lens_ptr,
    verify_rotation_ptr,
    bs: tl.int64,
    max_reqs: tl.int64,
    max_seq_len: tl.int64,
    lut_len: tl.int64,
    token_rows: tl.int64,
    token_columns: tl.int64,
    write_offsets_len: tl.int64,
    write_req_capacity: tl.int64,
    swa_window_size: tl.int64,
    verify_capacity: tl.int64,
    kv_token_id_vs_position_offset: tl.int64,
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
    rotation = tl.zeros([], tl.int64)
    rotation_span = tl.zeros([], tl.int64)
    if verify_rotation_ptr is not None:
        # Over capacity, a window of the entries is planned that begins where the last one ended.
        start = tl.load(verify_rotation_ptr)
        is_over = is_enabled == 0
        start = start % tl.maximum(entry_total, 1)
        start = tl.where(start < 0, start + entry_total, start)
        rotation = tl.where(is_over, start, 0)
        rotation_span = entry_total
        is_enabled = tl.full([], 1, tl.int32)
    if tl.program_id(1) == 0:
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
                req_to_token_ptr
                + own_row.to(tl.int64) * max_seq_len
                + (own_cached - 1).to(tl.int64),
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
    if request < bs:
        first_entry = tl.sum(tl.where(requests < request, verify_counts, 0)) - rotation
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
            req_to_verify_expected_tokens_valid_lens_request_in_range = (request >= 0) & (
                request < bs
            )
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
                req_to_verify_expected_tokens_column_in_range = (column >= 0) & (
                    column < token_columns
                )
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
