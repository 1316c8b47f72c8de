"""Every backend gives the contract's vectors and the hand-worked cases, and writes nothing else.

An output is compared as the whole buffer that it is a view into: what is active, the poison past
it, and the poison on both sides.
"""

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
