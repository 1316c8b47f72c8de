"""The comparison with the oracle catches bugs: each of these is put into the code, and found.

A fault is a small change of text in the torch reference or in the kernel body, of a kind that
people make.  It is loaded as a module of its own and launched like the real one.  Cases are tried
in order until one differs: the hand-worked cases, the contract's vectors, rotations worked by hand,
and batches from fixed seeds.  The same cases all pass where nothing was changed.
"""

import importlib
import importlib.util
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import pytest

REPOSITORY = Path(__file__).parent.parent
REFERENCE = REPOSITORY / "runtime" / "kv_canary" / "reference"
KERNELS = REPOSITORY / "generated" / "kv_canary_kernels" / "kernels"

RANDOM_BATCHES = 10


@dataclass(frozen=True)
class Fault:
    """One text in one file, and what stands there instead."""

    name: str
    file: str
    text: str
    instead: str
    try_first: str = ""
    """Cases whose names begin so come first: a program costs the interpreter milliseconds."""
    times: int = 1

    def seed_into(self, source):
        """The source with the fault in it; the text must occur exactly as often as is said."""
        assert source.count(self.text) == self.times, f"{self.file} no longer reads {self.text!r}"
        assert self.text != self.instead
        return source.replace(self.text, self.instead)


REFERENCE_FAULTS = [
    Fault(
        "window starts one position late",
        "_requests.py",
        "(prefix_len - window).clamp(min=0)",
        "(prefix_len - window + 1).clamp(min=0)",
    ),
    Fault(
        "a prefix as long as a row is bad",
        "_requests.py",
        "(prefix_lens <= max_seq_len)",
        "(prefix_lens < max_seq_len)",
    ),
    Fault(
        "padding is counted",
        "_requests.py",
        "is_padding = req_pool_indices == REQ_POOL_IDX_PADDING",
        "is_padding = req_pool_indices < REQ_POOL_IDX_PADDING",
    ),
    Fault(
        "a bad row is not reported",
        "_requests.py",
        "is_bad = ~is_padding & ~is_sound",
        "is_bad = ~is_padding & ~is_sound & row_in_table",
    ),
    Fault(
        "a bad length is not reported",
        "_requests.py",
        "is_bad = ~is_padding & ~is_sound",
        "is_bad = ~is_padding & ~row_in_table",
    ),
    Fault(
        "a bad row's report has the length as its position",
        "_requests.py",
        "torch.where(is_bad & row_in_table, prefix_lens, 0)",
        "torch.where(is_bad, prefix_lens, 0)",
    ),
    Fault(
        "past the SWA table's end there is no predecessor",
        "_requests.py",
        "UNREACHABLE_SLOT = -2",
        "UNREACHABLE_SLOT = -1",
    ),
    Fault(
        "a negative slot is looked up",
        "_requests.py",
        "return torch.where(slot < 0, slot, mapped)",
        "return mapped",
    ),
    Fault(
        "slot 0 is not looked up",
        "_requests.py",
        "return torch.where(slot < 0, slot, mapped)",
        "return torch.where(slot <= 0, slot, mapped)",
    ),
    Fault(
        "a negative extend is subtracted",
        "plan_offsets.py",
        "extend_seq_lens.clamp(min=0, max=INT32_MAX)",
        "extend_seq_lens.clamp(max=INT32_MAX)",
    ),
    Fault(
        "a huge extend wraps the sum",
        "plan_offsets.py",
        "extend_seq_lens.clamp(min=0, max=INT32_MAX)",
        "extend_seq_lens.clamp(min=0)",
    ),
    Fault(
        "padding writes",
        "plan_offsets.py",
        "req_pool_indices == REQ_POOL_IDX_PADDING, 0, extend",
        "req_pool_indices < REQ_POOL_IDX_PADDING, 0, extend",
    ),
    Fault(
        "the seed is one position early",
        "plan_offsets.py",
        "position=requests.prefix_len - 1,",
        "position=requests.prefix_len - 2,",
    ),
    Fault(
        "a request that writes nothing has a seed",
        "plan_offsets.py",
        " & (write_count > 0),",
        ",",
    ),
    Fault(
        "the seed is not looked up in the SWA table",
        "plan_offsets.py",
        "full_to_swa_index_mapping=full_to_swa_index_mapping,",
        "full_to_swa_index_mapping=None,",
    ),
    Fault(
        "the tail of the write offsets is left as it was",
        "plan_offsets.py",
        "out_write_offsets[batch_size + 1 :] = 0",
        "out_write_offsets[batch_size + 2 :] = 0",
    ),
    Fault(
        "num_valid is not capped",
        "plan_offsets.py",
        "clamp(max=min(verify_capacity, INT32_MAX))",
        "clamp(max=INT32_MAX)",
    ),
    Fault(
        "enable is inverted",
        "plan_offsets.py",
        "out_verify_enable.copy_(verify_total <= verify_capacity)",
        "out_verify_enable.copy_(verify_total > verify_capacity)",
    ),
    Fault(
        "a full plan is off",
        "plan_offsets.py",
        "out_verify_enable.copy_(verify_total <= verify_capacity)",
        "out_verify_enable.copy_(verify_total < verify_capacity)",
    ),
    Fault(
        "the predecessor is not looked up in the SWA table",
        "plan_entries.py",
        "full_to_swa_index_mapping=full_to_swa_index_mapping,\n"
        "        row=row,\n"
        "        position=position - 1,",
        "full_to_swa_index_mapping=None,\n        row=row,\n        position=position - 1,",
    ),
    Fault(
        "a window's first entry has no predecessor",
        "plan_entries.py",
        "readable=is_sound & (position > 0)",
        "readable=is_sound & (local > 0)",
    ),
    Fault(
        "the token offset is subtracted",
        "plan_entries.py",
        "column = position + offset",
        "column = position - offset",
    ),
    Fault(
        "one token too many is known",
        "plan_entries.py",
        "(column < req_to_verify_expected_tokens_valid_lens[owner])",
        "(column <= req_to_verify_expected_tokens_valid_lens[owner])",
    ),
    Fault(
        "the known lengths are read by row",
        "plan_entries.py",
        "req_to_verify_expected_tokens_valid_lens[owner]",
        "req_to_verify_expected_tokens_valid_lens[row.clamp(max=batch_size - 1)]",
    ),
    Fault(
        "a report's predecessor is none",
        "plan_entries.py",
        "torch.where(is_bad, 0, prev_slot)",
        "prev_slot",
    ),
    Fault(
        "a plan that is off is written",
        "plan_entries.py",
        "is_owned &= verify_enable != 0",
        "is_owned &= verify_enable != 2",
    ),
    Fault(
        "the rotation does not advance",
        "plan_rotation.py",
        "+ min(verify_capacity, 2**62)",
        "+ 0 * verify_capacity",
    ),
    Fault(
        "the rotation advances where everything fits",
        "plan_rotation.py",
        "total > verify_capacity",
        "total >= verify_capacity",
    ),
]

KERNEL_FAULTS = [
    Fault(
        "the counts' window starts one position late",
        "plan.py",
        "tl.maximum(cached - swa_window_size, 0)",
        "tl.maximum(cached - swa_window_size + 1, 0)",
    ),
    Fault(
        "the entries' window starts one position early",
        "plan.py",
        "tl.maximum(owner_prefix - swa_window_size, 0)",
        "tl.maximum(owner_prefix - swa_window_size - 1, 0)",
    ),
    Fault(
        "a prefix as long as a row is bad to the counts",
        "plan.py",
        "(prefixes <= max_seq_len)",
        "(prefixes < max_seq_len)",
    ),
    Fault(
        "a prefix as long as a row is bad to the entries",
        "plan.py",
        "(owner_prefix <= max_seq_len)",
        "(owner_prefix < max_seq_len)",
    ),
    Fault(
        "padding is counted",
        "plan.py",
        "are_real = rows != REQ_POOL_IDX_PADDING",
        "are_real = rows == rows",
    ),
    Fault(
        "padding writes",
        "plan.py",
        "own_count = _write_counts(own_extend, own_row != REQ_POOL_IDX_PADDING)",
        "own_count = _write_counts(own_extend, own_row == own_row)",
    ),
    Fault(
        "padding has entries",
        "plan.py",
        "are_members_real = member_rows != REQ_POOL_IDX_PADDING",
        "are_members_real = member_rows == member_rows",
    ),
    Fault(
        "a bad request is not counted",
        "plan.py",
        "tl.where(are_sound, cached - first, 1)",
        "tl.where(are_sound, cached - first, 0)",
        try_first="bad-",
    ),
    Fault(
        "a bad request has no entry",
        "plan.py",
        "is_own = (lane >= done) & (lane < done + count)",
        "is_own = (lane >= done) & (lane < done + count) & is_sound",
        try_first="bad-",
    ),
    Fault(
        "a bad row's report has the length as its position",
        "plan.py",
        "tl.where(is_row_sound, owner_prefix, 0)",
        "owner_prefix",
        try_first="bad-",
    ),
    Fault(
        "a report's predecessor is none",
        "plan.py",
        "previous = tl.where(is_sound, previous, 0)",
        "previous = tl.where(is_sound, previous, -1)",
        try_first="bad-",
    ),
    Fault(
        "a negative extend is subtracted",
        "plan.py",
        "tl.maximum(extends, 0)",
        "extends",
        try_first="negative-extend",
    ),
    Fault(
        "a huge extend wraps the sum",
        "plan.py",
        "tl.minimum(tl.maximum(extends, 0), 2147483647)",
        "tl.maximum(extends, 0)",
        try_first="extend-clamped",
    ),
    Fault(
        "the seed is one position early",
        "plan.py",
        "(own_prefix - 1).to(tl.int64)",
        "(own_prefix - 2).to(tl.int64)",
    ),
    Fault(
        "a request that writes nothing has a seed",
        "plan.py",
        "& (own_count > 0) & (own_prefix > 0)",
        "& (own_prefix > 0)",
    ),
    Fault(
        "the seed is not looked up in the SWA table",
        "plan.py",
        "seed = tl.where(seed < 0, seed, seed_in_window)",
        "seed = tl.where(seed < 0, seed_in_window, seed)",
    ),
    Fault(
        "the predecessor is not looked up in the SWA table",
        "plan.py",
        "previous = tl.where(previous < 0, previous, previous_in_window)",
        "previous = tl.where(previous < 0, previous_in_window, previous)",
    ),
    Fault(
        "a negative slot is looked up",
        "plan.py",
        "slot = tl.where(slot < 0, slot, slot_in_window)",
        "slot = slot_in_window",
    ),
    Fault(
        "past the SWA table's end there is no slot to report",
        "plan.py",
        "mask=full_to_swa_index_mapping_slot_in_range,\n                        other=-2,",
        "mask=full_to_swa_index_mapping_slot_in_range,\n                        other=-1,",
        try_first="past-swa-table",
    ),
    Fault(
        "a window's first entry has no predecessor",
        "plan.py",
        "has_previous = is_token & (position > 0)",
        "has_previous = is_token & (position > first)",
    ),
    Fault(
        "the tail of the write offsets is the total",
        "plan.py",
        "offset = tl.where(own <= bs, offset, 0)",
        "offset = offset + 0",
    ),
    Fault(
        "a full plan is off",
        "plan.py",
        "(entry_total <= verify_capacity).to(tl.int32)",
        "(entry_total < verify_capacity).to(tl.int32)",
        try_first="capacity",
    ),
    Fault(
        "enable is inverted",
        "plan.py",
        "(entry_total <= verify_capacity).to(tl.int32)",
        "(entry_total > verify_capacity).to(tl.int32)",
    ),
    Fault(
        "num_valid is not capped",
        "plan.py",
        "tl.minimum(tl.minimum(entry_total, verify_capacity), 2147483647)",
        "tl.minimum(entry_total, 2147483647)",
        try_first="capacity",
    ),
    Fault(
        "a plan that is off is written",
        "plan.py",
        "planned = tl.where(entry_total <= verify_capacity, entry_total, 0)",
        "planned = tl.minimum(entry_total, verify_capacity)",
        try_first="capacity",
    ),
    Fault(
        "the token offset is subtracted",
        "plan.py",
        "column = position + token_offset",
        "column = position - token_offset",
        try_first="expected-token",
    ),
    Fault(
        "one token too many is known",
        "plan.py",
        "is_known = is_token & (column < known_len)",
        "is_known = is_token & (column <= known_len)",
        try_first="expected-token",
    ),
    Fault(
        "the known lengths are read by row",
        "plan.py",
        "req_to_verify_expected_tokens_valid_lens_ptr + owner.to(tl.int64)",
        "req_to_verify_expected_tokens_valid_lens_ptr "
        "+ tl.minimum(tl.maximum(owner_row, 0), bs - 1)",
        try_first="valid-lens",
    ),
    Fault(
        "the mask of one store is dropped",
        "plan.py",
        "mask=(is_own & out_verify_expected_positions_entry_in_range) != 0,",
        "mask=out_verify_expected_positions_entry_in_range,",
    ),
    Fault(
        "the last tile of entries is skipped",
        "plan.py",
        "tl.minimum(first_tile + tiles_each, tile_total)",
        "tl.minimum(first_tile + tiles_each, tile_total - 1)",
        try_first="random batch 0",
    ),
    Fault(
        "a negative start of the rotation is none",
        "plan.py",
        "turned = tl.where(turned < 0, turned + entry_total, turned)",
        "turned = tl.where(turned < 0, 0, turned)",
        try_first="rotation",
    ),
    Fault(
        "the plan rotates where everything fits",
        "plan.py",
        "rotation = tl.where(entry_total <= verify_capacity, 0, turned)",
        "rotation = turned",
        try_first="rotation",
    ),
    Fault(
        "the rotation ends at the last entry",
        "plan.py",
        "place = tl.where(place >= entry_total, place - entry_total, place)",
        "place = place + 0",
        try_first="rotation",
    ),
    Fault(
        "the rotation advances where everything fits",
        "plan_rotation.py",
        "start = tl.where(entry_total > verify_capacity, moved, start)",
        "start = moved",
        try_first="rotation",
    ),
    Fault(
        "the rotation does not advance",
        "plan_rotation.py",
        "start_in_total + tl.minimum(verify_capacity, entry_total)",
        "start_in_total",
        try_first="rotation",
    ),
]

# Two requests, of three positions and of two: the entries are 11, 12, 13, 21, 22.
FIVE_ENTRIES = {
    "req_pool_indices": [1, 0, 2],
    "prefix_lens": [3, 1, 2],
    "extend_seq_lens": [1, 1, 0],
    "req_to_token": [[9, 9, 9], [11, 12, 13], [21, 22, 23]],
    "swa_window_size": 0,
    "full_to_swa_index_mapping": None,
    "write_req_capacity": 3,
    "req_to_verify_expected_tokens": None,
    "req_to_verify_expected_tokens_valid_lens": None,
    "kv_token_id_vs_position_offset": 0,
}
ROTATIONS = [
    # capacity, start, slots, positions, previous slots, next start
    (3, 0, [11, 12, 13], [0, 1, 2], [-1, 11, 12], 3),
    (3, 3, [21, 22, 11], [0, 1, 0], [-1, 21, -1], 1),
    (3, 4, [22, 11, 12], [1, 0, 1], [21, -1, 11], 2),
    (2, 5, [11, 12], [0, 1], [-1, 11], 2),
    (2, 18, [21, 22], [0, 1], [-1, 21], 0),
    (2, -1, [22, 11], [1, 0], [21, -1], 1),
    (2, -(2**63), [13, 21], [2, 0], [12, -1], 4),  # -(2**63) is 2 modulo 5
    (2, 2**63 - 1, [13, 21], [2, 0], [12, -1], 4),  # 2**63 - 1 is 2 modulo 5
    (4, 2, [13, 21, 22, 11], [2, 0, 1, 0], [12, -1, 21, -1], 1),
    (0, 7, [], [], [], 2),
    (5, 7, [11, 12, 13, 21, 22], [0, 1, 2, 0, 1], [-1, 11, 12, -1, 21], 7),
    (6, -3, [11, 12, 13, 21, 22], [0, 1, 2, 0, 1], [-1, 11, 12, -1, 21], -3),
]


def rotated(capacity, start):
    return FIVE_ENTRIES | {"verify_capacity": capacity, "verify_rotation": start}


@pytest.mark.parametrize(
    ("capacity", "start", "slots", "positions", "previous", "next_start"), ROTATIONS
)
def test_oracle_rotates_as_worked_by_hand(
    oracle, capacity, start, slots, positions, previous, next_start
):
    plan = oracle.plan(**rotated(capacity, start))
    assert plan == oracle.RotatedPlan(
        verify_num_valid=len(slots),
        enable=1,
        verify_slot_indices=slots,
        verify_expected_tokens=[-1] * len(slots),
        verify_expected_positions=positions,
        verify_prev_slot_indices=previous,
        write_offsets=[0, 1, 1, 1],
        write_seed_slot_indices=[13, -1, -1],
        write_num_valid_reqs=3,
        verify_total=5,
        verify_rotation=next_start,
    )


def random_inputs(frame_type):
    """Batches from fixed seeds, one of them with rows of more than one block of positions."""
    for number in range(RANDOM_BATCHES):
        random = Random(f"seeded faults {number}")
        frame = frame_type.draw(random, most_requests=4, longest=12)
        if number == 0:
            frame = frame_type(
                bs=2, max_reqs=3, max_seq_len=300, verify_capacity=600, write_req_capacity=2
            )
        batch = frame.batch(random, random.choice([0.0, 0.1, 0.5]))
        if number == 0:
            batch |= {"req_pool_indices": [1, 2], "prefix_lens": [300, 258]}
        start = batch["verify_rotation"]
        yield (
            f"random batch {number}",
            batch
            | frame.scalars()
            | {
                "write_req_capacity": frame.write_req_capacity,
                "verify_rotation": None if start is None else start[0],
            },
        )


@pytest.fixture(scope="session")
def inputs_by_case(read_cases, frame_type):
    """Inputs of the plan launcher in the order in which they are tried, by the case's name."""
    cases = {
        case["id"]: case["inputs"]
        for name in ("plan_section8", "plan")
        for case in read_cases(name)
        if case.get("kernel", "plan") == "plan"
    }
    cases |= {f"rotation {row[:2]}": rotated(*row[:2]) for row in ROTATIONS}
    return cases | dict(random_inputs(frame_type))


@pytest.fixture(scope="session")
def plan_of_case(oracle, inputs_by_case):
    """What the oracle makes of each case."""
    return {case: oracle.plan(**inputs) for case, inputs in inputs_by_case.items()}


@pytest.fixture
def first_difference(plan_calls, inputs_by_case, plan_of_case, expected_outputs):
    """A function that names the first case on which the backend differs from the oracle."""

    def first_difference(try_first=""):
        for case in sorted(inputs_by_case, key=lambda case: not case.startswith(try_first)):
            inputs, plan = inputs_by_case[case], plan_of_case[case]
            if plan_calls.plan(inputs) != expected_outputs(inputs, asdict(plan)):
                return case
        return None

    return first_difference


def name_of(fault):
    return fault.name


@pytest.mark.parametrize("backend", ["torch"], indirect=True)
class TestReference:
    """Faults in the vectorised torch reference."""

    @pytest.fixture
    def run_instead(self, tmp_path, monkeypatch):
        """A function that puts a copy of the reference, perhaps with a fault, in its place."""
        from kv_canary_kernels import backends

        def run_instead(fault=None):
            package = f"reference_of_{tmp_path.name}"
            folder = tmp_path / package
            folder.mkdir()
            files = {path.name: path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.py")}
            if fault is not None:
                files[fault.file] = fault.seed_into(files[fault.file])
            for name, source in files.items():
                source = source.replace("kv_canary.reference", package)
                (folder / name).write_text(source, encoding="utf-8")
            monkeypatch.syspath_prepend(tmp_path)
            plan = importlib.import_module(f"{package}.plan").plan
            monkeypatch.setattr(backends, "reference_of", lambda path: plan)
            return package

        yield run_instead
        for module in [name for name in sys.modules if name.startswith("reference_of_")]:
            del sys.modules[module]

    def test_reference_without_fault_has_no_difference(self, run_instead, first_difference):
        run_instead()
        assert first_difference() is None

    @pytest.mark.parametrize("fault", REFERENCE_FAULTS, ids=name_of)
    def test_fault_is_found(self, run_instead, first_difference, fault):
        run_instead(fault)
        caught_by = first_difference(fault.try_first)
        assert caught_by is not None
        print(f"{fault.name}: {caught_by}")


@pytest.mark.parametrize("backend", ["interpreter"], indirect=True)
class TestKernel:
    """Faults in the kernel bodies, run by Triton's interpreter."""

    @pytest.fixture
    def run_instead(self, tmp_path, monkeypatch):
        """A function that puts copies of the kernels, perhaps with a fault, in their place."""

        def run_instead(fault=None):
            for stem in ("plan", "plan_rotation"):
                source = (KERNELS / f"{stem}.py").read_text(encoding="utf-8")
                if fault is not None and fault.file == f"{stem}.py":
                    source = fault.seed_into(source)
                # A folder of its own for each fault: Triton reads the source back from the file.
                path = tmp_path / f"kernel_of_{stem}.py"
                path.write_text(source, encoding="utf-8")
                spec = importlib.util.spec_from_file_location(path.stem, path)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                home = importlib.import_module(f"kv_canary_kernels.kernels.{stem}")
                kernel = f"_{stem}_kernel"
                monkeypatch.setattr(home, kernel, getattr(module, kernel))

        return run_instead

    def test_kernel_without_fault_has_no_difference(self, run_instead, first_difference):
        run_instead()
        assert first_difference() is None

    @pytest.mark.parametrize("fault", KERNEL_FAULTS, ids=name_of)
    def test_fault_is_found(self, run_instead, first_difference, fault):
        run_instead(fault)
        caught_by = first_difference(fault.try_first)
        assert caught_by is not None
        print(f"{fault.name}: {caught_by}")
