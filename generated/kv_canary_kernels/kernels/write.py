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
CANARY_FIELD_POSITION = tl.constexpr(constants.CANARY_FIELD_POSITION)
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
TOKEN_BLOCK = tl.constexpr(128)
REQUEST_BLOCK = tl.constexpr(1024)
PARTIAL_WORDS = tl.constexpr(2)
HASH_FORMAT_PARALLEL = tl.constexpr(1)
FAIL_REASON_WRITE_TOKEN_MISMATCH = tl.constexpr(8)
FAIL_REASON_WRITE_POSITION_MISMATCH = tl.constexpr(16)
FAIL_REASON_SLOT_OUT_OF_RANGE = tl.constexpr(64)
REAL_KV_HASH_MODE_NONE = tl.constexpr(0)
REAL_KV_HASH_MODE_ALL = tl.constexpr(2)

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
    "source_0_read_bytes",
    "source_1_page_size",
    "source_1_num_bytes_per_token",
    "source_1_read_bytes",
    "source_2_page_size",
    "source_2_num_bytes_per_token",
    "source_2_read_bytes",
    "source_3_page_size",
    "source_3_num_bytes_per_token",
    "source_3_read_bytes",
    "kernel_kind",
    "real_kv_hash_mode",
]


@triton.jit
def _splitmix64(x):
    # The finaliser of splitmix64 alone: modulo 2^64, logical shifts.
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)


@triton.jit
def _first_hash():
    # What stands in the first canary of a sequence: the same in both formats.
    return _splitmix64(tl.full([1], CANARY_CHAIN_ANCHOR, tl.uint64))


@triton.jit
def _token_hash(token, position, FORMAT: tl.constexpr):
    # What a token adds to a parallel chain; a serial one takes token and position as they are.
    if FORMAT == HASH_FORMAT_PARALLEL:
        return _splitmix64(_splitmix64(token + GOLDEN_RATIO_64) ^ position)
    else:
        return token


@triton.jit
def _successor(previous_hash, token, position, FORMAT: tl.constexpr):
    # The chain hash after a token, from the one before it.
    if FORMAT == HASH_FORMAT_PARALLEL:
        return previous_hash * PARALLEL_CHAIN_MULTIPLIER + _token_hash(token, position, FORMAT)
    else:
        return _splitmix64(_splitmix64(_splitmix64(previous_hash) ^ token) ^ position)


@triton.jit
def _with_word(accumulator, word, index, FORMAT: tl.constexpr):
    # The hash of one source after its next 8 bytes.
    if FORMAT == HASH_FORMAT_PARALLEL:
        return accumulator + _splitmix64(word ^ _splitmix64((index + 1) * GOLDEN_RATIO_64))
    else:
        return _splitmix64(accumulator ^ word)


@triton.jit
def _with_source(total, accumulator, number, FORMAT: tl.constexpr):
    # The hash of all sources after the next one, counted from 1.
    if FORMAT == HASH_FORMAT_PARALLEL:
        return total + _splitmix64(accumulator + number * GOLDEN_RATIO_64)
    else:
        return _splitmix64(total ^ accumulator)


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
    source_0_read_bytes: tl.int64,
    source_1_page_size: tl.int64,
    source_1_num_bytes_per_token: tl.int64,
    source_1_read_bytes: tl.int64,
    source_2_page_size: tl.int64,
    source_2_num_bytes_per_token: tl.int64,
    source_2_read_bytes: tl.int64,
    source_3_page_size: tl.int64,
    source_3_num_bytes_per_token: tl.int64,
    source_3_read_bytes: tl.int64,
    kernel_kind: tl.int64,
    real_kv_hash_mode: tl.int64,
    HASH_FORMAT: tl.constexpr,
):
    request = tl.program_id(0)
    lane = tl.arange(0, TOKEN_BLOCK)
    valid = tl.load(write_num_valid_reqs_ptr).to(tl.int64)
    # Whatever a damaged plan says, no request past its own arrays is walked.
    request_count = tl.minimum(tl.maximum(valid, 0), write_req_capacity)
    step = tl.zeros([], tl.int64)
    if evidence_ring_ptr is not None:
        step = tl.load(kernel_run_counter_ptr)
    # Beside an evidence ring the launch is counted after it: every program reads one step.
    if evidence_ring_ptr is None:
        if request == 0:
            tl.atomic_add(kernel_run_counter_ptr, 1)
    if request < request_count:
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
        is_whole = (first >= 0) & (first <= last) & (last <= num_tokens)
        if is_whole:
            # One request: its chain from the seed on, a block of entries at a time. The blocks after the
            # first leave the hashes of bytes to other programs.
            write_seed_slot_indices_request_in_range = (request >= 0) & (
                request < write_req_capacity
            )
            seed = tl.load(
                write_seed_slot_indices_ptr + request.to(tl.int64),
                mask=write_seed_slot_indices_request_in_range,
                other=-1,
            )
            seed_slot = seed + tl.zeros([1], tl.int64)
            is_linked = (seed_slot > 0) & (seed_slot < num_slots)
            is_cut = (seed < -1) | (seed >= num_slots)
            seed_slot_in_range = (seed_slot >= 0) & (seed_slot < num_slots)
            seed_token = tl.load(
                canary_buf_ptr
                + seed_slot.to(tl.int64) * (slot_stride_bytes // 8)
                + CANARY_FIELD_TOKEN,
                mask=(is_linked & seed_slot_in_range) != 0,
                other=0,
            )
            seed_slot_in_range = (seed_slot >= 0) & (seed_slot < num_slots)
            seed_position = tl.load(
                canary_buf_ptr
                + seed_slot.to(tl.int64) * (slot_stride_bytes // 8)
                + CANARY_FIELD_POSITION,
                mask=(is_linked & seed_slot_in_range) != 0,
                other=0,
            )
            seed_slot_in_range = (seed_slot >= 0) & (seed_slot < num_slots)
            seed_hash = tl.load(
                canary_buf_ptr
                + seed_slot.to(tl.int64) * (slot_stride_bytes // 8)
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
            before_slot = seed_slot
            stored_count = tl.zeros([], tl.int64)
            for start in range(first, last, TOKEN_BLOCK):
                entry = start + lane
                is_entry = entry < last
                out_cache_loc_entry_in_range = (entry >= 0) & (entry < num_tokens)
                slot = tl.load(
                    out_cache_loc_ptr + entry.to(tl.int64),
                    mask=(is_entry & out_cache_loc_entry_in_range) != 0,
                    other=-1,
                )
                input_ids_entry_in_range = (entry >= 0) & (entry < num_tokens)
                token = tl.load(
                    input_ids_ptr + entry.to(tl.int64),
                    mask=(is_entry & input_ids_entry_in_range) != 0,
                    other=0,
                )
                positions_entry_in_range = (entry >= 0) & (entry < num_tokens)
                position = tl.load(
                    positions_ptr + entry.to(tl.int64),
                    mask=(is_entry & positions_entry_in_range) != 0,
                    other=0,
                )
                is_stored = is_entry & (slot >= 0) & (slot < num_slots)
                hash_before = tl.zeros([TOKEN_BLOCK], tl.uint64)
                position_before = tl.zeros([TOKEN_BLOCK], tl.int64)
                slot_before = tl.zeros([TOKEN_BLOCK], tl.int64)
                for turn in range(0, tl.minimum(last - start, TOKEN_BLOCK)):
                    own = lane == turn
                    hash_before = tl.where(own, running, hash_before)
                    position_before = tl.where(own, before_position, position_before)
                    slot_before = tl.where(own, before_slot, slot_before)
                    one = start + turn + tl.zeros([1], tl.int64)
                    one_slot_entry_in_range = (one >= 0) & (one < num_tokens)
                    one_slot = tl.load(
                        out_cache_loc_ptr + one.to(tl.int64),
                        mask=one_slot_entry_in_range,
                        other=-1,
                    )
                    one_token_entry_in_range = (one >= 0) & (one < num_tokens)
                    one_token = tl.load(
                        input_ids_ptr + one.to(tl.int64),
                        mask=one_token_entry_in_range,
                        other=0,
                    )
                    one_position_entry_in_range = (one >= 0) & (one < num_tokens)
                    one_position = tl.load(
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
                # What is wrong with an entry, besides its bytes.
                is_first = is_stored & (stored_count + tl.cumsum(is_stored.to(tl.int64), 0) == 1)
                is_wild = is_entry & (slot >= num_slots)
                is_seed_row = is_first & is_cut
                wanted_position = position_before + 1
                is_out_of_turn = is_stored & is_followed & (position != wanted_position)
                input_reasons = tl.zeros([TOKEN_BLOCK], tl.int64)
                expected_token = tl.zeros([TOKEN_BLOCK], tl.int64)
                expected_position = tl.zeros([TOKEN_BLOCK], tl.int64)
                if expected_input_tokens_ptr is not None:
                    expected_input_tokens_entry_in_range = (entry >= 0) & (entry < num_tokens)
                    expected_token = tl.load(
                        expected_input_tokens_ptr + entry.to(tl.int64),
                        mask=(is_entry & expected_input_tokens_entry_in_range) != 0,
                        other=0,
                    )
                    input_reasons |= tl.where(token != expected_token, FAIL_REASON_WRITE_TOKEN_MISMATCH, 0)
                if expected_input_positions_ptr is not None:
                    expected_input_positions_entry_in_range = (entry >= 0) & (entry < num_tokens)
                    expected_position = tl.load(
                        expected_input_positions_ptr + entry.to(tl.int64),
                        mask=(is_entry & expected_input_positions_entry_in_range) != 0,
                        other=0,
                    )
                    input_reasons |= tl.where(
                        position != expected_position, FAIL_REASON_WRITE_POSITION_MISMATCH, 0
                    )
                input_reasons = tl.where(is_stored, input_reasons, 0)
                is_wrong = is_wild | is_seed_row | is_out_of_turn | (input_reasons != 0)
                wrong_count = tl.sum(is_wrong.to(tl.int32))
                if (start == first) | (wrong_count > 0):
                    is_hashed = is_stored
                    # The hash over the true K or V bytes of each slot: 0 without a source, and in mode NONE.
                    reads_all = real_kv_hash_mode == REAL_KV_HASH_MODE_ALL
                    reads_none = real_kv_hash_mode == REAL_KV_HASH_MODE_NONE
                    bytes_total = tl.zeros(slot.shape, tl.uint64)
                    if source_0_tensor_ptr is not None:
                        source_0_number = 1
                        # The words of one source, folded in order; a hole of a row is never read.
                        source_0_words = tl.where(reads_all, source_0_read_bytes // 8, PARTIAL_WORDS)
                        source_0_words = tl.where(reads_none, 0, source_0_words)
                        source_0_page = slot // source_0_page_size
                        source_0_first = slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
                        source_0_hash = tl.zeros(slot.shape, tl.uint64)
                        for source_0_index in range(0, source_0_words):
                            source_0_column = source_0_first + source_0_index
                            source_0_tensor_page_in_range = (source_0_page >= 0) & (
                                source_0_page < source_0_pages
                            )
                            source_0_tensor_word_in_range = (source_0_column >= 0) & (
                                source_0_column < source_0_row_bytes // 8
                            )
                            source_0_word = tl.load(
                                source_0_tensor_ptr
                                + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                                + source_0_column.to(tl.int64),
                                mask=(
                                    is_hashed
                                    & source_0_tensor_page_in_range
                                    & source_0_tensor_word_in_range
                                )
                                != 0,
                                other=0,
                            )
                            source_0_bits = source_0_word.to(tl.uint64, bitcast=True)
                            source_0_place = (tl.zeros(slot.shape, tl.int64) + source_0_index).to(tl.uint64, bitcast=True)
                            source_0_hash = _with_word(source_0_hash, source_0_bits, source_0_place, HASH_FORMAT)
                        source_0_order = tl.full(slot.shape, source_0_number, tl.uint64)
                        bytes_total = _with_source(bytes_total, source_0_hash, source_0_order, HASH_FORMAT)
                    if source_1_tensor_ptr is not None:
                        source_1_number = 2
                        # The words of one source, folded in order; a hole of a row is never read.
                        source_1_words = tl.where(reads_all, source_1_read_bytes // 8, PARTIAL_WORDS)
                        source_1_words = tl.where(reads_none, 0, source_1_words)
                        source_1_page = slot // source_1_page_size
                        source_1_first = slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
                        source_1_hash = tl.zeros(slot.shape, tl.uint64)
                        for source_1_index in range(0, source_1_words):
                            source_1_column = source_1_first + source_1_index
                            source_1_tensor_page_in_range = (source_1_page >= 0) & (
                                source_1_page < source_1_pages
                            )
                            source_1_tensor_word_in_range = (source_1_column >= 0) & (
                                source_1_column < source_1_row_bytes // 8
                            )
                            source_1_word = tl.load(
                                source_1_tensor_ptr
                                + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                                + source_1_column.to(tl.int64),
                                mask=(
                                    is_hashed
                                    & source_1_tensor_page_in_range
                                    & source_1_tensor_word_in_range
                                )
                                != 0,
                                other=0,
                            )
                            source_1_bits = source_1_word.to(tl.uint64, bitcast=True)
                            source_1_place = (tl.zeros(slot.shape, tl.int64) + source_1_index).to(tl.uint64, bitcast=True)
                            source_1_hash = _with_word(source_1_hash, source_1_bits, source_1_place, HASH_FORMAT)
                        source_1_order = tl.full(slot.shape, source_1_number, tl.uint64)
                        bytes_total = _with_source(bytes_total, source_1_hash, source_1_order, HASH_FORMAT)
                    if source_2_tensor_ptr is not None:
                        source_2_number = 3
                        # The words of one source, folded in order; a hole of a row is never read.
                        source_2_words = tl.where(reads_all, source_2_read_bytes // 8, PARTIAL_WORDS)
                        source_2_words = tl.where(reads_none, 0, source_2_words)
                        source_2_page = slot // source_2_page_size
                        source_2_first = slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
                        source_2_hash = tl.zeros(slot.shape, tl.uint64)
                        for source_2_index in range(0, source_2_words):
                            source_2_column = source_2_first + source_2_index
                            source_2_tensor_page_in_range = (source_2_page >= 0) & (
                                source_2_page < source_2_pages
                            )
                            source_2_tensor_word_in_range = (source_2_column >= 0) & (
                                source_2_column < source_2_row_bytes // 8
                            )
                            source_2_word = tl.load(
                                source_2_tensor_ptr
                                + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                                + source_2_column.to(tl.int64),
                                mask=(
                                    is_hashed
                                    & source_2_tensor_page_in_range
                                    & source_2_tensor_word_in_range
                                )
                                != 0,
                                other=0,
                            )
                            source_2_bits = source_2_word.to(tl.uint64, bitcast=True)
                            source_2_place = (tl.zeros(slot.shape, tl.int64) + source_2_index).to(tl.uint64, bitcast=True)
                            source_2_hash = _with_word(source_2_hash, source_2_bits, source_2_place, HASH_FORMAT)
                        source_2_order = tl.full(slot.shape, source_2_number, tl.uint64)
                        bytes_total = _with_source(bytes_total, source_2_hash, source_2_order, HASH_FORMAT)
                    if source_3_tensor_ptr is not None:
                        source_3_number = 4
                        # The words of one source, folded in order; a hole of a row is never read.
                        source_3_words = tl.where(reads_all, source_3_read_bytes // 8, PARTIAL_WORDS)
                        source_3_words = tl.where(reads_none, 0, source_3_words)
                        source_3_page = slot // source_3_page_size
                        source_3_first = slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
                        source_3_hash = tl.zeros(slot.shape, tl.uint64)
                        for source_3_index in range(0, source_3_words):
                            source_3_column = source_3_first + source_3_index
                            source_3_tensor_page_in_range = (source_3_page >= 0) & (
                                source_3_page < source_3_pages
                            )
                            source_3_tensor_word_in_range = (source_3_column >= 0) & (
                                source_3_column < source_3_row_bytes // 8
                            )
                            source_3_word = tl.load(
                                source_3_tensor_ptr
                                + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                                + source_3_column.to(tl.int64),
                                mask=(
                                    is_hashed
                                    & source_3_tensor_page_in_range
                                    & source_3_tensor_word_in_range
                                )
                                != 0,
                                other=0,
                            )
                            source_3_bits = source_3_word.to(tl.uint64, bitcast=True)
                            source_3_place = (tl.zeros(slot.shape, tl.int64) + source_3_index).to(tl.uint64, bitcast=True)
                            source_3_hash = _with_word(source_3_hash, source_3_bits, source_3_place, HASH_FORMAT)
                        source_3_order = tl.full(slot.shape, source_3_number, tl.uint64)
                        bytes_total = _with_source(bytes_total, source_3_hash, source_3_order, HASH_FORMAT)
                    bytes_hash = bytes_total.to(tl.int64, bitcast=True)
                    bytes_hash = tl.where(reads_none, 0, bytes_hash)
                    token_slot_in_range = (slot >= 0) & (slot < num_slots)
                    tl.store(
                        canary_buf_ptr
                        + slot.to(tl.int64) * (slot_stride_bytes // 8)
                        + CANARY_FIELD_TOKEN,
                        token,
                        mask=(is_stored & token_slot_in_range) != 0,
                    )
                    position_slot_in_range = (slot >= 0) & (slot < num_slots)
                    tl.store(
                        canary_buf_ptr
                        + slot.to(tl.int64) * (slot_stride_bytes // 8)
                        + CANARY_FIELD_POSITION,
                        position,
                        mask=(is_stored & position_slot_in_range) != 0,
                    )
                    bytes_slot_in_range = (slot >= 0) & (slot < num_slots)
                    tl.store(
                        canary_buf_ptr
                        + slot.to(tl.int64) * (slot_stride_bytes // 8)
                        + CANARY_FIELD_REAL_KV_HASH,
                        bytes_hash,
                        mask=(is_stored & bytes_slot_in_range) != 0,
                    )
                    if wrong_count > 0:
                        # First what concerns the slot or the seed, then the input, then the order.
                        for turn in range(0, 3):
                            reasons = tl.where(is_wild | is_seed_row, FAIL_REASON_SLOT_OUT_OF_RANGE, 0).to(tl.int64)
                            order_reasons = tl.where(is_out_of_turn, FAIL_REASON_WRITE_POSITION_MISMATCH, 0)
                            reasons = tl.where(turn == 1, input_reasons, reasons)
                            reasons = tl.where(turn == 2, order_reasons, reasons)
                            is_violation = reasons != 0
                            violation_slot = slot
                            violation_position = position
                            violation_token = tl.where(is_wild, 0, token)
                            violation_expected_token = tl.where(turn == 1, expected_token, token)
                            violation_expected_token = tl.where(is_wild, -1, violation_expected_token)
                            violation_hash = tl.where(is_wild, 0, chain_hash)
                            violation_aux = tl.where(turn == 1, expected_position, wanted_position)
                            violation_aux = tl.where(turn == 0, seed, violation_aux)
                            violation_aux = tl.where(is_wild, 0, violation_aux)
                            evidence_position = tl.where(turn == 0, -1, violation_aux)
                            evidence_stored = tl.where(is_wild, 0, bytes_hash)
                            evidence_computed = evidence_stored
                            evidence_previous = slot_before
                            evidence_index = entry
                            evidence_request = tl.zeros([TOKEN_BLOCK], tl.int64) + request
                            # One place in the ring for each violation of this block: a row is taken by counting, never
                            # overwritten, and where the ring ends the count goes on alone.
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
                                    violation_ring_violation_in_range = (row >= 0) & (
                                        row < ring_capacity
                                    )
                                    tl.store(
                                        violation_ring_ptr
                                        + row.to(tl.int64) * VIOLATION_FIELDS
                                        + VIOLATION_FIELD_KERNEL_KIND,
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
                                            + row.to(tl.int64) * VIOLATION_FIELDS
                                            + EVIDENCE_FIELD_EXPECTED_POSITION,
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
                stored_count += tl.sum(is_stored.to(tl.int64))
            if stored_count > 0:
                tl.atomic_add(slot_run_counter_ptr, stored_count)
        else:
            # Offsets that no plan makes: the request stores nothing, and is reported once.
            single = tl.zeros([1], tl.int64)
            is_violation = single == 0
            reasons = single + FAIL_REASON_SLOT_OUT_OF_RANGE
            violation_slot = single - 2
            violation_position = single + first
            violation_token = single
            violation_expected_token = single - 1
            violation_hash = single
            violation_aux = single + last
            evidence_position = single - 1
            evidence_stored = single
            evidence_computed = single
            evidence_previous = single - 1
            evidence_index = single - 1
            evidence_request = single + request
            # One place in the ring for each violation of this block: a row is taken by counting, never
            # overwritten, and where the ring ends the count goes on alone.
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
                        violation_ring_ptr
                        + row.to(tl.int64) * VIOLATION_FIELDS
                        + VIOLATION_FIELD_KERNEL_KIND,
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
                            evidence_ring_ptr
                            + row.to(tl.int64) * VIOLATION_FIELDS
                            + EVIDENCE_FIELD_EXPECTED_POSITION,
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
    if request >= write_req_capacity:
        # Blocks after the first of long requests: token, position and the hash of bytes. Each of these
        # programs works out for itself which blocks there are, and takes every so many-th of them.
        helper = request - write_req_capacity
        helper_count = tl.num_programs(0) - write_req_capacity
        tiles_before = tl.zeros([], tl.int64)
        for base in range(0, request_count, REQUEST_BLOCK):
            owners = base + tl.arange(0, REQUEST_BLOCK)
            is_owner = owners < request_count
            firsts_boundary_in_range = (owners >= 0) & (owners < write_req_capacity + 1)
            firsts = tl.load(
                write_offsets_ptr + owners.to(tl.int64),
                mask=(is_owner & firsts_boundary_in_range) != 0,
                other=0,
            )
            lasts_boundary_in_range = (owners + 1 >= 0) & (owners + 1 < write_req_capacity + 1)
            lasts = tl.load(
                write_offsets_ptr + (owners + 1).to(tl.int64),
                mask=(is_owner & lasts_boundary_in_range) != 0,
                other=0,
            )
            are_whole = is_owner & (firsts >= 0) & (firsts <= lasts) & (lasts <= num_tokens)
            tiles = tl.where(are_whole, tl.maximum(lasts - firsts - 1, 0) // TOKEN_BLOCK, 0)
            tile_count = tl.sum(tiles)
            # The first tile of these requests that is this program's: tiles are dealt out in turn.
            own_tile = (helper - tiles_before % helper_count + helper_count) % helper_count
            ends = tl.cumsum(tiles, 0)
            for tile in range(own_tile, tile_count, helper_count):
                is_owning = (ends - tiles <= tile) & (tile < ends)
                first = tl.sum(tl.where(is_owning, firsts, 0))
                last = tl.sum(tl.where(is_owning, lasts, 0))
                tile_in_request = tile - tl.sum(tl.where(is_owning, ends - tiles, 0))
                entry = first + (tile_in_request + 1) * TOKEN_BLOCK + lane
                is_entry = entry < last
                tile_slot_entry_in_range = (entry >= 0) & (entry < num_tokens)
                slot = tl.load(
                    out_cache_loc_ptr + entry.to(tl.int64),
                    mask=(is_entry & tile_slot_entry_in_range) != 0,
                    other=-1,
                )
                tile_token_entry_in_range = (entry >= 0) & (entry < num_tokens)
                token = tl.load(
                    input_ids_ptr + entry.to(tl.int64),
                    mask=(is_entry & tile_token_entry_in_range) != 0,
                    other=0,
                )
                tile_position_entry_in_range = (entry >= 0) & (entry < num_tokens)
                position = tl.load(
                    positions_ptr + entry.to(tl.int64),
                    mask=(is_entry & tile_position_entry_in_range) != 0,
                    other=0,
                )
                is_hashed = is_entry & (slot >= 0) & (slot < num_slots)
                # The hash over the true K or V bytes of each slot: 0 without a source, and in mode NONE.
                reads_all = real_kv_hash_mode == REAL_KV_HASH_MODE_ALL
                reads_none = real_kv_hash_mode == REAL_KV_HASH_MODE_NONE
                bytes_total = tl.zeros(slot.shape, tl.uint64)
                if source_0_tensor_ptr is not None:
                    source_0_number = 1
                    # The words of one source, folded in order; a hole of a row is never read.
                    source_0_words = tl.where(reads_all, source_0_read_bytes // 8, PARTIAL_WORDS)
                    source_0_words = tl.where(reads_none, 0, source_0_words)
                    source_0_page = slot // source_0_page_size
                    source_0_first = slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
                    source_0_hash = tl.zeros(slot.shape, tl.uint64)
                    for source_0_index in range(0, source_0_words):
                        source_0_column = source_0_first + source_0_index
                        source_0_tensor_page_in_range = (source_0_page >= 0) & (
                            source_0_page < source_0_pages
                        )
                        source_0_tensor_word_in_range = (source_0_column >= 0) & (
                            source_0_column < source_0_row_bytes // 8
                        )
                        source_0_word = tl.load(
                            source_0_tensor_ptr
                            + source_0_page.to(tl.int64) * source_0_tensor_stride_page
                            + source_0_column.to(tl.int64),
                            mask=(
                                is_hashed
                                & source_0_tensor_page_in_range
                                & source_0_tensor_word_in_range
                            )
                            != 0,
                            other=0,
                        )
                        source_0_bits = source_0_word.to(tl.uint64, bitcast=True)
                        source_0_place = (tl.zeros(slot.shape, tl.int64) + source_0_index).to(tl.uint64, bitcast=True)
                        source_0_hash = _with_word(source_0_hash, source_0_bits, source_0_place, HASH_FORMAT)
                    source_0_order = tl.full(slot.shape, source_0_number, tl.uint64)
                    bytes_total = _with_source(bytes_total, source_0_hash, source_0_order, HASH_FORMAT)
                if source_1_tensor_ptr is not None:
                    source_1_number = 2
                    # The words of one source, folded in order; a hole of a row is never read.
                    source_1_words = tl.where(reads_all, source_1_read_bytes // 8, PARTIAL_WORDS)
                    source_1_words = tl.where(reads_none, 0, source_1_words)
                    source_1_page = slot // source_1_page_size
                    source_1_first = slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
                    source_1_hash = tl.zeros(slot.shape, tl.uint64)
                    for source_1_index in range(0, source_1_words):
                        source_1_column = source_1_first + source_1_index
                        source_1_tensor_page_in_range = (source_1_page >= 0) & (
                            source_1_page < source_1_pages
                        )
                        source_1_tensor_word_in_range = (source_1_column >= 0) & (
                            source_1_column < source_1_row_bytes // 8
                        )
                        source_1_word = tl.load(
                            source_1_tensor_ptr
                            + source_1_page.to(tl.int64) * source_1_tensor_stride_page
                            + source_1_column.to(tl.int64),
                            mask=(
                                is_hashed
                                & source_1_tensor_page_in_range
                                & source_1_tensor_word_in_range
                            )
                            != 0,
                            other=0,
                        )
                        source_1_bits = source_1_word.to(tl.uint64, bitcast=True)
                        source_1_place = (tl.zeros(slot.shape, tl.int64) + source_1_index).to(tl.uint64, bitcast=True)
                        source_1_hash = _with_word(source_1_hash, source_1_bits, source_1_place, HASH_FORMAT)
                    source_1_order = tl.full(slot.shape, source_1_number, tl.uint64)
                    bytes_total = _with_source(bytes_total, source_1_hash, source_1_order, HASH_FORMAT)
                if source_2_tensor_ptr is not None:
                    source_2_number = 3
                    # The words of one source, folded in order; a hole of a row is never read.
                    source_2_words = tl.where(reads_all, source_2_read_bytes // 8, PARTIAL_WORDS)
                    source_2_words = tl.where(reads_none, 0, source_2_words)
                    source_2_page = slot // source_2_page_size
                    source_2_first = slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
                    source_2_hash = tl.zeros(slot.shape, tl.uint64)
                    for source_2_index in range(0, source_2_words):
                        source_2_column = source_2_first + source_2_index
                        source_2_tensor_page_in_range = (source_2_page >= 0) & (
                            source_2_page < source_2_pages
                        )
                        source_2_tensor_word_in_range = (source_2_column >= 0) & (
                            source_2_column < source_2_row_bytes // 8
                        )
                        source_2_word = tl.load(
                            source_2_tensor_ptr
                            + source_2_page.to(tl.int64) * source_2_tensor_stride_page
                            + source_2_column.to(tl.int64),
                            mask=(
                                is_hashed
                                & source_2_tensor_page_in_range
                                & source_2_tensor_word_in_range
                            )
                            != 0,
                            other=0,
                        )
                        source_2_bits = source_2_word.to(tl.uint64, bitcast=True)
                        source_2_place = (tl.zeros(slot.shape, tl.int64) + source_2_index).to(tl.uint64, bitcast=True)
                        source_2_hash = _with_word(source_2_hash, source_2_bits, source_2_place, HASH_FORMAT)
                    source_2_order = tl.full(slot.shape, source_2_number, tl.uint64)
                    bytes_total = _with_source(bytes_total, source_2_hash, source_2_order, HASH_FORMAT)
                if source_3_tensor_ptr is not None:
                    source_3_number = 4
                    # The words of one source, folded in order; a hole of a row is never read.
                    source_3_words = tl.where(reads_all, source_3_read_bytes // 8, PARTIAL_WORDS)
                    source_3_words = tl.where(reads_none, 0, source_3_words)
                    source_3_page = slot // source_3_page_size
                    source_3_first = slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
                    source_3_hash = tl.zeros(slot.shape, tl.uint64)
                    for source_3_index in range(0, source_3_words):
                        source_3_column = source_3_first + source_3_index
                        source_3_tensor_page_in_range = (source_3_page >= 0) & (
                            source_3_page < source_3_pages
                        )
                        source_3_tensor_word_in_range = (source_3_column >= 0) & (
                            source_3_column < source_3_row_bytes // 8
                        )
                        source_3_word = tl.load(
                            source_3_tensor_ptr
                            + source_3_page.to(tl.int64) * source_3_tensor_stride_page
                            + source_3_column.to(tl.int64),
                            mask=(
                                is_hashed
                                & source_3_tensor_page_in_range
                                & source_3_tensor_word_in_range
                            )
                            != 0,
                            other=0,
                        )
                        source_3_bits = source_3_word.to(tl.uint64, bitcast=True)
                        source_3_place = (tl.zeros(slot.shape, tl.int64) + source_3_index).to(tl.uint64, bitcast=True)
                        source_3_hash = _with_word(source_3_hash, source_3_bits, source_3_place, HASH_FORMAT)
                    source_3_order = tl.full(slot.shape, source_3_number, tl.uint64)
                    bytes_total = _with_source(bytes_total, source_3_hash, source_3_order, HASH_FORMAT)
                bytes_hash = bytes_total.to(tl.int64, bitcast=True)
                bytes_hash = tl.where(reads_none, 0, bytes_hash)
                tile_slot_in_range = (slot >= 0) & (slot < num_slots)
                tl.store(
                    canary_buf_ptr
                    + slot.to(tl.int64) * (slot_stride_bytes // 8)
                    + CANARY_FIELD_TOKEN,
                    token,
                    mask=(is_hashed & tile_slot_in_range) != 0,
                )
                tile_slot_in_range = (slot >= 0) & (slot < num_slots)
                tl.store(
                    canary_buf_ptr
                    + slot.to(tl.int64) * (slot_stride_bytes // 8)
                    + CANARY_FIELD_POSITION,
                    position,
                    mask=(is_hashed & tile_slot_in_range) != 0,
                )
                tile_slot_in_range = (slot >= 0) & (slot < num_slots)
                tl.store(
                    canary_buf_ptr
                    + slot.to(tl.int64) * (slot_stride_bytes // 8)
                    + CANARY_FIELD_REAL_KV_HASH,
                    bytes_hash,
                    mask=(is_hashed & tile_slot_in_range) != 0,
                )
            tiles_before += tile_count
