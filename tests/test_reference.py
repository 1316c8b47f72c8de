"""The torch references, called as the launchers call them, on cases worked out by hand."""

import warnings
from contextlib import contextmanager, nullcontext
from functools import partial
from random import Random
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kv_canary.reference import _hashes, _sizes, _violations
from kv_canary.reference.plan import plan
from kv_canary.reference.plan_entries import plan_entries
from kv_canary.reference.plan_offsets import plan_offsets
from kv_canary.reference.scatter_req_token_ids import scatter_req_token_ids
from kv_canary.reference.verify import verify
from kv_canary.reference.write import write
from kv_canary_kernels.constants import CanaryLaunchTag, RealKvHashMode

UNTOUCHED = -777
INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

REQ_TO_TOKEN = [[0, 0, 0, 0], [11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]


def int64(*values):
    return torch.tensor(values, dtype=torch.int64)


def int32(*values):
    return torch.tensor(values, dtype=torch.int32)


def untouched(length, dtype=torch.int64):
    return torch.full((length,), UNTOUCHED, dtype=dtype)


def run_offsets(
    rows, prefixes, extends, *, table=None, mapping=None, window=0, verify_capacity=100, extra=0
):
    """Run the first half; `extra` places follow the batch in every output."""
    bs = len(rows)
    out = SimpleNamespace(
        scratch=untouched(bs + 1 + extra),
        write_offsets=untouched(bs + 1 + extra),
        seeds=untouched(bs + extra),
        num_valid=untouched(1, torch.int32),
        enable=untouched(1, torch.int32),
        num_reqs=untouched(1, torch.int32),
    )
    plan_offsets(
        req_pool_indices=int64(*rows),
        prefix_lens=int64(*prefixes),
        extend_seq_lens=int64(*extends),
        req_to_token=int32(*REQ_TO_TOKEN) if table is None else table,
        full_to_swa_index_mapping=None if mapping is None else int64(*mapping),
        out_verify_offsets_scratch=out.scratch,
        out_write_offsets=out.write_offsets,
        out_write_seed_slot_indices=out.seeds,
        out_verify_num_valid=out.num_valid,
        out_verify_enable=out.enable,
        out_write_num_valid_reqs=out.num_reqs,
        swa_window_size=window,
        verify_capacity=verify_capacity,
    )
    return SimpleNamespace(**{name: value.tolist() for name, value in vars(out).items()})


def run_entries(
    rows,
    prefixes,
    scratch,
    *,
    table=None,
    mapping=None,
    window=0,
    enable=1,
    capacity=8,
    tokens=None,
    valid_lens=None,
    offset=0,
):
    out = SimpleNamespace(
        slots=untouched(capacity),
        tokens=untouched(capacity),
        positions=untouched(capacity),
        prev_slots=untouched(capacity),
    )
    plan_entries(
        req_pool_indices=int64(*rows),
        prefix_lens=int64(*prefixes),
        req_to_token=int32(*REQ_TO_TOKEN) if table is None else table,
        full_to_swa_index_mapping=None if mapping is None else int64(*mapping),
        verify_offsets_scratch=int64(*scratch),
        verify_enable=int32(enable),
        req_to_verify_expected_tokens=None if tokens is None else int32(*tokens),
        req_to_verify_expected_tokens_valid_lens=None if tokens is None else int64(*valid_lens),
        out_verify_slot_indices=out.slots,
        out_verify_expected_tokens=out.tokens,
        out_verify_expected_positions=out.positions,
        out_verify_prev_slot_indices=out.prev_slots,
        kv_token_id_vs_position_offset=offset,
        swa_window_size=window,
    )
    return SimpleNamespace(**{name: value.tolist() for name, value in vars(out).items()})


# The first half ----------------------------------------------------------------------------------


def test_offsets_of_mixed_batch_touch_only_what_is_active():
    out = run_offsets([2, 0, 1], [3, 4, 1], [1, 9, 2], extra=2)
    assert out.scratch == [0, 3, 3, 4, UNTOUCHED, UNTOUCHED]
    assert out.write_offsets == [0, 1, 1, 3, 0, 0]
    assert out.seeds == [23, -1, 11, UNTOUCHED, UNTOUCHED]
    assert (out.num_valid, out.enable, out.num_reqs) == ([4], [1], [3])


def test_offsets_of_empty_batch_are_all_zero():
    out = run_offsets([], [], [], extra=1)
    assert out.scratch == [0, UNTOUCHED]
    assert out.write_offsets == [0, 0]
    assert out.seeds == [UNTOUCHED]
    assert (out.num_valid, out.enable, out.num_reqs) == ([0], [1], [0])


@pytest.mark.parametrize("row", [-1, 4, INT64_MAX, INT64_MIN])
def test_bad_row_counts_one_entry_and_keeps_its_writes(row):
    out = run_offsets([row, 1], [2, 2], [3, 1])
    assert out.scratch == [0, 1, 3]
    assert out.write_offsets == [0, 3, 4]
    assert out.seeds == [-1, 12]


@pytest.mark.parametrize("length", [-1, 5, INT64_MAX, INT64_MIN])
def test_bad_length_counts_one_entry_whatever_the_window(length):
    out = run_offsets([1, 2], [length, 4], [3, 1], window=3, mapping=range(40))
    assert out.scratch == [0, 1, 4]
    assert out.write_offsets == [0, 3, 4]
    assert out.seeds == [-1, 24]


def test_bad_length_of_padding_is_nothing():
    out = run_offsets([0, 0], [-5, INT64_MAX], [INT64_MAX, 7])
    assert out.scratch == [0, 0, 0]
    assert out.write_offsets == [0, 0, 0]
    assert out.seeds == [-1, -1]


def test_wild_extend_lengths_are_clamped_so_that_no_sum_wraps():
    out = run_offsets([1, 2, 3], [1, 1, 1], [INT64_MAX, INT64_MIN, 2**31])
    assert out.write_offsets == [0, 2**31 - 1, 2**31 - 1, 2**32 - 2]
    assert out.seeds == [11, -1, 31]


def test_num_valid_saturates_where_int32_ends():
    """Only a direct caller with a capacity beyond int32 gets here; a wrapped count would be 0."""
    table = torch.zeros((2, 2**20), dtype=torch.int32)
    out = run_offsets([1] * 4096, [2**20] * 4096, [0] * 4096, table=table, verify_capacity=2**40)
    assert out.scratch[-1] == 2**32
    assert (out.num_valid, out.enable) == ([2**31 - 1], [1])


@pytest.mark.parametrize(("capacity", "num_valid", "enable"), [(4, 4, 1), (3, 3, 0), (0, 0, 0)])
def test_enable_is_off_beyond_capacity(capacity, num_valid, enable):
    out = run_offsets([1], [4], [1], verify_capacity=capacity)
    assert (out.num_valid, out.enable) == ([num_valid], [enable])


@pytest.mark.parametrize(
    ("mapping", "seed"), [([7] * 13, 7), ([7] * 12, -2), ([0] * 13, 0), ([-3] * 13, -3)]
)
def test_seed_goes_through_the_mapping(mapping, seed):
    assert run_offsets([1], [2], [1], mapping=mapping, window=1).seeds == [seed]


def test_negative_seed_passes_the_mapping_unchanged():
    table = int32([0, 0], [-1, -9])
    out = run_offsets([1, 1], [1, 2], [1, 1], table=table, mapping=[5], window=1)
    assert out.seeds == [-1, -9]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_table_makes_every_prefix_bad_and_is_never_read(shape):
    table = torch.zeros(shape, dtype=torch.int32)
    out = run_offsets([0, 1, 1], [1, 1, 1], [1, 1, 1], table=table)
    assert out.scratch == [0, 0, 1, 2]
    assert out.seeds == [-1, -1, -1]


# The second half ---------------------------------------------------------------------------------


def test_entries_are_packed_and_the_rest_stays_untouched():
    out = run_entries([2, 0, 1], [2, 3, 1], [0, 2, 2, 3], capacity=5)
    assert out.slots == [21, 22, 11, UNTOUCHED, UNTOUCHED]
    assert out.tokens == [-1, -1, -1, UNTOUCHED, UNTOUCHED]
    assert out.positions == [0, 1, 0, UNTOUCHED, UNTOUCHED]
    assert out.prev_slots == [-1, 21, -1, UNTOUCHED, UNTOUCHED]


def test_window_start_keeps_its_true_predecessor():
    out = run_entries([1], [4], [0, 2], window=2, capacity=2)
    assert (out.slots, out.positions, out.prev_slots) == ([13, 14], [2, 3], [12, 13])


def test_widest_window_there_can_be_is_the_whole_prefix():
    out = run_entries([1], [2], [0, 2], window=INT64_MAX, capacity=2)
    assert (out.slots, out.prev_slots) == ([11, 12], [-1, 11])


def test_mapping_applies_to_both_slots_and_its_end_is_reported():
    mapping = [0] * 11 + [5, 0]
    out = run_entries([1], [3], [0, 3], mapping=mapping, window=4, capacity=3)
    assert (out.slots, out.prev_slots) == ([5, 0, -2], [-1, 5, 0])


def test_predecessor_past_the_mapping_is_reported_too():
    table = int32([0, 0, 0], [9, 1, -4])
    out = run_entries([1], [3], [0, 3], table=table, mapping=[3, 4], window=5, capacity=3)
    assert (out.slots, out.prev_slots) == ([-2, 4, -4], [-1, -2, 4])


def test_expected_token_needs_a_valid_column_of_an_existing_row():
    tokens = [[0, 0, 0], [101, 102, 103]]
    out = run_entries(
        [1, 2, 1], [3, 1, 4], [0, 3, 4, 8], tokens=tokens, valid_lens=[2, 9, INT64_MAX]
    )
    assert out.tokens == [101, 102, -1, -1, 101, 102, 103, -1]


@pytest.mark.parametrize(
    ("offset", "tokens"),
    [
        (1, [102, 103, -1]),
        (-1, [-1, 101, 102]),
        (INT64_MAX, [-1, -1, -1]),
        (INT64_MIN, [-1, -1, -1]),
    ],
)
def test_token_offset_moves_the_column_and_never_wraps(offset, tokens):
    out = run_entries(
        [1],
        [3],
        [0, 3],
        tokens=[[0, 0, 0], [101, 102, 103]],
        valid_lens=[3],
        offset=offset,
        capacity=3,
    )
    assert out.tokens == tokens


def test_bad_requests_get_one_entry_that_names_the_length():
    rows = [-1, 1, 0, 1, 4]
    out = run_entries(
        rows,
        [2, 5, 9, INT64_MIN, -7],
        [0, 1, 2, 2, 3, 4],
        mapping=[1] * 40,
        window=2,
        tokens=REQ_TO_TOKEN,
        valid_lens=[4] * 5,
        capacity=4,
    )
    assert out.slots == [-2, -2, -2, -2]
    assert out.tokens == [-1, -1, -1, -1]
    assert out.positions == [0, 5, INT64_MIN, 0]
    assert out.prev_slots == [0, 0, 0, 0]


def test_off_plan_writes_nothing_and_any_other_enable_runs():
    off = run_entries([1], [2], [0, 2], enable=0, capacity=2)
    assert off == SimpleNamespace(
        **dict.fromkeys(("slots", "tokens", "positions", "prev_slots"), [UNTOUCHED] * 2)
    )
    assert run_entries([1], [2], [0, 2], enable=-3, capacity=2).slots == [11, 12]


def test_scratch_decides_where_and_the_lengths_decide_how_many():
    out = run_entries([1, 0, 2, 3], [2, 4, 1, 0], [4, 4, 1, 4, -9], capacity=7)
    assert out.slots == [UNTOUCHED, 21, UNTOUCHED, UNTOUCHED, 11, 12, UNTOUCHED]


def test_range_across_either_end_is_cut_there():
    out = run_entries([1, 2], [4, 4], [-2, 3, 0], capacity=5)
    assert out.slots == [13, 14, UNTOUCHED, 21, 22]
    assert out.prev_slots == [12, 13, UNTOUCHED, -1, 21]


def test_range_hidden_before_the_plan_does_not_hide_another():
    """The second range lies inside the first, but only where there is no plan."""
    out = run_entries([1, 2], [4, 1], [-2, -1, 0], capacity=3)
    assert out.slots == [13, 14, UNTOUCHED]


@pytest.mark.parametrize("start", [INT64_MIN, -5, 8, 2**31, INT64_MAX - 1, INT64_MAX])
def test_wild_scratch_writes_nothing_outside_and_harms_no_other_request(start):
    out = run_entries([1, 2, 3], [4, 2, 4], [start, 3, start, start])
    slots = [UNTOUCHED] * 8
    slots[3:5] = [21, 22]
    assert out.slots == slots


# The whole ---------------------------------------------------------------------------------------


def test_plan_is_both_halves():
    verify_plan = SimpleNamespace(
        verify_slot_indices=untouched(4),
        verify_expected_tokens=untouched(4),
        verify_expected_positions=untouched(4),
        verify_prev_slot_indices=untouched(4),
        verify_num_valid=untouched(1, torch.int32),
        enable=untouched(1, torch.int32),
    )
    write_plan = SimpleNamespace(
        write_offsets=untouched(4),
        write_seed_slot_indices=untouched(3),
        write_num_valid_reqs=untouched(1, torch.int32),
    )
    plan(
        verify_plan_out=verify_plan,
        write_plan_out=write_plan,
        req_pool_indices=int64(1, 3),
        prefix_lens=int64(1, 2),
        extend_seq_lens=int64(0, 5),
        req_to_token=int32(*REQ_TO_TOKEN),
        swa_window_size=0,
        full_to_swa_index_mapping=None,
        verify_capacity=4,
        req_to_verify_expected_tokens=int32(*REQ_TO_TOKEN),
        req_to_verify_expected_tokens_valid_lens=int64(4, 4),
        kv_token_id_vs_position_offset=2,
    )
    found = {name: out.tolist() for name, out in {**vars(verify_plan), **vars(write_plan)}.items()}
    assert found == {
        "verify_slot_indices": [11, 31, 32, UNTOUCHED],
        "verify_expected_tokens": [13, 33, 34, UNTOUCHED],
        "verify_expected_positions": [0, 0, 1, UNTOUCHED],
        "verify_prev_slot_indices": [-1, -1, 31, UNTOUCHED],
        "verify_num_valid": [3],
        "enable": [1],
        "write_offsets": [0, 0, 5, 0],
        "write_seed_slot_indices": [-1, 32, UNTOUCHED],
        "write_num_valid_reqs": [2],
    }


# Devices that are not to be looked into ----------------------------------------------------------

READS_BACK = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"}


class NothingReadBack(TorchDispatchMode):
    """Refuses what makes the host wait for a device, so that a CPU can stand in for one."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = operation._schema.name.partition("::")[2]
        assert name not in READS_BACK, name
        if name.startswith("index"):
            indexes = args[1] if isinstance(args[1], list | tuple) else ()
            assert all(index is None or index.dtype != torch.bool for index in indexes), name
        return operation(*args, **kwargs or {})


def hide_contents(monkeypatch):
    """Let the references work on a CPU as on a device that they must not look into."""
    for module in (_sizes, _hashes, _violations):
        monkeypatch.setattr(module, "reading_is_free", lambda tensor: False)


def like_a_device():
    """What a reference runs in: where contents are hidden, nothing may read one."""
    return nullcontext() if _sizes.reading_is_free(torch.empty(0)) else NothingReadBack()


def moved(value, device):
    """A tensor, or whatever holds some, on a device; on its own one it stays itself."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(moved(each, device) for each in value)
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{name: moved(each, device) for name, each in vars(value).items()})
    return value


def brought_back(value, result):
    """Copy what a call left on a device into the tensors that it was given a copy of."""
    if isinstance(value, torch.Tensor):
        value.copy_(result)
    elif isinstance(value, SimpleNamespace):
        for name, each in vars(value).items():
            brought_back(each, getattr(result, name))


def call(reference, device, **given):
    """Call a reference on a device, with nothing to wait for on it if that is no CPU."""
    there = {name: moved(value, device) for name, value in given.items()}
    with like_a_device() if device == "cpu" else unwaited_for():
        reference(**there)
    for name, value in given.items():
        brought_back(value, there[name])


@contextmanager
def unwaited_for():
    """Within this, torch raises where the host would wait for a GPU."""
    with warnings.catch_warnings(action="ignore"):  # that this mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.fixture(params=["exact", "fixed"])
def shapes(request, monkeypatch):
    """Either as on a CPU, or with the fixed shapes of every other device."""
    if request.param == "fixed":
        hide_contents(monkeypatch)


# Hashes ------------------------------------------------------------------------------------------

ANCHOR = 0xC0FFEE1234567890
A = 0xD1342543DE82EF95
G = 0x9E3779B97F4A7C15
FORMATS = ["serial", "parallel"]


def signed(value):
    return (value + 2**63) % 2**64 - 2**63


def splitmix64(x):
    """The contract's formula, once more, in plain integers."""
    x %= 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def successor(hash_format, prev_hash, token, position):
    if hash_format == "serial":
        prev_hash, token, position = prev_hash % 2**64, token % 2**64, position % 2**64
        return signed(splitmix64(splitmix64(splitmix64(prev_hash) ^ token) ^ position))
    return signed(prev_hash * A + splitmix64(splitmix64(token + G) ^ position % 2**64))


def real_kv_hash(hash_format, *sources):
    """The hash over the bytes of one slot in each source."""
    total = 0
    for s, data in enumerate(sources):
        words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
        found = 0
        for k, word in enumerate(words):
            if hash_format == "serial":
                found = splitmix64(found ^ word)
            else:
                found += splitmix64(word ^ splitmix64((k + 1) * G))
        if hash_format == "serial":
            total = splitmix64(total ^ found)
        else:
            total += splitmix64(found + (s + 1) * G)
    return signed(total)


FIRST = signed(splitmix64(ANCHOR))


def test_splitmix64_and_mix3_give_the_vectors():
    """A case of shared/vectors/splitmix.jsonl in which every word has its highest bit or none."""
    first, second, third = (int64(signed(value)) for value in (2**64 - 1, 0, 2**63))
    assert _hashes.splitmix64(first).tolist() == [signed(13029008266876403067)]
    assert _hashes.mix3(first, second, third).tolist() == [6480318484975464809]
    assert _hashes.splitmix64_of_integer(-1) == 13029008266876403067
    assert _hashes.ANCHOR_HASH == FIRST


@pytest.mark.parametrize("hash_format", FORMATS)
def test_successor_hash_wraps_as_the_formula_does(hash_format):
    cases = [(INT64_MIN, INT64_MAX, -1), (-1, -1, INT64_MIN), (5, 7, 11), (FIRST, -2, 0)]
    found = _hashes.successor_hash(
        *(int64(*column) for column in zip(*cases, strict=True)), hash_format
    )
    assert found.tolist() == [successor(hash_format, *case) for case in cases]


WAYS_TO_CHAIN = {
    "one by one": ("serial", _hashes._walk_one_by_one, False),
    "side by side": ("serial", _hashes._walk_side_by_side, True),
    "recurrence": ("parallel", None, True),
}


@pytest.mark.parametrize("way", WAYS_TO_CHAIN)
def test_every_way_to_chain_walks_each_range_and_skips_what_does_not_advance(way):
    hash_format, walk, needs_longest = WAYS_TO_CHAIN[way]
    random = Random(way)
    counts = [3, 0, 1, 40, 0, 7, 1]
    places = sum(counts)
    tokens, positions = ([random.randrange(-(2**63), 2**63) for _ in range(places)] for _ in "tp")
    advances = [random.random() < 0.7 for _ in range(places)]
    seeds = [random.randrange(-(2**63), 2**63) for _ in counts]

    expected, place = [], 0
    for running, count in zip(seeds, counts, strict=True):
        for token, position, advance in zip(
            tokens[place : place + count],
            positions[place : place + count],
            advances[place : place + count],
            strict=True,
        ):
            expected.append(running)
            running = successor(hash_format, running, token, position) if advance else running
        place += count

    given = {
        "ranges": _sizes.PackedRanges.pack(int64(*counts), bound=places),
        "first_hash": int64(*seeds),
        "advances": torch.tensor(advances),
        "token": int64(*tokens),
        "position": int64(*positions),
    }
    if needs_longest:
        given["longest"] = max(counts)
    chain = walk or partial(_hashes.chain_hashes, hash_format=hash_format)
    assert chain(**given).tolist() == expected


DTYPES = [
    torch.uint8,
    torch.bool,
    torch.float8_e4m3fn,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.int64,
    torch.complex128,
]
SLOT_BYTES, READ_BYTES, HOLE_BYTES, SLOTS_PER_ROW = 48, 32, 16, 3


def kv_bytes(rows, seed=0):
    """Rows of three slots and a hole behind them."""
    row_bytes = SLOT_BYTES * SLOTS_PER_ROW + HOLE_BYTES
    random = Random(seed)
    return [random.randbytes(row_bytes) for _ in range(rows)]


def source(rows, dtype=torch.uint8, *, storage_offset=0):
    """A source whose rows lie that many bytes into their storage, and end before a hole."""
    data = bytes(storage_offset) + b"".join(rows)
    storage = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    tensor = storage[storage_offset:].view(len(rows), -1)[:, :-HOLE_BYTES].view(dtype)
    return SimpleNamespace(
        tensor=tensor,
        page_size=SLOTS_PER_ROW,
        num_bytes_per_token=SLOT_BYTES,
        read_bytes=READ_BYTES,
    )


def bytes_of_slot(rows, slot, count):
    start = slot % SLOTS_PER_ROW * SLOT_BYTES
    return rows[slot // SLOTS_PER_ROW][start : start + count]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hash_format", FORMATS)
def test_real_kv_hash_sees_the_bytes_of_any_dtype(hash_format, dtype):
    rows, more = kv_bytes(3), kv_bytes(3, seed=1)
    slots = [8, 0, 4, 4]
    found = _hashes.real_kv_hash(
        sources=(source(rows, dtype), source(more)),
        mode=RealKvHashMode.ALL,
        hash_format=hash_format,
        slot=int64(*slots),
        readable=torch.ones(4, dtype=torch.bool),
    )
    assert found.tolist() == [
        real_kv_hash(hash_format, *(bytes_of_slot(data, slot, READ_BYTES) for data in (rows, more)))
        for slot in slots
    ]


@pytest.mark.parametrize("storage_offset", [0, 4, 7, 8, 16])
@pytest.mark.parametrize("mode", [1, RealKvHashMode.PARTIAL])
@pytest.mark.parametrize("hash_format", FORMATS)
def test_partial_hash_covers_16_bytes_at_any_offset_into_the_storage(
    hash_format, mode, storage_offset
):
    """A storage may start anywhere, so that 16-byte addresses lie at any offset into it."""
    rows = kv_bytes(2)
    found = _hashes.real_kv_hash(
        sources=[source(rows, storage_offset=storage_offset)],
        mode=mode,
        hash_format=hash_format,
        slot=int64(5, 2),
        readable=torch.ones(2, dtype=torch.bool),
    )
    assert found.tolist() == [
        real_kv_hash(hash_format, bytes_of_slot(rows, slot, 16)) for slot in (5, 2)
    ]


@pytest.mark.parametrize("hash_format", FORMATS)
def test_slots_hashed_in_several_parts_are_hashed_as_in_one(hash_format, monkeypatch):
    given = {
        "sources": [source(kv_bytes(2)), source(kv_bytes(2, seed=1))],
        "mode": RealKvHashMode.ALL,
        "hash_format": hash_format,
        "slot": int64(0, 1, 2, 3, 4, 5, 0),
        "readable": torch.ones(7, dtype=torch.bool),
    }
    whole = _hashes.real_kv_hash(**given)
    monkeypatch.setattr(_hashes, "FEWEST_SLOTS_AT_ONCE", 3)
    monkeypatch.setattr(_hashes, "WORDS_AT_ONCE", 1)
    assert _hashes.real_kv_hash(**given).tolist() == whole.tolist()


# Write and verify --------------------------------------------------------------------------------

ENTRY = ["verify_slot_indices", "verify_prev_slot_indices"]
ENTRY += ["verify_expected_positions", "verify_expected_tokens"]
POISON = 0x5A
NO_ROW = [UNTOUCHED] * 8


def buffer_of(canaries, stride=32):
    """Canaries with poison behind each of them."""
    buffer = torch.full((len(canaries), stride), POISON, dtype=torch.uint8)
    if canaries:
        fields = torch.tensor(canaries, dtype=torch.int64)
        buffer[:, :32] = fields.view(torch.uint8)
    return buffer


def context_of(canaries, *, ring=4, write_index=0, stride=32, **changes):
    given = {
        "canary_buf": buffer_of(canaries, stride),
        "kernel_kind": CanaryLaunchTag.TAIL_K_FULL,
        "violation_ring": torch.full((ring, 8), UNTOUCHED),
        "violation_write_index": int32(write_index),
        "slot_run_counter": int64(100),
        "kernel_run_counter": int64(7),
        "real_kv_sources": (),
        "real_kv_hash_mode": RealKvHashMode.NONE,
        "enable_chain_position_assert": int32(0),
        "hash_format": "serial",
        "evidence_ring": torch.full((ring, 8), UNTOUCHED),
        "workspace": None,
    }
    return SimpleNamespace(**given | changes)


def canaries_of(context):
    return context.canary_buf[:, :32].contiguous().view(torch.int64).tolist()


def rows_of(context):
    """Violations and evidence that are in the rings."""
    rows = zip(context.violation_ring.tolist(), context.evidence_ring.tolist(), strict=True)
    return [row for row in rows if row != (NO_ROW, NO_ROW)]


def counters_of(context):
    """Violations counted, slots and launches added."""
    return (
        context.violation_write_index.item(),
        context.slot_run_counter.item() - 100,
        context.kernel_run_counter.item() - 7,
    )


def run_write(context, entries, *, offsets, seeds, num_reqs=None, expected=None, device="cpu"):
    """Write entries of (slot, token, position); `expected` are (token, position)."""
    slots, tokens, positions = ([entry[field] for entry in entries] for field in range(3))
    expected_tokens, expected_positions = (
        None if expected is None else int64(*(pair[field] for pair in expected))
        for field in range(2)
    )
    call(
        write,
        device,
        context=context,
        plan=SimpleNamespace(
            write_offsets=int64(*offsets),
            write_seed_slot_indices=int64(*seeds),
            write_num_valid_reqs=int32(len(seeds) if num_reqs is None else num_reqs),
        ),
        input_ids=int64(*tokens),
        positions=int64(*positions),
        out_cache_loc=int64(*slots),
        enable_write_input_assert=expected is not None,
        expected_input_tokens=expected_tokens,
        expected_input_positions=expected_positions,
    )
    return context


def run_verify(
    context, entries, *, num_valid=None, enable=1, tokens=False, padding=None, device="cpu"
):
    """Verify entries of (slot, previous slot, position, token)."""
    columns = [int64(*(entry[field] for entry in entries)) for field in range(4)]
    call(
        verify,
        device,
        context=context,
        plan=SimpleNamespace(
            **dict(zip(ENTRY, columns, strict=True)),
            verify_num_valid=int32(len(entries) if num_valid is None else num_valid),
            enable=int32(enable),
        ),
        check_verify_expected_token=tokens,
        **({} if padding is None else {"report_padding_slot": padding}),
    )
    return context


EMPTY = [0, 0, 0, 0]


@pytest.mark.parametrize("hash_format", FORMATS)
def test_write_carries_the_chain_of_its_seed_on_and_skips_what_has_no_slot(hash_format):
    seed = [41, 5, INT64_MIN + 3, 0]
    context = context_of([EMPTY, EMPTY, seed, EMPTY, EMPTY], stride=64, hash_format=hash_format)
    entries = [(4, 11, 6), (-1, 12, 7), (INT64_MIN, 12, 7), (1, -13, 8), (3, 14, 0)]
    run_write(context, entries, offsets=[0, 4, 5], seeds=[2, -1])
    second = successor(hash_format, seed[2], 41, 5)
    third = successor(hash_format, second, 11, 6)
    assert canaries_of(context) == [
        EMPTY,
        [-13, 8, third, 0],
        seed,
        [14, 0, FIRST, 0],
        [11, 6, second, 0],
    ]
    assert (context.canary_buf[:, 32:] == POISON).all()
    assert counters_of(context) == (0, 3, 1)
    assert rows_of(context) == []


@pytest.mark.parametrize("hash_format", FORMATS)
def test_what_was_written_verifies(hash_format):
    context = context_of(
        [EMPTY] * 9,
        hash_format=hash_format,
        real_kv_sources=(source(kv_bytes(3)),),
        real_kv_hash_mode=2,
    )
    run_write(context, [(7, 11, 0), (2, 12, 1), (5, 13, 2)], offsets=[0, 3], seeds=[-1])
    run_verify(context, [(7, -1, 0, 11), (5, 2, 2, 13), (2, 7, 1, 12)], tokens=True)
    assert counters_of(context) == (0, 6, 2)
    context.real_kv_sources[0].tensor[1, SLOT_BYTES * 2 + READ_BYTES - 1] ^= 1
    run_verify(context, [(7, -1, 0, 11), (5, 2, 2, 13), (2, 7, 1, 12)], tokens=True)
    assert [(row[1], row[7]) for row, _ in rows_of(context)] == [(5, 4)]


@pytest.mark.parametrize("offset", [0, 4, 8, 16])
def test_canaries_may_lie_at_any_offset_into_their_storage(offset):
    storage = torch.full((offset + 3 * 48,), POISON, dtype=torch.uint8)
    context = context_of([], canary_buf=storage[offset:].view(3, 48))
    run_write(context, [(1, 11, 0), (2, 12, 1)], offsets=[0, 2], seeds=[-1])
    assert canaries_of(context)[1:] == [
        [11, 0, FIRST, 0],
        [12, 1, successor("serial", FIRST, 11, 0), 0],
    ]
    run_verify(context, [(1, -1, 0, -1), (2, 1, 1, -1)])
    assert counters_of(context) == (0, 4, 2)
    poisoned = context.canary_buf.clone()
    poisoned[1:, :32] = POISON
    assert (poisoned == POISON).all()
    assert (storage[:offset] == POISON).all()


@pytest.mark.parametrize(
    ("seed", "follows", "reported"),
    [(-1, False, False), (0, False, False), (2, True, False)]
    + [(seed, False, True) for seed in (-2, INT64_MIN, 3, INT64_MAX)],
)
def test_seed_of_each_kind(seed, follows, reported):
    """Without a seed to follow the chain starts at the anchor, and no position is compared."""
    stored = [41, 5, 99, 0]
    context = context_of([stored, EMPTY, stored], enable_chain_position_assert=int32(-1))
    run_write(context, [(3, 8, 4), (-1, 8, 4), (1, 11, 8)], offsets=[0, 3], seeds=[seed])
    chain_hash = successor("serial", 99, 41, 5) if follows else FIRST
    assert canaries_of(context)[1] == [11, 8, chain_hash, 0]
    rows = [([2, 3, 4, 0, -1, 0, 0, 64], [-1, 0, 0, seed, 0, 7, 0, 0])]
    if reported:
        row = ([2, 1, 8, 11, 11, FIRST, seed, 64], [-1, 0, 0, seed, 2, 7, 0, 0])
        rows.insert(0, row)  # before any other of the request
    if follows:
        rows.append(([2, 1, 8, 11, 11, chain_hash, 6, 16], [6, 0, 0, 2, 2, 7, 0, 0]))
    assert rows_of(context) == rows
    assert counters_of(context) == (len(rows), 1, 1)


def test_bad_seed_of_a_request_that_stores_nothing_is_not_reported():
    context = context_of([EMPTY] * 2)
    run_write(context, [(-1, 1, 1), (1, 11, 0)], offsets=[0, 1, 1, 2], seeds=[-9, 77, -1])
    assert counters_of(context) == (0, 1, 1)


def test_inputs_and_chain_are_reported_apart_and_the_chain_goes_on_as_written():
    stored = [41, INT64_MAX, 99, 0]
    context = context_of(
        [EMPTY, EMPTY, stored, EMPTY, EMPTY],
        enable_chain_position_assert=int32(1),
        real_kv_sources=(source(kv_bytes(2)),),
        real_kv_hash_mode=1,
    )
    run_write(
        context,
        [(1, 11, INT64_MIN), (3, 12, 50), (4, 13, 51)],
        offsets=[0, 3],
        seeds=[2],
        expected=[(11, INT64_MIN), (-12, 49), (13, 50)],
    )
    first = successor("serial", 99, 41, INT64_MAX)
    second = successor("serial", first, 11, INT64_MIN)
    third = successor("serial", second, 12, 50)
    kv = [real_kv_hash("serial", bytes_of_slot(kv_bytes(2), slot, 16)) for slot in range(6)]
    assert rows_of(context) == [
        ([2, 3, 50, 12, -12, second, 49, 8 + 16], [49, kv[3], kv[3], 1, 1, 7, 0, 0]),
        (
            [2, 3, 50, 12, 12, second, INT64_MIN + 1, 16],
            [INT64_MIN + 1, kv[3], kv[3], 1, 1, 7, 0, 0],
        ),
        ([2, 4, 51, 13, 13, third, 50, 16], [50, kv[4], kv[4], 3, 2, 7, 0, 0]),
    ]


def test_broken_offsets_are_reported_once_and_harm_no_other_request():
    context = context_of([EMPTY] * 4, ring=8)
    run_write(
        context,
        [(1, 11, 0), (2, 12, 0), (3, 13, 0)],
        offsets=[0, 1, INT64_MIN, 1, 0, 4, 3, 3],
        seeds=[-1] * 7,
    )
    assert [(row[2], row[6], evidence[6]) for row, evidence in rows_of(context)] == [
        (1, INT64_MIN, 1),
        (INT64_MIN, 1, 2),
        (1, 0, 3),
        (0, 4, 4),
        (4, 3, 5),
    ]
    assert rows_of(context)[0] == (
        [2, -2, 1, 0, -1, 0, INT64_MIN, 64],
        [-1, 0, 0, -1, -1, 7, 1, 0],
    )
    assert canaries_of(context) == [EMPTY, [11, 0, FIRST, 0], EMPTY, EMPTY]
    assert counters_of(context) == (5, 1, 1)


@pytest.mark.usefixtures("shapes")
def test_entries_that_damaged_offsets_share_are_stored_by_each_request():
    context = context_of([EMPTY] * 4)
    run_write(
        context,
        [(1, 11, 5), (3, 12, 6), (9, 13, 7)],
        offsets=[0, 3, 1, 3, 0, 2],
        seeds=[-1] * 5,
    )
    assert [(row[1], evidence[6]) for row, evidence in rows_of(context)] == [
        (9, 0),
        (-2, 1),
        (9, 2),
        (-2, 3),
    ]
    assert canaries_of(context)[1] == [11, 5, FIRST, 0]
    assert canaries_of(context)[3] in (
        [12, 6, FIRST, 0],
        [12, 6, successor("serial", FIRST, 11, 5), 0],
    )
    assert counters_of(context) == (4, 5, 1)


@pytest.mark.parametrize("num_reqs", [-1, 0, 1, 2, 2**31 - 1])
def test_number_of_requests_is_clamped(num_reqs):
    context = context_of([EMPTY] * 3)
    entries = [(1, 11, 0), (2, 12, 0)]
    run_write(context, entries, offsets=[0, 1, 2], seeds=[-1, -1], num_reqs=num_reqs)
    assert counters_of(context) == (0, min(max(num_reqs, 0), 2), 1)


@pytest.mark.parametrize("hash_format", FORMATS)
def test_verify_puts_every_difference_of_an_entry_in_one_row(hash_format):
    rows = kv_bytes(1)
    kv = real_kv_hash(hash_format, bytes_of_slot(rows, 2, READ_BYTES))
    context = context_of(
        [EMPTY, [10, 4, 77, 5], [11, 5, 88, kv]],
        hash_format=hash_format,
        real_kv_sources=(source(rows),),
        real_kv_hash_mode=RealKvHashMode.ALL,
    )
    run_verify(context, [(2, 1, 6, 12), (2, -1, 5, 12), (2, -3, 6, 11), (2, 0, 5, -1)], tokens=True)
    after = successor(hash_format, 77, 10, 4)
    assert rows_of(context) == [
        ([2, 2, 5, 11, 12, 88, after, 1 + 2 + 32], [6, kv, kv, 1, 0, 7, -1, 0]),
        ([2, 2, 5, 11, 12, 88, FIRST, 1 + 32], [5, kv, kv, -1, 1, 7, -1, 0]),
        ([2, 2, 5, 11, 11, 88, 88, 2 + 64], [6, kv, kv, -3, 2, 7, -1, 0]),
    ]
    assert counters_of(context) == (3, 4, 1)


def test_token_that_is_not_compared_is_not_shown():
    context = context_of([EMPTY, [10, 4, FIRST, 0]])
    run_verify(context, [(1, -1, 5, 99)])
    run_verify(context, [(1, -1, 5, -1)], tokens=True)
    assert [row for row, _ in rows_of(context)] == [[2, 1, 4, 10, -1, FIRST, FIRST, 2]] * 2


def test_hash_of_no_bytes_is_compared_too():
    context = context_of([EMPTY, [10, 4, FIRST, 3]])
    run_verify(context, [(1, -1, 4, -1)])
    assert rows_of(context) == [
        ([2, 1, 4, 10, -1, FIRST, FIRST, 4], [4, 3, 0, -1, 0, 7, -1, 0]),
    ]


@pytest.mark.parametrize("slot", [-1, -2, INT64_MIN, 3, 2**32 + 1, INT64_MAX])
def test_slot_outside_the_buffer_is_reported_and_nothing_else_of_it(slot):
    context = context_of([EMPTY] * 3)
    run_verify(context, [(slot, INT64_MAX, -6, 99)], tokens=True, padding=True)
    assert rows_of(context) == [
        ([2, slot, -6, 0, -1, 0, 0, 64], [-6, 0, 0, INT64_MAX, 0, 7, -1, 0]),
    ]


@pytest.mark.parametrize("padding", [None, False, True])
def test_padding_slot_is_walked_and_reported_on_demand_alone(padding):
    context = context_of([[9, 9, 9, 9], EMPTY])
    run_verify(context, [(0, INT64_MIN, 6, 99)], tokens=True, padding=padding)
    row = ([2, 0, 6, 0, -1, 0, 0, 128], [6, 0, 0, INT64_MIN, 0, 7, -1, 0])
    assert rows_of(context) == ([row] if padding else [])
    assert counters_of(context) == (int(padding is True), 1, 1)


@pytest.mark.parametrize(
    ("num_valid", "enable", "walked"),
    [(1, 1, 1), (9, 1, 2), (2**31 - 1, -4, 2), (-1, 1, 0), (-(2**31), 1, 0), (2, 0, 0)],
)
def test_entries_walked_are_clamped_and_none_of_a_plan_that_is_off(num_valid, enable, walked):
    context = context_of([EMPTY] * 2)
    run_verify(context, [(-7, 0, 0, 0)] * 2, num_valid=num_valid, enable=enable)
    assert counters_of(context) == (walked, walked, 1)


@pytest.mark.usefixtures("shapes")
@pytest.mark.parametrize(
    ("before", "after", "filled"),
    [
        (0, 3, [0, 1]),
        (1, 4, [1]),
        (2, 5, []),
        (2**30 - 1, 2**30 + 2, []),
        (2**30, 2**30, []),
        (2**31 - 1, 2**31 - 1, []),
        (-1, -1, []),
        (-(2**31), -(2**31), []),
    ],
)
def test_write_index_counts_on_where_the_ring_is_full_and_never_comes_round(before, after, filled):
    context = context_of([EMPTY], ring=2, write_index=before)
    run_verify(context, [(5, 0, 0, 0), (6, 0, 0, 0), (7, 0, 0, 0)])
    assert context.violation_write_index.tolist() == [after]
    assert [row[1] for row in context.violation_ring.tolist()] == [
        5 + index - before if index in filled else UNTOUCHED for index in range(2)
    ]


def test_violations_go_without_a_ring_or_evidence():
    context = context_of([EMPTY], ring=0)
    run_verify(context, [(5, 0, 0, 0)])
    assert counters_of(context) == (1, 1, 1)
    context = context_of([EMPTY], evidence_ring=None)
    run_verify(context, [(5, 0, 0, 0)])
    assert context.violation_ring[0].tolist() == [2, 5, 0, 0, -1, 0, 0, 64]


def test_counters_wrap():
    context = context_of([EMPTY], slot_run_counter=int64(INT64_MAX))
    context.kernel_run_counter.fill_(INT64_MAX)
    run_verify(context, [(5, 0, 0, 0)])
    assert context.slot_run_counter.tolist() == [INT64_MIN]
    assert context.kernel_run_counter.tolist() == [INT64_MIN]
    assert context.evidence_ring[0, 5] == INT64_MAX


@pytest.mark.usefixtures("shapes")
@pytest.mark.parametrize("hash_format", FORMATS)
def test_nothing_of_no_slots_no_tokens_and_no_entries_works(hash_format):
    empty = SimpleNamespace(
        tensor=torch.empty((0, 64), dtype=torch.float16),
        page_size=4,
        num_bytes_per_token=32,
        read_bytes=16,
    )
    context = context_of([], hash_format=hash_format, real_kv_sources=(empty,), real_kv_hash_mode=2)
    run_write(context, [], offsets=[0], seeds=[])
    run_write(context, [], offsets=[0, 0], seeds=[0])
    run_verify(context, [])
    assert counters_of(context) == (0, 0, 3)
    run_write(context, [(0, 1, 1)], offsets=[0, 1], seeds=[0])
    run_verify(context, [(0, 0, 0, 0), (1, 0, 0, 0)])
    assert [row[1] for row, _ in rows_of(context)] == [0, 1]
    assert counters_of(context) == (2, 2, 5)


# Scatter -----------------------------------------------------------------------------------------


def run_scatter(tokens, offsets, rows, *, columns=None, shape=(4, 3), device="cpu"):
    pool = torch.full(shape, UNTOUCHED, dtype=torch.int32)
    call(
        scatter_req_token_ids,
        device,
        flat_in=int64(*tokens),
        offsets=int64(*offsets),
        req_pool_indices=int64(*rows),
        pool_out=pool,
        **({} if columns is None else {"column_starts": int64(*columns)}),
    )
    return pool.tolist()


@pytest.mark.usefixtures("shapes")
class TestScatter:
    def test_rows_take_what_fits_and_the_low_half_of_each_token(self):
        tokens = [2**32 + 5, INT64_MIN, 2**31, 1, 2, 3, 4]
        assert run_scatter(tokens, [0, 2, 3, 7], [0, 2, 3]) == [
            [5, 0, UNTOUCHED],
            [UNTOUCHED] * 3,
            [-(2**31), UNTOUCHED, UNTOUCHED],
            [1, 2, 3],
        ]

    def test_rows_are_written_from_their_column_on(self):
        assert run_scatter(
            range(1, 9),
            [0, 2, 4, 6, 8],
            [0, 1, 2, 3],
            columns=[1, 2, 3, 0],
        ) == [
            [UNTOUCHED, 1, 2],
            [UNTOUCHED, UNTOUCHED, 3],
            [UNTOUCHED] * 3,
            [7, 8, UNTOUCHED],
        ]

    @pytest.mark.parametrize(
        ("offset", "row", "column"),
        [
            *((offset, 1, 0) for offset in (-1, 5, INT64_MAX, INT64_MIN)),
            *((3, row, 0) for row in (-1, 4, 2**32, INT64_MAX, INT64_MIN)),
            *((3, 1, column) for column in (-1, 4, INT64_MAX, INT64_MIN)),
        ],
    )
    def test_request_outside_contributes_nothing(self, offset, row, column):
        found = run_scatter(
            range(1, 5), [0, 1, 1, offset, 2, 4], [0, 0, row, 0, 3], columns=[0, 0, column, 3, 0]
        )
        rest = [UNTOUCHED] * 3
        assert found == [[1, UNTOUCHED, UNTOUCHED], rest, rest, [3, 4, UNTOUCHED]]

    def test_requests_may_share_tokens_where_offsets_are_damaged(self):
        assert run_scatter([1, 2, 3], [0, 3, 0, 3, 1, 3], [0, 1, 2, 1, 3]) == [
            [1, 2, 3],
            [UNTOUCHED] * 3,
            [1, 2, 3],
            [2, 3, UNTOUCHED],
        ]

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (2, 3)])
    def test_nothing_to_write_writes_nothing(self, shape):
        untouched_pool = [[UNTOUCHED] * shape[1]] * shape[0]
        assert run_scatter([], [0], [], shape=shape) == untouched_pool
        assert run_scatter([], [0, 0, 0], [0, 1], shape=shape) == untouched_pool
        assert run_scatter([1, 2], [1, 0, 3], [0, 1], shape=shape) == untouched_pool


# Other devices -----------------------------------------------------------------------------------


def garbage(random, high):
    near = [-2, -1, 0, high - 1, high, INT64_MIN, INT64_MAX, 2**32]
    return random.choice([*near, random.randrange(INT64_MIN, INT64_MAX)])


def values(random, count, high, share):
    """Numbers below `high`, a share of them anything at all."""
    return [
        garbage(random, high) if random.random() < share else random.randrange(max(1, high))
        for _ in range(count)
    ]


def distinct_slots(random, count, num_slots, share):
    """No slot is named twice but by garbage, so that nothing is unspecified."""
    slots = random.sample(range(1, num_slots), count)
    outside = [-1, INT64_MIN, num_slots, INT64_MAX]
    return [random.choice(outside) if random.random() < share else slot for slot in slots]


def random_calls(random):
    """One write, one verify and one scatter, on what each call makes anew."""
    share = random.choice([0, 0.1, 0.4])
    num_slots, tokens, requests = 60, random.choice([0, 1, 9, 25]), random.choice([0, 1, 4, 7])
    canaries = [values(random, 4, 30, 0.1) for _ in range(num_slots)]
    rows = kv_bytes(num_slots // SLOTS_PER_ROW, random.random())
    changes = {
        "write_index": random.choice([0, 0, 1, 3, 2**30]),
        "ring": random.choice([0, 2, 50]),
        "hash_format": random.choice(FORMATS),
        "real_kv_hash_mode": random.randrange(3),
        "enable_chain_position_assert": int32(random.randrange(2)),
    }
    slots = distinct_slots(random, tokens + requests, num_slots, share)
    entries = list(zip(slots, *(values(random, tokens, 9, 0.2) for _ in "tp"), strict=False))
    # Where offsets are damaged each entry still has one request, or slots would be written twice.
    offsets = sorted(random.randint(0, tokens) for _ in range(requests + 1))
    if random.random() < share:
        offsets[-1:] = [garbage(random, tokens)]
    expected = random.choice([None, [tuple(values(random, 2, 9, 0)) for _ in entries]])
    count = random.choice([0, 1, 12])
    planned = list(zip(*(values(random, count, num_slots, share) for _ in range(4)), strict=True))
    options = {
        "num_valid": random.choice([count, count, 0, count - 1, 2**31 - 1]),
        "enable": random.choice([1, 1, 0]),
        "tokens": random.random() < 0.5,
        "padding": random.random() < 0.5,
    }

    def context():
        return context_of(canaries, real_kv_sources=(source(rows), source(rows)), **changes)

    def write_call(device):
        return run_write(
            context(),
            entries,
            offsets=offsets,
            seeds=slots[tokens:],
            expected=expected,
            device=device,
        )

    def verify_call(device):
        return run_verify(context(), planned, **options, device=device)

    pool_rows = random.sample(range(9), requests)
    pool_rows = [garbage(random, 9) if random.random() < share else row for row in pool_rows]
    pool_rows = [row if pool_rows.count(row) == 1 else -1 for row in pool_rows]
    columns = random.choice([None, values(random, requests, 3, share)])

    token_ids = values(random, tokens, 99, 0.2)

    def scatter_call(device):
        return run_scatter(
            token_ids, offsets, pool_rows, columns=columns, shape=(9, 3), device=device
        )

    return write_call, verify_call, scatter_call


def outcome(result):
    """All that a call changed, as plain numbers."""
    if isinstance(result, list):
        return result
    return result.canary_buf.tolist(), rows_of(result), counters_of(result)


def every_call():
    return [each for seed in range(120) for each in random_calls(Random(seed))]


def test_fixed_shapes_give_what_exact_ones_do_and_read_nothing_back(monkeypatch):
    calls = every_call()
    expected = [outcome(random_call("cpu")) for random_call in calls]
    hide_contents(monkeypatch)
    for random_call, wanted in zip(calls, expected, strict=True):
        assert outcome(random_call("cpu")) == wanted


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")
def test_gpu_gives_what_a_cpu_does_and_is_not_waited_for():
    for random_call in every_call():
        assert outcome(random_call("cuda")) == outcome(random_call("cpu"))
