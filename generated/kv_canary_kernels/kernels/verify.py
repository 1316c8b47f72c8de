# Generated from spec/kernels/verify.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Compare what cached slots store with what belongs there, and record each difference.

Each entry of the plan is one cached token. Its canary is compared with the successor hash of the
previous slot's canary, the planned position, the planned token where one is known, and a hash of
the true K or V bytes. Plans and canaries may be the corrupted thing: a slot outside the buffer is
reported, and never followed. Nothing but the rings and counters is written. The order of rows of
one launch is unspecified, and so is which violations get the last free rows.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

TOKEN_TO_KV_SLOT_PADDING = tl.constexpr(constants.TOKEN_TO_KV_SLOT_PADDING)
CANARY_CHAIN_ANCHOR = tl.constexpr(constants.CANARY_CHAIN_ANCHOR)
CANARY_FIELD_TOKEN = tl.constexpr(constants.CANARY_FIELD_TOKEN)
CANARY_FIELD_PREV_HASH = tl.constexpr(constants.CANARY_FIELD_PREV_HASH)
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
ENTRY_BLOCK = tl.constexpr(128)
HASH_FORMAT_PARALLEL = tl.constexpr(1)
FAIL_REASON_VERIFY_CHAIN_HASH_MISMATCH = tl.constexpr(1)
FAIL_REASON_VERIFY_POSITION_MISMATCH = tl.constexpr(2)
FAIL_REASON_VERIFY_REAL_KV_HASH_MISMATCH = tl.constexpr(4)
FAIL_REASON_VERIFY_TOKEN_MISMATCH = tl.constexpr(32)
FAIL_REASON_SLOT_OUT_OF_RANGE = tl.constexpr(64)
FAIL_REASON_PADDING_SLOT_IN_PREFIX = tl.constexpr(128)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "canary_buf_ptr",
    "violation_ring_ptr",
    "violation_write_index_ptr",
    "slot_run_counter_ptr",
    "kernel_run_counter_ptr",
    "verify_slot_indices_ptr",
    "verify_expected_tokens_ptr",
    "verify_expected_positions_ptr",
    "verify_prev_slot_indices_ptr",
    "verify_num_valid_ptr",
    "enable_ptr",
    "evidence_ring_ptr",
    "source_0_tensor_ptr",
    "source_1_tensor_ptr",
    "source_2_tensor_ptr",
    "source_3_tensor_ptr",
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
    "verify_capacity",
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
    "kernel_kind",
    "report_padding_slot",
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


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _verify_kernel(
    canary_buf_ptr,
    violation_ring_ptr,
    violation_write_index_ptr,
    slot_run_counter_ptr,
    kernel_run_counter_ptr,
    verify_slot_indices_ptr,
    verify_expected_tokens_ptr,
    verify_expected_positions_ptr,
    verify_prev_slot_indices_ptr,
    verify_num_valid_ptr,
    enable_ptr,
    evidence_ring_ptr,
    source_0_tensor_ptr,
    source_1_tensor_ptr,
    source_2_tensor_ptr,
    source_3_tensor_ptr,
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
    verify_capacity: tl.int64,
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
    kernel_kind: tl.int64,
    report_padding_slot: tl.int64,
    HASH_FORMAT: tl.constexpr,
    CHECK_VERIFY_EXPECTED_TOKEN: tl.constexpr,
    READ_BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    enabled = tl.load(enable_ptr).to(tl.int64)
    planned = tl.load(verify_num_valid_ptr).to(tl.int64)
    # Whatever a damaged plan says, no entry past its own arrays is walked.
    entry_count = tl.minimum(tl.maximum(planned, 0), verify_capacity)
    entry_count = tl.where(enabled != 0, entry_count, 0)
    step = tl.zeros([], tl.int64)
    if evidence_ring_ptr is not None:
        step = tl.load(kernel_run_counter_ptr)
    if program == 0:
        tl.atomic_add(slot_run_counter_ptr, entry_count)
        # Beside an evidence ring the launch is counted after it: every program reads one step.
        if evidence_ring_ptr is None:
            tl.atomic_add(kernel_run_counter_ptr, 1)
    lane = tl.arange(0, ENTRY_BLOCK)
    # A tile's entries are read ahead of their turn, the first before it is known how many count.
    ahead = program * ENTRY_BLOCK + lane.to(tl.int64)
    verify_slot_indices_entry_in_range = (ahead >= 0) & (ahead < verify_capacity)
    next_slot = tl.load(
        verify_slot_indices_ptr + ahead.to(tl.int64),
        mask=verify_slot_indices_entry_in_range,
        other=0,
        eviction_policy="evict_first",
    )
    verify_expected_positions_entry_in_range = (ahead >= 0) & (ahead < verify_capacity)
    next_position = tl.load(
        verify_expected_positions_ptr + ahead.to(tl.int64),
        mask=verify_expected_positions_entry_in_range,
        other=0,
        eviction_policy="evict_first",
    )
    verify_prev_slot_indices_entry_in_range = (ahead >= 0) & (ahead < verify_capacity)
    next_previous = tl.load(
        verify_prev_slot_indices_ptr + ahead.to(tl.int64),
        mask=verify_prev_slot_indices_entry_in_range,
        other=-1,
        eviction_policy="evict_first",
    )
    for start in range(program * ENTRY_BLOCK, entry_count, tl.num_programs(0) * ENTRY_BLOCK):
        entry = (start + lane).to(tl.int64)
        is_entry = entry < entry_count
        slot = tl.where(is_entry, next_slot, 0)
        position = next_position
        previous = next_previous
        ahead = entry + tl.num_programs(0) * ENTRY_BLOCK
        is_ahead = ahead < entry_count
        verify_slot_indices_entry_in_range = (ahead >= 0) & (ahead < verify_capacity)
        next_slot = tl.load(
            verify_slot_indices_ptr + ahead.to(tl.int64),
            mask=(is_ahead & verify_slot_indices_entry_in_range) != 0,
            other=0,
            eviction_policy="evict_first",
        )
        verify_expected_positions_entry_in_range = (ahead >= 0) & (ahead < verify_capacity)
        next_position = tl.load(
            verify_expected_positions_ptr + ahead.to(tl.int64),
            mask=(is_ahead & verify_expected_positions_entry_in_range) != 0,
            other=0,
            eviction_policy="evict_first",
        )
        verify_prev_slot_indices_entry_in_range = (ahead >= 0) & (ahead < verify_capacity)
        next_previous = tl.load(
            verify_prev_slot_indices_ptr + ahead.to(tl.int64),
            mask=(is_ahead & verify_prev_slot_indices_entry_in_range) != 0,
            other=-1,
            eviction_policy="evict_first",
        )
        is_checked = is_entry & (slot != TOKEN_TO_KV_SLOT_PADDING)
        # A canary in two loads of 16 bytes.
        canary_buf_slot_in_range = (slot >= 0) & (slot < num_slots)
        named = tl.load(
            tl.multiple_of(canary_buf_ptr + slot.to(tl.int64) * (slot_stride_bytes // 8), 16)[
                :, None
            ]
            + tl.arange(0, 2)[None, :],
            mask=((is_checked & canary_buf_slot_in_range) != 0)[:, None],
            other=0,
        )
        canary_buf_slot_in_range = (slot >= 0) & (slot < num_slots)
        hashed = tl.load(
            tl.multiple_of(
                canary_buf_ptr
                + slot.to(tl.int64) * (slot_stride_bytes // 8)
                + CANARY_FIELD_PREV_HASH,
                16,
            )[:, None]
            + tl.arange(0, 2)[None, :],
            mask=((is_checked & canary_buf_slot_in_range) != 0)[:, None],
            other=0,
        )
        stored_token, stored_position = tl.split(named)
        stored_hash, stored_bytes = tl.split(hashed)
        is_sound = is_checked & canary_buf_slot_in_range
        has_previous = is_sound & (previous != TOKEN_TO_KV_SLOT_PADDING)
        # The previous slot is nearly always the entry before: its lane hands on what follows it.
        follows = _successor(
            stored_hash.to(tl.uint64, bitcast=True),
            stored_token.to(tl.uint64, bitcast=True),
            stored_position.to(tl.uint64, bitcast=True),
            HASH_FORMAT,
        )
        before = tl.maximum(lane - 1, 0)
        is_handed = (lane > 0) & (tl.gather(slot, before, 0) == previous)
        handed = tl.gather(follows, before, 0)
        is_fetched = has_previous & (is_handed == 0)
        previous_slot_in_range = (previous >= 0) & (previous < num_slots)
        fetched = tl.load(
            tl.multiple_of(canary_buf_ptr + previous.to(tl.int64) * (slot_stride_bytes // 8), 16)[
                :, None
            ]
            + tl.arange(0, 2)[None, :],
            mask=((is_fetched & previous_slot_in_range) != 0)[:, None],
            other=0,
        )
        fetched_token, fetched_position = tl.split(fetched)
        previous_slot_in_range = (previous >= 0) & (previous < num_slots)
        fetched_hash = tl.load(
            canary_buf_ptr
            + previous.to(tl.int64) * (slot_stride_bytes // 8)
            + CANARY_FIELD_PREV_HASH,
            mask=(is_fetched & previous_slot_in_range) != 0,
            other=0,
        )
        successor = _successor(
            fetched_hash.to(tl.uint64, bitcast=True),
            fetched_token.to(tl.uint64, bitcast=True),
            fetched_position.to(tl.uint64, bitcast=True),
            HASH_FORMAT,
        )
        successor = tl.where(is_handed, handed, successor)
        successor = tl.where(previous == -1, _first_hash(), successor).to(tl.int64, bitcast=True)
        is_wild = is_checked & (canary_buf_slot_in_range == 0)
        is_cut = is_sound & (previous != -1) & (previous_slot_in_range == 0)
        is_chained = has_previous & (is_cut == 0)
        expected_hash = tl.where(is_chained, successor, stored_hash)
        is_hashed = is_sound
        # The hash over the true K or V bytes of each slot: 0 without a source, and in mode NONE.
        bytes_total = tl.zeros(slot.shape, tl.uint64)
        if source_0_tensor_ptr is not None:
            source_0_number = 1
            # The words of one source, some at a time, the next ahead of their turn; no hole of a
            # row is read.
            source_0_page = slot // source_0_page_size
            source_0_first = slot % source_0_page_size * (source_0_num_bytes_per_token // 8)
            source_0_hash = tl.zeros(slot.shape, tl.uint64)
            source_0_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
            source_0_any = is_hashed & (source_0_words > 0)
            source_0_start_page_in_range = (source_0_page >= 0) & (source_0_page < source_0_pages)
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
            # The words of one source, some at a time, the next ahead of their turn; no hole of a
            # row is read.
            source_1_page = slot // source_1_page_size
            source_1_first = slot % source_1_page_size * (source_1_num_bytes_per_token // 8)
            source_1_hash = tl.zeros(slot.shape, tl.uint64)
            source_1_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
            source_1_any = is_hashed & (source_1_words > 0)
            source_1_start_page_in_range = (source_1_page >= 0) & (source_1_page < source_1_pages)
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
            # The words of one source, some at a time, the next ahead of their turn; no hole of a
            # row is read.
            source_2_page = slot // source_2_page_size
            source_2_first = slot % source_2_page_size * (source_2_num_bytes_per_token // 8)
            source_2_hash = tl.zeros(slot.shape, tl.uint64)
            source_2_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
            source_2_any = is_hashed & (source_2_words > 0)
            source_2_start_page_in_range = (source_2_page >= 0) & (source_2_page < source_2_pages)
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
            # The words of one source, some at a time, the next ahead of their turn; no hole of a
            # row is read.
            source_3_page = slot // source_3_page_size
            source_3_first = slot % source_3_page_size * (source_3_num_bytes_per_token // 8)
            source_3_hash = tl.zeros(slot.shape, tl.uint64)
            source_3_sums = tl.zeros([slot.shape[0], READ_BLOCK], tl.uint64)
            source_3_any = is_hashed & (source_3_words > 0)
            source_3_start_page_in_range = (source_3_page >= 0) & (source_3_page < source_3_pages)
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
        expected_token = tl.full([ENTRY_BLOCK], -1, tl.int64)
        if CHECK_VERIFY_EXPECTED_TOKEN:
            verify_expected_tokens_entry_in_range = (entry >= 0) & (entry < verify_capacity)
            expected_token = tl.load(
                verify_expected_tokens_ptr + entry.to(tl.int64),
                mask=(is_sound & verify_expected_tokens_entry_in_range) != 0,
                other=-1,
                eviction_policy="evict_first",
            )
        reasons = tl.where(stored_hash != expected_hash, FAIL_REASON_VERIFY_CHAIN_HASH_MISMATCH, 0)
        reasons |= tl.where(stored_position != position, FAIL_REASON_VERIFY_POSITION_MISMATCH, 0)
        reasons |= tl.where(stored_bytes != bytes_hash, FAIL_REASON_VERIFY_REAL_KV_HASH_MISMATCH, 0)
        differs = (expected_token != -1) & (stored_token != expected_token)
        reasons |= tl.where(differs, FAIL_REASON_VERIFY_TOKEN_MISMATCH, 0)
        reasons |= tl.where(is_cut, FAIL_REASON_SLOT_OUT_OF_RANGE, 0)
        reasons = tl.where(is_sound, reasons, 0)
        reasons = tl.where(is_wild, FAIL_REASON_SLOT_OUT_OF_RANGE, reasons)
        is_padding = is_entry & (slot == TOKEN_TO_KV_SLOT_PADDING) & (report_padding_slot != 0)
        reasons = tl.where(is_padding, FAIL_REASON_PADDING_SLOT_IN_PREFIX, reasons)
        is_violation = reasons != 0
        violation_slot = slot
        violation_position = tl.where(is_sound, stored_position, position)
        violation_token = stored_token
        violation_expected_token = expected_token
        violation_hash = stored_hash
        violation_aux = expected_hash
        evidence_position = position
        evidence_stored = stored_bytes
        evidence_computed = bytes_hash
        evidence_previous = previous
        evidence_index = entry
        evidence_request = tl.full([ENTRY_BLOCK], -1, tl.int64)
        # One place in the ring for each violation of this block: a row is taken by counting, never
        # overwritten, and where the ring ends the count goes on alone.
        violations = is_violation.to(tl.int32)
        violation_count = tl.sum(violations)
        if violation_count > 0:
            recorded = tl.load(violation_write_index_ptr).to(tl.int64)
            # A damaged or very high count stays as it is: it never comes round to a row in use.
            if (recorded >= 0) & (recorded < VIOLATION_COUNT_LIMIT):
                first_row = tl.atomic_add(violation_write_index_ptr, violation_count).to(tl.int64)
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
