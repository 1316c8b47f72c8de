"""Every backend gives the contract's vectors and the hand-worked cases, and writes nothing else.

An output is compared as the whole buffer that it is a view into: what is active, the poison past
it, and the poison on both sides.
"""

import dataclasses
import sys
from types import SimpleNamespace

import pytest

SMALL_CASE = {
    "req_pool_indices": [1, 0],
    "prefix_lens": [2, 0],
    "extend_seq_lens": [3, 0],
    "req_to_token": [[9, 9], [11, 12]],
    "swa_window_size": 0,
    "full_to_swa_index_mapping": None,
    "verify_capacity": 4,
    "write_req_capacity": 3,
    "req_to_verify_expected_tokens": [[1, 2], [101, 102]],
    "req_to_verify_expected_tokens_valid_lens": [1, 0],
    "kv_token_id_vs_position_offset": 0,
}
SMALL_CASE_EXPECT = {
    "verify_num_valid": 2,
    "enable": 1,
    "verify_slot_indices": [11, 12],
    "verify_expected_tokens": [101, -1],
    "verify_expected_positions": [0, 1],
    "verify_prev_slot_indices": [-1, 11],
    "write_offsets": [0, 3, 3, 0],
    "write_seed_slot_indices": [12, -1],
    "write_num_valid_reqs": 2,
}


@pytest.mark.cases("plan", "plan_section8", kernel="plan")
def test_launcher_gives_case(plan_calls, expected_outputs, case):
    inputs = case["inputs"]
    assert plan_calls.plan(inputs) == expected_outputs(inputs, case["expect"])


@pytest.mark.cases("plan", "plan_section8", kernel="plan")
def test_halves_give_case(plan_calls, expected_outputs, case):
    inputs = case["inputs"]
    assert plan_calls.halves(inputs) == expected_outputs(inputs, case["expect"])


@pytest.mark.cases("plan_section8", kernel="plan_entries")
def test_entries_alone_give_case(plan_calls, expected_entries, case):
    assert plan_calls.entries(case["inputs"]) == expected_entries(case["expect"])


def test_comparison_fails_on_any_single_wrong_number(plan_calls, expected_outputs):
    """No element of any output, the poison around it included, is left out of the comparison."""
    expected = expected_outputs(SMALL_CASE, SMALL_CASE_EXPECT)
    outputs = plan_calls.plan(SMALL_CASE)
    assert outputs == expected
    for name, buffer in outputs.items():
        for index, value in enumerate(buffer):
            wrong = outputs | {name: [*buffer[:index], value + 1, *buffer[index + 1 :]]}
            assert wrong != expected, f"{name}[{index}]"


def test_comparison_fails_on_a_missing_entry(plan_calls, expected_outputs):
    """A launch that leaves an active element as it was does not pass, whatever it held before."""
    for name, value in SMALL_CASE_EXPECT.items():
        if isinstance(value, list):
            expect = SMALL_CASE_EXPECT | {name: value[:-1]}
            assert plan_calls.plan(SMALL_CASE) != expected_outputs(SMALL_CASE, expect), name


# Write, verify and scatter -----------------------------------------------------------------------


@pytest.fixture
def check_vector(stamp_calls, stamp_oracle, expected_launch):
    """Compare a launch with a vector, which shows no violation that found no room."""

    def check(kernel, case):
        inputs = case["inputs"]
        launch = getattr(stamp_oracle, kernel)(**inputs)
        violations = [violation.row() for violation in launch.violations]
        expected = expected_launch.of_vector(inputs, case["expect"], violations)
        assert expected.difference(getattr(stamp_calls, kernel)(inputs)) is None

    return check


@pytest.fixture
def check_case(stamp_calls, expected_launch):
    """Compare a launch with a hand-worked case."""

    def check(kernel, case):
        expected = expected_launch.of_case(case["inputs"], case["expect"])
        assert expected.difference(getattr(stamp_calls, kernel)(case["inputs"])) is None

    return check


@pytest.mark.cases("verify")
def test_verify_gives_vector(check_vector, case):
    check_vector("verify", case)


@pytest.mark.cases("write")
def test_write_gives_vector(check_vector, case):
    check_vector("write", case)


@pytest.mark.cases("verify_section8")
def test_verify_gives_hand_worked_case(check_case, case):
    check_case("verify", case)


@pytest.mark.cases("write_section8")
def test_write_gives_hand_worked_case(check_case, case):
    check_case("write", case)


@pytest.mark.cases("scatter", "scatter_section8")
def test_scatter_gives_case(scatter_calls, stamp_calls_module, case):
    found = scatter_calls.scatter(case["inputs"])
    expected = stamp_calls_module.expected_pool(case["expect"]["pool_out"])
    assert stamp_calls_module.first_difference("pool_out", found, expected) is None


@pytest.mark.parametrize("name", ["two-checks-1", "two-checks-2", "bad-seed-4", "bad-seed-5"])
def test_rows_come_in_the_order_that_the_contract_gives_them(
    backend, stamp_calls, expected_launch, read_cases, name
):
    """A bad seed before any other row of its request, an input row before a position row."""
    if backend.device != "cpu":
        pytest.skip("the contract leaves the order of rows on a GPU open")
    if backend.name == "interpreter" and name == "bad-seed-5":
        pytest.skip("the kernel records an entry before it knows which one is stored first")
    [case] = [case for case in read_cases("write_section8") if case["id"] == name]
    expected = expected_launch.of_case(case["inputs"], case["expect"])
    assert expected.rows_found(stamp_calls.write(case["inputs"])) == expected.rows_expected()


WRITE_CASE = {
    "canary_buf_i64": [[5] * 6] * 5,
    "kernel_kind": 2,
    "ring_capacity": 4,
    "violation_write_index": 1,
    "enable_chain_position_assert": 1,
    "real_kv_hash_mode": 1,
    "real_kv_sources": [
        {
            "rows_hex": ["00" * 96] * 2,
            "row_stride_bytes": 96,
            "view_cols": 80,
            "page_size": 3,
            "num_bytes_per_token": 16,
            "read_bytes": 16,
            "dtype": dtype,
        }
        for dtype in ("uint8", "bfloat16", "float32")
    ],
    "write_offsets": [0, 1],
    "write_seed_slot_indices": [-1],
    "write_num_valid_reqs": 1,
    "input_ids": [31],
    "positions": [0],
    "out_cache_loc": [3],
    "enable_write_input_assert": True,
    "expected_input_tokens": [31],
    "expected_input_positions": [0],
    "evidence_ring": True,
}
CONTEXT_OF_BOTH = [name for name in list(WRITE_CASE)[:7] if name != "enable_chain_position_assert"]
VERIFY_CASE = {name: WRITE_CASE[name] for name in [*CONTEXT_OF_BOTH, "evidence_ring"]} | {
    "check_verify_expected_token": True,
    "verify_slot_indices": [1, 7],
    "verify_expected_tokens": [5, 5],
    "verify_expected_positions": [5, 5],
    "verify_prev_slot_indices": [0, 0],
    "verify_num_valid": 2,
    "enable": 1,
}
SCATTER_CASE = {
    "flat_in": [7, 8, 9],
    "offsets": [0, 1, 3],
    "req_pool_indices": [1, 0],
    "pool_rows": 2,
    "pool_width": 3,
    "pool_fill": -5,
    "column_starts": [0, 1],
}


def test_comparison_of_a_launch_fails_on_any_single_wrong_number(expected_launch, stamp_oracle):
    """No element of any buffer, the poison in it included, is left out of the comparison."""
    for kernel, inputs in (("write", WRITE_CASE | {"positions": [4]}), ("verify", VERIFY_CASE)):
        inputs = {name: value for name, value in inputs.items() if name != "evidence_ring"}
        launch = getattr(stamp_oracle, kernel)(**inputs)
        assert launch.violations
        expected = expected_launch.of_oracle(inputs | {"evidence_ring": True}, launch)
        outputs = expected.outputs()
        assert expected.difference(outputs) is None
        for name, buffer in outputs.items():
            for place, value in enumerate(buffer):
                wrong = [*buffer[:place], value + 1, *buffer[place + 1 :]]
                assert expected.difference(outputs | {name: wrong}) is not None, f"{name}[{place}]"


def test_comparison_of_a_launch_leaves_open_what_the_contract_leaves_open(expected_launch):
    """Rows in any order, each with its own evidence; one row twice is not two rows."""
    rows, evidence = [[1] * 8, [2] * 8, [3] * 8], [[4] * 8, [5] * 8, [6] * 8]
    expect = {
        "violations": rows,
        "evidence": evidence,
        "ring_rows": [1, 2],
        "violation_write_index": [4, 6],
        "slot_run_counter": 0,
        "kernel_run_counter": 1,
    }

    def found(places, evidence_places, index):
        launch = expect | {
            "violations": [rows[place] for place in places],
            "evidence": [evidence[place] for place in evidence_places],
            "violation_write_index": index,
        }
        return expected_launch.of_case({"ring_capacity": 3}, launch).outputs()

    expected = expected_launch.of_case({"ring_capacity": 3}, expect)
    for places in ([0, 1], [1, 0], [2, 0], [1, 2]):
        for index in (4, 5, 6):
            assert expected.difference(found(places, places, index)) is None
        for index in (3, 7):
            assert expected.difference(found(places, places, index)) is not None
        assert expected.difference(found(places, places[::-1], 4)) is not None
    assert expected.difference(found([1, 1], [1, 1], 4)) is not None
    assert expected.difference(found([1], [1], 4)) is not None


def tensors_in(value):
    """Every tensor of a call's arguments, and of what they are made of."""
    if hasattr(value, "untyped_storage"):
        return [value]
    if dataclasses.is_dataclass(value):
        return tensors_in([getattr(value, field.name) for field in dataclasses.fields(value)])
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def flip_a_bit_at_both_ends(tensor):
    """Change the first and the last byte of the whole buffer that a tensor is a view into."""
    import torch

    everything = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    everything.set_(tensor.untyped_storage())
    everything[0] ^= 1
    everything[-1] ^= 1


@pytest.mark.parametrize(
    ("kernel", "inputs", "changed"),
    [
        ("write", WRITE_CASE, 6),
        ("verify", VERIFY_CASE, 5),
        ("scatter_req_token_ids", SCATTER_CASE, 1),
    ],
)
def test_a_byte_written_outside_any_tensor_is_seen(
    monkeypatch, stamp_calls, scatter_calls, kernel, inputs, changed
):
    """Of every tensor of a call, inputs too: the call fails, or gives the changed buffer back."""
    call = scatter_calls.scatter if "scatter" in kernel else getattr(stamp_calls, kernel)
    launcher = f"launch_{'' if 'scatter' in kernel else 'canary_'}{kernel}_kernel"
    module = f"kv_canary_kernels.launchers.{kernel}"
    seen = []

    def launch(which, **arguments):
        tensors = tensors_in(list(arguments.values()))
        seen.append(len(tensors))
        if which is not None:
            flip_a_bit_at_both_ends(tensors[which])

    def call_that_flips(which):
        stub = SimpleNamespace(**{launcher: lambda **arguments: launch(which, **arguments)})
        monkeypatch.setitem(sys.modules, module, stub)
        try:
            return call(inputs)
        except AssertionError as error:
            return str(error)

    unchanged = call_that_flips(None)
    results = [call_that_flips(which) for which in range(seen[0])]
    refusals = [result for result in results if isinstance(result, str)]
    assert unchanged not in results
    assert len(refusals) == len(results) - changed
    assert all("the launch changed its input" in refusal for refusal in refusals)
