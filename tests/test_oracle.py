"""The oracle says what the examples say: the contract's vectors, and cases worked by hand."""

import ast
import dataclasses
from collections import Counter
from pathlib import Path

import pytest

ENTRY_FIELDS = {
    "verify_slot_indices": "slot",
    "verify_expected_tokens": "token",
    "verify_expected_positions": "position",
    "verify_prev_slot_indices": "previous_slot",
}


@pytest.mark.cases("plan")
def test_plan_equals_vector(oracle, case):
    assert dataclasses.asdict(oracle.plan(**case["inputs"])) == case["expect"]


@pytest.mark.cases("plan_section8")
def test_plan_equals_hand_worked_case(oracle, case):
    if case.get("kernel") == "plan_entries":
        entries = oracle.plan_entries(**case["inputs"])
        assert all(len(entries_here) <= 1 for entries_here in entries)
        got = {
            name: [getattr(here[0], field) if here else None for here in entries]
            for name, field in ENTRY_FIELDS.items()
        }
    else:
        got = dataclasses.asdict(oracle.plan(**case["inputs"]))
    assert got == case["expect"]


@pytest.mark.cases("plan")
def test_plan_is_the_entries_of_its_own_offsets(oracle, case):
    """The halves meet in the middle: no two entries at one index, and no gap before the last."""
    inputs = dict(case["inputs"])
    offsets = oracle.plan_offsets(
        **{
            name: value
            for name, value in inputs.items()
            if not name.startswith(("req_to_verify", "kv_token"))
        }
    )
    assert offsets.verify_offsets == sorted(offsets.verify_offsets)
    del inputs["extend_seq_lens"], inputs["write_req_capacity"]
    entries = oracle.plan_entries(
        verify_offsets_scratch=offsets.verify_offsets, verify_enable=offsets.enable, **inputs
    )
    written = offsets.verify_num_valid if offsets.enable else 0
    unwritten = inputs["verify_capacity"] - written
    assert [len(here) for here in entries] == [1] * written + [0] * unwritten


def test_wild_scratch_may_send_two_entries_to_one_index(oracle):
    entries = oracle.plan_entries(
        req_pool_indices=[1, 2],
        prefix_lens=[2, 1],
        req_to_token=[[9, 9], [11, 12], [21, 22]],
        full_to_swa_index_mapping=None,
        verify_offsets_scratch=[0, 1, 2],
        verify_enable=1,
        req_to_verify_expected_tokens=None,
        req_to_verify_expected_tokens_valid_lens=None,
        verify_capacity=3,
        kv_token_id_vs_position_offset=0,
        swa_window_size=0,
    )
    assert [[entry.slot for entry in here] for here in entries] == [[11], [12, 21], []]


def test_oracle_imports_the_standard_library_alone():
    tree = ast.parse((Path(__file__).parent / "oracle.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["from dataclasses import dataclass"]


def test_every_sentence_has_three_hand_worked_cases(read_cases):
    """Each sentence of sections 2 and 8 that says something about a plan."""
    counts = Counter(case["sentence"] for case in read_cases("plan_section8"))
    assert len(counts) == 22
    assert {sentence: count for sentence, count in counts.items() if count < 3} == {}
