"""The plan's torch references, called as the launchers call them, on cases worked out by hand."""

from types import SimpleNamespace

import pytest
import torch

from kv_canary.reference.plan import plan
from kv_canary.reference.plan_entries import plan_entries
from kv_canary.reference.plan_offsets import plan_offsets

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
