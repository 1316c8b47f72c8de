"""The oracles say what the examples say: the contract's vectors, and cases worked by hand."""

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


# Write, verify and scatter -----------------------------------------------------------------------


@pytest.mark.cases("splitmix")
def test_hashes_equal_vector(stamp_oracle, case):
    inputs = {name: int(value) for name, value in case["inputs"].items()}
    assert case["expect"] == {
        "splitmix64_a": str(stamp_oracle.splitmix64(inputs["a"])),
        "mix3": str(stamp_oracle.mix3(**inputs)),
    }


def counters_of(launch):
    return {
        "slot_run_counter": launch.slot_run_counter,
        "kernel_run_counter": launch.kernel_run_counter,
    }


def vector_of(launch, inputs):
    """A launch as a vector spells it: the whole ring, zero where nothing was recorded."""
    assert launch.write_index_at_most == launch.violation_write_index
    rows = launch.ring_rows
    ring = [rows[k].row() if k in rows else [0] * 8 for k in range(inputs["ring_capacity"])]
    return counters_of(launch) | {
        "violation_rows": ring,
        "violation_write_index": launch.violation_write_index,
    }


def sorted_rows(expect):
    """A vector's rows may come in any order."""
    return expect | {"violation_rows": sorted(expect["violation_rows"])}


@pytest.mark.cases("verify")
def test_verify_equals_vector(stamp_oracle, case):
    launch = stamp_oracle.verify(**case["inputs"])
    assert sorted_rows(vector_of(launch, case["inputs"])) == sorted_rows(case["expect"])


@pytest.mark.cases("write")
def test_write_equals_vector(stamp_oracle, case):
    launch = stamp_oracle.write(**case["inputs"])
    got = vector_of(launch, case["inputs"]) | {"canary_buf_i64": launch.canary_buf_i64}
    assert launch.unspecified_slots == set()
    assert sorted_rows(got) == sorted_rows(case["expect"])


@pytest.mark.cases("scatter")
def test_scatter_equals_vector(stamp_oracle, case):
    scatter = stamp_oracle.scatter_req_token_ids(**case["inputs"])
    assert scatter.unspecified_cells == set()
    assert {"pool_out": scatter.pool_out} == case["expect"]


def case_of(launch, inputs):
    """A launch as a hand-worked case spells it: all violations, and which rows are filled."""
    lowest, highest = launch.violation_write_index, launch.write_index_at_most
    got = counters_of(launch) | {
        "violations": [violation.row() for violation in launch.violations],
        "ring_rows": sorted(launch.ring_rows),
        "violation_write_index": lowest if lowest == highest else [lowest, highest],
    }
    if inputs.get("evidence_ring"):
        got["evidence"] = [violation.evidence() for violation in launch.violations]
    return got


def without_evidence_ring(inputs):
    """What the oracle takes: it always knows the evidence."""
    return {name: value for name, value in inputs.items() if name != "evidence_ring"}


@pytest.mark.cases("verify_section8")
def test_verify_equals_hand_worked_case(stamp_oracle, case):
    launch = stamp_oracle.verify(**without_evidence_ring(case["inputs"]))
    assert case_of(launch, case["inputs"]) == case["expect"]


@pytest.mark.cases("write_section8")
def test_write_equals_hand_worked_case(stamp_oracle, case):
    launch = stamp_oracle.write(**without_evidence_ring(case["inputs"]))
    canary = [
        [None] * 4 + row[4:] if slot in launch.unspecified_slots else row
        for slot, row in enumerate(launch.canary_buf_i64)
    ]
    assert case_of(launch, case["inputs"]) | {"canary_buf_i64": canary} == case["expect"]


@pytest.mark.cases("scatter_section8")
def test_scatter_equals_hand_worked_case(stamp_oracle, stamp_calls_module, case):
    scatter = stamp_oracle.scatter_req_token_ids(**case["inputs"])
    assert {"pool_out": stamp_calls_module.pool_of_oracle(scatter)} == case["expect"]


def test_a_seed_that_is_written_over_leaves_its_request_open(stamp_oracle, read_cases):
    [case] = [case for case in read_cases("write_section8") if case["id"] == "twice-5"]
    launch = stamp_oracle.write(**case["inputs"])
    assert launch.unspecified_seeds == {2}
    assert launch.unspecified_slots == {2, 3}


def affine_map(oracle, token, position):
    """What an entry does to a hash in the parallel format: the factor, and what is added."""
    added = oracle.successor_hash("parallel", 0, token, position)
    factor = oracle.successor_hash("parallel", 1, token, position) - added
    return oracle.as_uint64(factor), added


def test_parallel_entries_compose(stamp_oracle):
    """A run of entries is one affine map, whichever entries are joined first."""

    def join(first, then):
        factor = stamp_oracle.as_uint64(first[0] * then[0])
        return factor, stamp_oracle.as_uint64(first[1] * then[0] + then[1])

    run = [(31, 0), (-5, 2**62), (2**63 - 1, -1), (0, 7)]
    a, b, c, d = (affine_map(stamp_oracle, *entry) for entry in run)
    walked = stamp_oracle.first_hash()
    for entry in run:
        walked = stamp_oracle.successor_hash("parallel", walked, *entry)
    factor, added = join(join(a, b), join(c, d))
    assert (factor, added) == join(a, join(b, join(c, d)))
    assert stamp_oracle.as_uint64(stamp_oracle.first_hash() * factor + added) == walked


# The files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "imports"),
    [
        ("oracle.py", "from dataclasses import dataclass"),
        ("oracle_stamps.py", "from dataclasses import dataclass, replace"),
    ],
)
def test_oracle_imports_the_standard_library_alone(file, imports):
    tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in nodes] == [imports]


@pytest.mark.parametrize(
    ("file", "sentences"),
    [
        ("plan_section8", 22),
        ("verify_section8", 27),
        ("write_section8", 28),
        ("scatter_section8", 9),
    ],
)
def test_every_sentence_has_three_hand_worked_cases(read_cases, file, sentences):
    """Each sentence of the contract that says something about the kernel."""
    counts = Counter(case["sentence"] for case in read_cases(file))
    assert len(counts) == sentences
    assert {sentence: count for sentence, count in counts.items() if count < 3} == {}
