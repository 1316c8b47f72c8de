"""What write, verify and scatter mean, one small function per sentence of the contract.

Plain lists and integers, one request and one entry at a time, as `oracle.py` does it for the plan:
the standard library alone, and nothing that is compared with it lends it a mistake.

Read from the bottom up: `write`, `verify` and `scatter_req_token_ids` are the kernels, and the
functions above them say one sentence each.  Inputs are named as in the contract's vectors: a canary
buffer is rows of int64, of which the first four are the stamp; a source's rows are hexadecimal.

Where the contract leaves a result open, the oracle says so: `unspecified_slots`,
`unspecified_seeds`, `unspecified_cells`, and `write_index_at_most`.  Violations are all that a
launch finds, in the order of the batch; `ring_rows` are those of them that find room.
"""

from dataclasses import dataclass, replace

CHAIN_ANCHOR = 0xC0FFEE1234567890
CHAIN_FACTOR = 0xD1342543DE82EF95  # A, in the parallel format
GOLDEN = 0x9E3779B97F4A7C15  # G, in the parallel format
MODULUS = 2**64

PADDING_SLOT = 0
NO_PREDECESSOR = -1
NO_SEED = -1
NO_TOKEN_CHECK = -1
NO_REQUEST = -1
UNUSABLE_SLOT = -2

MODE_NONE, MODE_PARTIAL, MODE_ALL = 0, 1, 2
PARTIAL_BYTES = 16
STAMP_FIELDS = 4

CHAIN_HASH_DIFFERS = 1 << 0
POSITION_DIFFERS = 1 << 1
REAL_KV_HASH_DIFFERS = 1 << 2
WRITTEN_TOKEN_DIFFERS = 1 << 3
WRITTEN_POSITION_DIFFERS = 1 << 4
TOKEN_DIFFERS = 1 << 5
SLOT_OUT_OF_RANGE = 1 << 6
PADDING_SLOT_IN_PREFIX = 1 << 7

WRITE_INDEX_LIMIT = 2**30

Row = list[int]
Table = list[Row]
Source = dict  # a source as a vector spells it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a canary slot stores of one token."""

    token: int
    position: int
    prev_hash: int
    real_kv_hash: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One row of the violation ring, and the row of the evidence ring that goes with it."""

    kernel_kind: int
    slot: int
    position: int
    stored_token: int
    expected_token: int
    stored_chain_hash: int
    expected_aux: int
    reasons: int

    expected_position: int = -1
    stored_real_kv_hash: int = 0
    recomputed_real_kv_hash: int = 0
    previous_slot: int = -1
    index: int = -1
    step: int
    request: int = NO_REQUEST

    def row(self) -> Row:
        """The row of the violation ring."""
        return [
            self.kernel_kind,
            self.slot,
            self.position,
            self.stored_token,
            self.expected_token,
            self.stored_chain_hash,
            self.expected_aux,
            self.reasons,
        ]

    def evidence(self) -> Row:
        """The row of the evidence ring; its last column is always 0."""
        return [
            self.expected_position,
            self.stored_real_kv_hash,
            self.recomputed_real_kv_hash,
            self.previous_slot,
            self.index,
            self.step,
            self.request,
            0,
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything that a launch of write or verify changes."""

    violations: list[Violation]
    """All that the launch found, in the order of the batch."""
    ring_rows: dict[int, Violation]
    """Which row of the ring takes which violation, when they come in that order."""
    violation_write_index: int
    write_index_at_most: int
    """How far the index may go where programs read it before others have added to it."""
    slot_run_counter: int
    kernel_run_counter: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLaunch(Launch):
    """Everything that a launch of write changes."""

    canary_buf_i64: Table
    unspecified_slots: set[int]
    """Slots written twice, slots that are a target and a seed, and what continues such a seed."""
    unspecified_seeds: set[int]
    """Seeds that the same launch writes over: what their requests compare is left open too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Everything that a launch of scatter changes."""

    pool_out: Table
    unspecified_cells: set[tuple[int, int]]
    """Cells that more than one request writes, as (row, column)."""


# Numbers -----------------------------------------------------------------------------------------


def as_uint64(value: int) -> int:
    """Arithmetic on hashes is modulo 2^64."""
    return value % MODULUS


def as_int64(value: int) -> int:
    """An int64 holds the two's complement of a value."""
    value %= MODULUS
    return value - MODULUS if value >= MODULUS // 2 else value


def as_int32(value: int) -> int:
    """Conversion to int32 keeps the low 32 bits."""
    value %= 2**32
    return value - 2**32 if value >= 2**31 else value


def clamped(value: int, highest: int) -> int:
    """A count is read clamped to [0, highest]."""
    return min(max(0, value), highest)


# Hashes, as unsigned numbers ---------------------------------------------------------------------


def splitmix64(x: int) -> int:
    """The finaliser of splitmix64, with logical shifts."""
    x = as_uint64(x)
    x = as_uint64((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9)
    x = as_uint64((x ^ (x >> 27)) * 0x94D049BB133111EB)
    return x ^ (x >> 31)


def mix3(a: int, b: int, c: int) -> int:
    """Three numbers, mixed one after the other."""
    return splitmix64(splitmix64(splitmix64(a) ^ as_uint64(b)) ^ as_uint64(c))


def first_hash() -> int:
    """What the first token of a sequence has for `prev_hash`, in both formats."""
    return splitmix64(CHAIN_ANCHOR)


def successor_hash_serial(prev_hash: int, token: int, position: int) -> int:
    """The serial format mixes the three."""
    return mix3(prev_hash, token, position)


def successor_hash_parallel(prev_hash: int, token: int, position: int) -> int:
    """The parallel format is an affine map of `prev_hash`."""
    mixed = splitmix64(splitmix64(token + GOLDEN) ^ as_uint64(position))
    return as_uint64(prev_hash * CHAIN_FACTOR + mixed)


def successor_hash(hash_format: str, prev_hash: int, token: int, position: int) -> int:
    """What a token's successor has for `prev_hash`."""
    successor = {"serial": successor_hash_serial, "parallel": successor_hash_parallel}[hash_format]
    return successor(prev_hash, token, position)


def bytes_of_slot(source: Source, slot: int) -> bytes:
    """The `read_bytes` of a slot: a page is a row, and within it the slots stand side by side."""
    page, place = divmod(slot, source["page_size"])
    start = place * source["num_bytes_per_token"]
    return bytes.fromhex(source["rows_hex"][page])[start : start + source["read_bytes"]]


def bytes_covered(source: Source, slot: int, real_kv_hash_mode: int) -> bytes:
    """Mode PARTIAL covers the first 16 bytes of a source, mode ALL what the source reads."""
    data = bytes_of_slot(source, slot)
    return data[:PARTIAL_BYTES] if real_kv_hash_mode == MODE_PARTIAL else data


def words_of(data: bytes) -> list[int]:
    """The little-endian 8-byte words of some bytes."""
    return [int.from_bytes(data[k : k + 8], "little") for k in range(0, len(data), 8)]


def sources_hash_serial(words_of_sources: list[list[int]]) -> int:
    """Each source's words are folded, and then the sources."""
    total = 0
    for words in words_of_sources:
        folded = 0
        for word in words:
            folded = splitmix64(folded ^ word)
        total = splitmix64(total ^ folded)
    return total


def sources_hash_parallel(words_of_sources: list[list[int]]) -> int:
    """Sums, in which the place of a word and of a source is mixed with it."""
    total = 0
    for s, words in enumerate(words_of_sources):
        summed = sum(
            splitmix64(word ^ splitmix64((k + 1) * GOLDEN)) for k, word in enumerate(words)
        )
        total += splitmix64(summed + (s + 1) * GOLDEN)
    return as_uint64(total)


def real_kv_hash(
    hash_format: str, real_kv_hash_mode: int, real_kv_sources: list[Source], slot: int
) -> int:
    """The hash of a slot's true K or V bytes; 0 in mode NONE, or without a source."""
    if real_kv_hash_mode == MODE_NONE or not real_kv_sources:
        return 0
    words = [words_of(bytes_covered(source, slot, real_kv_hash_mode)) for source in real_kv_sources]
    hash_of = {"serial": sources_hash_serial, "parallel": sources_hash_parallel}[hash_format]
    return hash_of(words)


# Slots -------------------------------------------------------------------------------------------


def is_slot(slot: int, canary_buf_i64: Table) -> bool:
    """Whether a canary buffer has such a slot."""
    return 0 <= slot < len(canary_buf_i64)


def stamp_in(slot: int, canary_buf_i64: Table) -> Stamp:
    """What a slot stores."""
    token, position, prev_hash, real_hash = canary_buf_i64[slot][:STAMP_FIELDS]
    return Stamp(token=token, position=position, prev_hash=prev_hash, real_kv_hash=real_hash)


def successor_of(slot: int, canary_buf_i64: Table, hash_format: str) -> int:
    """The hash that whatever follows a slot should have, as it stands in an int64."""
    stamp = stamp_in(slot, canary_buf_i64)
    return as_int64(successor_hash(hash_format, stamp.prev_hash, stamp.token, stamp.position))


# The ring ----------------------------------------------------------------------------------------


def ring_has(index: int, ring_capacity: int) -> bool:
    """An index outside `[0, ring_capacity)` is a full ring."""
    return 0 <= index < ring_capacity


def write_index_moves(index: int) -> bool:
    """An index that is negative, or 2^30 or more, is never added to: it never comes round."""
    return 0 <= index < WRITE_INDEX_LIMIT


def recorded(
    violations: list[Violation], violation_write_index: int, ring_capacity: int
) -> tuple[dict[int, Violation], int]:
    """Each violation takes the next index, and that row if there is one; the index goes on."""
    index, rows = violation_write_index, {}
    for violation in violations:
        if ring_has(index, ring_capacity):
            rows[index] = violation
        if write_index_moves(index):
            index += 1
    return rows, index


def write_index_at_most(violations: list[Violation], violation_write_index: int) -> int:
    """Where the index ends if every program reads it before any of them adds to it."""
    if not write_index_moves(violation_write_index):
        return violation_write_index
    return violation_write_index + len(violations)


def launch_results(
    violations: list[Violation],
    *,
    violation_write_index: int,
    ring_capacity: int,
    slot_run_counter: int,
    slots_run: int,
    kernel_run_counter: int,
) -> dict:
    """What write and verify change alike: the ring, its index, and the counters."""
    rows, index = recorded(violations, violation_write_index, ring_capacity)
    return {
        "violations": violations,
        "ring_rows": rows,
        "violation_write_index": index,
        "write_index_at_most": write_index_at_most(violations, violation_write_index),
        "slot_run_counter": as_int64(slot_run_counter + slots_run),
        "kernel_run_counter": as_int64(kernel_run_counter + 1),
    }


# Verify ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyCall:
    """What every entry of a verify launch is compared under."""

    canary_buf_i64: Table
    kernel_kind: int
    real_kv_hash_mode: int
    real_kv_sources: list[Source]
    hash_format: str
    check_verify_expected_token: bool
    report_padding_slot: bool
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyEntry:
    """One entry of a verify plan: its place `k` there, and what is in it."""

    k: int
    slot: int
    expected_token: int
    expected_position: int
    previous_slot: int


def violation_without_looking(call: VerifyCall, entry: VerifyEntry, reason: int) -> Violation:
    """A slot that is not followed: the plan's slot and position, and nothing that is stored."""
    return Violation(
        kernel_kind=call.kernel_kind,
        slot=entry.slot,
        position=entry.expected_position,
        stored_token=0,
        expected_token=NO_TOKEN_CHECK,
        stored_chain_hash=0,
        expected_aux=0,
        reasons=reason,
        expected_position=entry.expected_position,
        previous_slot=entry.previous_slot,
        index=entry.k,
        step=call.step,
    )


def previous_slot_is_bad(entry: VerifyEntry, call: VerifyCall) -> bool:
    """A previous slot is -1 where there is none, or else a slot of the buffer."""
    return entry.previous_slot != NO_PREDECESSOR and not is_slot(
        entry.previous_slot, call.canary_buf_i64
    )


def chain_is_compared(entry: VerifyEntry, call: VerifyCall) -> bool:
    """Not where the previous slot is 0, which holds nothing, and not where it is bad."""
    return entry.previous_slot != PADDING_SLOT and not previous_slot_is_bad(entry, call)


def expected_chain_hash(entry: VerifyEntry, call: VerifyCall, stored: Stamp) -> int:
    """What the previous slot's successor should have; the stored hash where none is compared."""
    if not chain_is_compared(entry, call):
        return stored.prev_hash
    if entry.previous_slot == NO_PREDECESSOR:
        return as_int64(first_hash())
    return successor_of(entry.previous_slot, call.canary_buf_i64, call.hash_format)


def expected_verify_token(entry: VerifyEntry, call: VerifyCall) -> int:
    """The plan's token if the call checks tokens; -1 is no token to compare with."""
    return entry.expected_token if call.check_verify_expected_token else NO_TOKEN_CHECK


def recomputed_hash(call: VerifyCall, slot: int) -> int:
    """The hash of what the sources hold now; compared in mode NONE too, with 0."""
    return as_int64(
        real_kv_hash(call.hash_format, call.real_kv_hash_mode, call.real_kv_sources, slot)
    )


def differences(entry: VerifyEntry, call: VerifyCall, stored: Stamp) -> int:
    """The bits of everything in which an entry and its slot differ."""
    token = expected_verify_token(entry, call)
    reasons = 0
    if stored.prev_hash != expected_chain_hash(entry, call, stored):
        reasons |= CHAIN_HASH_DIFFERS
    if stored.position != entry.expected_position:
        reasons |= POSITION_DIFFERS
    if stored.real_kv_hash != recomputed_hash(call, entry.slot):
        reasons |= REAL_KV_HASH_DIFFERS
    if token not in (NO_TOKEN_CHECK, stored.token):
        reasons |= TOKEN_DIFFERS
    if previous_slot_is_bad(entry, call):
        reasons |= SLOT_OUT_OF_RANGE
    return reasons


def violation_of_sound_slot(entry: VerifyEntry, call: VerifyCall) -> Violation | None:
    """One violation with all its bits, if any."""
    stored = stamp_in(entry.slot, call.canary_buf_i64)
    reasons = differences(entry, call, stored)
    if reasons == 0:
        return None
    return Violation(
        kernel_kind=call.kernel_kind,
        slot=entry.slot,
        position=stored.position,
        stored_token=stored.token,
        expected_token=expected_verify_token(entry, call),
        stored_chain_hash=stored.prev_hash,
        expected_aux=expected_chain_hash(entry, call, stored),
        reasons=reasons,
        expected_position=entry.expected_position,
        stored_real_kv_hash=stored.real_kv_hash,
        recomputed_real_kv_hash=recomputed_hash(call, entry.slot),
        previous_slot=entry.previous_slot,
        index=entry.k,
        step=call.step,
    )


def violation_of_entry(entry: VerifyEntry, call: VerifyCall) -> Violation | None:
    """Slot 0 is skipped, or reported if that is asked for; a slot not in the buffer is reported."""
    if entry.slot == PADDING_SLOT:
        if call.report_padding_slot:
            return violation_without_looking(call, entry, PADDING_SLOT_IN_PREFIX)
        return None
    if not is_slot(entry.slot, call.canary_buf_i64):
        return violation_without_looking(call, entry, SLOT_OUT_OF_RANGE)
    return violation_of_sound_slot(entry, call)


def verify(
    *,
    canary_buf_i64: Table,
    kernel_kind: int,
    ring_capacity: int,
    violation_write_index: int,
    real_kv_hash_mode: int,
    real_kv_sources: list[Source],
    check_verify_expected_token: bool,
    verify_slot_indices: Row,
    verify_expected_tokens: Row,
    verify_expected_positions: Row,
    verify_prev_slot_indices: Row,
    verify_num_valid: int,
    enable: int,
    report_padding_slot: bool = False,
    hash_format: str = "serial",
    slot_run_counter: int = 0,
    kernel_run_counter: int = 0,
) -> Launch:
    """Each entry in use, one after the other; if `enable` is 0, none, but the call is counted."""
    call = VerifyCall(
        canary_buf_i64=canary_buf_i64,
        kernel_kind=kernel_kind,
        real_kv_hash_mode=real_kv_hash_mode,
        real_kv_sources=real_kv_sources,
        hash_format=hash_format,
        check_verify_expected_token=check_verify_expected_token,
        report_padding_slot=report_padding_slot,
        step=kernel_run_counter,
    )
    walked = 0 if enable == 0 else clamped(verify_num_valid, len(verify_slot_indices))
    violations = []
    for k in range(walked):
        entry = VerifyEntry(
            k=k,
            slot=verify_slot_indices[k],
            expected_token=verify_expected_tokens[k],
            expected_position=verify_expected_positions[k],
            previous_slot=verify_prev_slot_indices[k],
        )
        violation = violation_of_entry(entry, call)
        if violation is not None:
            violations.append(violation)
    return Launch(
        **launch_results(
            violations,
            violation_write_index=violation_write_index,
            ring_capacity=ring_capacity,
            slot_run_counter=slot_run_counter,
            slots_run=walked,
            kernel_run_counter=kernel_run_counter,
        )
    )


# Write -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """What every request of a write launch is written under; the buffer is as it was before."""

    canary_buf_i64: Table
    kernel_kind: int
    real_kv_hash_mode: int
    real_kv_sources: list[Source]
    hash_format: str
    input_ids: Row
    positions: Row
    out_cache_loc: Row
    enable_write_input_assert: bool
    expected_input_tokens: Row | None
    expected_input_positions: Row | None
    enable_chain_position_assert: int
    step: int


@dataclass(slots=True, kw_only=True)
class Walk:
    """How far a request has come: what the next entry stored continues."""

    request: int
    seed: int
    running_hash: int
    previous_slot: int
    wanted_position: int | None
    """The position that the next entry stored should have; None if none is checked."""
    stored: list[tuple[int, Stamp]]
    violations: list[Violation]


def seed_is_bad(seed: int, call: WriteCall) -> bool:
    """A seed is -1 where there is none, or else a slot of the buffer."""
    return seed != NO_SEED and not is_slot(seed, call.canary_buf_i64)


def seed_is_followed(seed: int, call: WriteCall) -> bool:
    """A seed of 0 counts as none, and so does a bad one."""
    return seed not in (NO_SEED, PADDING_SLOT) and not seed_is_bad(seed, call)


def seed_hash(seed: int, call: WriteCall) -> int:
    """Where the running hash starts: after the seed slot, or at the anchor."""
    if seed_is_followed(seed, call):
        return successor_of(seed, call.canary_buf_i64, call.hash_format)
    return as_int64(first_hash())


def first_wanted_position(seed: int, call: WriteCall) -> int | None:
    """The seed slot's position + 1, if the call asks for the check and there is such a slot."""
    if call.enable_chain_position_assert == 0 or not seed_is_followed(seed, call):
        return None
    return as_int64(stamp_in(seed, call.canary_buf_i64).position + 1)


def offsets_are_bad(start: int, end: int, num_tokens: int) -> bool:
    """Offsets are good from 0 on, not backwards, and up to the last token."""
    return not 0 <= start <= end <= num_tokens


def violation_of_offsets(call: WriteCall, request: int, start: int, end: int) -> Violation:
    """A request with bad offsets records once."""
    return Violation(
        kernel_kind=call.kernel_kind,
        slot=UNUSABLE_SLOT,
        position=start,
        stored_token=0,
        expected_token=NO_TOKEN_CHECK,
        stored_chain_hash=0,
        expected_aux=end,
        reasons=SLOT_OUT_OF_RANGE,
        step=call.step,
        request=request,
    )


def violation_of_slot(call: WriteCall, walk: Walk, i: int) -> Violation:
    """An `out_cache_loc` past the buffer is reported, and nothing is stored."""
    return Violation(
        kernel_kind=call.kernel_kind,
        slot=call.out_cache_loc[i],
        position=call.positions[i],
        stored_token=0,
        expected_token=NO_TOKEN_CHECK,
        stored_chain_hash=0,
        expected_aux=0,
        reasons=SLOT_OUT_OF_RANGE,
        previous_slot=walk.previous_slot,
        index=i,
        step=call.step,
        request=walk.request,
    )


def violation_of_stored_entry(
    call: WriteCall, walk: Walk, i: int, stamp: Stamp, *, token: int, aux: int, reasons: int
) -> Violation:
    """In every write row are the entry's slot, position and token, and the hash before it."""
    return Violation(
        kernel_kind=call.kernel_kind,
        slot=call.out_cache_loc[i],
        position=stamp.position,
        stored_token=stamp.token,
        expected_token=token,
        stored_chain_hash=stamp.prev_hash,
        expected_aux=aux,
        reasons=reasons,
        stored_real_kv_hash=stamp.real_kv_hash,
        recomputed_real_kv_hash=stamp.real_kv_hash,
        previous_slot=walk.previous_slot,
        index=i,
        step=call.step,
        request=walk.request,
    )


def seed_violation(call: WriteCall, walk: Walk, i: int, stamp: Stamp) -> Violation | None:
    """A bad seed is reported at the first entry stored, in a row of its own."""
    if walk.stored or not seed_is_bad(walk.seed, call):
        return None
    return violation_of_stored_entry(
        call, walk, i, stamp, token=stamp.token, aux=walk.seed, reasons=SLOT_OUT_OF_RANGE
    )


def input_violation(call: WriteCall, walk: Walk, i: int, stamp: Stamp) -> Violation | None:
    """The token and the position are compared with what was expected, if that is asked for."""
    if not call.enable_write_input_assert:
        return None
    token, position = call.expected_input_tokens[i], call.expected_input_positions[i]
    reasons = 0
    if stamp.token != token:
        reasons |= WRITTEN_TOKEN_DIFFERS
    if stamp.position != position:
        reasons |= WRITTEN_POSITION_DIFFERS
    if reasons == 0:
        return None
    violation = violation_of_stored_entry(
        call, walk, i, stamp, token=token, aux=position, reasons=reasons
    )
    return replace(violation, expected_position=position)


def chain_position_violation(call: WriteCall, walk: Walk, i: int, stamp: Stamp) -> Violation | None:
    """A position must be that of the entry stored before + 1, if that is checked."""
    if walk.wanted_position is None or stamp.position == walk.wanted_position:
        return None
    violation = violation_of_stored_entry(
        call,
        walk,
        i,
        stamp,
        token=stamp.token,
        aux=walk.wanted_position,
        reasons=WRITTEN_POSITION_DIFFERS,
    )
    return replace(violation, expected_position=walk.wanted_position)


def store_entry(call: WriteCall, walk: Walk, i: int) -> None:
    """Store the stamp of entry i, check it, and advance on what it actually is."""
    slot = call.out_cache_loc[i]
    stamp = Stamp(
        token=call.input_ids[i],
        position=call.positions[i],
        prev_hash=walk.running_hash,
        real_kv_hash=as_int64(
            real_kv_hash(call.hash_format, call.real_kv_hash_mode, call.real_kv_sources, slot)
        ),
    )
    seed_first = seed_violation(call, walk, i, stamp)
    if seed_first is not None:
        walk.violations.insert(0, seed_first)  # before any other of the request
    for violation in (
        input_violation(call, walk, i, stamp),
        chain_position_violation(call, walk, i, stamp),
    ):
        if violation is not None:
            walk.violations.append(violation)
    walk.stored.append((slot, stamp))
    walk.previous_slot = slot
    walk.running_hash = as_int64(
        successor_hash(call.hash_format, stamp.prev_hash, stamp.token, stamp.position)
    )
    if walk.wanted_position is not None:
        walk.wanted_position = as_int64(stamp.position + 1)


def walk_entry(call: WriteCall, walk: Walk, i: int) -> None:
    """A negative slot is skipped in silence, one past the buffer is skipped and reported."""
    slot = call.out_cache_loc[i]
    if slot < 0:
        return
    if not is_slot(slot, call.canary_buf_i64):
        walk.violations.append(violation_of_slot(call, walk, i))
        return
    store_entry(call, walk, i)


def walk_request(call: WriteCall, request: int, seed: int, start: int, end: int) -> Walk:
    """The entries of one request, in order."""
    walk = Walk(
        request=request,
        seed=seed,
        running_hash=seed_hash(seed, call),
        previous_slot=seed,
        wanted_position=first_wanted_position(seed, call),
        stored=[],
        violations=[],
    )
    if offsets_are_bad(start, end, len(call.input_ids)):
        walk.violations.append(violation_of_offsets(call, request, start, end))
        return walk
    for i in range(start, end):
        walk_entry(call, walk, i)
    return walk


def seeds_written_over(call: WriteCall, walks: list[Walk]) -> set[int]:
    """Slots that one launch reads as a seed and writes as a target: what it reads is open.

    Slot 0 is no such seed, as nobody reads it.
    """
    targets = {slot for walk in walks for slot, _ in walk.stored}
    return {walk.seed for walk in walks if walk.stored and seed_is_followed(walk.seed, call)} & (
        targets
    )


def slots_left_open(call: WriteCall, walks: list[Walk]) -> set[int]:
    """What a slot holds that is written twice, or is seed and target, is unspecified.

    So is then what a request stores whose chain continues such a seed.
    """
    targets = [slot for walk in walks for slot, _ in walk.stored]
    seeds = {walk.seed for walk in walks}
    written_over = seeds_written_over(call, walks)
    after_such_a_seed = {
        slot for walk in walks if walk.seed in written_over for slot, _ in walk.stored
    }
    return {slot for slot in targets if targets.count(slot) > 1 or slot in seeds} | (
        after_such_a_seed
    )


def write(
    *,
    canary_buf_i64: Table,
    kernel_kind: int,
    ring_capacity: int,
    violation_write_index: int,
    enable_chain_position_assert: int,
    real_kv_hash_mode: int,
    real_kv_sources: list[Source],
    write_offsets: Row,
    write_seed_slot_indices: Row,
    write_num_valid_reqs: int,
    input_ids: Row,
    positions: Row,
    out_cache_loc: Row,
    enable_write_input_assert: bool,
    expected_input_tokens: Row | None,
    expected_input_positions: Row | None,
    hash_format: str = "serial",
    slot_run_counter: int = 0,
    kernel_run_counter: int = 0,
) -> WriteLaunch:
    """Each request in use, one after the other, each entry of it in order."""
    call = WriteCall(
        canary_buf_i64=canary_buf_i64,
        kernel_kind=kernel_kind,
        real_kv_hash_mode=real_kv_hash_mode,
        real_kv_sources=real_kv_sources,
        hash_format=hash_format,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
        enable_write_input_assert=enable_write_input_assert,
        expected_input_tokens=expected_input_tokens,
        expected_input_positions=expected_input_positions,
        enable_chain_position_assert=enable_chain_position_assert,
        step=kernel_run_counter,
    )
    walks = [
        walk_request(call, r, write_seed_slot_indices[r], write_offsets[r], write_offsets[r + 1])
        for r in range(clamped(write_num_valid_reqs, len(write_seed_slot_indices)))
    ]
    after = [list(row) for row in canary_buf_i64]
    for walk in walks:
        for slot, stamp in walk.stored:
            fields = [stamp.token, stamp.position, stamp.prev_hash, stamp.real_kv_hash]
            after[slot][:STAMP_FIELDS] = fields
    return WriteLaunch(
        canary_buf_i64=after,
        unspecified_slots=slots_left_open(call, walks),
        unspecified_seeds=seeds_written_over(call, walks),
        **launch_results(
            [violation for walk in walks for violation in walk.violations],
            violation_write_index=violation_write_index,
            ring_capacity=ring_capacity,
            slot_run_counter=slot_run_counter,
            slots_run=sum(len(walk.stored) for walk in walks),
            kernel_run_counter=kernel_run_counter,
        ),
    )


# Scatter -----------------------------------------------------------------------------------------


def columns_written(length: int, pool_width: int, column_start: int) -> range:
    """From the start column on, as many as there are tokens, or as fit; none from a bad start."""
    if not 0 <= column_start <= pool_width:
        return range(0)
    return range(column_start, column_start + min(length, pool_width - column_start))


def scatter_req_token_ids(
    *,
    flat_in: Row,
    offsets: Row,
    req_pool_indices: Row,
    pool_rows: int,
    pool_width: int,
    pool_fill: int,
    column_starts: Row | None = None,
) -> Scatter:
    """Each request's tokens go to its row, row 0 too; a bad row or bad offsets give nothing."""
    pool_out = [[pool_fill] * pool_width for _ in range(pool_rows)]
    written: set[tuple[int, int]] = set()
    written_twice: set[tuple[int, int]] = set()
    for r, row in enumerate(req_pool_indices):
        start, end = offsets[r], offsets[r + 1]
        if offsets_are_bad(start, end, len(flat_in)) or not 0 <= row < pool_rows:
            continue
        column_start = 0 if column_starts is None else column_starts[r]
        columns = columns_written(end - start, pool_width, column_start)
        for token, column in zip(flat_in[start:end], columns, strict=False):
            pool_out[row][column] = as_int32(token)
            if (row, column) in written:
                written_twice.add((row, column))
            written.add((row, column))
    return Scatter(pool_out=pool_out, unspecified_cells=written_twice)
