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

REQ_POOL_IDX_PADDING = tl.constexpr(constants.REQ_POOL_IDX_PADDING)
REQUEST_BLOCK = tl.constexpr(256)
GROUP_BLOCK = tl.constexpr(16)

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


@triton.jit
def _entry_counts(prefixes, are_real, are_sound, swa_window_size):
    # Entries of each request: its cached tokens in the window, or one where it is wild.
    cached = tl.where(are_sound, prefixes, 0)
    first = tl.where(swa_window_size > 0, tl.maximum(cached - swa_window_size, 0), 0)
    return tl.where(are_real, tl.where(are_sound, cached - first, 1), 0)


@triton.jit
def _write_counts(extends, are_real):
    # Tokens that each request writes, clamped below 2^31, so that no sum over a batch can wrap.
    return tl.where(are_real, tl.minimum(tl.maximum(extends, 0), 2147483647), 0)


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
    BATCH_BLOCK: tl.constexpr,
    MEMBER_BLOCK: tl.constexpr,
    TILE_BLOCK: tl.constexpr,
    WIDE_ALIGNMENT: tl.constexpr,
):
    program = tl.program_id(0)
    # What each request of the batch adds to the verify plan, summed over groups of requests: every
    # program works out the sums that it needs, so that one launch is enough. A request whose row or
    # length is wild adds one entry, so that verify has something to report.
    groups = tl.arange(0, BATCH_BLOCK // GROUP_BLOCK)
    members = tl.arange(0, GROUP_BLOCK)
    group_counts = tl.zeros([BATCH_BLOCK // GROUP_BLOCK], tl.int64)
    for some in range(0, GROUP_BLOCK, MEMBER_BLOCK):
        some_members = some + tl.arange(0, MEMBER_BLOCK)
        requests = groups[:, None] * GROUP_BLOCK + some_members[None, :]
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
        group_counts += tl.sum(_entry_counts(prefixes, are_real, are_sound, swa_window_size), 1)
    group_ends = tl.cumsum(group_counts, 0)
    entry_total = tl.sum(group_counts)
    is_enabled = (entry_total <= verify_capacity).to(tl.int32)
    planned = tl.where(entry_total <= verify_capacity, entry_total, 0)
    rotation = tl.zeros([], tl.int64)
    if verify_rotation_ptr is not None:
        # Over capacity, a window of the entries is planned that begins where the last one ended.
        turned = tl.load(verify_rotation_ptr)
        turned = turned % tl.maximum(entry_total, 1)
        turned = tl.where(turned < 0, turned + entry_total, turned)
        rotation = tl.where(entry_total <= verify_capacity, 0, turned)
        planned = tl.minimum(entry_total, verify_capacity)
        is_enabled = tl.full([], 1, tl.int32)
    # The first programs write what concerns requests, the others walk the entries.
    request_programs = (write_offsets_len + REQUEST_BLOCK - 1) // REQUEST_BLOCK
    if program < request_programs:
        # Offsets and seeds of a block of requests; behind the last request, the total, then zeros.
        first_request = program * REQUEST_BLOCK
        written_before = tl.zeros([], tl.int64)
        for earlier_start in range(0, first_request, REQUEST_BLOCK):
            earlier = earlier_start + tl.arange(0, REQUEST_BLOCK)
            earlier_row_request_in_range = (earlier >= 0) & (earlier < bs)
            earlier_row = tl.load(
                req_pool_indices_ptr + earlier.to(tl.int64),
                mask=earlier_row_request_in_range,
                other=REQ_POOL_IDX_PADDING,
            )
            earlier_extend_request_in_range = (earlier >= 0) & (earlier < bs)
            earlier_extend = tl.load(
                extend_seq_lens_ptr + earlier.to(tl.int64),
                mask=earlier_extend_request_in_range,
                other=0,
            )
            written_before += tl.sum(
                _write_counts(earlier_extend, earlier_row != REQ_POOL_IDX_PADDING)
            )
        own = first_request + tl.arange(0, REQUEST_BLOCK)
        own_row_request_in_range = (own >= 0) & (own < bs)
        own_row = tl.load(
            req_pool_indices_ptr + own.to(tl.int64),
            mask=own_row_request_in_range,
            other=REQ_POOL_IDX_PADDING,
        )
        own_row_in_domain = (own_row >= 0) & (own_row < max_reqs)
        own_prefix_request_in_range = (own >= 0) & (own < bs)
        own_prefix = tl.load(
            prefix_lens_ptr + own.to(tl.int64),
            mask=own_prefix_request_in_range,
            other=0,
        )
        own_prefix_in_domain = (own_prefix >= 0) & (own_prefix <= max_seq_len)
        own_extend_request_in_range = (own >= 0) & (own < bs)
        own_extend = tl.load(
            extend_seq_lens_ptr + own.to(tl.int64),
            mask=own_extend_request_in_range,
            other=0,
        )
        own_count = _write_counts(own_extend, own_row != REQ_POOL_IDX_PADDING)
        offset = written_before + tl.cumsum(own_count, 0) - own_count
        offset = tl.where(own <= bs, offset, 0)
        out_write_offsets_boundary_in_range = (own >= 0) & (own < write_offsets_len)
        tl.store(
            out_write_offsets_ptr + own.to(tl.int64),
            offset,
            mask=out_write_offsets_boundary_in_range,
        )
        has_seed = own_row_in_domain & own_prefix_in_domain & (own_count > 0) & (own_prefix > 0)
        seed_row_in_range = (own_row >= 0) & (own_row < max_reqs)
        seed_position_in_range = (own_prefix - 1 >= 0) & (own_prefix - 1 < max_seq_len)
        seed = tl.load(
            req_to_token_ptr + own_row.to(tl.int64) * max_seq_len + (own_prefix - 1).to(tl.int64),
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
        out_write_seed_slot_indices_request_in_range = (own >= 0) & (own < write_req_capacity)
        tl.store(
            out_write_seed_slot_indices_ptr + own.to(tl.int64),
            seed,
            mask=((own < bs) & out_write_seed_slot_indices_request_in_range) != 0,
        )
        if program == 0:
            # The count is an int32, whatever the capacity.
            verify_valid = tl.minimum(tl.minimum(entry_total, verify_capacity), 2147483647)
            tl.store(out_verify_num_valid_ptr, verify_valid)
            tl.store(out_verify_enable_ptr, is_enabled)
            tl.store(out_write_num_valid_reqs_ptr, bs)
    else:
        # Tiles of the plan, each program a stretch of them. An owner is looked for only where the
        # last one's entries end. Every index is compared with its own dimension, so that no table,
        # however damaged, leads outside a tensor.
        walker = program - request_programs
        walkers = tl.num_programs(0) - request_programs
        tile_total = (planned + TILE_BLOCK - 1) // TILE_BLOCK
        tiles_each = (tile_total + walkers - 1) // walkers
        first_tile = walker * tiles_each
        last_tile = tl.minimum(first_tile + tiles_each, tile_total)
        lane = tl.arange(0, TILE_BLOCK)
        # An offset far beyond every position only has to stay there: clamped, the sum cannot wrap.
        token_offset = tl.maximum(kv_token_id_vs_position_offset.to(tl.int64), -(2**62))
        token_offset = tl.minimum(token_offset, 2**62)
        owner = tl.zeros([], tl.int32)
        owner_row = tl.zeros([], tl.int64)
        owner_prefix = tl.zeros([], tl.int64)
        owner_start = tl.zeros([], tl.int64)
        owner_stop = tl.zeros([], tl.int64)
        for tile in range(first_tile, last_tile):
            tile_start = tile * TILE_BLOCK + tl.zeros([], tl.int64)
            tile_entries = tl.minimum(planned - tile_start, TILE_BLOCK)
            done = tl.zeros([], tl.int64)
            while done < tile_entries:
                # Entries before the first planned one stand behind the last: coverage rotates.
                place = tile_start + done + rotation
                place = tl.where(place >= entry_total, place - entry_total, place)
                if (place < owner_start) | (place >= owner_stop):
                    # The request that an entry belongs to: first its group, from the sums, then it.
                    group = tl.sum((group_ends <= place).to(tl.int32))
                    group_begin = tl.sum(tl.where(groups < group, group_counts, 0))
                    member = group * GROUP_BLOCK + members
                    member_request_in_range = (member >= 0) & (member < bs)
                    member_rows = tl.load(
                        req_pool_indices_ptr + member.to(tl.int64),
                        mask=member_request_in_range,
                        other=REQ_POOL_IDX_PADDING,
                    )
                    member_rows_in_domain = (member_rows >= 0) & (member_rows < max_reqs)
                    member_prefix_request_in_range = (member >= 0) & (member < bs)
                    member_prefixes = tl.load(
                        prefix_lens_ptr + member.to(tl.int64),
                        mask=member_prefix_request_in_range,
                        other=0,
                    )
                    member_prefixes_in_domain = (member_prefixes >= 0) & (
                        member_prefixes <= max_seq_len
                    )
                    are_members_sound = member_rows_in_domain & member_prefixes_in_domain
                    are_members_real = member_rows != REQ_POOL_IDX_PADDING
                    member_counts = _entry_counts(
                        member_prefixes, are_members_real, are_members_sound, swa_window_size
                    )
                    member_stops = group_begin + tl.cumsum(member_counts, 0)
                    chosen = tl.sum((member_stops <= place).to(tl.int32))
                    is_owner = members == chosen
                    owner = group * GROUP_BLOCK + chosen
                    owner_row = tl.sum(tl.where(is_owner, member_rows, 0))
                    owner_prefix = tl.sum(tl.where(is_owner, member_prefixes, 0))
                    owner_stop = tl.sum(tl.where(is_owner, member_stops, 0))
                    owner_start = tl.sum(tl.where(is_owner, member_stops - member_counts, 0))
                is_row_sound = (owner_row >= 0) & (owner_row < max_reqs)
                is_sound = is_row_sound & (owner_prefix >= 0) & (owner_prefix <= max_seq_len)
                first = tl.where(
                    swa_window_size > 0, tl.maximum(owner_prefix - swa_window_size, 0), 0
                )
                first = tl.where(is_sound, first, tl.where(is_row_sound, owner_prefix, 0))
                count = tl.maximum(tl.minimum(owner_stop - place, tile_entries - done), 1)
                is_own = (lane >= done) & (lane < done + count)
                is_token = is_own & is_sound
                # A wild row or length: one entry that names it, with a slot that verify reports.
                position = first + tl.where(is_sound, place - owner_start - done + lane, 0)
                req_to_token_row_in_range = (owner_row >= 0) & (owner_row < max_reqs)
                req_to_token_position_in_range = (position >= 0) & (position < max_seq_len)
                slot = tl.load(
                    req_to_token_ptr + owner_row.to(tl.int64) * max_seq_len + position.to(tl.int64),
                    mask=(is_token & req_to_token_row_in_range & req_to_token_position_in_range)
                    != 0,
                    other=-2,
                ).to(tl.int64)
                has_previous = is_token & (position > 0)
                previous_row_in_range = (owner_row >= 0) & (owner_row < max_reqs)
                previous_position_in_range = (position - 1 >= 0) & (position - 1 < max_seq_len)
                previous = tl.load(
                    req_to_token_ptr
                    + owner_row.to(tl.int64) * max_seq_len
                    + (position - 1).to(tl.int64),
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
                expected_token = tl.full([TILE_BLOCK], -1, tl.int64)
                if req_to_verify_expected_tokens_ptr is not None:
                    known_len = tl.zeros([], tl.int64)
                    if req_to_verify_expected_tokens_valid_lens_ptr is not None:
                        req_to_verify_expected_tokens_valid_lens_request_in_range = (owner >= 0) & (
                            owner < bs
                        )
                        known_len = tl.load(
                            req_to_verify_expected_tokens_valid_lens_ptr + owner.to(tl.int64),
                            mask=req_to_verify_expected_tokens_valid_lens_request_in_range,
                            other=0,
                        )
                    column = position + token_offset
                    is_known = is_token & (column < known_len)
                    req_to_verify_expected_tokens_row_in_range = (owner_row >= 0) & (
                        owner_row < token_rows
                    )
                    req_to_verify_expected_tokens_column_in_range = (column >= 0) & (
                        column < token_columns
                    )
                    expected_token = tl.load(
                        req_to_verify_expected_tokens_ptr
                        + owner_row.to(tl.int64) * token_columns
                        + column.to(tl.int64),
                        mask=(
                            is_known
                            & req_to_verify_expected_tokens_row_in_range
                            & req_to_verify_expected_tokens_column_in_range
                        )
                        != 0,
                        other=-1,
                    ).to(tl.int64)
                previous = tl.where(is_sound, previous, 0)
                if count == TILE_BLOCK:
                    # One request owns the whole tile: its stores are wide.
                    whole_entry_in_range = (tile_start >= 0) & (
                        tile_start <= verify_capacity - TILE_BLOCK
                    )
                    tl.store(
                        tl.multiple_of(
                            out_verify_slot_indices_ptr + tile_start.to(tl.int64), WIDE_ALIGNMENT
                        )
                        + tl.arange(0, TILE_BLOCK),
                        slot,
                        mask=(tl.full([TILE_BLOCK], 1, tl.int1) & whole_entry_in_range) != 0,
                    )
                    whole_tokens_entry_in_range = (tile_start >= 0) & (
                        tile_start <= verify_capacity - TILE_BLOCK
                    )
                    tl.store(
                        tl.multiple_of(
                            out_verify_expected_tokens_ptr + tile_start.to(tl.int64), WIDE_ALIGNMENT
                        )
                        + tl.arange(0, TILE_BLOCK),
                        expected_token,
                        mask=(tl.full([TILE_BLOCK], 1, tl.int1) & whole_tokens_entry_in_range) != 0,
                    )
                    whole_positions_entry_in_range = (tile_start >= 0) & (
                        tile_start <= verify_capacity - TILE_BLOCK
                    )
                    tl.store(
                        tl.multiple_of(
                            out_verify_expected_positions_ptr + tile_start.to(tl.int64),
                            WIDE_ALIGNMENT,
                        )
                        + tl.arange(0, TILE_BLOCK),
                        position,
                        mask=(tl.full([TILE_BLOCK], 1, tl.int1) & whole_positions_entry_in_range)
                        != 0,
                    )
                    whole_previous_entry_in_range = (tile_start >= 0) & (
                        tile_start <= verify_capacity - TILE_BLOCK
                    )
                    tl.store(
                        tl.multiple_of(
                            out_verify_prev_slot_indices_ptr + tile_start.to(tl.int64),
                            WIDE_ALIGNMENT,
                        )
                        + tl.arange(0, TILE_BLOCK),
                        previous,
                        mask=(tl.full([TILE_BLOCK], 1, tl.int1) & whole_previous_entry_in_range)
                        != 0,
                    )
                else:
                    entry = tile_start + lane
                    out_verify_slot_indices_entry_in_range = (entry >= 0) & (
                        entry < verify_capacity
                    )
                    tl.store(
                        out_verify_slot_indices_ptr + entry.to(tl.int64),
                        slot,
                        mask=(is_own & out_verify_slot_indices_entry_in_range) != 0,
                    )
                    out_verify_expected_tokens_entry_in_range = (entry >= 0) & (
                        entry < verify_capacity
                    )
                    tl.store(
                        out_verify_expected_tokens_ptr + entry.to(tl.int64),
                        expected_token,
                        mask=(is_own & out_verify_expected_tokens_entry_in_range) != 0,
                    )
                    out_verify_expected_positions_entry_in_range = (entry >= 0) & (
                        entry < verify_capacity
                    )
                    tl.store(
                        out_verify_expected_positions_ptr + entry.to(tl.int64),
                        position,
                        mask=(is_own & out_verify_expected_positions_entry_in_range) != 0,
                    )
                    out_verify_prev_slot_indices_entry_in_range = (entry >= 0) & (
                        entry < verify_capacity
                    )
                    tl.store(
                        out_verify_prev_slot_indices_ptr + entry.to(tl.int64),
                        previous,
                        mask=(is_own & out_verify_prev_slot_indices_entry_in_range) != 0,
                    )
                done += count
