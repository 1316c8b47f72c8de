# Generated from spec/kernels/write.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Stamp the canary of every slot that a step writes, and check what is being written.

Each request's entries are chained: a canary holds the hash of all tokens and positions before it,
from the seed slot on. Hashes of K or V bytes, and whatever else is independent, are made for many
entries at once; only the chain is serial. Plans and tables may be the corrupted thing: a slot or
seed outside the buffer is reported and never followed, and a request whose offsets are damaged
stores nothing. What a slot holds that is written twice in one launch is unspecified.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

CANARY_CHAIN_ANCHOR = tl.constexpr(constants.CANARY_CHAIN_ANCHOR)
CANARY_FIELD_TOKEN = tl.constexpr(constants.CANARY_FIELD_TOKEN)
CANARY_FIELD_PREV_HASH = tl.constexpr(constants.CANARY_FIELD_PREV_HASH)
CANARY_FIELD_REAL_KV_HASH = tl.constexpr(constants.CANARY_FIELD_REAL_KV_HASH)
VIOLATION_FIELDS = tl.constexpr(constants.VIOLATION_FIELDS)
VIOLATION_FIELD_KERNEL_KIND = tl.constexpr(constants.VIOLATION_FIELD_KERNEL_KIND)
VIOLATION_FIELD_SLOT_IDX = tl.constexpr(constants.VIOLATION_FIELD_SLOT_IDX)
VIOLATION_FIELD_POSITION = tl.constexpr(constants.VIOLATION_FIELD_POSITION)
VIOLATION_FIELD_STORED_TOKEN = tl.constexpr(constants.VIOLATION_FIELD_STORED_TOKEN)
VIOLATION_FIELD_EXPECTED_TOKEN = tl.constexpr(constants.VIOLATION_FIELD_EXPECTED_TOKEN)
VIOLATION_FIELD_STORED_CHAIN_HASH = tl.constexpr(constants.VIOLATION_FIELD_STORED_CHAIN_HASH)
VIOLATION_FIELD_EXPECTED_AUX = tl.constexpr(constants.VIOLATION_FIELD_EXPECTED_AUX)
VIOLATION_FIELD_FAIL_REASON_BITS = tl.constexpr(constants.VIOLATION_FIELD_FAIL_REASON_BITS)
VIOLATION_COUNT_LIMIT = tl.constexpr(constants.VIOLATION_COUNT_LIMIT)
EVIDENCE_FIELD_EXPECTED_POSITION = tl.constexpr(constants.EVIDENCE_FIELD_EXPECTED_POSITION)
EVIDENCE_FIELD_STORED_REAL_KV_HASH = tl.constexpr(constants.EVIDENCE_FIELD_STORED_REAL_KV_HASH)
EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH = tl.constexpr(constants.EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH)
EVIDENCE_FIELD_PREVIOUS_SLOT = tl.constexpr(constants.EVIDENCE_FIELD_PREVIOUS_SLOT)
EVIDENCE_FIELD_ENTRY = tl.constexpr(constants.EVIDENCE_FIELD_ENTRY)
EVIDENCE_FIELD_STEP = tl.constexpr(constants.EVIDENCE_FIELD_STEP)
EVIDENCE_FIELD_REQUEST = tl.constexpr(constants.EVIDENCE_FIELD_REQUEST)
EVIDENCE_FIELD_RESERVED = tl.constexpr(constants.EVIDENCE_FIELD_RESERVED)
GOLDEN_RATIO_64 = tl.constexpr(constants.GOLDEN_RATIO_64)
PARALLEL_CHAIN_MULTIPLIER = tl.constexpr(constants.PARALLEL_CHAIN_MULTIPLIER)
PARALLEL_CHAIN_INVERSE = tl.constexpr(constants.PARALLEL_CHAIN_INVERSE)
WRITE_POWER_BITS = tl.constexpr(constants.WRITE_POWER_BITS)
WRITE_TOKEN_BLOCK = tl.constexpr(constants.WRITE_TOKEN_BLOCK)
WRITE_LANE_ENTRIES = tl.constexpr(constants.WRITE_LANE_ENTRIES)
WRITE_SUM_FIELDS = tl.constexpr(constants.WRITE_SUM_FIELDS)
SUM_BLOCK = tl.constexpr(256)
HASH_FORMAT_PARALLEL = tl.constexpr(1)
FAIL_REASON_WRITE_TOKEN_MISMATCH = tl.constexpr(8)
FAIL_REASON_WRITE_POSITION_MISMATCH = tl.constexpr(16)
FAIL_REASON_SLOT_OUT_OF_RANGE = tl.constexpr(64)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "canary_buf_ptr",
    "violation_ring_ptr",
    "violation_write_index_ptr",
    "slot_run_counter_ptr",
    "kernel_run_counter_ptr",
    "enable_chain_position_assert_ptr",
    "write_offsets_ptr",
    "write_seed_slot_indices_ptr",
    "write_num_valid_reqs_ptr",
    "input_ids_ptr",
    "positions_ptr",
    "out_cache_loc_ptr",
    "evidence_ring_ptr",
    "workspace_ptr",
    "source_0_tensor_ptr",
    "source_1_tensor_ptr",
    "source_2_tensor_ptr",
    "source_3_tensor_ptr",
    "expected_input_tokens_ptr",
    "expected_input_positions_ptr",
    "source_0_tensor_stride_page",
    "source_1_tensor_stride_page",
    "source_2_tensor_stride_page",
    "source_3_tensor_stride_page",
    "num_slots",
    "slot_stride_bytes",
    "ring_capacity",
    "workspace_len",
    "source_0_pages",
    "source_0_row_bytes",
    "source_1_pages",
    "source_1_row_bytes",
    "source_2_pages",
    "source_2_row_bytes",
    "source_3_pages",
    "source_3_row_bytes",
    "write_req_capacity",
    "num_tokens",
    "source_0_page_size",
    "source_0_num_bytes_per_token",
    "source_1_page_size",
    "source_1_num_bytes_per_token",
    "source_2_page_size",
    "source_2_num_bytes_per_token",
    "source_3_page_size",
    "source_3_num_bytes_per_token",
    "read_limit",
    "source_0_words",
    "source_1_words",
    "source_2_words",
    "source_3_words",
    "is_split",
    "kernel_kind",
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


@triton.jit
def _first_hash():
    # What stands in the first canary of a sequence: the same in both formats.
    return _splitmix64(tl.full([1], CANARY_CHAIN_ANCHOR, tl.uint64))


@triton.jit
def _successor(previous_hash, token, position, FORMAT: tl.constexpr):
    # The chain hash after a token, from the one before it.
    if FORMAT == HASH_FORMAT_PARALLEL:
        following = previous_hash * PARALLEL_CHAIN_MULTIPLIER
        following += _token_hash(token, position)
    else:
        following = _splitmix64(_splitmix64(_splitmix64(previous_hash) ^ token) ^ position)
    return following


@triton.jit
def _word_hashes(words, first):
    # What 8-byte words add to a parallel hash, by their places from `first` on: a sum, in any
    # order.
    place = (tl.arange(0, words.shape[1]) + first).to(tl.uint64) + 1
    return _splitmix64(words ^ _splitmix64(place * GOLDEN_RATIO_64)[None, :])


@triton.jit
def _halves(words):
    # The first and the last half of each row.
    pairs = tl.reshape(words, [words.shape[0], 2, words.shape[1] // 2])
    return tl.split(tl.permute(pairs, (0, 2, 1)))


@triton.jit
def _folded_2(accumulator, words):
    first, second = tl.split(words)
    return _splitmix64(_splitmix64(accumulator ^ first) ^ second)


@triton.jit
def _folded_4(accumulator, words):
    first, second = _halves(words)
    return _folded_2(_folded_2(accumulator, first), second)


@triton.jit
def _folded_8(accumulator, words):
    first, second = _halves(words)
    return _folded_4(_folded_4(accumulator, first), second)


@triton.jit
def _folded(accumulator, words, COUNT: tl.constexpr):
    # A serial hash after the next words of each row, in order.
    if COUNT == 2:
        folded = _folded_2(accumulator, words)
    elif COUNT == 4:
        folded = _folded_4(accumulator, words)
    else:
        first, second = _halves(words)
        folded = _folded_8(_folded_8(accumulator, first), second)
    return folded


@triton.jit
def _with_source(total, accumulator, number, FORMAT: tl.constexpr):
    # The hash of all sources after the next one, counted from 1.
    if FORMAT == HASH_FORMAT_PARALLEL:
        total += _splitmix64(accumulator + number * GOLDEN_RATIO_64)
    else:
        total = _splitmix64(total ^ accumulator)
    return total


@triton.jit
def _larger(first, second):
    return tl.maximum(first, second)


@triton.jit
def _after(first_factor, first_addend, second_factor, second_addend):
    # One affine map after another: h -> second_factor * (first_factor * h + first_addend) + ...
    return first_factor * second_factor, first_addend * second_factor + second_addend


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _write_kernel(
    canary_buf_ptr,
    violation_ring_ptr,
    violation_write_index_ptr,
    slot_run_counter_ptr,
    kernel_run_counter_ptr,
    enable_chain_position_assert_ptr,
    write_offsets_ptr,
    write_seed_slot_indices_ptr,
    write_num_valid_reqs_ptr,
    input_ids_ptr,
    positions_ptr,
    out_cache_loc_ptr,
    evidence_ring_ptr,
    workspace_ptr,
    source_0_tensor_ptr,
    source_1_tensor_ptr,
    source_2_tensor_ptr,
    source_3_tensor_ptr,
    expected_input_tokens_ptr,
    expected_input_positions_ptr,
    source_0_tensor_stride_page: tl.int64,
    source_1_tensor_stride_page: tl.int64,
    source_2_tensor_stride_page: tl.int64,
    source_3_tensor_stride_page: tl.int64,
    num_slots: tl.int64,
    slot_stride_bytes: tl.int64,
    ring_capacity: tl.int64,
    workspace_len: tl.int64,
    source_0_pages: tl.int64,
    source_0_row_bytes: tl.int64,
    source_1_pages: tl.int64,
    source_1_row_bytes: tl.int64,
    source_2_pages: tl.int64,
    source_2_row_bytes: tl.int64,
    source_3_pages: tl.int64,
    source_3_row_bytes: tl.int64,
    write_req_capacity: tl.int64,
    num_tokens: tl.int64,
    source_0_page_size: tl.int64,
    source_0_num_bytes_per_token: tl.int64,
    source_1_page_size: tl.int64,
    source_1_num_bytes_per_token: tl.int64,
    source_2_page_size: tl.int64,
    source_2_num_bytes_per_token: tl.int64,
    source_3_page_size: tl.int64,
    source_3_num_bytes_per_token: tl.int64,
    read_limit: tl.int64,
    source_0_words: tl.int64,
    source_1_words: tl.int64,
    source_2_words: tl.int64,
    source_3_words: tl.int64,
    is_split: tl.int64,
    kernel_kind: tl.int64,
    HASH_FORMAT: tl.constexpr,
    READ_BLOCK: tl.constexpr,
    REQUEST_BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    lane = tl.arange(0, WRITE_TOKEN_BLOCK)
    valid = tl.load(write_num_valid_reqs_ptr).to(tl.int64)
    # Whatever a damaged plan says, no request past its own arrays is walked.
    request_count = tl.minimum(tl.maximum(valid, 0), write_req_capacity)
    step = tl.zeros([], tl.int64)
    if evidence_ring_ptr is not None:
        step = tl.load(kernel_run_counter_ptr)
    elif program == 0:
        # Beside an evidence ring the launch is counted after it: every program reads one step.
        tl.atomic_add(kernel_run_counter_ptr, 1)
    lane_programs = (write_req_capacity + WRITE_TOKEN_BLOCK - 1) // WRITE_TOKEN_BLOCK
    if program < lane_programs:
        # Requests that write few entries, as a decode step does: a lane each, walked side by side.
        request = program * WRITE_TOKEN_BLOCK + tl.arange(0, WRITE_TOKEN_BLOCK).to(tl.int64)
        is_request = request < request_count
        lane_first_boundary_in_range = (request >= 0) & (request < write_req_capacity + 1)
        first = tl.load(
            write_offsets_ptr + request.to(tl.int64),
            mask=lane_first_boundary_in_range,
            other=0,
        )
        lane_last_boundary_in_range = (request + 1 >= 0) & (request + 1 < write_req_capacity + 1)
        last = tl.load(
            write_offsets_ptr + (request + 1).to(tl.int64),
            mask=lane_last_boundary_in_range,
            other=0,
        )
        is_whole = (first >= 0) & (first <= last) & (last <= num_tokens)
        is_short = is_request & is_whole & (last - first <= WRITE_LANE_ENTRIES)
        count = tl.where(is_short, last - first, 0)
        # What a chain begins with: the successor of its seed, or a sequence's first hash.
        write_seed_slot_indices_request_in_range = (request >= 0) & (request < write_req_capacity)
        seed = tl.load(
            write_seed_slot_indices_ptr + request.to(tl.int64),
            mask=write_seed_slot_indices_request_in_range,
            other=-1,
        )
        is_linked = (seed > 0) & (seed < num_slots)
        is_cut = (seed < -1) | (seed >= num_slots)
        seed_slot_in_range = (seed >= 0) & (seed < num_slots)
        seed_named = tl.load(
            tl.multiple_of(canary_buf_ptr + seed.to(tl.int64) * (slot_stride_bytes // 8), 16)[
                :, None
            ]
            + tl.arange(0, 2)[None, :],
            mask=((is_linked & seed_slot_in_range) != 0)[:, None],
            other=0,
        )
        seed_token, seed_position = tl.split(seed_named)
        seed_slot_in_range = (seed >= 0) & (seed < num_slots)
        seed_hash = tl.load(
            canary_buf_ptr + seed.to(tl.int64) * (slot_stride_bytes // 8) + CANARY_FIELD_PREV_HASH,
            mask=(is_linked & seed_slot_in_range) != 0,
            other=0,
        )
        running = _successor(
            seed_hash.to(tl.uint64, bitcast=True),
            seed_token.to(tl.uint64, bitcast=True),
            seed_position.to(tl.uint64, bitcast=True),
            HASH_FORMAT,
        )
        # An evicted seed, in the padding slot, counts as the beginning of a sequence.
        running = tl.where(is_linked, running, _first_hash())
        checks_positions = tl.load(enable_chain_position_assert_ptr).to(tl.int64)
        is_followed = is_linked & (checks_positions != 0)
        before_position = seed_position
        before_slot = seed
        stored_before = tl.zeros(seed.shape, tl.int64)
        for turn in range(tl.max(count)):
            entry = first + turn
            is_entry = turn < count
            lane_slot_entry_in_range = (entry >= 0) & (entry < num_tokens)
            slot = tl.load(
                out_cache_loc_ptr + entry.to(tl.int64),
                mask=(is_entry & lane_slot_entry_in_range) != 0,
                other=-1,
            )
            lane_token_entry_in_range = (entry >= 0) & (entry < num_tokens)
            token = tl.load(
                input_ids_ptr + entry.to(tl.int64),
                mask=(is_entry & lane_token_entry_in_range) != 0,
                other=0,
            )
            lane_position_entry_in_range = (entry >= 0) & (entry < num_tokens)
            position = tl.load(
                positions_ptr + entry.to(tl.int64),
                mask=(is_entry & lane_position_entry_in_range) != 0,
                other=0,
            )
            is_stored = is_entry & (slot >= 0) & (slot < num_slots)
            chain_hash = running.to(tl.int64, bitcast=True)
            position_before = before_position
            slot_before = before_slot
            is_first = is_stored & (stored_before == 0)
            # What is wrong with entries, besides their bytes.
            is_wild = is_entry & (slot >= num_slots)
            is_seed_row = is_first & is_cut
            wanted_position = position_before + 1
            is_out_of_turn = is_stored & is_followed & (position != wanted_position)
            input_reasons = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
            expected_token = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
            expected_position = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
            if expected_input_tokens_ptr is not None:
                expected_input_tokens_entry_in_range = (entry >= 0) & (entry < num_tokens)
                expected_token = tl.load(
                    expected_input_tokens_ptr + entry.to(tl.int64),
                    mask=(is_entry & expected_input_tokens_entry_in_range) != 0,
                    other=0,
                )
                input_reasons |= tl.where(
                    token != expected_token, FAIL_REASON_WRITE_TOKEN_MISMATCH, 0
                )
            if expected_input_positions_ptr is not None:
                expected_input_positions_entry_in_range = (entry >= 0) & (entry < num_tokens)
                expected_position = tl.load(
                    expected_input_positions_ptr + entry.to(tl.int64),
                    mask=(is_entry & expected_input_positions_entry_in_range) != 0,
                    other=0,
                )
                is_moved = position != expected_position
                input_reasons |= tl.where(is_moved, FAIL_REASON_WRITE_POSITION_MISMATCH, 0)
            input_reasons = tl.where(is_stored, input_reasons, 0)
            is_wrong = is_wild | is_seed_row | is_out_of_turn | (input_reasons != 0)
            wrong_count = tl.sum(is_wrong.to(tl.int32))
            is_hashed = is_stored
            # The hash over the true K or V bytes of each slot: 0 without a source, and in mode
            # NONE.
            bytes_total = tl.zeros(slot.shape, tl.uint64)
            if source_0_tensor_ptr is not None:
                source_0_number = 1
                # The words of one source, some at a time, the next ahead of their turn; no hole of
                # a row is read.
                source_0_page = slot // source_0_page_size
                source_0_first = slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
                source_0_hash = tl.zeros(slot.shape, tl.uint64)
                source_0_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                source_0_any = is_hashed & (source_0_words > 0)
                source_0_start_page_in_range = (source_0_page >= 0) & (
                    source_0_page < source_0_pages
                )
                source_0_start_word_in_range = (source_0_first >= 0) & (
                    source_0_first <= source_0_row_bytes // 8 - READ_BLOCK
                )
                source_0_next = tl.load(
                    tl.multiple_of(
                        source_0_tensor_ptr
                        + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                        + source_0_first.to(tl.int64),
                        16,
                    )[:, None]
                    + tl.arange(0, READ_BLOCK)[None, :],
                    mask=(
                        (source_0_any & source_0_start_page_in_range & source_0_start_word_in_range)
                        != 0
                    )[:, None],
                    other=0,
                )
                for source_0_at in range(0, source_0_words, READ_BLOCK):
                    source_0_bits = source_0_next.to(tl.uint64, bitcast=True)
                    source_0_column = source_0_first + source_0_at + READ_BLOCK
                    source_0_more = is_hashed & (source_0_at + READ_BLOCK < source_0_words)
                    source_0_tensor_page_in_range = (source_0_page >= 0) & (
                        source_0_page < source_0_pages
                    )
                    source_0_tensor_word_in_range = (source_0_column >= 0) & (
                        source_0_column <= source_0_row_bytes // 8 - READ_BLOCK
                    )
                    source_0_next = tl.load(
                        tl.multiple_of(
                            source_0_tensor_ptr
                            + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                            + source_0_column.to(tl.int64),
                            16,
                        )[:, None]
                        + tl.arange(0, READ_BLOCK)[None, :],
                        mask=(
                            (
                                source_0_more
                                & source_0_tensor_page_in_range
                                & source_0_tensor_word_in_range
                            )
                            != 0
                        )[:, None],
                        other=0,
                    )
                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                        source_0_sums += _word_hashes(source_0_bits, source_0_at)
                    else:
                        source_0_hash = _folded(source_0_hash, source_0_bits, READ_BLOCK)
                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                    source_0_hash = tl.sum(source_0_sums, 1)
                source_0_order = tl.full(slot.shape, source_0_number, tl.uint64)
                bytes_total = _with_source(bytes_total, source_0_hash, source_0_order, HASH_FORMAT)
            if source_1_tensor_ptr is not None:
                source_1_number = 2
                # The words of one source, some at a time, the next ahead of their turn; no hole of
                # a row is read.
                source_1_page = slot // source_1_page_size
                source_1_first = slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
                source_1_hash = tl.zeros(slot.shape, tl.uint64)
                source_1_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                source_1_any = is_hashed & (source_1_words > 0)
                source_1_start_page_in_range = (source_1_page >= 0) & (
                    source_1_page < source_1_pages
                )
                source_1_start_word_in_range = (source_1_first >= 0) & (
                    source_1_first <= source_1_row_bytes // 8 - READ_BLOCK
                )
                source_1_next = tl.load(
                    tl.multiple_of(
                        source_1_tensor_ptr
                        + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                        + source_1_first.to(tl.int64),
                        16,
                    )[:, None]
                    + tl.arange(0, READ_BLOCK)[None, :],
                    mask=(
                        (source_1_any & source_1_start_page_in_range & source_1_start_word_in_range)
                        != 0
                    )[:, None],
                    other=0,
                )
                for source_1_at in range(0, source_1_words, READ_BLOCK):
                    source_1_bits = source_1_next.to(tl.uint64, bitcast=True)
                    source_1_column = source_1_first + source_1_at + READ_BLOCK
                    source_1_more = is_hashed & (source_1_at + READ_BLOCK < source_1_words)
                    source_1_tensor_page_in_range = (source_1_page >= 0) & (
                        source_1_page < source_1_pages
                    )
                    source_1_tensor_word_in_range = (source_1_column >= 0) & (
                        source_1_column <= source_1_row_bytes // 8 - READ_BLOCK
                    )
                    source_1_next = tl.load(
                        tl.multiple_of(
                            source_1_tensor_ptr
                            + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                            + source_1_column.to(tl.int64),
                            16,
                        )[:, None]
                        + tl.arange(0, READ_BLOCK)[None, :],
                        mask=(
                            (
                                source_1_more
                                & source_1_tensor_page_in_range
                                & source_1_tensor_word_in_range
                            )
                            != 0
                        )[:, None],
                        other=0,
                    )
                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                        source_1_sums += _word_hashes(source_1_bits, source_1_at)
                    else:
                        source_1_hash = _folded(source_1_hash, source_1_bits, READ_BLOCK)
                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                    source_1_hash = tl.sum(source_1_sums, 1)
                source_1_order = tl.full(slot.shape, source_1_number, tl.uint64)
                bytes_total = _with_source(bytes_total, source_1_hash, source_1_order, HASH_FORMAT)
            if source_2_tensor_ptr is not None:
                source_2_number = 3
                # The words of one source, some at a time, the next ahead of their turn; no hole of
                # a row is read.
                source_2_page = slot // source_2_page_size
                source_2_first = slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
                source_2_hash = tl.zeros(slot.shape, tl.uint64)
                source_2_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                source_2_any = is_hashed & (source_2_words > 0)
                source_2_start_page_in_range = (source_2_page >= 0) & (
                    source_2_page < source_2_pages
                )
                source_2_start_word_in_range = (source_2_first >= 0) & (
                    source_2_first <= source_2_row_bytes // 8 - READ_BLOCK
                )
                source_2_next = tl.load(
                    tl.multiple_of(
                        source_2_tensor_ptr
                        + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                        + source_2_first.to(tl.int64),
                        16,
                    )[:, None]
                    + tl.arange(0, READ_BLOCK)[None, :],
                    mask=(
                        (source_2_any & source_2_start_page_in_range & source_2_start_word_in_range)
                        != 0
                    )[:, None],
                    other=0,
                )
                for source_2_at in range(0, source_2_words, READ_BLOCK):
                    source_2_bits = source_2_next.to(tl.uint64, bitcast=True)
                    source_2_column = source_2_first + source_2_at + READ_BLOCK
                    source_2_more = is_hashed & (source_2_at + READ_BLOCK < source_2_words)
                    source_2_tensor_page_in_range = (source_2_page >= 0) & (
                        source_2_page < source_2_pages
                    )
                    source_2_tensor_word_in_range = (source_2_column >= 0) & (
                        source_2_column <= source_2_row_bytes // 8 - READ_BLOCK
                    )
                    source_2_next = tl.load(
                        tl.multiple_of(
                            source_2_tensor_ptr
                            + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                            + source_2_column.to(tl.int64),
                            16,
                        )[:, None]
                        + tl.arange(0, READ_BLOCK)[None, :],
                        mask=(
                            (
                                source_2_more
                                & source_2_tensor_page_in_range
                                & source_2_tensor_word_in_range
                            )
                            != 0
                        )[:, None],
                        other=0,
                    )
                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                        source_2_sums += _word_hashes(source_2_bits, source_2_at)
                    else:
                        source_2_hash = _folded(source_2_hash, source_2_bits, READ_BLOCK)
                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                    source_2_hash = tl.sum(source_2_sums, 1)
                source_2_order = tl.full(slot.shape, source_2_number, tl.uint64)
                bytes_total = _with_source(bytes_total, source_2_hash, source_2_order, HASH_FORMAT)
            if source_3_tensor_ptr is not None:
                source_3_number = 4
                # The words of one source, some at a time, the next ahead of their turn; no hole of
                # a row is read.
                source_3_page = slot // source_3_page_size
                source_3_first = slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
                source_3_hash = tl.zeros(slot.shape, tl.uint64)
                source_3_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                source_3_any = is_hashed & (source_3_words > 0)
                source_3_start_page_in_range = (source_3_page >= 0) & (
                    source_3_page < source_3_pages
                )
                source_3_start_word_in_range = (source_3_first >= 0) & (
                    source_3_first <= source_3_row_bytes // 8 - READ_BLOCK
                )
                source_3_next = tl.load(
                    tl.multiple_of(
                        source_3_tensor_ptr
                        + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                        + source_3_first.to(tl.int64),
                        16,
                    )[:, None]
                    + tl.arange(0, READ_BLOCK)[None, :],
                    mask=(
                        (source_3_any & source_3_start_page_in_range & source_3_start_word_in_range)
                        != 0
                    )[:, None],
                    other=0,
                )
                for source_3_at in range(0, source_3_words, READ_BLOCK):
                    source_3_bits = source_3_next.to(tl.uint64, bitcast=True)
                    source_3_column = source_3_first + source_3_at + READ_BLOCK
                    source_3_more = is_hashed & (source_3_at + READ_BLOCK < source_3_words)
                    source_3_tensor_page_in_range = (source_3_page >= 0) & (
                        source_3_page < source_3_pages
                    )
                    source_3_tensor_word_in_range = (source_3_column >= 0) & (
                        source_3_column <= source_3_row_bytes // 8 - READ_BLOCK
                    )
                    source_3_next = tl.load(
                        tl.multiple_of(
                            source_3_tensor_ptr
                            + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                            + source_3_column.to(tl.int64),
                            16,
                        )[:, None]
                        + tl.arange(0, READ_BLOCK)[None, :],
                        mask=(
                            (
                                source_3_more
                                & source_3_tensor_page_in_range
                                & source_3_tensor_word_in_range
                            )
                            != 0
                        )[:, None],
                        other=0,
                    )
                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                        source_3_sums += _word_hashes(source_3_bits, source_3_at)
                    else:
                        source_3_hash = _folded(source_3_hash, source_3_bits, READ_BLOCK)
                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                    source_3_hash = tl.sum(source_3_sums, 1)
                source_3_order = tl.full(slot.shape, source_3_number, tl.uint64)
                bytes_total = _with_source(bytes_total, source_3_hash, source_3_order, HASH_FORMAT)
            bytes_hash = bytes_total.to(tl.int64, bitcast=True)
            bytes_hash = tl.where(is_hashed, tl.where(read_limit == 0, 0, bytes_hash), 0)
            # Each canary in two stores of 16 bytes.
            named = tl.join(token, position)
            hashed = tl.join(chain_hash, bytes_hash)
            named_slot_in_range = (slot >= 0) & (slot < num_slots)
            tl.store(
                tl.multiple_of(canary_buf_ptr + slot.to(tl.int64) * (slot_stride_bytes // 8), 16)[
                    :, None
                ]
                + tl.arange(0, 2)[None, :],
                named,
                mask=((is_stored & named_slot_in_range) != 0)[:, None],
            )
            hashed_slot_in_range = (slot >= 0) & (slot < num_slots)
            tl.store(
                tl.multiple_of(
                    canary_buf_ptr
                    + slot.to(tl.int64) * (slot_stride_bytes // 8)
                    + CANARY_FIELD_PREV_HASH,
                    16,
                )[:, None]
                + tl.arange(0, 2)[None, :],
                hashed,
                mask=((is_stored & hashed_slot_in_range) != 0)[:, None],
            )
            if wrong_count > 0:
                # First what concerns the seed, then wild slots, then the input, then the order.
                for kind_of_row in range(4):
                    is_outside = tl.where(
                        kind_of_row == 0, is_seed_row, is_wild & (kind_of_row == 1)
                    )
                    reasons = tl.where(is_outside, FAIL_REASON_SLOT_OUT_OF_RANGE, 0).to(tl.int64)
                    disorder = tl.where(is_out_of_turn, FAIL_REASON_WRITE_POSITION_MISMATCH, 0).to(
                        tl.int64
                    )
                    is_input_row = kind_of_row == 2
                    reasons = tl.where(is_input_row, input_reasons, reasons)
                    reasons = tl.where(kind_of_row == 3, disorder, reasons)
                    is_violation = reasons != 0
                    violation_slot = slot
                    violation_position = position
                    violation_token = tl.where(is_wild, 0, token)
                    violation_expected_token = tl.where(is_input_row, expected_token, token)
                    violation_expected_token = tl.where(is_wild, -1, violation_expected_token)
                    violation_hash = tl.where(is_wild, 0, chain_hash)
                    wanted = tl.where(is_input_row, expected_position, wanted_position)
                    violation_aux = tl.where(kind_of_row == 0, seed, wanted)
                    violation_aux = tl.where(is_wild, 0, violation_aux)
                    evidence_position = tl.where(kind_of_row < 2, -1, wanted)
                    evidence_stored = tl.where(is_wild, 0, bytes_hash)
                    evidence_computed = evidence_stored
                    evidence_previous = slot_before
                    evidence_index = entry
                    evidence_request = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64) + request
                    # One place in the ring for each violation of this block: a row is taken by
                    # counting, never overwritten, and where the ring ends the count goes on alone.
                    violations = is_violation.to(tl.int32)
                    violation_count = tl.sum(violations)
                    if violation_count > 0:
                        recorded = tl.load(violation_write_index_ptr).to(tl.int64)
                        # A damaged or very high count stays as it is: it never comes round to a row
                        # in use.
                        if (recorded >= 0) & (recorded < VIOLATION_COUNT_LIMIT):
                            first_row = tl.atomic_add(
                                violation_write_index_ptr,
                                violation_count,
                            ).to(tl.int64)
                            row = first_row + (tl.cumsum(violations, 0) - violations)
                            kind = tl.zeros(row.shape, tl.int64) + kernel_kind
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr + row.to(tl.int64) * VIOLATION_FIELDS,
                                kind,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_SLOT_IDX,
                                violation_slot,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_POSITION,
                                violation_position,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_STORED_TOKEN,
                                violation_token,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_EXPECTED_TOKEN,
                                violation_expected_token,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_STORED_CHAIN_HASH,
                                violation_hash,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_EXPECTED_AUX,
                                violation_aux,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                            tl.store(
                                violation_ring_ptr
                                + row.to(tl.int64) * VIOLATION_FIELDS
                                + VIOLATION_FIELD_FAIL_REASON_BITS,
                                reasons,
                                mask=(is_violation & violation_ring_violation_in_range) != 0,
                            )
                            if evidence_ring_ptr is not None:
                                steps = tl.zeros(row.shape, tl.int64) + step
                                nothing = tl.zeros(row.shape, tl.int64)
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr + row.to(tl.int64) * VIOLATION_FIELDS,
                                    evidence_position,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_STORED_REAL_KV_HASH,
                                    evidence_stored,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH,
                                    evidence_computed,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_PREVIOUS_SLOT,
                                    evidence_previous,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_ENTRY,
                                    evidence_index,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_STEP,
                                    steps,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_REQUEST,
                                    evidence_request,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
                                evidence_ring_violation_in_range = (row >= 0) & (
                                    row < ring_capacity
                                )
                                tl.store(
                                    evidence_ring_ptr
                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                    + EVIDENCE_FIELD_RESERVED,
                                    nothing,
                                    mask=(is_violation & evidence_ring_violation_in_range) != 0,
                                )
            advanced = _successor(
                running,
                token.to(tl.uint64, bitcast=True),
                position.to(tl.uint64, bitcast=True),
                HASH_FORMAT,
            )
            running = tl.where(is_stored, advanced, running)
            before_position = tl.where(is_stored, position, before_position)
            before_slot = tl.where(is_stored, slot, before_slot)
            stored_before += is_stored.to(tl.int64)
        stored = tl.sum(stored_before)
        if stored > 0:
            tl.atomic_add(slot_run_counter_ptr, stored)
        is_broken = is_request & (is_whole == 0)
        broken_count = tl.sum(is_broken.to(tl.int32))
        if broken_count > 0:
            # Offsets that no plan makes: the request stores nothing, and is reported once.
            nothing_stored = tl.zeros(first.shape, tl.int64)
            is_violation = is_broken
            reasons = nothing_stored + FAIL_REASON_SLOT_OUT_OF_RANGE
            violation_slot = nothing_stored - 2
            violation_position = first
            violation_token = nothing_stored
            violation_expected_token = nothing_stored - 1
            violation_hash = nothing_stored
            violation_aux = last
            evidence_position = nothing_stored - 1
            evidence_stored = nothing_stored
            evidence_computed = nothing_stored
            evidence_previous = nothing_stored - 1
            evidence_index = nothing_stored - 1
            evidence_request = request
            # One place in the ring for each violation of this block: a row is taken by counting,
            # never overwritten, and where the ring ends the count goes on alone.
            violations = is_violation.to(tl.int32)
            violation_count = tl.sum(violations)
            if violation_count > 0:
                recorded = tl.load(violation_write_index_ptr).to(tl.int64)
                # A damaged or very high count stays as it is: it never comes round to a row in use.
                if (recorded >= 0) & (recorded < VIOLATION_COUNT_LIMIT):
                    first_row = tl.atomic_add(
                        violation_write_index_ptr,
                        violation_count,
                    ).to(tl.int64)
                    row = first_row + (tl.cumsum(violations, 0) - violations)
                    kind = tl.zeros(row.shape, tl.int64) + kernel_kind
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr + row.to(tl.int64) * VIOLATION_FIELDS,
                        kind,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_SLOT_IDX,
                        violation_slot,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_POSITION,
                        violation_position,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_STORED_TOKEN,
                        violation_token,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_EXPECTED_TOKEN,
                        violation_expected_token,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_STORED_CHAIN_HASH,
                        violation_hash,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_EXPECTED_AUX,
                        violation_aux,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    violation_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                    tl.store(
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_FAIL_REASON_BITS,
                        reasons,
                        mask=(is_violation & violation_ring_violation_in_range) != 0,
                    )
                    if evidence_ring_ptr is not None:
                        steps = tl.zeros(row.shape, tl.int64) + step
                        nothing = tl.zeros(row.shape, tl.int64)
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr + row.to(tl.int64) * VIOLATION_FIELDS,
                            evidence_position,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_STORED_REAL_KV_HASH,
                            evidence_stored,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH,
                            evidence_computed,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_PREVIOUS_SLOT,
                            evidence_previous,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_ENTRY,
                            evidence_index,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_STEP,
                            steps,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_REQUEST,
                            evidence_request,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
                        evidence_ring_violation_in_range = (row >= 0) & (row < ring_capacity)
                        tl.store(
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_RESERVED,
                            nothing,
                            mask=(is_violation & evidence_ring_violation_in_range) != 0,
                        )
    else:
        helper = program - lane_programs
        helper_count = tl.num_programs(0) - lane_programs
        if HASH_FORMAT == HASH_FORMAT_PARALLEL:
            # Requests that write many entries. In the parallel format the chain is an affine map,
            # and so a cumulative sum: a block needs the sums of those before it, which an earlier
            # launch has made; without them the whole request is walked block by block.
            by_block = is_split != 0
            item = helper + tl.zeros([], tl.int64)
            item_end = item + 1
            while item < item_end:
                # The request and the block that an item is, and how many items there are: one walk
                # over the requests tells all three.
                item_total = tl.zeros([], tl.int64)
                request_of_item = tl.zeros([], tl.int64)
                block_of_item = tl.zeros([], tl.int64)
                for base in range(0, request_count, REQUEST_BLOCK):
                    # What there is to do for some of the requests that write many entries: each
                    # block of such a request where blocks are chained by themselves, else the
                    # request as a whole. What damaged offsets own is nothing.
                    owners = base + tl.arange(0, REQUEST_BLOCK)
                    is_owner = owners < request_count
                    firsts_boundary_in_range = (owners >= 0) & (owners < write_req_capacity + 1)
                    firsts = tl.load(
                        write_offsets_ptr + owners.to(tl.int64),
                        mask=firsts_boundary_in_range,
                        other=0,
                    )
                    lasts_boundary_in_range = (owners + 1 >= 0) & (
                        owners + 1 < write_req_capacity + 1
                    )
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
                item_end = item_total
                if by_block & (item_total > workspace_len // WRITE_SUM_FIELDS):
                    # Damaged offsets own more blocks than there is room for: nothing was summed up.
                    by_block = item < 0
                    item_end = item + 1
                else:
                    if item < item_total:
                        request = request_of_item + tl.zeros([1], tl.int64)
                        item_first_boundary_in_range = (request >= 0) & (
                            request < write_req_capacity + 1
                        )
                        first = tl.load(
                            write_offsets_ptr + request.to(tl.int64),
                            mask=item_first_boundary_in_range,
                            other=0,
                        )
                        item_last_boundary_in_range = (request + 1 >= 0) & (
                            request + 1 < write_req_capacity + 1
                        )
                        last = tl.load(
                            write_offsets_ptr + (request + 1).to(tl.int64),
                            mask=item_last_boundary_in_range,
                            other=0,
                        )
                        blocks = tl.max((last - first + WRITE_TOKEN_BLOCK - 1) // WRITE_TOKEN_BLOCK)
                        block_first = tl.where(by_block, block_of_item, 0)
                        block_last = tl.where(by_block, block_of_item + 1, blocks)
                        block_ahead = block_first
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
                        # What a chain begins with: the successor of its seed, or a sequence's first
                        # hash.
                        write_seed_slot_indices_request_in_range = (request >= 0) & (
                            request < write_req_capacity
                        )
                        seed = tl.load(
                            write_seed_slot_indices_ptr + request.to(tl.int64),
                            mask=write_seed_slot_indices_request_in_range,
                            other=-1,
                        )
                        is_linked = (seed > 0) & (seed < num_slots)
                        is_cut = (seed < -1) | (seed >= num_slots)
                        seed_slot_in_range = (seed >= 0) & (seed < num_slots)
                        seed_named = tl.load(
                            tl.multiple_of(
                                canary_buf_ptr + seed.to(tl.int64) * (slot_stride_bytes // 8), 16
                            )[:, None]
                            + tl.arange(0, 2)[None, :],
                            mask=((is_linked & seed_slot_in_range) != 0)[:, None],
                            other=0,
                        )
                        seed_token, seed_position = tl.split(seed_named)
                        seed_slot_in_range = (seed >= 0) & (seed < num_slots)
                        seed_hash = tl.load(
                            canary_buf_ptr
                            + seed.to(tl.int64) * (slot_stride_bytes // 8)
                            + CANARY_FIELD_PREV_HASH,
                            mask=(is_linked & seed_slot_in_range) != 0,
                            other=0,
                        )
                        running = _successor(
                            seed_hash.to(tl.uint64, bitcast=True),
                            seed_token.to(tl.uint64, bitcast=True),
                            seed_position.to(tl.uint64, bitcast=True),
                            HASH_FORMAT,
                        )
                        # An evicted seed, in the padding slot, counts as the beginning of a
                        # sequence.
                        running = tl.where(is_linked, running, _first_hash())
                        checks_positions = tl.load(enable_chain_position_assert_ptr).to(tl.int64)
                        is_followed = is_linked & (checks_positions != 0)
                        before_position = seed_position
                        before_slot = seed
                        stored_before = tl.zeros(seed.shape, tl.int64)
                        if workspace_ptr is not None and by_block:
                            # The chain up to this block: the maps of the request's blocks before
                            # it, one after the other.
                            before_entry = tl.full([], -1, tl.int64)
                            for sum_start in range(item - block_of_item, item, SUM_BLOCK):
                                summed = sum_start + tl.arange(0, SUM_BLOCK)
                                is_before = summed < item
                                count_index_in_range = (summed * WRITE_SUM_FIELDS >= 0) & (
                                    summed * WRITE_SUM_FIELDS < workspace_len
                                )
                                counts = tl.load(
                                    workspace_ptr + (summed * WRITE_SUM_FIELDS).to(tl.int64),
                                    mask=(is_before & count_index_in_range) != 0,
                                    other=0,
                                )
                                sum_index_in_range = (summed * WRITE_SUM_FIELDS + 1 >= 0) & (
                                    summed * WRITE_SUM_FIELDS + 1 < workspace_len
                                )
                                sums = tl.load(
                                    workspace_ptr + (summed * WRITE_SUM_FIELDS + 1).to(tl.int64),
                                    mask=(is_before & sum_index_in_range) != 0,
                                    other=0,
                                )
                                entry_index_in_range = (summed * WRITE_SUM_FIELDS + 2 >= 0) & (
                                    summed * WRITE_SUM_FIELDS + 2 < workspace_len
                                )
                                entries = tl.load(
                                    workspace_ptr + (summed * WRITE_SUM_FIELDS + 2).to(tl.int64),
                                    mask=(is_before & entry_index_in_range) != 0,
                                    other=-1,
                                )
                                factors = tl.where(
                                    is_before,
                                    _power(PARALLEL_CHAIN_MULTIPLIER, counts, WRITE_POWER_BITS),
                                    1,
                                )
                                addends = factors * sums.to(tl.uint64, bitcast=True)
                                all_factors, all_addends = tl.associative_scan(
                                    (factors, addends), 0, _after
                                )
                                is_latest = tl.arange(0, SUM_BLOCK) == SUM_BLOCK - 1
                                factor = tl.sum(tl.where(is_latest, all_factors, 0))
                                running = factor * running + tl.sum(
                                    tl.where(is_latest, all_addends, 0)
                                )
                                stored_before += tl.sum(counts)
                                before_entry = tl.maximum(before_entry, tl.max(entries))
                            one = before_entry + tl.zeros([1], tl.int64)
                            is_some = one >= 0
                            before_position_entry_in_range = (one >= 0) & (one < num_tokens)
                            entry_position = tl.load(
                                positions_ptr + one.to(tl.int64),
                                mask=(is_some & before_position_entry_in_range) != 0,
                                other=0,
                            )
                            before_slot_entry_in_range = (one >= 0) & (one < num_tokens)
                            entry_slot = tl.load(
                                out_cache_loc_ptr + one.to(tl.int64),
                                mask=(is_some & before_slot_entry_in_range) != 0,
                                other=0,
                            )
                            before_position = tl.where(is_some, entry_position, before_position)
                            before_slot = tl.where(is_some, entry_slot, before_slot)
                        for block in range(block_first, block_last):
                            entry = first + block * WRITE_TOKEN_BLOCK + lane
                            is_entry = entry < last
                            slot = next_slot
                            token = next_token
                            position = next_position
                            is_stored = is_entry & (slot >= 0) & (slot < num_slots)
                            if block + 1 < block_last:
                                block_ahead = block + 1
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
                            # What each entry of a block adds to the chain, and where the block
                            # begins.
                            counted = is_stored.to(tl.int64)
                            turn = tl.cumsum(counted, 0) - counted
                            token_bits = token.to(tl.uint64, bitcast=True)
                            added = _token_hash(token_bits, position.to(tl.uint64, bitcast=True))
                            scaled = tl.where(
                                is_stored,
                                added * _power(PARALLEL_CHAIN_INVERSE, turn + 1, WRITE_POWER_BITS),
                                0,
                            )
                            chained = tl.cumsum(scaled, 0) - scaled
                            hash_before = _power(
                                PARALLEL_CHAIN_MULTIPLIER, turn, WRITE_POWER_BITS
                            ) * (running + chained)
                            chain_hash = hash_before.to(tl.int64, bitcast=True)
                            is_first = is_stored & (stored_before + turn == 0)
                            position_before = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                            slot_before = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                            if checks_positions != 0:
                                # The entry of the request stored before each one: of an earlier
                                # lane, or carried here.
                                latest = tl.associative_scan(
                                    tl.where(is_stored, lane, -1), 0, _larger
                                )
                                earlier = tl.where(
                                    lane > 0, tl.gather(latest, tl.maximum(lane - 1, 0), 0), -1
                                )
                                at = tl.maximum(earlier, 0)
                                position_before = tl.where(
                                    earlier >= 0, tl.gather(position, at, 0), before_position
                                )
                                slot_before = tl.where(
                                    earlier >= 0, tl.gather(slot, at, 0), before_slot
                                )
                            # What is wrong with entries, besides their bytes.
                            is_wild = is_entry & (slot >= num_slots)
                            is_seed_row = is_first & is_cut
                            wanted_position = position_before + 1
                            is_out_of_turn = is_stored & is_followed & (position != wanted_position)
                            input_reasons = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                            expected_token = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                            expected_position = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                            if expected_input_tokens_ptr is not None:
                                expected_input_tokens_entry_in_range = (entry >= 0) & (
                                    entry < num_tokens
                                )
                                expected_token = tl.load(
                                    expected_input_tokens_ptr + entry.to(tl.int64),
                                    mask=(is_entry & expected_input_tokens_entry_in_range) != 0,
                                    other=0,
                                )
                                input_reasons |= tl.where(
                                    token != expected_token, FAIL_REASON_WRITE_TOKEN_MISMATCH, 0
                                )
                            if expected_input_positions_ptr is not None:
                                expected_input_positions_entry_in_range = (entry >= 0) & (
                                    entry < num_tokens
                                )
                                expected_position = tl.load(
                                    expected_input_positions_ptr + entry.to(tl.int64),
                                    mask=(is_entry & expected_input_positions_entry_in_range) != 0,
                                    other=0,
                                )
                                is_moved = position != expected_position
                                input_reasons |= tl.where(
                                    is_moved, FAIL_REASON_WRITE_POSITION_MISMATCH, 0
                                )
                            input_reasons = tl.where(is_stored, input_reasons, 0)
                            is_wrong = is_wild | is_seed_row | is_out_of_turn | (input_reasons != 0)
                            wrong_count = tl.sum(is_wrong.to(tl.int32))
                            is_hashed = is_stored
                            # The hash over the true K or V bytes of each slot: 0 without a source,
                            # and in mode NONE.
                            bytes_total = tl.zeros(slot.shape, tl.uint64)
                            if source_0_tensor_ptr is not None:
                                source_0_number = 1
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_0_page = slot // source_0_page_size
                                source_0_first = (
                                    slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
                                )
                                source_0_hash = tl.zeros(slot.shape, tl.uint64)
                                source_0_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_0_any = is_hashed & (source_0_words > 0)
                                source_0_start_page_in_range = (source_0_page >= 0) & (
                                    source_0_page < source_0_pages
                                )
                                source_0_start_word_in_range = (source_0_first >= 0) & (
                                    source_0_first <= source_0_row_bytes // 8 - READ_BLOCK
                                )
                                source_0_next = tl.load(
                                    tl.multiple_of(
                                        source_0_tensor_ptr
                                        + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                                        + source_0_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_0_any
                                            & source_0_start_page_in_range
                                            & source_0_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_0_at in range(0, source_0_words, READ_BLOCK):
                                    source_0_bits = source_0_next.to(tl.uint64, bitcast=True)
                                    source_0_column = source_0_first + source_0_at + READ_BLOCK
                                    source_0_more = is_hashed & (
                                        source_0_at + READ_BLOCK < source_0_words
                                    )
                                    source_0_tensor_page_in_range = (source_0_page >= 0) & (
                                        source_0_page < source_0_pages
                                    )
                                    source_0_tensor_word_in_range = (source_0_column >= 0) & (
                                        source_0_column <= source_0_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_0_next = tl.load(
                                        tl.multiple_of(
                                            source_0_tensor_ptr
                                            + source_0_page.to(tl.int64)
                                            * source_0_tensor_stride_page
                                            + source_0_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_0_more
                                                & source_0_tensor_page_in_range
                                                & source_0_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_0_sums += _word_hashes(source_0_bits, source_0_at)
                                    else:
                                        source_0_hash = _folded(
                                            source_0_hash, source_0_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_0_hash = tl.sum(source_0_sums, 1)
                                source_0_order = tl.full(slot.shape, source_0_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_0_hash, source_0_order, HASH_FORMAT
                                )
                            if source_1_tensor_ptr is not None:
                                source_1_number = 2
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_1_page = slot // source_1_page_size
                                source_1_first = (
                                    slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
                                )
                                source_1_hash = tl.zeros(slot.shape, tl.uint64)
                                source_1_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_1_any = is_hashed & (source_1_words > 0)
                                source_1_start_page_in_range = (source_1_page >= 0) & (
                                    source_1_page < source_1_pages
                                )
                                source_1_start_word_in_range = (source_1_first >= 0) & (
                                    source_1_first <= source_1_row_bytes // 8 - READ_BLOCK
                                )
                                source_1_next = tl.load(
                                    tl.multiple_of(
                                        source_1_tensor_ptr
                                        + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                                        + source_1_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_1_any
                                            & source_1_start_page_in_range
                                            & source_1_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_1_at in range(0, source_1_words, READ_BLOCK):
                                    source_1_bits = source_1_next.to(tl.uint64, bitcast=True)
                                    source_1_column = source_1_first + source_1_at + READ_BLOCK
                                    source_1_more = is_hashed & (
                                        source_1_at + READ_BLOCK < source_1_words
                                    )
                                    source_1_tensor_page_in_range = (source_1_page >= 0) & (
                                        source_1_page < source_1_pages
                                    )
                                    source_1_tensor_word_in_range = (source_1_column >= 0) & (
                                        source_1_column <= source_1_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_1_next = tl.load(
                                        tl.multiple_of(
                                            source_1_tensor_ptr
                                            + source_1_page.to(tl.int64)
                                            * source_1_tensor_stride_page
                                            + source_1_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_1_more
                                                & source_1_tensor_page_in_range
                                                & source_1_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_1_sums += _word_hashes(source_1_bits, source_1_at)
                                    else:
                                        source_1_hash = _folded(
                                            source_1_hash, source_1_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_1_hash = tl.sum(source_1_sums, 1)
                                source_1_order = tl.full(slot.shape, source_1_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_1_hash, source_1_order, HASH_FORMAT
                                )
                            if source_2_tensor_ptr is not None:
                                source_2_number = 3
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_2_page = slot // source_2_page_size
                                source_2_first = (
                                    slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
                                )
                                source_2_hash = tl.zeros(slot.shape, tl.uint64)
                                source_2_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_2_any = is_hashed & (source_2_words > 0)
                                source_2_start_page_in_range = (source_2_page >= 0) & (
                                    source_2_page < source_2_pages
                                )
                                source_2_start_word_in_range = (source_2_first >= 0) & (
                                    source_2_first <= source_2_row_bytes // 8 - READ_BLOCK
                                )
                                source_2_next = tl.load(
                                    tl.multiple_of(
                                        source_2_tensor_ptr
                                        + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                                        + source_2_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_2_any
                                            & source_2_start_page_in_range
                                            & source_2_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_2_at in range(0, source_2_words, READ_BLOCK):
                                    source_2_bits = source_2_next.to(tl.uint64, bitcast=True)
                                    source_2_column = source_2_first + source_2_at + READ_BLOCK
                                    source_2_more = is_hashed & (
                                        source_2_at + READ_BLOCK < source_2_words
                                    )
                                    source_2_tensor_page_in_range = (source_2_page >= 0) & (
                                        source_2_page < source_2_pages
                                    )
                                    source_2_tensor_word_in_range = (source_2_column >= 0) & (
                                        source_2_column <= source_2_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_2_next = tl.load(
                                        tl.multiple_of(
                                            source_2_tensor_ptr
                                            + source_2_page.to(tl.int64)
                                            * source_2_tensor_stride_page
                                            + source_2_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_2_more
                                                & source_2_tensor_page_in_range
                                                & source_2_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_2_sums += _word_hashes(source_2_bits, source_2_at)
                                    else:
                                        source_2_hash = _folded(
                                            source_2_hash, source_2_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_2_hash = tl.sum(source_2_sums, 1)
                                source_2_order = tl.full(slot.shape, source_2_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_2_hash, source_2_order, HASH_FORMAT
                                )
                            if source_3_tensor_ptr is not None:
                                source_3_number = 4
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_3_page = slot // source_3_page_size
                                source_3_first = (
                                    slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
                                )
                                source_3_hash = tl.zeros(slot.shape, tl.uint64)
                                source_3_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_3_any = is_hashed & (source_3_words > 0)
                                source_3_start_page_in_range = (source_3_page >= 0) & (
                                    source_3_page < source_3_pages
                                )
                                source_3_start_word_in_range = (source_3_first >= 0) & (
                                    source_3_first <= source_3_row_bytes // 8 - READ_BLOCK
                                )
                                source_3_next = tl.load(
                                    tl.multiple_of(
                                        source_3_tensor_ptr
                                        + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                                        + source_3_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_3_any
                                            & source_3_start_page_in_range
                                            & source_3_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_3_at in range(0, source_3_words, READ_BLOCK):
                                    source_3_bits = source_3_next.to(tl.uint64, bitcast=True)
                                    source_3_column = source_3_first + source_3_at + READ_BLOCK
                                    source_3_more = is_hashed & (
                                        source_3_at + READ_BLOCK < source_3_words
                                    )
                                    source_3_tensor_page_in_range = (source_3_page >= 0) & (
                                        source_3_page < source_3_pages
                                    )
                                    source_3_tensor_word_in_range = (source_3_column >= 0) & (
                                        source_3_column <= source_3_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_3_next = tl.load(
                                        tl.multiple_of(
                                            source_3_tensor_ptr
                                            + source_3_page.to(tl.int64)
                                            * source_3_tensor_stride_page
                                            + source_3_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_3_more
                                                & source_3_tensor_page_in_range
                                                & source_3_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_3_sums += _word_hashes(source_3_bits, source_3_at)
                                    else:
                                        source_3_hash = _folded(
                                            source_3_hash, source_3_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_3_hash = tl.sum(source_3_sums, 1)
                                source_3_order = tl.full(slot.shape, source_3_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_3_hash, source_3_order, HASH_FORMAT
                                )
                            bytes_hash = bytes_total.to(tl.int64, bitcast=True)
                            bytes_hash = tl.where(
                                is_hashed, tl.where(read_limit == 0, 0, bytes_hash), 0
                            )
                            # Each canary in two stores of 16 bytes.
                            named = tl.join(token, position)
                            hashed = tl.join(chain_hash, bytes_hash)
                            named_slot_in_range = (slot >= 0) & (slot < num_slots)
                            tl.store(
                                tl.multiple_of(
                                    canary_buf_ptr + slot.to(tl.int64) * (slot_stride_bytes // 8),
                                    16,
                                )[:, None]
                                + tl.arange(0, 2)[None, :],
                                named,
                                mask=((is_stored & named_slot_in_range) != 0)[:, None],
                            )
                            hashed_slot_in_range = (slot >= 0) & (slot < num_slots)
                            tl.store(
                                tl.multiple_of(
                                    canary_buf_ptr
                                    + slot.to(tl.int64) * (slot_stride_bytes // 8)
                                    + CANARY_FIELD_PREV_HASH,
                                    16,
                                )[:, None]
                                + tl.arange(0, 2)[None, :],
                                hashed,
                                mask=((is_stored & hashed_slot_in_range) != 0)[:, None],
                            )
                            if wrong_count > 0:
                                # The entry of the request stored before each one: of an earlier
                                # lane, or carried here.
                                latest = tl.associative_scan(
                                    tl.where(is_stored, lane, -1), 0, _larger
                                )
                                earlier = tl.where(
                                    lane > 0, tl.gather(latest, tl.maximum(lane - 1, 0), 0), -1
                                )
                                at = tl.maximum(earlier, 0)
                                position_before = tl.where(
                                    earlier >= 0, tl.gather(position, at, 0), before_position
                                )
                                slot_before = tl.where(
                                    earlier >= 0, tl.gather(slot, at, 0), before_slot
                                )
                                # First what concerns the seed, then wild slots, then the input,
                                # then the order.
                                for kind_of_row in range(4):
                                    is_outside = tl.where(
                                        kind_of_row == 0, is_seed_row, is_wild & (kind_of_row == 1)
                                    )
                                    reasons = tl.where(
                                        is_outside, FAIL_REASON_SLOT_OUT_OF_RANGE, 0
                                    ).to(tl.int64)
                                    disorder = tl.where(
                                        is_out_of_turn, FAIL_REASON_WRITE_POSITION_MISMATCH, 0
                                    ).to(tl.int64)
                                    is_input_row = kind_of_row == 2
                                    reasons = tl.where(is_input_row, input_reasons, reasons)
                                    reasons = tl.where(kind_of_row == 3, disorder, reasons)
                                    is_violation = reasons != 0
                                    violation_slot = slot
                                    violation_position = position
                                    violation_token = tl.where(is_wild, 0, token)
                                    violation_expected_token = tl.where(
                                        is_input_row, expected_token, token
                                    )
                                    violation_expected_token = tl.where(
                                        is_wild, -1, violation_expected_token
                                    )
                                    violation_hash = tl.where(is_wild, 0, chain_hash)
                                    wanted = tl.where(
                                        is_input_row, expected_position, wanted_position
                                    )
                                    violation_aux = tl.where(kind_of_row == 0, seed, wanted)
                                    violation_aux = tl.where(is_wild, 0, violation_aux)
                                    evidence_position = tl.where(kind_of_row < 2, -1, wanted)
                                    evidence_stored = tl.where(is_wild, 0, bytes_hash)
                                    evidence_computed = evidence_stored
                                    evidence_previous = slot_before
                                    evidence_index = entry
                                    evidence_request = (
                                        tl.zeros([WRITE_TOKEN_BLOCK], tl.int64) + request
                                    )
                                    # One place in the ring for each violation of this block: a row
                                    # is taken by counting, never overwritten, and where the ring
                                    # ends the count goes on alone.
                                    violations = is_violation.to(tl.int32)
                                    violation_count = tl.sum(violations)
                                    if violation_count > 0:
                                        recorded = tl.load(violation_write_index_ptr).to(tl.int64)
                                        # A damaged or very high count stays as it is: it never
                                        # comes round to a row in use.
                                        if (recorded >= 0) & (recorded < VIOLATION_COUNT_LIMIT):
                                            first_row = tl.atomic_add(
                                                violation_write_index_ptr,
                                                violation_count,
                                            ).to(tl.int64)
                                            row = first_row + (
                                                tl.cumsum(violations, 0) - violations
                                            )
                                            kind = tl.zeros(row.shape, tl.int64) + kernel_kind
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS,
                                                kind,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_SLOT_IDX,
                                                violation_slot,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_POSITION,
                                                violation_position,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_STORED_TOKEN,
                                                violation_token,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_EXPECTED_TOKEN,
                                                violation_expected_token,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_STORED_CHAIN_HASH,
                                                violation_hash,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_EXPECTED_AUX,
                                                violation_aux,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            violation_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                violation_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + VIOLATION_FIELD_FAIL_REASON_BITS,
                                                reasons,
                                                mask=(
                                                    is_violation & violation_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            if evidence_ring_ptr is not None:
                                                steps = tl.zeros(row.shape, tl.int64) + step
                                                nothing = tl.zeros(row.shape, tl.int64)
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS,
                                                    evidence_position,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_STORED_REAL_KV_HASH,
                                                    evidence_stored,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH,
                                                    evidence_computed,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_PREVIOUS_SLOT,
                                                    evidence_previous,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_ENTRY,
                                                    evidence_index,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_STEP,
                                                    steps,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_REQUEST,
                                                    evidence_request,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                                                evidence_ring_violation_in_range = (row >= 0) & (
                                                    row < ring_capacity
                                                )
                                                tl.store(
                                                    evidence_ring_ptr
                                                    + row.to(tl.int64) * VIOLATION_FIELDS
                                                    + EVIDENCE_FIELD_RESERVED,
                                                    nothing,
                                                    mask=(
                                                        is_violation
                                                        & evidence_ring_violation_in_range
                                                    )
                                                    != 0,
                                                )
                            stored_here = tl.sum(counted)
                            if stored_here > 0:
                                tl.atomic_add(slot_run_counter_ptr, stored_here)
                            if block + 1 < block_last:
                                # What the next block begins with.
                                latest_lane = tl.max(tl.where(is_stored, lane, -1))
                                is_latest_lane = (lane == latest_lane) & is_stored
                                latest_position = tl.sum(tl.where(is_latest_lane, position, 0))
                                latest_slot = tl.sum(tl.where(is_latest_lane, slot, 0))
                                stored_now = stored_here + tl.zeros([1], tl.int64)
                                running = _power(
                                    PARALLEL_CHAIN_MULTIPLIER, stored_now, WRITE_POWER_BITS
                                ) * (running + tl.sum(scaled))
                                before_position = tl.where(
                                    latest_lane >= 0, latest_position, before_position
                                )
                                before_slot = tl.where(latest_lane >= 0, latest_slot, before_slot)
                                stored_before += stored_here
                    item += helper_count
        else:
            # Requests that write many entries, in the serial format: first their chains, a program
            # each, then tokens, positions and hashes of bytes, by blocks.
            by_block = helper < 0
            item = helper + tl.zeros([], tl.int64)
            item_end = item + 1
            while item < item_end:
                # The request and the block that an item is, and how many items there are: one walk
                # over the requests tells all three.
                item_total = tl.zeros([], tl.int64)
                request_of_item = tl.zeros([], tl.int64)
                block_of_item = tl.zeros([], tl.int64)
                for base in range(0, request_count, REQUEST_BLOCK):
                    # What there is to do for some of the requests that write many entries: each
                    # block of such a request where blocks are chained by themselves, else the
                    # request as a whole. What damaged offsets own is nothing.
                    owners = base + tl.arange(0, REQUEST_BLOCK)
                    is_owner = owners < request_count
                    firsts_boundary_in_range = (owners >= 0) & (owners < write_req_capacity + 1)
                    firsts = tl.load(
                        write_offsets_ptr + owners.to(tl.int64),
                        mask=firsts_boundary_in_range,
                        other=0,
                    )
                    lasts_boundary_in_range = (owners + 1 >= 0) & (
                        owners + 1 < write_req_capacity + 1
                    )
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
                item_end = item_total
                if item < item_total:
                    # One request's chain from the seed on, an entry after the other, the next entry
                    # read ahead of its turn. Its bytes are hashed by other programs, and here only
                    # for the record of something wrong.
                    request = request_of_item + tl.zeros([1], tl.int64)
                    chain_first_boundary_in_range = (request >= 0) & (
                        request < write_req_capacity + 1
                    )
                    first = tl.load(
                        write_offsets_ptr + request.to(tl.int64),
                        mask=chain_first_boundary_in_range,
                        other=0,
                    )
                    chain_last_boundary_in_range = (request + 1 >= 0) & (
                        request + 1 < write_req_capacity + 1
                    )
                    last = tl.load(
                        write_offsets_ptr + (request + 1).to(tl.int64),
                        mask=chain_last_boundary_in_range,
                        other=0,
                    )
                    # What a chain begins with: the successor of its seed, or a sequence's first
                    # hash.
                    write_seed_slot_indices_request_in_range = (request >= 0) & (
                        request < write_req_capacity
                    )
                    seed = tl.load(
                        write_seed_slot_indices_ptr + request.to(tl.int64),
                        mask=write_seed_slot_indices_request_in_range,
                        other=-1,
                    )
                    is_linked = (seed > 0) & (seed < num_slots)
                    is_cut = (seed < -1) | (seed >= num_slots)
                    seed_slot_in_range = (seed >= 0) & (seed < num_slots)
                    seed_named = tl.load(
                        tl.multiple_of(
                            canary_buf_ptr + seed.to(tl.int64) * (slot_stride_bytes // 8), 16
                        )[:, None]
                        + tl.arange(0, 2)[None, :],
                        mask=((is_linked & seed_slot_in_range) != 0)[:, None],
                        other=0,
                    )
                    seed_token, seed_position = tl.split(seed_named)
                    seed_slot_in_range = (seed >= 0) & (seed < num_slots)
                    seed_hash = tl.load(
                        canary_buf_ptr
                        + seed.to(tl.int64) * (slot_stride_bytes // 8)
                        + CANARY_FIELD_PREV_HASH,
                        mask=(is_linked & seed_slot_in_range) != 0,
                        other=0,
                    )
                    running = _successor(
                        seed_hash.to(tl.uint64, bitcast=True),
                        seed_token.to(tl.uint64, bitcast=True),
                        seed_position.to(tl.uint64, bitcast=True),
                        HASH_FORMAT,
                    )
                    # An evicted seed, in the padding slot, counts as the beginning of a sequence.
                    running = tl.where(is_linked, running, _first_hash())
                    checks_positions = tl.load(enable_chain_position_assert_ptr).to(tl.int64)
                    is_followed = is_linked & (checks_positions != 0)
                    before_position = seed_position
                    before_slot = seed
                    stored_before = tl.zeros(seed.shape, tl.int64)
                    one = first
                    one_slot_entry_in_range = (one >= 0) & (one < num_tokens)
                    next_slot = tl.load(
                        out_cache_loc_ptr + one.to(tl.int64),
                        mask=one_slot_entry_in_range,
                        other=-1,
                    )
                    one_token_entry_in_range = (one >= 0) & (one < num_tokens)
                    next_token = tl.load(
                        input_ids_ptr + one.to(tl.int64),
                        mask=one_token_entry_in_range,
                        other=0,
                    )
                    one_position_entry_in_range = (one >= 0) & (one < num_tokens)
                    next_position = tl.load(
                        positions_ptr + one.to(tl.int64),
                        mask=one_position_entry_in_range,
                        other=0,
                    )
                    for start in range(tl.max(first), tl.max(last), WRITE_TOKEN_BLOCK):
                        entry = start + lane
                        is_entry = entry < last
                        chain_slot_entry_in_range = (entry >= 0) & (entry < num_tokens)
                        slot = tl.load(
                            out_cache_loc_ptr + entry.to(tl.int64),
                            mask=(is_entry & chain_slot_entry_in_range) != 0,
                            other=-1,
                        )
                        chain_token_entry_in_range = (entry >= 0) & (entry < num_tokens)
                        token = tl.load(
                            input_ids_ptr + entry.to(tl.int64),
                            mask=(is_entry & chain_token_entry_in_range) != 0,
                            other=0,
                        )
                        chain_position_entry_in_range = (entry >= 0) & (entry < num_tokens)
                        position = tl.load(
                            positions_ptr + entry.to(tl.int64),
                            mask=(is_entry & chain_position_entry_in_range) != 0,
                            other=0,
                        )
                        is_stored = is_entry & (slot >= 0) & (slot < num_slots)
                        hash_before = tl.zeros([WRITE_TOKEN_BLOCK], tl.uint64)
                        position_before = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                        slot_before = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                        for turn in range(tl.minimum(tl.max(last) - start, WRITE_TOKEN_BLOCK)):
                            own = lane == turn
                            hash_before = tl.where(own, running, hash_before)
                            position_before = tl.where(own, before_position, position_before)
                            slot_before = tl.where(own, before_slot, slot_before)
                            one_slot = next_slot
                            one_token = next_token
                            one_position = next_position
                            one = start + turn + 1 + tl.zeros([1], tl.int64)
                            one_slot_entry_in_range = (one >= 0) & (one < num_tokens)
                            next_slot = tl.load(
                                out_cache_loc_ptr + one.to(tl.int64),
                                mask=one_slot_entry_in_range,
                                other=-1,
                            )
                            one_token_entry_in_range = (one >= 0) & (one < num_tokens)
                            next_token = tl.load(
                                input_ids_ptr + one.to(tl.int64),
                                mask=one_token_entry_in_range,
                                other=0,
                            )
                            one_position_entry_in_range = (one >= 0) & (one < num_tokens)
                            next_position = tl.load(
                                positions_ptr + one.to(tl.int64),
                                mask=one_position_entry_in_range,
                                other=0,
                            )
                            advanced = _successor(
                                running,
                                one_token.to(tl.uint64, bitcast=True),
                                one_position.to(tl.uint64, bitcast=True),
                                HASH_FORMAT,
                            )
                            is_one_stored = (one_slot >= 0) & (one_slot < num_slots)
                            running = tl.where(is_one_stored, advanced, running)
                            before_position = tl.where(is_one_stored, one_position, before_position)
                            before_slot = tl.where(is_one_stored, one_slot, before_slot)
                        chain_hash = hash_before.to(tl.int64, bitcast=True)
                        chain_slot_in_range = (slot >= 0) & (slot < num_slots)
                        tl.store(
                            canary_buf_ptr
                            + slot.to(tl.int64) * (slot_stride_bytes // 8)
                            + CANARY_FIELD_PREV_HASH,
                            chain_hash,
                            mask=(is_stored & chain_slot_in_range) != 0,
                        )
                        counted = is_stored.to(tl.int64)
                        is_first = is_stored & (stored_before + tl.cumsum(counted, 0) == 1)
                        # What is wrong with entries, besides their bytes.
                        is_wild = is_entry & (slot >= num_slots)
                        is_seed_row = is_first & is_cut
                        wanted_position = position_before + 1
                        is_out_of_turn = is_stored & is_followed & (position != wanted_position)
                        input_reasons = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                        expected_token = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                        expected_position = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64)
                        if expected_input_tokens_ptr is not None:
                            expected_input_tokens_entry_in_range = (entry >= 0) & (
                                entry < num_tokens
                            )
                            expected_token = tl.load(
                                expected_input_tokens_ptr + entry.to(tl.int64),
                                mask=(is_entry & expected_input_tokens_entry_in_range) != 0,
                                other=0,
                            )
                            input_reasons |= tl.where(
                                token != expected_token, FAIL_REASON_WRITE_TOKEN_MISMATCH, 0
                            )
                        if expected_input_positions_ptr is not None:
                            expected_input_positions_entry_in_range = (entry >= 0) & (
                                entry < num_tokens
                            )
                            expected_position = tl.load(
                                expected_input_positions_ptr + entry.to(tl.int64),
                                mask=(is_entry & expected_input_positions_entry_in_range) != 0,
                                other=0,
                            )
                            is_moved = position != expected_position
                            input_reasons |= tl.where(
                                is_moved, FAIL_REASON_WRITE_POSITION_MISMATCH, 0
                            )
                        input_reasons = tl.where(is_stored, input_reasons, 0)
                        is_wrong = is_wild | is_seed_row | is_out_of_turn | (input_reasons != 0)
                        wrong_count = tl.sum(is_wrong.to(tl.int32))
                        if wrong_count > 0:
                            is_hashed = is_stored
                            # The hash over the true K or V bytes of each slot: 0 without a source,
                            # and in mode NONE.
                            bytes_total = tl.zeros(slot.shape, tl.uint64)
                            if source_0_tensor_ptr is not None:
                                source_0_number = 1
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_0_page = slot // source_0_page_size
                                source_0_first = (
                                    slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
                                )
                                source_0_hash = tl.zeros(slot.shape, tl.uint64)
                                source_0_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_0_any = is_hashed & (source_0_words > 0)
                                source_0_start_page_in_range = (source_0_page >= 0) & (
                                    source_0_page < source_0_pages
                                )
                                source_0_start_word_in_range = (source_0_first >= 0) & (
                                    source_0_first <= source_0_row_bytes // 8 - READ_BLOCK
                                )
                                source_0_next = tl.load(
                                    tl.multiple_of(
                                        source_0_tensor_ptr
                                        + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                                        + source_0_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_0_any
                                            & source_0_start_page_in_range
                                            & source_0_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_0_at in range(0, source_0_words, READ_BLOCK):
                                    source_0_bits = source_0_next.to(tl.uint64, bitcast=True)
                                    source_0_column = source_0_first + source_0_at + READ_BLOCK
                                    source_0_more = is_hashed & (
                                        source_0_at + READ_BLOCK < source_0_words
                                    )
                                    source_0_tensor_page_in_range = (source_0_page >= 0) & (
                                        source_0_page < source_0_pages
                                    )
                                    source_0_tensor_word_in_range = (source_0_column >= 0) & (
                                        source_0_column <= source_0_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_0_next = tl.load(
                                        tl.multiple_of(
                                            source_0_tensor_ptr
                                            + source_0_page.to(tl.int64)
                                            * source_0_tensor_stride_page
                                            + source_0_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_0_more
                                                & source_0_tensor_page_in_range
                                                & source_0_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_0_sums += _word_hashes(source_0_bits, source_0_at)
                                    else:
                                        source_0_hash = _folded(
                                            source_0_hash, source_0_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_0_hash = tl.sum(source_0_sums, 1)
                                source_0_order = tl.full(slot.shape, source_0_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_0_hash, source_0_order, HASH_FORMAT
                                )
                            if source_1_tensor_ptr is not None:
                                source_1_number = 2
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_1_page = slot // source_1_page_size
                                source_1_first = (
                                    slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
                                )
                                source_1_hash = tl.zeros(slot.shape, tl.uint64)
                                source_1_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_1_any = is_hashed & (source_1_words > 0)
                                source_1_start_page_in_range = (source_1_page >= 0) & (
                                    source_1_page < source_1_pages
                                )
                                source_1_start_word_in_range = (source_1_first >= 0) & (
                                    source_1_first <= source_1_row_bytes // 8 - READ_BLOCK
                                )
                                source_1_next = tl.load(
                                    tl.multiple_of(
                                        source_1_tensor_ptr
                                        + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                                        + source_1_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_1_any
                                            & source_1_start_page_in_range
                                            & source_1_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_1_at in range(0, source_1_words, READ_BLOCK):
                                    source_1_bits = source_1_next.to(tl.uint64, bitcast=True)
                                    source_1_column = source_1_first + source_1_at + READ_BLOCK
                                    source_1_more = is_hashed & (
                                        source_1_at + READ_BLOCK < source_1_words
                                    )
                                    source_1_tensor_page_in_range = (source_1_page >= 0) & (
                                        source_1_page < source_1_pages
                                    )
                                    source_1_tensor_word_in_range = (source_1_column >= 0) & (
                                        source_1_column <= source_1_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_1_next = tl.load(
                                        tl.multiple_of(
                                            source_1_tensor_ptr
                                            + source_1_page.to(tl.int64)
                                            * source_1_tensor_stride_page
                                            + source_1_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_1_more
                                                & source_1_tensor_page_in_range
                                                & source_1_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_1_sums += _word_hashes(source_1_bits, source_1_at)
                                    else:
                                        source_1_hash = _folded(
                                            source_1_hash, source_1_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_1_hash = tl.sum(source_1_sums, 1)
                                source_1_order = tl.full(slot.shape, source_1_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_1_hash, source_1_order, HASH_FORMAT
                                )
                            if source_2_tensor_ptr is not None:
                                source_2_number = 3
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_2_page = slot // source_2_page_size
                                source_2_first = (
                                    slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
                                )
                                source_2_hash = tl.zeros(slot.shape, tl.uint64)
                                source_2_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_2_any = is_hashed & (source_2_words > 0)
                                source_2_start_page_in_range = (source_2_page >= 0) & (
                                    source_2_page < source_2_pages
                                )
                                source_2_start_word_in_range = (source_2_first >= 0) & (
                                    source_2_first <= source_2_row_bytes // 8 - READ_BLOCK
                                )
                                source_2_next = tl.load(
                                    tl.multiple_of(
                                        source_2_tensor_ptr
                                        + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                                        + source_2_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_2_any
                                            & source_2_start_page_in_range
                                            & source_2_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_2_at in range(0, source_2_words, READ_BLOCK):
                                    source_2_bits = source_2_next.to(tl.uint64, bitcast=True)
                                    source_2_column = source_2_first + source_2_at + READ_BLOCK
                                    source_2_more = is_hashed & (
                                        source_2_at + READ_BLOCK < source_2_words
                                    )
                                    source_2_tensor_page_in_range = (source_2_page >= 0) & (
                                        source_2_page < source_2_pages
                                    )
                                    source_2_tensor_word_in_range = (source_2_column >= 0) & (
                                        source_2_column <= source_2_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_2_next = tl.load(
                                        tl.multiple_of(
                                            source_2_tensor_ptr
                                            + source_2_page.to(tl.int64)
                                            * source_2_tensor_stride_page
                                            + source_2_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_2_more
                                                & source_2_tensor_page_in_range
                                                & source_2_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_2_sums += _word_hashes(source_2_bits, source_2_at)
                                    else:
                                        source_2_hash = _folded(
                                            source_2_hash, source_2_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_2_hash = tl.sum(source_2_sums, 1)
                                source_2_order = tl.full(slot.shape, source_2_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_2_hash, source_2_order, HASH_FORMAT
                                )
                            if source_3_tensor_ptr is not None:
                                source_3_number = 4
                                # The words of one source, some at a time, the next ahead of their
                                # turn; no hole of a row is read.
                                source_3_page = slot // source_3_page_size
                                source_3_first = (
                                    slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
                                )
                                source_3_hash = tl.zeros(slot.shape, tl.uint64)
                                source_3_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                                source_3_any = is_hashed & (source_3_words > 0)
                                source_3_start_page_in_range = (source_3_page >= 0) & (
                                    source_3_page < source_3_pages
                                )
                                source_3_start_word_in_range = (source_3_first >= 0) & (
                                    source_3_first <= source_3_row_bytes // 8 - READ_BLOCK
                                )
                                source_3_next = tl.load(
                                    tl.multiple_of(
                                        source_3_tensor_ptr
                                        + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                                        + source_3_first.to(tl.int64),
                                        16,
                                    )[:, None]
                                    + tl.arange(0, READ_BLOCK)[None, :],
                                    mask=(
                                        (
                                            source_3_any
                                            & source_3_start_page_in_range
                                            & source_3_start_word_in_range
                                        )
                                        != 0
                                    )[:, None],
                                    other=0,
                                )
                                for source_3_at in range(0, source_3_words, READ_BLOCK):
                                    source_3_bits = source_3_next.to(tl.uint64, bitcast=True)
                                    source_3_column = source_3_first + source_3_at + READ_BLOCK
                                    source_3_more = is_hashed & (
                                        source_3_at + READ_BLOCK < source_3_words
                                    )
                                    source_3_tensor_page_in_range = (source_3_page >= 0) & (
                                        source_3_page < source_3_pages
                                    )
                                    source_3_tensor_word_in_range = (source_3_column >= 0) & (
                                        source_3_column <= source_3_row_bytes // 8 - READ_BLOCK
                                    )
                                    source_3_next = tl.load(
                                        tl.multiple_of(
                                            source_3_tensor_ptr
                                            + source_3_page.to(tl.int64)
                                            * source_3_tensor_stride_page
                                            + source_3_column.to(tl.int64),
                                            16,
                                        )[:, None]
                                        + tl.arange(0, READ_BLOCK)[None, :],
                                        mask=(
                                            (
                                                source_3_more
                                                & source_3_tensor_page_in_range
                                                & source_3_tensor_word_in_range
                                            )
                                            != 0
                                        )[:, None],
                                        other=0,
                                    )
                                    if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                        source_3_sums += _word_hashes(source_3_bits, source_3_at)
                                    else:
                                        source_3_hash = _folded(
                                            source_3_hash, source_3_bits, READ_BLOCK
                                        )
                                if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                    source_3_hash = tl.sum(source_3_sums, 1)
                                source_3_order = tl.full(slot.shape, source_3_number, tl.uint64)
                                bytes_total = _with_source(
                                    bytes_total, source_3_hash, source_3_order, HASH_FORMAT
                                )
                            bytes_hash = bytes_total.to(tl.int64, bitcast=True)
                            bytes_hash = tl.where(
                                is_hashed, tl.where(read_limit == 0, 0, bytes_hash), 0
                            )
                            # First what concerns the seed, then wild slots, then the input, then
                            # the order.
                            for kind_of_row in range(4):
                                is_outside = tl.where(
                                    kind_of_row == 0, is_seed_row, is_wild & (kind_of_row == 1)
                                )
                                reasons = tl.where(is_outside, FAIL_REASON_SLOT_OUT_OF_RANGE, 0).to(
                                    tl.int64
                                )
                                disorder = tl.where(
                                    is_out_of_turn, FAIL_REASON_WRITE_POSITION_MISMATCH, 0
                                ).to(tl.int64)
                                is_input_row = kind_of_row == 2
                                reasons = tl.where(is_input_row, input_reasons, reasons)
                                reasons = tl.where(kind_of_row == 3, disorder, reasons)
                                is_violation = reasons != 0
                                violation_slot = slot
                                violation_position = position
                                violation_token = tl.where(is_wild, 0, token)
                                violation_expected_token = tl.where(
                                    is_input_row, expected_token, token
                                )
                                violation_expected_token = tl.where(
                                    is_wild, -1, violation_expected_token
                                )
                                violation_hash = tl.where(is_wild, 0, chain_hash)
                                wanted = tl.where(is_input_row, expected_position, wanted_position)
                                violation_aux = tl.where(kind_of_row == 0, seed, wanted)
                                violation_aux = tl.where(is_wild, 0, violation_aux)
                                evidence_position = tl.where(kind_of_row < 2, -1, wanted)
                                evidence_stored = tl.where(is_wild, 0, bytes_hash)
                                evidence_computed = evidence_stored
                                evidence_previous = slot_before
                                evidence_index = entry
                                evidence_request = tl.zeros([WRITE_TOKEN_BLOCK], tl.int64) + request
                                # One place in the ring for each violation of this block: a row is
                                # taken by counting, never overwritten, and where the ring ends the
                                # count goes on alone.
                                violations = is_violation.to(tl.int32)
                                violation_count = tl.sum(violations)
                                if violation_count > 0:
                                    recorded = tl.load(violation_write_index_ptr).to(tl.int64)
                                    # A damaged or very high count stays as it is: it never comes
                                    # round to a row in use.
                                    if (recorded >= 0) & (recorded < VIOLATION_COUNT_LIMIT):
                                        first_row = tl.atomic_add(
                                            violation_write_index_ptr,
                                            violation_count,
                                        ).to(tl.int64)
                                        row = first_row + (tl.cumsum(violations, 0) - violations)
                                        kind = tl.zeros(row.shape, tl.int64) + kernel_kind
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS,
                                            kind,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_SLOT_IDX,
                                            violation_slot,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_POSITION,
                                            violation_position,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_STORED_TOKEN,
                                            violation_token,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_EXPECTED_TOKEN,
                                            violation_expected_token,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_STORED_CHAIN_HASH,
                                            violation_hash,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_EXPECTED_AUX,
                                            violation_aux,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        violation_ring_violation_in_range = (row >= 0) & (
                                            row < ring_capacity
                                        )
                                        tl.store(
                                            violation_ring_ptr
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + VIOLATION_FIELD_FAIL_REASON_BITS,
                                            reasons,
                                            mask=(is_violation & violation_ring_violation_in_range)
                                            != 0,
                                        )
                                        if evidence_ring_ptr is not None:
                                            steps = tl.zeros(row.shape, tl.int64) + step
                                            nothing = tl.zeros(row.shape, tl.int64)
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS,
                                                evidence_position,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_STORED_REAL_KV_HASH,
                                                evidence_stored,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH,
                                                evidence_computed,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_PREVIOUS_SLOT,
                                                evidence_previous,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_ENTRY,
                                                evidence_index,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_STEP,
                                                steps,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_REQUEST,
                                                evidence_request,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                                            evidence_ring_violation_in_range = (row >= 0) & (
                                                row < ring_capacity
                                            )
                                            tl.store(
                                                evidence_ring_ptr
                                                + row.to(tl.int64) * VIOLATION_FIELDS
                                                + EVIDENCE_FIELD_RESERVED,
                                                nothing,
                                                mask=(
                                                    is_violation & evidence_ring_violation_in_range
                                                )
                                                != 0,
                                            )
                        stored_before += tl.sum(counted)
                    stored = tl.sum(stored_before)
                    if stored > 0:
                        tl.atomic_add(slot_run_counter_ptr, stored)
                    item += helper_count
            by_block = helper >= 0
            item = item - item_end
            item_end = item + 1
            while item < item_end:
                # The request and the block that an item is, and how many items there are: one walk
                # over the requests tells all three.
                item_total = tl.zeros([], tl.int64)
                request_of_item = tl.zeros([], tl.int64)
                block_of_item = tl.zeros([], tl.int64)
                for base in range(0, request_count, REQUEST_BLOCK):
                    # What there is to do for some of the requests that write many entries: each
                    # block of such a request where blocks are chained by themselves, else the
                    # request as a whole. What damaged offsets own is nothing.
                    owners = base + tl.arange(0, REQUEST_BLOCK)
                    is_owner = owners < request_count
                    firsts_boundary_in_range = (owners >= 0) & (owners < write_req_capacity + 1)
                    firsts = tl.load(
                        write_offsets_ptr + owners.to(tl.int64),
                        mask=firsts_boundary_in_range,
                        other=0,
                    )
                    lasts_boundary_in_range = (owners + 1 >= 0) & (
                        owners + 1 < write_req_capacity + 1
                    )
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
                item_end = item_total
                if item < item_total:
                    # Token, position and hash of bytes of a block whose chain another program
                    # walks.
                    request = request_of_item + tl.zeros([1], tl.int64)
                    bytes_first_boundary_in_range = (request >= 0) & (
                        request < write_req_capacity + 1
                    )
                    first = tl.load(
                        write_offsets_ptr + request.to(tl.int64),
                        mask=bytes_first_boundary_in_range,
                        other=0,
                    )
                    bytes_last_boundary_in_range = (request + 1 >= 0) & (
                        request + 1 < write_req_capacity + 1
                    )
                    last = tl.load(
                        write_offsets_ptr + (request + 1).to(tl.int64),
                        mask=bytes_last_boundary_in_range,
                        other=0,
                    )
                    entry = first + block_of_item * WRITE_TOKEN_BLOCK + lane
                    is_entry = entry < last
                    bytes_slot_entry_in_range = (entry >= 0) & (entry < num_tokens)
                    slot = tl.load(
                        out_cache_loc_ptr + entry.to(tl.int64),
                        mask=(is_entry & bytes_slot_entry_in_range) != 0,
                        other=-1,
                    )
                    bytes_token_entry_in_range = (entry >= 0) & (entry < num_tokens)
                    token = tl.load(
                        input_ids_ptr + entry.to(tl.int64),
                        mask=(is_entry & bytes_token_entry_in_range) != 0,
                        other=0,
                    )
                    bytes_position_entry_in_range = (entry >= 0) & (entry < num_tokens)
                    position = tl.load(
                        positions_ptr + entry.to(tl.int64),
                        mask=(is_entry & bytes_position_entry_in_range) != 0,
                        other=0,
                    )
                    is_hashed = is_entry & (slot >= 0) & (slot < num_slots)
                    # The hash over the true K or V bytes of each slot: 0 without a source, and in
                    # mode NONE.
                    bytes_total = tl.zeros(slot.shape, tl.uint64)
                    if source_0_tensor_ptr is not None:
                        source_0_number = 1
                        # The words of one source, some at a time, the next ahead of their turn; no
                        # hole of a row is read.
                        source_0_page = slot // source_0_page_size
                        source_0_first = (
                            slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
                        )
                        source_0_hash = tl.zeros(slot.shape, tl.uint64)
                        source_0_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                        source_0_any = is_hashed & (source_0_words > 0)
                        source_0_start_page_in_range = (source_0_page >= 0) & (
                            source_0_page < source_0_pages
                        )
                        source_0_start_word_in_range = (source_0_first >= 0) & (
                            source_0_first <= source_0_row_bytes // 8 - READ_BLOCK
                        )
                        source_0_next = tl.load(
                            tl.multiple_of(
                                source_0_tensor_ptr
                                + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                                + source_0_first.to(tl.int64),
                                16,
                            )[:, None]
                            + tl.arange(0, READ_BLOCK)[None, :],
                            mask=(
                                (
                                    source_0_any
                                    & source_0_start_page_in_range
                                    & source_0_start_word_in_range
                                )
                                != 0
                            )[:, None],
                            other=0,
                        )
                        for source_0_at in range(0, source_0_words, READ_BLOCK):
                            source_0_bits = source_0_next.to(tl.uint64, bitcast=True)
                            source_0_column = source_0_first + source_0_at + READ_BLOCK
                            source_0_more = is_hashed & (source_0_at + READ_BLOCK < source_0_words)
                            source_0_tensor_page_in_range = (source_0_page >= 0) & (
                                source_0_page < source_0_pages
                            )
                            source_0_tensor_word_in_range = (source_0_column >= 0) & (
                                source_0_column <= source_0_row_bytes // 8 - READ_BLOCK
                            )
                            source_0_next = tl.load(
                                tl.multiple_of(
                                    source_0_tensor_ptr
                                    + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                                    + source_0_column.to(tl.int64),
                                    16,
                                )[:, None]
                                + tl.arange(0, READ_BLOCK)[None, :],
                                mask=(
                                    (
                                        source_0_more
                                        & source_0_tensor_page_in_range
                                        & source_0_tensor_word_in_range
                                    )
                                    != 0
                                )[:, None],
                                other=0,
                            )
                            if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                source_0_sums += _word_hashes(source_0_bits, source_0_at)
                            else:
                                source_0_hash = _folded(source_0_hash, source_0_bits, READ_BLOCK)
                        if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                            source_0_hash = tl.sum(source_0_sums, 1)
                        source_0_order = tl.full(slot.shape, source_0_number, tl.uint64)
                        bytes_total = _with_source(
                            bytes_total, source_0_hash, source_0_order, HASH_FORMAT
                        )
                    if source_1_tensor_ptr is not None:
                        source_1_number = 2
                        # The words of one source, some at a time, the next ahead of their turn; no
                        # hole of a row is read.
                        source_1_page = slot // source_1_page_size
                        source_1_first = (
                            slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
                        )
                        source_1_hash = tl.zeros(slot.shape, tl.uint64)
                        source_1_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                        source_1_any = is_hashed & (source_1_words > 0)
                        source_1_start_page_in_range = (source_1_page >= 0) & (
                            source_1_page < source_1_pages
                        )
                        source_1_start_word_in_range = (source_1_first >= 0) & (
                            source_1_first <= source_1_row_bytes // 8 - READ_BLOCK
                        )
                        source_1_next = tl.load(
                            tl.multiple_of(
                                source_1_tensor_ptr
                                + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                                + source_1_first.to(tl.int64),
                                16,
                            )[:, None]
                            + tl.arange(0, READ_BLOCK)[None, :],
                            mask=(
                                (
                                    source_1_any
                                    & source_1_start_page_in_range
                                    & source_1_start_word_in_range
                                )
                                != 0
                            )[:, None],
                            other=0,
                        )
                        for source_1_at in range(0, source_1_words, READ_BLOCK):
                            source_1_bits = source_1_next.to(tl.uint64, bitcast=True)
                            source_1_column = source_1_first + source_1_at + READ_BLOCK
                            source_1_more = is_hashed & (source_1_at + READ_BLOCK < source_1_words)
                            source_1_tensor_page_in_range = (source_1_page >= 0) & (
                                source_1_page < source_1_pages
                            )
                            source_1_tensor_word_in_range = (source_1_column >= 0) & (
                                source_1_column <= source_1_row_bytes // 8 - READ_BLOCK
                            )
                            source_1_next = tl.load(
                                tl.multiple_of(
                                    source_1_tensor_ptr
                                    + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                                    + source_1_column.to(tl.int64),
                                    16,
                                )[:, None]
                                + tl.arange(0, READ_BLOCK)[None, :],
                                mask=(
                                    (
                                        source_1_more
                                        & source_1_tensor_page_in_range
                                        & source_1_tensor_word_in_range
                                    )
                                    != 0
                                )[:, None],
                                other=0,
                            )
                            if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                source_1_sums += _word_hashes(source_1_bits, source_1_at)
                            else:
                                source_1_hash = _folded(source_1_hash, source_1_bits, READ_BLOCK)
                        if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                            source_1_hash = tl.sum(source_1_sums, 1)
                        source_1_order = tl.full(slot.shape, source_1_number, tl.uint64)
                        bytes_total = _with_source(
                            bytes_total, source_1_hash, source_1_order, HASH_FORMAT
                        )
                    if source_2_tensor_ptr is not None:
                        source_2_number = 3
                        # The words of one source, some at a time, the next ahead of their turn; no
                        # hole of a row is read.
                        source_2_page = slot // source_2_page_size
                        source_2_first = (
                            slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
                        )
                        source_2_hash = tl.zeros(slot.shape, tl.uint64)
                        source_2_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                        source_2_any = is_hashed & (source_2_words > 0)
                        source_2_start_page_in_range = (source_2_page >= 0) & (
                            source_2_page < source_2_pages
                        )
                        source_2_start_word_in_range = (source_2_first >= 0) & (
                            source_2_first <= source_2_row_bytes // 8 - READ_BLOCK
                        )
                        source_2_next = tl.load(
                            tl.multiple_of(
                                source_2_tensor_ptr
                                + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                                + source_2_first.to(tl.int64),
                                16,
                            )[:, None]
                            + tl.arange(0, READ_BLOCK)[None, :],
                            mask=(
                                (
                                    source_2_any
                                    & source_2_start_page_in_range
                                    & source_2_start_word_in_range
                                )
                                != 0
                            )[:, None],
                            other=0,
                        )
                        for source_2_at in range(0, source_2_words, READ_BLOCK):
                            source_2_bits = source_2_next.to(tl.uint64, bitcast=True)
                            source_2_column = source_2_first + source_2_at + READ_BLOCK
                            source_2_more = is_hashed & (source_2_at + READ_BLOCK < source_2_words)
                            source_2_tensor_page_in_range = (source_2_page >= 0) & (
                                source_2_page < source_2_pages
                            )
                            source_2_tensor_word_in_range = (source_2_column >= 0) & (
                                source_2_column <= source_2_row_bytes // 8 - READ_BLOCK
                            )
                            source_2_next = tl.load(
                                tl.multiple_of(
                                    source_2_tensor_ptr
                                    + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                                    + source_2_column.to(tl.int64),
                                    16,
                                )[:, None]
                                + tl.arange(0, READ_BLOCK)[None, :],
                                mask=(
                                    (
                                        source_2_more
                                        & source_2_tensor_page_in_range
                                        & source_2_tensor_word_in_range
                                    )
                                    != 0
                                )[:, None],
                                other=0,
                            )
                            if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                source_2_sums += _word_hashes(source_2_bits, source_2_at)
                            else:
                                source_2_hash = _folded(source_2_hash, source_2_bits, READ_BLOCK)
                        if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                            source_2_hash = tl.sum(source_2_sums, 1)
                        source_2_order = tl.full(slot.shape, source_2_number, tl.uint64)
                        bytes_total = _with_source(
                            bytes_total, source_2_hash, source_2_order, HASH_FORMAT
                        )
                    if source_3_tensor_ptr is not None:
                        source_3_number = 4
                        # The words of one source, some at a time, the next ahead of their turn; no
                        # hole of a row is read.
                        source_3_page = slot // source_3_page_size
                        source_3_first = (
                            slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
                        )
                        source_3_hash = tl.zeros(slot.shape, tl.uint64)
                        source_3_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
                        source_3_any = is_hashed & (source_3_words > 0)
                        source_3_start_page_in_range = (source_3_page >= 0) & (
                            source_3_page < source_3_pages
                        )
                        source_3_start_word_in_range = (source_3_first >= 0) & (
                            source_3_first <= source_3_row_bytes // 8 - READ_BLOCK
                        )
                        source_3_next = tl.load(
                            tl.multiple_of(
                                source_3_tensor_ptr
                                + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                                + source_3_first.to(tl.int64),
                                16,
                            )[:, None]
                            + tl.arange(0, READ_BLOCK)[None, :],
                            mask=(
                                (
                                    source_3_any
                                    & source_3_start_page_in_range
                                    & source_3_start_word_in_range
                                )
                                != 0
                            )[:, None],
                            other=0,
                        )
                        for source_3_at in range(0, source_3_words, READ_BLOCK):
                            source_3_bits = source_3_next.to(tl.uint64, bitcast=True)
                            source_3_column = source_3_first + source_3_at + READ_BLOCK
                            source_3_more = is_hashed & (source_3_at + READ_BLOCK < source_3_words)
                            source_3_tensor_page_in_range = (source_3_page >= 0) & (
                                source_3_page < source_3_pages
                            )
                            source_3_tensor_word_in_range = (source_3_column >= 0) & (
                                source_3_column <= source_3_row_bytes // 8 - READ_BLOCK
                            )
                            source_3_next = tl.load(
                                tl.multiple_of(
                                    source_3_tensor_ptr
                                    + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                                    + source_3_column.to(tl.int64),
                                    16,
                                )[:, None]
                                + tl.arange(0, READ_BLOCK)[None, :],
                                mask=(
                                    (
                                        source_3_more
                                        & source_3_tensor_page_in_range
                                        & source_3_tensor_word_in_range
                                    )
                                    != 0
                                )[:, None],
                                other=0,
                            )
                            if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                                source_3_sums += _word_hashes(source_3_bits, source_3_at)
                            else:
                                source_3_hash = _folded(source_3_hash, source_3_bits, READ_BLOCK)
                        if HASH_FORMAT == HASH_FORMAT_PARALLEL:
                            source_3_hash = tl.sum(source_3_sums, 1)
                        source_3_order = tl.full(slot.shape, source_3_number, tl.uint64)
                        bytes_total = _with_source(
                            bytes_total, source_3_hash, source_3_order, HASH_FORMAT
                        )
                    bytes_hash = bytes_total.to(tl.int64, bitcast=True)
                    bytes_hash = tl.where(is_hashed, tl.where(read_limit == 0, 0, bytes_hash), 0)
                    named = tl.join(token, position)
                    bytes_named_slot_in_range = (slot >= 0) & (slot < num_slots)
                    tl.store(
                        tl.multiple_of(
                            canary_buf_ptr + slot.to(tl.int64) * (slot_stride_bytes // 8), 16
                        )[:, None]
                        + tl.arange(0, 2)[None, :],
                        named,
                        mask=((is_hashed & bytes_named_slot_in_range) != 0)[:, None],
                    )
                    bytes_hash_slot_in_range = (slot >= 0) & (slot < num_slots)
                    tl.store(
                        canary_buf_ptr
                        + slot.to(tl.int64) * (slot_stride_bytes // 8)
                        + CANARY_FIELD_REAL_KV_HASH,
                        bytes_hash,
                        mask=(is_hashed & bytes_hash_slot_in_range) != 0,
                    )
                item += helper_count
