# Generated from spec/kernels/write_sums.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Sum up each block of a long request's entries, so that all its blocks can be chained at once.

The parallel hash format is an affine map, so a block of entries is one too: how many it stores, and
the sum of what they add, scaled to the block's beginning. The write kernel reads the sums of the
blocks before its own. Where damaged offsets own more blocks than the workspace has room for,
nothing is summed up, and write does without.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

GOLDEN_RATIO_64 = tl.constexpr(constants.GOLDEN_RATIO_64)
PARALLEL_CHAIN_INVERSE = tl.constexpr(constants.PARALLEL_CHAIN_INVERSE)
WRITE_POWER_BITS = tl.constexpr(constants.WRITE_POWER_BITS)
WRITE_TOKEN_BLOCK = tl.constexpr(constants.WRITE_TOKEN_BLOCK)
WRITE_LANE_ENTRIES = tl.constexpr(constants.WRITE_LANE_ENTRIES)
WRITE_SUM_FIELDS = tl.constexpr(constants.WRITE_SUM_FIELDS)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "workspace_ptr",
    "write_offsets_ptr",
    "write_num_valid_reqs_ptr",
    "input_ids_ptr",
    "positions_ptr",
    "out_cache_loc_ptr",
    "num_slots",
    "workspace_len",
    "write_req_capacity",
    "num_tokens",
]


@triton.jit
def _splitmix64(x):
    # The finaliser of splitmix64 alone: modulo 2^64, logical shifts.
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)


@triton.jit
def _token_hash(token, position):
    # What a token adds to a parallel chain.
    return _splitmix64(_splitmix64(token + GOLDEN_RATIO_64) ^ position)


@triton.jit
def _power(BASE: tl.constexpr, exponent, BITS: tl.constexpr):
    # Powers modulo 2^64, of exponents below 2^BITS.
    power = tl.full(exponent.shape, 1, tl.uint64)
    square = tl.full(exponent.shape, BASE, tl.uint64)
    for bit in tl.static_range(0, BITS):
        power = tl.where(((exponent >> bit) & 1) != 0, power * square, power)
        square = square * square
    return power


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _write_sums_kernel(
    workspace_ptr,
    write_offsets_ptr,
    write_num_valid_reqs_ptr,
    input_ids_ptr,
    positions_ptr,
    out_cache_loc_ptr,
    num_slots: tl.int64,
    workspace_len: tl.int64,
    write_req_capacity: tl.int64,
    num_tokens: tl.int64,
    REQUEST_BLOCK: tl.constexpr,
):
    lane = tl.arange(0, WRITE_TOKEN_BLOCK)
    valid = tl.load(write_num_valid_reqs_ptr).to(tl.int64)
    request_count = tl.minimum(tl.maximum(valid, 0), write_req_capacity)
    by_block = request_count >= 0
    item = tl.program_id(0) + tl.zeros([], tl.int64)
    item_end = item + 1
    while item < item_end:
        # The request and the block that an item is, and how many items there are: one walk over the
        # requests tells all three.
        item_total = tl.zeros([], tl.int64)
        request_of_item = tl.zeros([], tl.int64)
        block_of_item = tl.zeros([], tl.int64)
        for base in range(0, request_count, REQUEST_BLOCK):
            # What there is to do for some of the requests that write many entries: each block of
            # such a request where blocks are chained by themselves, else the request as a whole.
            # What damaged offsets own is nothing.
            owners = base + tl.arange(0, REQUEST_BLOCK)
            is_owner = owners < request_count
            firsts_boundary_in_range = (owners >= 0) & (owners < write_req_capacity + 1)
            firsts = tl.load(
                write_offsets_ptr + owners.to(tl.int64),
                mask=firsts_boundary_in_range,
                other=0,
            )
            lasts_boundary_in_range = (owners + 1 >= 0) & (owners + 1 < write_req_capacity + 1)
            lasts = tl.load(
                write_offsets_ptr + (owners + 1).to(tl.int64),
                mask=lasts_boundary_in_range,
                other=0,
            )
            are_whole = is_owner & (firsts >= 0) & (firsts <= lasts) & (lasts <= num_tokens)
            lengths = tl.where(are_whole, lasts - firsts, 0)
            tiles = (lengths + WRITE_TOKEN_BLOCK - 1) // WRITE_TOKEN_BLOCK
            tiles = tl.where(lengths > WRITE_LANE_ENTRIES, tl.where(by_block, tiles, 1), 0)
            tile_count = tl.sum(tiles)
            tile = item - item_total
            if (tile >= 0) & (tile < tile_count):
                ends = tl.cumsum(tiles, 0)
                is_owning = (ends - tiles <= tile) & (tile < ends)
                request_of_item = tl.sum(tl.where(is_owning, owners, 0)).to(tl.int64)
                block_of_item = tl.sum(tl.where(is_owning, tile - (ends - tiles), 0))
            item_total += tile_count
        item_end = tl.where(item_total <= workspace_len // WRITE_SUM_FIELDS, item_total, 0)
        if item < item_end:
            request = request_of_item + tl.zeros([1], tl.int64)
            first_boundary_in_range = (request >= 0) & (request < write_req_capacity + 1)
            first = tl.load(
                write_offsets_ptr + request.to(tl.int64),
                mask=first_boundary_in_range,
                other=0,
            )
            last_boundary_in_range = (request + 1 >= 0) & (request + 1 < write_req_capacity + 1)
            last = tl.load(
                write_offsets_ptr + (request + 1).to(tl.int64),
                mask=last_boundary_in_range,
                other=0,
            )
            block = block_of_item
            block_ahead = block
            # A block's entries, read ahead of their turn.
            ahead = first + block_ahead * WRITE_TOKEN_BLOCK + lane
            is_ahead = ahead < last
            out_cache_loc_entry_in_range = (ahead >= 0) & (ahead < num_tokens)
            next_slot = tl.load(
                out_cache_loc_ptr + ahead.to(tl.int64),
                mask=(is_ahead & out_cache_loc_entry_in_range) != 0,
                other=-1,
            )
            input_ids_entry_in_range = (ahead >= 0) & (ahead < num_tokens)
            next_token = tl.load(
                input_ids_ptr + ahead.to(tl.int64),
                mask=(is_ahead & input_ids_entry_in_range) != 0,
                other=0,
            )
            positions_entry_in_range = (ahead >= 0) & (ahead < num_tokens)
            next_position = tl.load(
                positions_ptr + ahead.to(tl.int64),
                mask=(is_ahead & positions_entry_in_range) != 0,
                other=0,
            )
            entry = first + block * WRITE_TOKEN_BLOCK + lane
            is_entry = entry < last
            slot = next_slot
            token = next_token
            position = next_position
            is_stored = is_entry & (slot >= 0) & (slot < num_slots)
            # What each entry of a block adds to the chain, and where the block begins.
            counted = is_stored.to(tl.int64)
            turn = tl.cumsum(counted, 0) - counted
            token_bits = token.to(tl.uint64, bitcast=True)
            added = _token_hash(token_bits, position.to(tl.uint64, bitcast=True))
            scaled = tl.where(
                is_stored, added * _power(PARALLEL_CHAIN_INVERSE, turn + 1, WRITE_POWER_BITS), 0
            )
            stored = tl.sum(counted)
            chain_sum = tl.sum(scaled).to(tl.int64, bitcast=True)
            latest_entry = tl.max(tl.where(is_stored, entry, -1))
            place = item * WRITE_SUM_FIELDS
            count_index_in_range = (place >= 0) & (place < workspace_len)
            tl.store(workspace_ptr + place.to(tl.int64), stored, mask=count_index_in_range)
            sum_index_in_range = (place + 1 >= 0) & (place + 1 < workspace_len)
            tl.store(workspace_ptr + (place + 1).to(tl.int64), chain_sum, mask=sum_index_in_range)
            entry_index_in_range = (place + 2 >= 0) & (place + 2 < workspace_len)
            tl.store(
                workspace_ptr + (place + 2).to(tl.int64),
                latest_entry,
                mask=entry_index_in_range,
            )
        item += tl.num_programs(0)
