"""Calls of write, verify and scatter, from lists to lists, and what they should give.

Every tensor of a call, inputs too, is a view into a larger poisoned buffer.  What a launch changes
is given back as whole buffers, and compared with the poison around it; all else must be unchanged.
`conftest.py` loads this file; torch and the packages are imported when a call is made.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import chain

GUARD = 65
"""Poisoned integers on each side of a tensor; odd, so that none is 16-byte aligned."""

GUARD_BYTES = 16 * 21
"""Poisoned bytes on each side of a buffer of bytes: it is 16-byte aligned, and no more."""

POISON = 70_000_001
"""The first poison of integers: as a slot, a row, an offset or an index it is one to report."""

FIELDS = 8
"""int64 fields of a row of either ring."""

REASONS = 7
"""The field of a violation that is 0 in no violation."""

STAMP_FIELDS = 4
"""int64 fields of a canary slot that are stamped; what follows them in a row is a gap."""

SMALLEST_STRIDE = 4
"""int64 fields in a row of a canary buffer that has no rows to say how wide they are."""

PLAN_TENSORS = {
    "verify_slot_indices": "int64",
    "verify_expected_tokens": "int64",
    "verify_expected_positions": "int64",
    "verify_prev_slot_indices": "int64",
    "verify_num_valid": "int32",
    "enable": "int32",
}
WRITE_PLAN_TENSORS = {
    "write_offsets": "int64",
    "write_seed_slot_indices": "int64",
    "write_num_valid_reqs": "int32",
}
TOKEN_TENSORS = {
    "input_ids": "int64",
    "positions": "int64",
    "out_cache_loc": "int64",
    "expected_input_tokens": "int64",
    "expected_input_positions": "int64",
}
COUNTERS = {
    "violation_write_index": "int32",
    "slot_run_counter": "int64",
    "kernel_run_counter": "int64",
}
RINGS = ("violation_ring", "evidence_ring")


# Buffers -----------------------------------------------------------------------------------------


def integers_in_poison(values):
    """A whole buffer: values, and poison around them; no two elements of poison are alike."""
    image = list(range(POISON, POISON + GUARD + len(values) + GUARD))
    image[GUARD : GUARD + len(values)] = values
    return image


def bytes_in_poison(values):
    """A whole buffer of bytes: values, and poison around them."""
    image = [(37 * place + 91) % 256 for place in range(GUARD_BYTES + len(values) + GUARD_BYTES)]
    image[GUARD_BYTES : GUARD_BYTES + len(values)] = values
    return image


def empty_ring_in_poison(ring_capacity):
    """A whole buffer of a ring that no launch has written to: poison, its rows as well."""
    return list(range(POISON, POISON + GUARD + ring_capacity * FIELDS + GUARD))


def bytes_of_rows(rows):
    """The bytes of rows of int64; None stands for eight bytes that nobody knows."""
    return [
        byte
        for field in chain.from_iterable(rows)
        for byte in ([None] * 8 if field is None else field.to_bytes(8, "little", signed=True))
    ]


def rows_of_bytes(values, width):
    """Rows of `width` int64 from bytes."""
    fields = [
        int.from_bytes(bytes(values[start : start + 8]), "little", signed=True)
        for start in range(0, len(values), 8)
    ]
    return [fields[start : start + width] for start in range(0, len(fields), width)]


def fields_of(canary_buf_i64):
    """How many int64 a row of a canary buffer has."""
    return len(canary_buf_i64[0]) if canary_buf_i64 else SMALLEST_STRIDE


class Held:
    """A tensor inside a larger buffer, and what the whole buffer held before the launch."""

    def __init__(self, before, dtype, device):
        import torch

        self.before = before
        self.buffer = torch.tensor(before, dtype=getattr(torch, dtype), device=device)
        self.tensor = None

    @classmethod
    def integers(cls, values, dtype, device):
        """A vector of integers, or one integer as a vector of one."""
        values = values if isinstance(values, list) else [values]
        held = cls(integers_in_poison(values), dtype, device)
        held.tensor = held.buffer[GUARD : GUARD + len(values)]
        return held

    @classmethod
    def ring(cls, ring_capacity, device):
        """A ring that no launch has written to."""
        held = cls(empty_ring_in_poison(ring_capacity), "int64", device)
        held.tensor = held.buffer[GUARD : len(held.before) - GUARD].view(ring_capacity, FIELDS)
        return held

    @classmethod
    def table(cls, rows, columns, fill, device):
        """An int32 table with one value everywhere."""
        held = cls(integers_in_poison([fill] * (rows * columns)), "int32", device)
        held.tensor = held.buffer[GUARD : len(held.before) - GUARD].view(rows, columns)
        return held

    @classmethod
    def canary(cls, canary_buf_i64, device):
        """A canary buffer: rows of bytes, side by side."""
        held = cls(bytes_in_poison(bytes_of_rows(canary_buf_i64)), "uint8", device)
        rows = held.buffer[GUARD_BYTES : len(held.before) - GUARD_BYTES]
        held.tensor = rows.view(len(canary_buf_i64), fields_of(canary_buf_i64) * 8)
        return held

    @classmethod
    def source(cls, source, device):
        """The view of each row's first `view_cols` bytes, as the source's dtype if it names one."""
        import torch

        rows = [list(bytes.fromhex(row)) for row in source["rows_hex"]]
        assert {len(row) for row in rows} <= {source["row_stride_bytes"]}
        held = cls(bytes_in_poison([*chain.from_iterable(rows)]), "uint8", device)
        elements = held.buffer.view(getattr(torch, source.get("dtype", "uint8")))
        size = elements.element_size()
        held.tensor = elements.as_strided(
            (len(rows), source["view_cols"] // size),
            (source["row_stride_bytes"] // size, 1),
            GUARD_BYTES // size,
        )
        return held

    def now(self):
        """The whole buffer."""
        return self.buffer.tolist()


def assert_unchanged(held, changed):
    """Check that a launch leaves all as it was but the tensors that it is there to change."""
    for name, buffer in held.items():
        if name not in changed:
            assert buffer.now() == buffer.before, f"the launch changed its input {name}"


# Calls -------------------------------------------------------------------------------------------


class StampCalls:
    """Launch write or verify on one device, from lists to lists.

    Inputs are those of a vector, and optionally `hash_format`, `evidence_ring` (true for one),
    `slot_run_counter` and `kernel_run_counter` (where they start), a source's `dtype`, and for
    verify `report_padding_slot`.
    """

    def __init__(self, device):
        self.device = device

    def write(self, inputs):
        """Return every buffer that one `launch_canary_write_kernel` may change, by name."""
        from kv_canary_kernels.launchers.write import launch_canary_write_kernel
        from kv_canary_kernels.structs import WritePlan

        held = self._held(inputs, WRITE_PLAN_TENSORS | TOKEN_TENSORS)
        launch_canary_write_kernel(
            context=self._context(inputs, held),
            plan=WritePlan(**{name: held[name].tensor for name in WRITE_PLAN_TENSORS}),
            enable_write_input_assert=inputs["enable_write_input_assert"],
            **{name: held[name].tensor if name in held else None for name in TOKEN_TENSORS},
        )
        return self._outputs(held, {"canary_buf", *COUNTERS, *RINGS})

    def verify(self, inputs):
        """Return every buffer that one `launch_canary_verify_kernel` may change, by name."""
        from kv_canary_kernels.launchers.verify import launch_canary_verify_kernel
        from kv_canary_kernels.structs import VerifyPlan

        held = self._held(inputs, PLAN_TENSORS)
        padding = {name: inputs[name] for name in ("report_padding_slot",) if name in inputs}
        launch_canary_verify_kernel(
            context=self._context(inputs, held),
            plan=VerifyPlan(**{name: held[name].tensor for name in PLAN_TENSORS}),
            check_verify_expected_token=inputs["check_verify_expected_token"],
            **padding,
        )
        return self._outputs(held, {*COUNTERS, *RINGS})

    @staticmethod
    def canary_rows(outputs, inputs):
        """The rows of a canary buffer that a launch of write gave back."""
        values = outputs["canary_buf"][GUARD_BYTES : len(outputs["canary_buf"]) - GUARD_BYTES]
        return rows_of_bytes(values, fields_of(inputs["canary_buf_i64"]))

    def _held(self, inputs, tensors):
        counters = {name: inputs.get(name, 0) for name in COUNTERS}
        held = {
            "canary_buf": Held.canary(inputs["canary_buf_i64"], self.device),
            "violation_ring": Held.ring(inputs["ring_capacity"], self.device),
            "enable_chain_position_assert": Held.integers(
                inputs.get("enable_chain_position_assert", 0), "int32", self.device
            ),
        }
        if inputs.get("evidence_ring"):
            held["evidence_ring"] = Held.ring(inputs["ring_capacity"], self.device)
        for name, dtype in (tensors | COUNTERS).items():
            values = counters.get(name, inputs.get(name))
            if values is not None:
                held[name] = Held.integers(values, dtype, self.device)
        for number, source in enumerate(inputs["real_kv_sources"]):
            held[f"real_kv_sources[{number}]"] = Held.source(source, self.device)
        return held

    @staticmethod
    def _context(inputs, held):
        from kv_canary_kernels.structs import RealKvSource, VerifyOrWriteContext

        ours = {name: inputs[name] for name in ("hash_format",) if name in inputs}
        if "evidence_ring" in held:
            ours["evidence_ring"] = held["evidence_ring"].tensor
        return VerifyOrWriteContext(
            canary_buf=held["canary_buf"].tensor,
            kernel_kind=inputs["kernel_kind"],
            violation_ring=held["violation_ring"].tensor,
            **{name: held[name].tensor for name in COUNTERS},
            real_kv_sources=tuple(
                RealKvSource(
                    tensor=held[f"real_kv_sources[{number}]"].tensor,
                    page_size=source["page_size"],
                    num_bytes_per_token=source["num_bytes_per_token"],
                    read_bytes=source["read_bytes"],
                )
                for number, source in enumerate(inputs["real_kv_sources"])
            ),
            real_kv_hash_mode=inputs["real_kv_hash_mode"],
            enable_chain_position_assert=held["enable_chain_position_assert"].tensor,
            **ours,
        )

    @staticmethod
    def _outputs(held, changed):
        assert_unchanged(held, changed)
        return {name: buffer.now() for name, buffer in held.items() if name in changed}


class ScatterCalls:
    """Launch scatter on one device, from lists to a list."""

    def __init__(self, device):
        self.device = device

    def scatter(self, inputs):
        """Return the whole buffer of the pool after one `launch_scatter_req_token_ids_kernel`."""
        from kv_canary_kernels.launchers.scatter_req_token_ids import (
            launch_scatter_req_token_ids_kernel,
        )

        held = {
            name: Held.integers(inputs[name], "int64", self.device)
            for name in ("flat_in", "offsets", "req_pool_indices", "column_starts")
            if inputs.get(name) is not None
        }
        held["pool_out"] = Held.table(
            inputs["pool_rows"], inputs["pool_width"], inputs["pool_fill"], self.device
        )
        launch_scatter_req_token_ids_kernel(**{name: held[name].tensor for name in held})
        assert_unchanged(held, {"pool_out"})
        return held["pool_out"].now()


# What they should give ---------------------------------------------------------------------------


def first_difference(name, found, expected):
    """Say where two buffers first differ, or return None; None in the expected may be anything."""
    if found == expected:
        return None
    if len(found) != len(expected):
        return f"{name} has {len(found)} elements, not {len(expected)}"
    for place, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        if wanted is not None and value != wanted:
            return f"{name}, element {place} of its buffer, is {value}, not {wanted}"
    return None


@dataclass(frozen=True, kw_only=True)
class ExpectedLaunch:
    """What a launch of write or verify should leave, its freedom included.

    Rows may stand in any order, and when there are more than find room, any of them may be there.
    """

    ring_capacity: int
    ring_rows: list[int]
    """The rows of the ring that the launch fills."""
    violations: list[list[int]]
    """All violations that the launch finds."""
    evidence: list[list[int]] | None
    """The evidence that goes with each of them; None without an evidence ring."""
    violation_write_index: tuple[int, int]
    """The lowest that it may be, and the highest."""
    slot_run_counter: int
    kernel_run_counter: int
    canary_buf_i64: list[list[int | None]] | None
    """None for verify; None in it for a field that the contract leaves open."""
    violations_are_open: bool = False
    """Whether the contract leaves open what is found, as where a seed is written over."""

    @classmethod
    def of_case(cls, inputs, expect):
        """What a hand-worked case says."""
        index = expect["violation_write_index"]
        return cls(
            ring_capacity=inputs["ring_capacity"],
            ring_rows=expect["ring_rows"],
            violations=expect["violations"],
            evidence=expect.get("evidence"),
            violation_write_index=tuple(index) if isinstance(index, list) else (index, index),
            slot_run_counter=expect["slot_run_counter"],
            kernel_run_counter=expect["kernel_run_counter"],
            canary_buf_i64=expect.get("canary_buf_i64"),
        )

    @classmethod
    def of_vector(cls, inputs, expect, violations):
        """What a vector says: the whole ring, and of all violations those that found room."""
        index = expect["violation_write_index"]
        ring = enumerate(expect["violation_rows"])
        return cls(
            ring_capacity=inputs["ring_capacity"],
            ring_rows=[place for place, row in ring if row[REASONS] != 0],
            violations=violations,
            evidence=None,
            violation_write_index=(index, index),
            slot_run_counter=expect["slot_run_counter"],
            kernel_run_counter=expect["kernel_run_counter"],
            canary_buf_i64=expect.get("canary_buf_i64"),
        )

    @classmethod
    def of_oracle(cls, inputs, launch):
        """What the oracle says."""
        canary = getattr(launch, "canary_buf_i64", None)
        if canary is not None:
            canary = [
                [None] * STAMP_FIELDS + row[STAMP_FIELDS:]
                if slot in launch.unspecified_slots
                else row
                for slot, row in enumerate(canary)
            ]
        return cls(
            ring_capacity=inputs["ring_capacity"],
            ring_rows=sorted(launch.ring_rows),
            violations=[violation.row() for violation in launch.violations],
            evidence=(
                [violation.evidence() for violation in launch.violations]
                if inputs.get("evidence_ring")
                else None
            ),
            violation_write_index=(launch.violation_write_index, launch.write_index_at_most),
            slot_run_counter=launch.slot_run_counter,
            kernel_run_counter=launch.kernel_run_counter,
            canary_buf_i64=canary,
            violations_are_open=bool(getattr(launch, "unspecified_seeds", ())),
        )

    def outputs(self):
        """One of the results that are right: rows in order, and the lowest index."""
        outputs = {
            "violation_ring": self._ring(self.violations),
            "violation_write_index": integers_in_poison([self.violation_write_index[0]]),
            "slot_run_counter": integers_in_poison([self.slot_run_counter]),
            "kernel_run_counter": integers_in_poison([self.kernel_run_counter]),
        }
        if self.evidence is not None:
            outputs["evidence_ring"] = self._ring(self.evidence)
        if self.canary_buf_i64 is not None:
            outputs["canary_buf"] = bytes_in_poison(bytes_of_rows(self.canary_buf_i64))
        return outputs

    def difference(self, outputs):
        """Say what is wrong with the outputs of a launch, or return None."""
        expected = self.outputs()
        if set(outputs) != set(expected):
            return f"the outputs are {sorted(outputs)}, not {sorted(expected)}"
        if self.violations_are_open:
            for name in (*RINGS, "violation_write_index"):
                expected[name] = self._left_open(name, outputs)
        else:
            lowest, highest = self.violation_write_index
            index = outputs["violation_write_index"][GUARD]
            if lowest <= index <= highest:
                expected["violation_write_index"] = integers_in_poison([index])
            if wrong := self._wrong_rows(outputs):
                return wrong
            for name in RINGS:
                if name in outputs:  # the rows filled are right, whichever they are
                    expected[name] = self._ring(self._rows_filled(outputs[name]))
        for name, found in outputs.items():
            if wrong := first_difference(name, found, expected[name]):
                return wrong
        return None

    def rows_found(self, outputs):
        """The rows filled, each with its evidence if there is any, in the order of the ring."""
        violations = self._rows_filled(outputs["violation_ring"])
        if self.evidence is None:
            return [(tuple(row), None) for row in violations]
        evidence = self._rows_filled(outputs["evidence_ring"])
        return [
            (tuple(row), tuple(with_it)) for row, with_it in zip(violations, evidence, strict=True)
        ]

    def rows_expected(self):
        """All violations, each with its evidence if there is any, in the order of the batch."""
        evidence = [None] * len(self.violations) if self.evidence is None else self.evidence
        return [
            (tuple(row), None if more is None else tuple(more))
            for row, more in zip(self.violations, evidence, strict=True)
        ]

    def _wrong_rows(self, outputs):
        surplus = Counter(self.rows_found(outputs)) - Counter(self.rows_expected())
        if surplus:
            return f"the ring holds {next(iter(surplus))}, which is none of {self.rows_expected()}"
        return None

    def _rows_filled(self, buffer):
        starts = [GUARD + row * FIELDS for row in self.ring_rows]
        return [buffer[start : start + FIELDS] for start in starts]

    def _ring(self, rows):
        image = empty_ring_in_poison(self.ring_capacity)
        for index, row in zip(self.ring_rows, rows, strict=False):
            image[GUARD + index * FIELDS : GUARD + (index + 1) * FIELDS] = row
        return image

    def _left_open(self, name, outputs):
        """A buffer in which everything may stand but in its guards."""
        inside = [None] * (len(outputs.get(name, [])) - 2 * GUARD)
        return integers_in_poison(inside)


def expected_pool(pool_out):
    """A pool's whole buffer after a launch; None for a cell that the contract leaves open."""
    return integers_in_poison([*chain.from_iterable(pool_out)])


def pool_of_oracle(scatter):
    """The pool that the oracle gives, with None for the cells that it leaves open."""
    return [
        [
            None if (row, column) in scatter.unspecified_cells else value
            for column, value in enumerate(values)
        ]
        for row, values in enumerate(scatter.pool_out)
    ]
