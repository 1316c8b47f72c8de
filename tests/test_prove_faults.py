"""The prover is no rubber stamp: faults are refuted by calls that really fault, twins are proved.

Each fault is an edit of a generated kernel in a temporary copy, of a kind that people or templates
make: a guard dropped, a bound off by one, the wrong table's length. Its counterexample is launched
under the interpreter between unmapped pages, and touches them in the very line that was refuted.
Its twin says what the kernel said in other words, and every access of it is still proved.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from kv_canary_codegen.cli import main
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.prove import engine
from kv_canary_codegen.prove.safety import Status

REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Fault:
    """One or more texts of a kernel, and what stands there instead."""

    name: str
    stem: str
    argument: str
    edits: tuple[tuple[str, str], ...]
    twin: tuple[tuple[str, str], ...]
    contract: tuple[str, str] | None = None
    """An edit of the kernel's spec, of which only the validator hears."""
    quick: bool = False
    sources: int = 0
    """Of a kernel that reads K and V, from how many tensors."""


def one(name, stem, argument, old, new, twin, **more):
    return Fault(name, stem, argument, ((old, new),), ((old, twin),), **more)


ENTRIES, OFFSETS, ROTATION = "plan_entries", "plan_offsets", "plan_rotation"
VERIFY, WRITE = "verify", "write"
SCATTER = "scatter_req_token_ids"
SLOT_MASK = "mask=(is_token & req_to_token_row_in_range & req_to_token_position_in_range) != 0"
PREVIOUS_MASK = "mask=(has_previous & previous_row_in_range & previous_position_in_range) != 0"
SEED_MASK = "mask=(has_seed & seed_row_in_range & seed_position_in_range) != 0"
POOL_MASK = "mask=(is_copied & pool_out_row_in_range & pool_out_column_in_range) != 0"
IN_CAPACITY = "entry_in_range = (entry >= 0) & (entry < verify_capacity)"
IN_BATCH = "request_in_range = (requests >= 0) & (requests < bs)"
IS_WHOLE = "is_whole = row_in_domain & (first >= 0) & (first <= last) & (last <= token_count)"
IS_SOUND = "is_sound = row_in_domain & prefix_in_domain\n    cached_len"
SLOT_ADDRESS = (
    "slot = tl.load(\n"
    "            req_to_token_ptr + row.to(tl.int64) * max_seq_len + position.to(tl.int64)"
)
PREVIOUS_ADDRESS = "req_to_token_ptr + row.to(tl.int64) * max_seq_len + (position - 1).to(tl.int64)"
POOL_ADDRESS = "pool_out_ptr + row.to(tl.int64) * pool_columns + column.to(tl.int64)"

FAULTS = [
    one(
        "a slot at the end of the pool",
        VERIFY,
        "canary_buf",
        "in_range = (slot >= 0) & (slot < num_slots)\n        named = tl.load(",
        "in_range = (slot >= 0) & (slot <= num_slots)\n        named = tl.load(",
        "in_range = (slot >= 0) & (slot <= num_slots - 1)\n        named = tl.load(",
        quick=True,
    ),
    one(
        "a previous slot before the pool",
        VERIFY,
        "canary_buf",
        "previous_slot_in_range = (previous >= 0) & (previous < num_slots)\n        fetched = tl",
        "previous_slot_in_range = previous < num_slots\n        fetched = tl",
        "previous_slot_in_range = (previous < num_slots) & (previous >= 0)\n        fetched = tl",
    ),
    one(
        "an entry past the plan",
        VERIFY,
        "verify_slot_indices",
        "(ahead >= 0) & (ahead < verify_capacity)\n    next_slot = tl.load(",
        "(ahead >= 0)\n    next_slot = tl.load(",
        "(ahead < verify_capacity) & (ahead >= 0)\n    next_slot = tl.load(",
    ),
    one(
        "the seed of the next request",
        WRITE,
        "write_seed_slot_indices",
        "indices_request_in_range = (request >= 0) & (request < write_req_capacity)",
        "indices_request_in_range = (request >= 0) & (request <= write_req_capacity)",
        "indices_request_in_range = (write_req_capacity > request) & (request >= 0)",
    ),
    one(
        "a boundary without the + 1",
        WRITE,
        "write_offsets",
        "(request + 1 >= 0) & (request + 1 < write_req_capacity + 1)",
        "(request + 1 >= 0) & (request + 1 <= write_req_capacity + 1)",
        "(request >= -1) & (request + 1 <= write_req_capacity)",
    ),
    one(
        "the table is read one past its end",
        ENTRIES,
        "full_to_swa_index_mapping",
        "(slot >= 0) & (slot < lut_len)",
        "(slot >= 0) & (slot <= lut_len)",
        "(slot >= 0) & (slot <= lut_len - 1)",
        quick=True,
    ),
    one(
        "a negative slot is looked up",
        ENTRIES,
        "full_to_swa_index_mapping",
        "(previous >= 0) & (previous < lut_len)",
        "(previous < lut_len)",
        "(previous < lut_len) & (previous > -1)",
    ),
    Fault(
        "the slot after the last position",
        ENTRIES,
        "req_to_token",
        (
            (PREVIOUS_ADDRESS, PREVIOUS_ADDRESS.replace("position - 1", "position + 1")),
            (PREVIOUS_MASK, "mask=(is_token & previous_row_in_range) != 0"),
        ),
        # Before the first position of a row lies the row before, and row 0 is never planned.
        ((PREVIOUS_MASK, "mask=(is_token & previous_row_in_range) != 0"),),
    ),
    one(
        "an entry without a guard",
        ENTRIES,
        "out_verify_slot_indices",
        f"out_verify_slot_indices_{IN_CAPACITY}",
        "out_verify_slot_indices_entry_in_range = entry == entry",
        "out_verify_slot_indices_entry_in_range = (verify_capacity > entry) & (entry >= 0)",
    ),
    one(
        "an entry before the first",
        ENTRIES,
        "out_verify_expected_tokens",
        f"out_verify_expected_tokens_{IN_CAPACITY}",
        "out_verify_expected_tokens_entry_in_range = entry < verify_capacity",
        "out_verify_expected_tokens_entry_in_range = (entry + 1 > 0) & (entry < verify_capacity)",
    ),
    one(
        "an entry at the capacity",
        ENTRIES,
        "out_verify_expected_positions",
        f"out_verify_expected_positions_{IN_CAPACITY}",
        "out_verify_expected_positions_entry_in_range = (entry >= 0) & (entry <= verify_capacity)",
        "out_verify_expected_positions_entry_in_range = (0 <= entry) & (verify_capacity > entry)",
    ),
    one(
        "a mask by count instead of capacity",
        ENTRIES,
        "out_verify_prev_slot_indices",
        f"out_verify_prev_slot_indices_{IN_CAPACITY}",
        "out_verify_prev_slot_indices_entry_in_range = (entry >= 0) & (index < entry_count)",
        "out_verify_prev_slot_indices_entry_in_range = (entry >= 0) & (entry < verify_capacity)"
        " & (index < entry_count)",
    ),
    one(
        "rows of the other table",
        ENTRIES,
        "req_to_verify_expected_tokens",
        "(row >= 0) & (row < token_rows)",
        "(row >= 0) & (row < max_reqs)",
        "(row < token_rows) & (row >= 0) & (row < max_reqs)",
    ),
    one(
        "a column before the first",
        ENTRIES,
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens_column_in_range = (column >= 0) & (column < token_columns)",
        "req_to_verify_expected_tokens_column_in_range = column < token_columns",
        "req_to_verify_expected_tokens_column_in_range = (column < token_columns) & (column >= 0)",
    ),
    one(
        "a mask by the other table's length",
        ENTRIES,
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens_column_in_range = (column >= 0) & (column < token_columns)",
        "req_to_verify_expected_tokens_column_in_range = (column >= 0) & (column < max_seq_len)",
        "req_to_verify_expected_tokens_column_in_range = (column >= 0)"
        " & (column < tl.minimum(token_columns, max_seq_len))",
    ),
    one(
        "a 32-bit product of row and stride",
        ENTRIES,
        "req_to_token",
        SLOT_ADDRESS,
        SLOT_ADDRESS.replace(
            "row.to(tl.int64) * max_seq_len", "row.to(tl.int32) * max_seq_len.to(tl.int32)"
        ),
        SLOT_ADDRESS.replace("row.to(tl.int64) * max_seq_len", "max_seq_len * row"),
        quick=True,
    ),
    one(
        "the row of the next request",
        ENTRIES,
        "req_pool_indices",
        "req_pool_indices_ptr + request.to(tl.int64)",
        "req_pool_indices_ptr + (request + 1).to(tl.int64)",
        "req_pool_indices_ptr + request",
    ),
    one(
        "the length of the next request",
        ENTRIES,
        "prefix_lens",
        "prefix_lens_ptr + request.to(tl.int64)",
        "prefix_lens_ptr + (request + 1).to(tl.int64)",
        "prefix_lens_ptr + (request + 1 - 1).to(tl.int64)",
    ),
    one(
        "an offset past the last boundary",
        ENTRIES,
        "verify_offsets_scratch",
        "verify_offsets_scratch_ptr + request.to(tl.int64)",
        "verify_offsets_scratch_ptr + (request + 2).to(tl.int64)",
        "verify_offsets_scratch_ptr + (request + 1).to(tl.int64)",
    ),
    one(
        "the known length of the next request",
        ENTRIES,
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens_ptr + request.to(tl.int64)",
        "req_to_verify_expected_tokens_valid_lens_ptr + (request + 1).to(tl.int64)",
        "req_to_verify_expected_tokens_valid_lens_ptr + request",
    ),
    Fault(
        "a row that nobody looked at",
        ENTRIES,
        "req_to_token",
        (
            (IS_SOUND, IS_SOUND.replace("row_in_domain & ", "")),
            (SLOT_MASK, "mask=(is_token & req_to_token_position_in_range) != 0"),
        ),
        # Either of the two is enough.
        ((SLOT_MASK, "mask=(is_token & req_to_token_position_in_range) != 0"),),
    ),
    one(
        "a seed with a negative position",
        OFFSETS,
        "req_to_token",
        SEED_MASK,
        "mask=(seed_row_in_range & (own_cached - 1 < max_seq_len)) != 0",
        "mask=(has_seed & seed_row_in_range) != 0",
        quick=True,
    ),
    one(
        "a seed past the table",
        OFFSETS,
        "full_to_swa_index_mapping",
        "(seed >= 0) & (seed < lut_len)",
        "seed >= 0",
        "(seed < lut_len) & (seed >= 0)",
    ),
    one(
        "a seed that is none is looked up",
        OFFSETS,
        "full_to_swa_index_mapping",
        "(seed >= 0) & (seed < lut_len)",
        "seed < lut_len",
        "(seed > -1) & (seed < lut_len)",
    ),
    one(
        "a seed stored at the next request",
        OFFSETS,
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices_ptr + request.to(tl.int64)",
        "out_write_seed_slot_indices_ptr + (request + 1).to(tl.int64)",
        "out_write_seed_slot_indices_ptr + (1 + request - 1).to(tl.int64)",
    ),
    one(
        "a tail one boundary too long",
        OFFSETS,
        "out_write_offsets",
        "(boundary >= 0) & (boundary < write_offsets_len)",
        "(boundary >= 0) & (boundary <= write_offsets_len)",
        "boundary < write_offsets_len",
    ),
    one(
        "a tail without a mask",
        OFFSETS,
        "out_write_offsets",
        "mask=tail_boundary_in_range",
        "mask=boundary >= 0",
        "mask=tail_boundary_in_range & (boundary > bs)",
    ),
    one(
        "one request too many",
        OFFSETS,
        "req_pool_indices",
        f"req_pool_indices_{IN_BATCH}",
        "req_pool_indices_request_in_range = requests <= bs",
        "req_pool_indices_request_in_range = requests <= bs - 1",
    ),
    one(
        "a mask by capacity instead of length",
        OFFSETS,
        "prefix_lens",
        f"prefix_lens_{IN_BATCH}",
        "prefix_lens_request_in_range = (requests >= 0) & (requests < write_req_capacity)",
        "prefix_lens_request_in_range = (requests < bs) & (requests < write_req_capacity)",
        quick=True,
    ),
    one(
        "a block without a mask",
        OFFSETS,
        "extend_seq_lens",
        "mask=extend_seq_lens_request_in_range",
        "mask=requests >= 0",
        "mask=requests < bs",
    ),
    one(
        "a boundary stored one further",
        OFFSETS,
        "out_write_offsets",
        "out_write_offsets_ptr + request.to(tl.int64)",
        "out_write_offsets_ptr + (request + 1).to(tl.int64)",
        "out_write_offsets_ptr + request",
    ),
    one(
        "a count stored behind its tensor",
        OFFSETS,
        "out_verify_num_valid",
        "tl.store(out_verify_num_valid_ptr, verify_valid)",
        "tl.store(out_verify_num_valid_ptr + 1, verify_valid)",
        "tl.store(out_verify_num_valid_ptr + 0, verify_valid)",
    ),
    one(
        "a switch stored before its tensor",
        OFFSETS,
        "out_verify_enable",
        "tl.store(out_verify_enable_ptr, is_enabled)",
        "tl.store(out_verify_enable_ptr - 1, is_enabled)",
        "tl.store(out_verify_enable_ptr + (bs - bs), is_enabled)",
    ),
    one(
        "one request too many for the rotation",
        ROTATION,
        "req_pool_indices",
        f"req_pool_indices_{IN_BATCH}",
        "req_pool_indices_request_in_range = requests < bs + 1",
        "req_pool_indices_request_in_range = requests + 1 < bs + 1",
    ),
    one(
        "lengths without a mask",
        ROTATION,
        "prefix_lens",
        "mask=prefix_lens_request_in_range",
        "mask=requests == requests",
        "mask=requests < bs",
    ),
    one(
        "a total stored behind its tensor",
        ROTATION,
        "verify_total",
        "tl.store(verify_total_ptr, entry_total)",
        "tl.store(verify_total_ptr + 1, entry_total)",
        "tl.store(verify_total_ptr + tl.program_id(0), entry_total)",
    ),
    Fault(
        "boundaries without the + 1",
        SCATTER,
        "offsets",
        (),
        (("(request + 1 >= 0) & (request + 1 < bs + 1)", "(request + 1 <= bs)"),),
        contract=("tensor: int64[bs + 1]", 'tensor: "int64[>= bs]"'),
    ),
    Fault(
        "a stretch past the tokens",
        SCATTER,
        "flat_in",
        (
            (IS_WHOLE, IS_WHOLE.replace(" & (last <= token_count)", "")),
            ("(first + index >= 0) & (first + index < token_count)", "first + index >= 0"),
        ),
        (("(first + index >= 0) & (first + index < token_count)", "first + index >= 0"),),
    ),
    Fault(
        "a row outside the pool",
        SCATTER,
        "pool_out",
        (
            (IS_WHOLE, IS_WHOLE.replace("row_in_domain & ", "")),
            (
                "pool_out_row_in_range = (row >= 0) & (row < pool_rows)",
                "pool_out_row_in_range = row >= 0",
            ),
        ),
        ((POOL_MASK, "mask=(is_copied & pool_out_column_in_range) != 0"),),
    ),
    Fault(
        "a row that is too short",
        SCATTER,
        "pool_out",
        (
            ("tl.minimum(last - first, pool_columns - column_start)", "last - first"),
            ("(column >= 0) & (column < pool_columns)", "column >= 0"),
        ),
        (("(column >= 0) & (column < pool_columns)", "(column < pool_columns) & (column >= 0)"),),
    ),
    one(
        "a 32-bit product of row and columns",
        SCATTER,
        "pool_out",
        POOL_ADDRESS,
        "pool_out_ptr + row.to(tl.int32) * pool_columns.to(tl.int32) + column.to(tl.int64)",
        "pool_out_ptr + column + pool_columns * row",
    ),
    one(
        "the first column of the next request",
        SCATTER,
        "column_starts",
        "column_starts_ptr + request.to(tl.int64)",
        "column_starts_ptr + (request + 1).to(tl.int64)",
        "column_starts_ptr + request",
    ),
]


class Workshop:
    """A copy of the spec and of what is generated from it, to put faults into."""

    def __init__(self, root):
        self.root = root
        self.spec = root / "spec"
        self.out = root / "generated"
        shutil.copytree(REPOSITORY / "spec", self.spec)
        assert main(["generate", "--spec", str(self.spec), "--out", str(self.out)]) == 0

    def judged(self, fault, edits, contract=None):
        """The accesses of the variant that has everything, after edits."""
        place = self.root / f"case{len(list(self.root.glob('case*')))}"
        shutil.copytree(self.out, place)
        source = self.spec
        path = place / "kv_canary_kernels" / "kernels" / f"{fault.stem}.py"
        text = path.read_text()
        if contract is not None:
            source = place / "spec"
            shutil.copytree(self.spec, source)
            yaml = source / "kernels" / f"{fault.stem}.yaml"
            old, new = contract
            assert yaml.read_text().count(old) == 1, old
            yaml.write_text(yaml.read_text().replace(old, new))
            assert main(["generate", "--spec", str(source), "--out", str(place)]) == 0
        for old, new in edits:
            assert text.count(old) == 1, f"{fault.stem} no longer reads {old!r} once"
            text = text.replace(old, new)
        path.write_text(text)
        spec = read_spec(source, "spec")
        jobs = [
            job
            for job in engine.chosen_variants(spec, [fault.stem])
            if sum(given for name, given in job[1].given if name.startswith("source_"))
            == fault.sources
        ]
        fullest = max(jobs, key=lambda job: sum(given for _, given in job[1].given))
        (result,) = engine.proved(spec, place, [fullest])
        assert result.error == ""
        assert result.in_text == len(result.accesses)
        return result.accesses


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("faults"))


def cases():
    marks = {False: [pytest.mark.soak], True: []}
    return [pytest.param(f, id=f.name.replace(" ", "-"), marks=marks[f.quick]) for f in FAULTS]


def test_there_are_enough_faults_in_enough_kernels():
    assert len(FAULTS) >= 30
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({fault.stem for fault in FAULTS}) >= 4


@pytest.mark.parametrize("fault", cases())
def test_fault_is_refuted_by_a_call_that_faults(workshop, fault):
    accesses = workshop.judged(fault, fault.edits, fault.contract)
    refuted = [access for access in accesses if access.status is Status.REFUTED]
    assert fault.argument in {argument for access in refuted for argument in access.arguments}
    for access in refuted:
        assert access.counterexample.replay.faulted is not None
        assert access.counterexample.replay.line == access.line
    # What is proved in a faulty kernel is proved all the same.
    assert [a.arguments for a in accesses if a.status is Status.UNPROVED] == []


@pytest.mark.parametrize("fault", cases())
def test_harmless_twin_is_proved(workshop, fault):
    accesses = workshop.judged(fault, fault.twin)
    assert [
        (a.arguments, a.line, a.reason) for a in accesses if a.status is not Status.PROVED
    ] == []
