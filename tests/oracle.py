"""What the plan means, one small function per sentence of the contract.

Plain lists and integers, one request and one position at a time: slow, and obvious enough to be
checked by reading.  It imports nothing but the standard library, so that nothing it is compared
with can lend it a mistake.  Python's integers have no width, so nothing here can wrap.

Read from the bottom up: `plan` is the whole, `plan_offsets` and `plan_entries` its halves, and the
functions above them say one sentence each.  `r` is a request's place in the batch, `p` a position
in its sequence.
"""

from dataclasses import dataclass

PADDING_ROW = 0
NO_PREDECESSOR = -1
NO_SEED = -1
NO_TOKEN_CHECK = -1
UNUSABLE_SLOT = -2
LARGEST_EXTEND = 2**31 - 1

Row = list[int]
Table = list[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One slot to verify, and what to find there."""

    slot: int
    token: int
    position: int
    previous_slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """What the offsets kernel gives; `verify_offsets` has one more entry than the batch."""

    verify_offsets: list[int]
    verify_num_valid: int
    enable: int
    write_offsets: list[int]
    write_seed_slot_indices: list[int]
    write_num_valid_reqs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the plan launcher gives; the verify lists hold the entries written, and no more."""

    verify_num_valid: int
    enable: int
    verify_slot_indices: list[int]
    verify_expected_tokens: list[int]
    verify_expected_positions: list[int]
    verify_prev_slot_indices: list[int]
    write_offsets: list[int]
    write_seed_slot_indices: list[int]
    write_num_valid_reqs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RotatedPlan(Plan):
    """What the plan launcher gives when a rotation is given, with how far its coverage goes."""

    verify_total: int
    """Entries that the step asked for, whether or not the plan holds them."""
    verify_rotation: int
    """Where the next step starts."""


# One request -------------------------------------------------------------------------------------


def is_padding(row: int) -> bool:
    """Row 0 marks a padding request."""
    return row == PADDING_ROW


def row_is_bad(row: int, req_to_token: Table) -> bool:
    """A row is bad when the table has no such row."""
    return not 0 <= row < len(req_to_token)


def prefix_is_bad(prefix_len: int, row: int, req_to_token: Table) -> bool:
    """A prefix length is bad when it is negative or longer than a row of the table."""
    return not 0 <= prefix_len <= len(req_to_token[row])


def is_bad(row: int, prefix_len: int, req_to_token: Table) -> bool:
    """A request is bad when its row is, or else when its prefix length is; padding never is."""
    if is_padding(row):
        return False
    return row_is_bad(row, req_to_token) or prefix_is_bad(prefix_len, row, req_to_token)


def window_start(prefix_len: int, swa_window_size: int) -> int:
    """A window keeps the last `swa_window_size` positions of the prefix; without one, all."""
    return max(0, prefix_len - swa_window_size) if swa_window_size > 0 else 0


def through_swa_table(slot: int, full_to_swa_index_mapping: Row | None) -> int:
    """A slot, 0 too, is looked up in the table if given; a negative one stays what it is.

    A slot past the table's end becomes -2, which verify reports.
    """
    if full_to_swa_index_mapping is None or slot < 0:
        return slot
    if slot >= len(full_to_swa_index_mapping):
        return UNUSABLE_SLOT
    return full_to_swa_index_mapping[slot]


def previous_slot(row: int, p: int, req_to_token: Table, swa_table: Row | None) -> int:
    """The true predecessor, also at a window's start; -1 at the start of the sequence."""
    if p == 0:
        return NO_PREDECESSOR
    return through_swa_table(req_to_token[row][p - 1], swa_table)


def expected_token(
    row: int, index: int, expected_tokens: Table | None, valid_len: int | None
) -> int:
    """The pool's token at `index`, if the pool has one there that counts; else no check."""
    if expected_tokens is None or valid_len is None:
        return NO_TOKEN_CHECK
    if not 0 <= index < valid_len:
        return NO_TOKEN_CHECK
    if row >= len(expected_tokens) or index >= len(expected_tokens[row]):
        return NO_TOKEN_CHECK
    return expected_tokens[row][index]


def entry_that_reports(row: int, prefix_len: int, req_to_token: Table) -> Entry:
    """A bad request's only entry: verify reports its slot, at the bad length (0 for a bad row)."""
    position = 0 if row_is_bad(row, req_to_token) else prefix_len
    return Entry(slot=UNUSABLE_SLOT, token=NO_TOKEN_CHECK, position=position, previous_slot=0)


def entries_of_request(
    *,
    row: int,
    prefix_len: int,
    valid_len: int | None,
    req_to_token: Table,
    swa_window_size: int,
    full_to_swa_index_mapping: Row | None,
    req_to_verify_expected_tokens: Table | None,
    kv_token_id_vs_position_offset: int,
) -> list[Entry]:
    """One entry for each position of the prefix that is in the window, in position order."""
    if is_padding(row):
        return []
    if is_bad(row, prefix_len, req_to_token):
        return [entry_that_reports(row, prefix_len, req_to_token)]
    return [
        Entry(
            slot=through_swa_table(req_to_token[row][p], full_to_swa_index_mapping),
            token=expected_token(
                row, p + kv_token_id_vs_position_offset, req_to_verify_expected_tokens, valid_len
            ),
            position=p,
            previous_slot=previous_slot(row, p, req_to_token, full_to_swa_index_mapping),
        )
        for p in range(window_start(prefix_len, swa_window_size), prefix_len)
    ]


def verify_count(row: int, prefix_len: int, req_to_token: Table, swa_window_size: int) -> int:
    """How many entries a request contributes."""
    if is_padding(row):
        return 0
    if is_bad(row, prefix_len, req_to_token):
        return 1
    return prefix_len - window_start(prefix_len, swa_window_size)


def write_count(row: int, extend_seq_len: int) -> int:
    """How many tokens a request writes: none for padding, and never a count that could wrap."""
    if is_padding(row):
        return 0
    return min(max(0, extend_seq_len), LARGEST_EXTEND)


def write_seed(
    row: int, prefix_len: int, extend_seq_len: int, req_to_token: Table, swa_table: Row | None
) -> int:
    """The slot of the prefix's last position, where what is written continues the chain."""
    if write_count(row, extend_seq_len) == 0 or is_bad(row, prefix_len, req_to_token):
        return NO_SEED
    return previous_slot(row, prefix_len, req_to_token, swa_table)


# The batch ---------------------------------------------------------------------------------------


def exclusive_prefix_sum(counts: list[int]) -> list[int]:
    """Where each one's share starts, and at the end the total."""
    offsets = [0]
    for count in counts:
        offsets.append(offsets[-1] + count)
    return offsets


def plan_offsets(
    *,
    req_pool_indices: Row,
    prefix_lens: Row,
    extend_seq_lens: Row,
    req_to_token: Table,
    full_to_swa_index_mapping: Row | None,
    swa_window_size: int,
    verify_capacity: int,
    write_req_capacity: int,
) -> Offsets:
    """Where each request's entries and writes start, and which slot its chain continues."""
    requests = list(zip(req_pool_indices, prefix_lens, extend_seq_lens, strict=True))
    verify_offsets = exclusive_prefix_sum(
        [
            verify_count(row, prefix_len, req_to_token, swa_window_size)
            for row, prefix_len, _ in requests
        ]
    )
    write_offsets = exclusive_prefix_sum([write_count(row, extend) for row, _, extend in requests])
    total = verify_offsets[-1]
    return Offsets(
        verify_offsets=verify_offsets,
        verify_num_valid=min(total, verify_capacity),
        enable=0 if total > verify_capacity else 1,
        write_offsets=write_offsets + [0] * (write_req_capacity - len(requests)),
        write_seed_slot_indices=[
            write_seed(row, prefix_len, extend, req_to_token, full_to_swa_index_mapping)
            for row, prefix_len, extend in requests
        ],
        write_num_valid_reqs=len(requests),
    )


def plan_entries(
    *,
    req_pool_indices: Row,
    prefix_lens: Row,
    req_to_token: Table,
    full_to_swa_index_mapping: Row | None,
    verify_offsets_scratch: Row,
    verify_enable: int,
    req_to_verify_expected_tokens: Table | None,
    req_to_verify_expected_tokens_valid_lens: Row | None,
    verify_capacity: int,
    kv_token_id_vs_position_offset: int,
    swa_window_size: int,
) -> list[list[Entry]]:
    """For each index of the plan, the entries that belong there.

    Request r's entries belong at `verify_offsets_scratch[r]` and onwards, and those that would
    fall outside the plan nowhere.  An index gets one entry or none from a scratch that fits the
    batch; a wild scratch may send several to one index, and then any of them may be found there.
    """
    plan: list[list[Entry]] = [[] for _ in range(verify_capacity)]
    if verify_enable == 0:
        return plan
    for r, (row, prefix_len) in enumerate(zip(req_pool_indices, prefix_lens, strict=True)):
        valid_lens = req_to_verify_expected_tokens_valid_lens
        entries = entries_of_request(
            row=row,
            prefix_len=prefix_len,
            valid_len=None if valid_lens is None else valid_lens[r],  # by place, not by row
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
        )
        for index, entry in enumerate(entries, start=verify_offsets_scratch[r]):
            if 0 <= index < verify_capacity:
                plan[index].append(entry)
    return plan


def entries_written(
    in_order: list[Entry], verify_capacity: int, verify_rotation: int | None
) -> list[Entry]:
    """All entries if the plan holds them; else none, or from the rotation's start on, in a ring."""
    total = len(in_order)
    if total <= verify_capacity:
        return in_order
    if verify_rotation is None:
        return []
    return [in_order[(verify_rotation + k) % total] for k in range(verify_capacity)]


def next_rotation(total: int, verify_capacity: int, verify_rotation: int) -> int:
    """The start advances by what was written, and only when not everything was."""
    if total <= verify_capacity:
        return verify_rotation
    return (verify_rotation + verify_capacity) % total


def plan(
    *,
    req_pool_indices: Row,
    prefix_lens: Row,
    extend_seq_lens: Row,
    req_to_token: Table,
    swa_window_size: int,
    full_to_swa_index_mapping: Row | None,
    verify_capacity: int,
    write_req_capacity: int,
    req_to_verify_expected_tokens: Table | None,
    req_to_verify_expected_tokens_valid_lens: Row | None,
    kv_token_id_vs_position_offset: int,
    verify_rotation: int | None = None,
) -> Plan:
    """The whole plan: the offsets, then the entries packed in batch order, then position order.

    With a rotation's start it is a `RotatedPlan`, and is never off for want of capacity.
    """
    offsets = plan_offsets(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        extend_seq_lens=extend_seq_lens,
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        swa_window_size=swa_window_size,
        verify_capacity=verify_capacity,
        write_req_capacity=write_req_capacity,
    )
    total = offsets.verify_offsets[-1]
    entries = plan_entries(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        verify_offsets_scratch=offsets.verify_offsets,
        verify_enable=1,
        req_to_verify_expected_tokens=req_to_verify_expected_tokens,
        req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
        verify_capacity=total,
        kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
        swa_window_size=swa_window_size,
    )
    in_order = [entry for entries_here in entries for entry in entries_here]
    written = entries_written(in_order, verify_capacity, verify_rotation)
    results = {
        "verify_num_valid": offsets.verify_num_valid,
        "enable": offsets.enable,
        "verify_slot_indices": [entry.slot for entry in written],
        "verify_expected_tokens": [entry.token for entry in written],
        "verify_expected_positions": [entry.position for entry in written],
        "verify_prev_slot_indices": [entry.previous_slot for entry in written],
        "write_offsets": offsets.write_offsets,
        "write_seed_slot_indices": offsets.write_seed_slot_indices,
        "write_num_valid_reqs": offsets.write_num_valid_reqs,
    }
    if verify_rotation is None:
        return Plan(**results)
    return RotatedPlan(
        **results | {"enable": 1},
        verify_total=total,
        verify_rotation=next_rotation(total, verify_capacity, verify_rotation),
    )
