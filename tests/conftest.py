"""What several test modules share: the oracles, the backends, and calls of the launchers.

Torch and the packages are imported when a fixture needs them, so that tests of the generator run
without either.
"""

import importlib.util
import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

HERE = Path(__file__).parent

GUARD = 65
"""Poisoned elements on each side of an output; odd, so that no output is 16-byte aligned."""

POISON = {
    "verify_slot_indices": -7_000_001,
    "verify_expected_tokens": -7_000_002,
    "verify_expected_positions": -7_000_003,
    "verify_prev_slot_indices": -7_000_004,
    "verify_num_valid": -7_000_005,
    "enable": -7_000_006,
    "write_offsets": -7_000_007,
    "write_seed_slot_indices": -7_000_008,
    "write_num_valid_reqs": -7_000_009,
    "verify_offsets_scratch": -7_000_010,
    "verify_rotation": -7_000_011,
    "verify_total": -7_000_012,
}
"""What every element of an output holds before a launch, by output."""

ENTRY_FIELDS = (
    "verify_slot_indices",
    "verify_expected_tokens",
    "verify_expected_positions",
    "verify_prev_slot_indices",
)
ROTATION_FIELDS = ("verify_rotation", "verify_total")
SMALLEST_SCRATCH = 4096 + 1  # PLAN_BS_BLOCK_SIZE + 1, what the offsets kernel asks for


def load_by_path(path):
    """Import a file that stands in no package, under its own name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # a dataclass looks its module up while it is made
    spec.loader.exec_module(module)
    return module


def cases_of(name):
    """The cases of `tests/data/<name>.jsonl`, in order."""
    lines = (HERE / "data" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    assert len({case["id"] for case in cases}) == len(cases), f"{name}: two cases with one id"
    return cases


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "cases(*names, kernel=None): runs on each case of tests/data/NAME.jsonl as `case`; "
        "with a kernel, on that kernel's (a case that names none is the plan launcher's)",
    )


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("cases")
    if marker is None:
        return
    kernel = marker.kwargs.get("kernel")
    cases = [
        pytest.param(case, id=case["id"])
        for name in marker.args
        for case in cases_of(name)
        if kernel is None or case.get("kernel", "plan") == kernel
    ]
    assert cases, f"{metafunc.definition.nodeid}: no case to run on"
    metafunc.parametrize("case", cases)


@pytest.fixture(scope="session")
def read_cases():
    """A function that gives the cases of a file in `tests/data`."""
    return cases_of


@pytest.fixture(scope="session")
def oracle():
    """The scalar meaning of the plan, `tests/oracle.py`."""
    return load_by_path(HERE / "oracle.py")


@pytest.fixture(scope="session")
def stamp_oracle():
    """The scalar meaning of write, verify and scatter, `tests/oracle_stamps.py`."""
    return load_by_path(HERE / "oracle_stamps.py")


# Backends ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Backend:
    """Where a launch runs: what to ask for (None: nothing), and on which device."""

    name: str
    asked_for: str | None
    device: str


BACKENDS = {
    "torch": Backend("torch", None, "cpu"),
    "interpreter": Backend("interpreter", "triton", "cpu"),
    "gpu": Backend("gpu", None, "cuda"),
    "torch-on-gpu": Backend("torch-on-gpu", "torch", "cuda"),
}


def why_absent(backend):
    """Say why this process cannot run a backend, or return None."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if backend.name == "interpreter" and not interpreted:
        return "Triton's interpreter is off: TRITON_INTERPRET=1 must be set before triton is loaded"
    if backend.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            return "no GPU that torch can use"
        if backend.name == "gpu" and interpreted:
            return "TRITON_INTERPRET=1 puts Triton's interpreter in the GPU's place"
    return None


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.gpu if backend.device == "cuda" else ())
        for name, backend in BACKENDS.items()
    ]
)
def backend(request, monkeypatch):
    """Each backend in turn; skips, saying why, where this process has none."""
    backend = BACKENDS[request.param]
    reason = why_absent(backend)
    if reason is not None:
        pytest.skip(reason)
    if backend.asked_for is None:
        monkeypatch.delenv("KV_CANARY_BACKEND", raising=False)
    else:
        monkeypatch.setenv("KV_CANARY_BACKEND", backend.asked_for)
    return backend


# Calls of the plan's launchers -------------------------------------------------------------------


class PlanCalls:
    """Launch the plan on one backend, from lists to lists.

    Each output is a view into a larger buffer filled with that output's poison, and is given back
    as the whole buffer: what a launch did not have to write must still be poison there.
    """

    def __init__(self, device):
        self.device = device

    def plan(self, inputs):
        """Return every output of one `launch_canary_plan_kernels`, by name.

        Inputs that give the start of a rotation get `verify_rotation` and `verify_total` too.
        """
        from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels
        from kv_canary_kernels.structs import VerifyPlan, WritePlan

        outputs = self._poisoned_plan(inputs)
        rotation = {}
        if inputs.get("verify_rotation") is not None:
            outputs |= {name: self._poisoned(name, 1) for name in ROTATION_FIELDS}
            self._view(outputs["verify_rotation"]).fill_(inputs["verify_rotation"])
            rotation = {name: self._view(outputs[name]) for name in ROTATION_FIELDS}
        views = {name: self._view(buffer) for name, buffer in outputs.items()}
        tensors = self._tensors(inputs)
        with self._left_unchanged(tensors):
            launch_canary_plan_kernels(
                verify_plan_out=VerifyPlan(
                    **{name: views[name] for name in (*ENTRY_FIELDS, "verify_num_valid", "enable")}
                ),
                write_plan_out=WritePlan(
                    write_offsets=views["write_offsets"],
                    write_seed_slot_indices=views["write_seed_slot_indices"],
                    write_num_valid_reqs=views["write_num_valid_reqs"],
                ),
                swa_window_size=inputs["swa_window_size"],
                verify_capacity=inputs["verify_capacity"],
                kv_token_id_vs_position_offset=inputs["kv_token_id_vs_position_offset"],
                **tensors,
                **rotation,
            )
        return {name: buffer.tolist() for name, buffer in outputs.items()}

    def halves(self, inputs):
        """Return the same from the two halves, launched one after the other."""
        return self.halves_and_offsets(inputs)[0]

    def halves_and_offsets(self, inputs):
        """Return the outputs, and the verify offsets that went from one half to the other."""
        from kv_canary_kernels.launchers.plan_entries import launch_plan_entries_kernel
        from kv_canary_kernels.launchers.plan_offsets import launch_plan_offsets_kernel

        outputs = self._poisoned_plan(inputs)
        views = {name: self._view(buffer) for name, buffer in outputs.items()}
        scratch = self._poisoned("verify_offsets_scratch", SMALLEST_SCRATCH)
        tensors = self._tensors(inputs)
        with self._left_unchanged(tensors):
            launch_plan_offsets_kernel(
                req_pool_indices=tensors["req_pool_indices"],
                prefix_lens=tensors["prefix_lens"],
                extend_seq_lens=tensors["extend_seq_lens"],
                req_to_token=tensors["req_to_token"],
                full_to_swa_index_mapping=tensors["full_to_swa_index_mapping"],
                out_verify_offsets_scratch=self._view(scratch),
                out_write_offsets=views["write_offsets"],
                out_write_seed_slot_indices=views["write_seed_slot_indices"],
                out_verify_num_valid=views["verify_num_valid"],
                out_verify_enable=views["enable"],
                out_write_num_valid_reqs=views["write_num_valid_reqs"],
                swa_window_size=inputs["swa_window_size"],
                verify_capacity=inputs["verify_capacity"],
            )
        poison = POISON["verify_offsets_scratch"]
        assert scratch[:GUARD].tolist() == scratch[-GUARD:].tolist() == [poison] * GUARD
        del tensors["extend_seq_lens"]
        tensors["verify_offsets_scratch"] = self._view(scratch)
        tensors["verify_enable"] = views["enable"]
        with self._left_unchanged(tensors):
            launch_plan_entries_kernel(
                **tensors,
                **{f"out_{name}": views[name] for name in ENTRY_FIELDS},
                kv_token_id_vs_position_offset=inputs["kv_token_id_vs_position_offset"],
                swa_window_size=inputs["swa_window_size"],
            )
        used = self._view(scratch)[: len(inputs["req_pool_indices"]) + 1]
        return {name: buffer.tolist() for name, buffer in outputs.items()}, used.tolist()

    def entries(self, inputs):
        """Return the four outputs of one `launch_plan_entries_kernel`, by name."""
        from kv_canary_kernels.launchers.plan_entries import launch_plan_entries_kernel

        outputs = {name: self._poisoned(name, inputs["verify_capacity"]) for name in ENTRY_FIELDS}
        tensors = self._tensors(inputs)
        with self._left_unchanged(tensors):
            launch_plan_entries_kernel(
                **tensors,
                **{f"out_{name}": self._view(buffer) for name, buffer in outputs.items()},
                kv_token_id_vs_position_offset=inputs["kv_token_id_vs_position_offset"],
                swa_window_size=inputs["swa_window_size"],
            )
        return {name: buffer.tolist() for name, buffer in outputs.items()}

    def _tensors(self, inputs):
        """The input tensors that a case names, from its lists."""
        import torch

        dtypes = {
            "req_pool_indices": torch.int64,
            "prefix_lens": torch.int64,
            "extend_seq_lens": torch.int64,
            "req_to_token": torch.int32,
            "full_to_swa_index_mapping": torch.int64,
            "verify_offsets_scratch": torch.int64,
            "verify_enable": torch.int32,
            "req_to_verify_expected_tokens": torch.int32,
            "req_to_verify_expected_tokens_valid_lens": torch.int64,
        }
        tables = {"req_to_token", "req_to_verify_expected_tokens"}
        tensors = {}
        for name, values in inputs.items():
            if name not in dtypes:
                continue
            if values is None:
                tensors[name] = None
                continue
            values = [values] if name == "verify_enable" else values
            tensor = torch.tensor(values, dtype=dtypes[name], device=self.device)
            if name in tables and not values:
                tensor = tensor.reshape(0, 0)  # no list of no rows says how wide they are
            tensors[name] = tensor
        return tensors

    def _poisoned_plan(self, inputs):
        lengths = dict.fromkeys(ENTRY_FIELDS, inputs["verify_capacity"]) | {
            "verify_num_valid": 1,
            "enable": 1,
            "write_offsets": inputs["write_req_capacity"] + 1,
            "write_seed_slot_indices": inputs["write_req_capacity"],
            "write_num_valid_reqs": 1,
        }
        return {name: self._poisoned(name, length) for name, length in lengths.items()}

    def _poisoned(self, name, length):
        import torch

        int32 = {"verify_num_valid", "enable", "write_num_valid_reqs"}
        return torch.full(
            (GUARD + length + GUARD,),
            POISON[name],
            dtype=torch.int32 if name in int32 else torch.int64,
            device=self.device,
        )

    @staticmethod
    def _view(buffer):
        return buffer[GUARD : buffer.shape[0] - GUARD]

    @staticmethod
    @contextmanager
    def _left_unchanged(tensors):
        """Check that a launch leaves its inputs as they were."""
        present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        before = {name: tensor.clone() for name, tensor in present.items()}
        yield
        for name, tensor in present.items():
            assert tensor.equal(before[name]), f"the launch changed its input {name}"


@pytest.fixture
def plan_calls(backend):
    """Calls of the plan's launchers on the backend."""
    return PlanCalls(backend.device)


def guarded(name, active, length):
    """An output's whole buffer after a launch: what is active, and poison all around it."""
    poison = POISON[name]
    past = [poison] * (length - len(active))
    return [poison] * GUARD + active + past + [poison] * GUARD


@pytest.fixture(scope="session")
def poison():
    """What every element of an output holds before a launch, by output."""
    return POISON


@pytest.fixture(scope="session")
def expected_outputs():
    """A function of inputs and expected results: every output's whole buffer, by name."""

    def expected_outputs(inputs, expect):
        capacity, requests = inputs["verify_capacity"], inputs["write_req_capacity"]
        expected = {name: guarded(name, expect[name], capacity) for name in ENTRY_FIELDS} | {
            "verify_num_valid": guarded("verify_num_valid", [expect["verify_num_valid"]], 1),
            "enable": guarded("enable", [expect["enable"]], 1),
            "write_offsets": guarded("write_offsets", expect["write_offsets"], requests + 1),
            "write_seed_slot_indices": guarded(
                "write_seed_slot_indices", expect["write_seed_slot_indices"], requests
            ),
            "write_num_valid_reqs": guarded(
                "write_num_valid_reqs", [expect["write_num_valid_reqs"]], 1
            ),
        }
        for name in ROTATION_FIELDS:
            if name in expect:
                expected[name] = guarded(name, [expect[name]], 1)
        return expected

    return expected_outputs


@pytest.fixture(scope="session")
def expected_entries():
    """The same for the entries kernel alone, where None stands for an element not written."""

    def expected_entries(expect):
        return {
            name: guarded(
                name,
                [POISON[name] if value is None else value for value in expect[name]],
                len(expect[name]),
            )
            for name in ENTRY_FIELDS
        }

    return expected_entries


# Calls of write, verify and scatter --------------------------------------------------------------


@pytest.fixture(scope="session")
def stamp_calls_module():
    """The calls and what they should give, `tests/stamp_calls.py`."""
    return load_by_path(HERE / "stamp_calls.py")


@pytest.fixture
def stamp_calls(backend, stamp_calls_module):
    """Calls of the launchers of write and verify on the backend."""
    return stamp_calls_module.StampCalls(backend.device)


@pytest.fixture
def scatter_calls(backend, stamp_calls_module):
    """Calls of the launcher of scatter on the backend."""
    return stamp_calls_module.ScatterCalls(backend.device)


@pytest.fixture(scope="session")
def expected_launch(stamp_calls_module):
    """What a launch of write or verify should leave: `ExpectedLaunch`."""
    return stamp_calls_module.ExpectedLaunch


# Batches that nobody chose -----------------------------------------------------------------------

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
BOUNDARIES = (
    *(sign * 2**power + step for power in (31, 32, 62) for sign in (-1, 1) for step in (-1, 0, 1)),
    *(INT64_MIN, INT64_MIN + 1, -3, -2, -1, 0, 1, INT64_MAX - 1, INT64_MAX),
)
# What a NaN, an infinity or a pointer looks like when a table of integers is written over.
FOREIGN_PATTERNS = {
    32: (0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xDEADBEEF, 0xCDCDCDCD),
    64: (
        *(0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FF0000000000000),
        *(0x7FC000007FC00000, 0x00007F2A5C000010, 0xDEADBEEFDEADBEEF),
    ),
}


def as_signed(pattern, bits):
    """The integer that the low bits of a pattern are in two's complement."""
    pattern &= 2**bits - 1
    return pattern - 2**bits if pattern >> (bits - 1) else pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stays as it is when a captured launch is replayed: sizes, presence and scalars."""

    bs: int
    max_reqs: int
    max_seq_len: int
    lut_len: int | None = None
    token_shape: tuple[int, int] | None = None
    has_valid_lens: bool | None = None
    verify_capacity: int
    write_req_capacity: int
    swa_window_size: int = 0
    token_offset: int = 0
    has_rotation: bool = False
    has_total: bool = False

    @classmethod
    def draw(cls, random, *, most_requests, longest):
        """Small sizes, empty ones among them; everything optional with or without."""
        bs = random.randint(0, most_requests)
        max_reqs = random.choice([0, 1, 2, 3, 4, 5, 8])
        max_seq_len = random.choice([0, 1, 2, 3, 5, 8])
        if random.random() < 0.4:
            max_seq_len = random.randint(0, longest)
        has_table = random.random() < 0.6
        has_tokens = random.random() < 0.6
        rotates = random.random() < 0.5
        windows = [0, 0, 1, 3, longest, INT64_MAX] if has_table else [0]
        most = bs * max_seq_len
        return cls(
            bs=bs,
            max_reqs=max_reqs,
            max_seq_len=max_seq_len,
            lut_len=random.choice([1, 2, 7, 40]) if has_table else None,
            token_shape=(
                (random.choice([0, 1, max_reqs, max_reqs + 2]), random.choice([0, 1, max_seq_len]))
                if has_tokens
                else None
            ),
            has_valid_lens=has_tokens or random.random() < 0.2,
            verify_capacity=random.choice([0, 1, bs, most // 3, most // 2, most, most + 7]),
            write_req_capacity=bs + random.choice([0, 0, 1, 5, 300]),
            swa_window_size=random.choice([*windows, -1, INT64_MIN]),
            token_offset=random.choice([0, 0, 1, -1, 3, -3, INT64_MAX, INT64_MIN, 2**31]),
            has_rotation=rotates,
            has_total=rotates and random.random() < 0.6,
        )

    def scalars(self):
        """The integers of a call."""
        return {
            "swa_window_size": self.swa_window_size,
            "verify_capacity": self.verify_capacity,
            "kv_token_id_vs_position_offset": self.token_offset,
        }

    def batch(self, random, damage):
        """Lists for every input of the plan launcher, about a share of each of them garbage."""
        highest_slot = 5_000 if self.lut_len is None else self.lut_len - 1
        token_rows, token_columns = self.token_shape or (0, 0)

        def row(length, low, high, bits=64):
            share = random.choice([0.0, damage, damage, 1.0]) if damage else 0.0
            return [
                self.garbage(random, bits)
                if random.random() < share
                else random.randint(low, max(low, high))
                for _ in range(length)
            ]

        def table(rows, columns, low, high):
            return [row(columns, low, high, bits=32) for _ in range(rows)]

        return {
            # A row is padding about once in max_reqs times.
            "req_pool_indices": row(self.bs, 0, self.max_reqs - 1),
            "prefix_lens": row(self.bs, 0, self.max_seq_len),
            "extend_seq_lens": row(self.bs, 0, 3 * self.max_seq_len),
            "req_to_token": table(self.max_reqs, self.max_seq_len, -1, highest_slot),
            "full_to_swa_index_mapping": (
                None if self.lut_len is None else row(self.lut_len, 0, 5_000)
            ),
            "req_to_verify_expected_tokens": (
                None if self.token_shape is None else table(token_rows, token_columns, 0, 50_000)
            ),
            "req_to_verify_expected_tokens_valid_lens": (
                row(self.bs, 0, self.max_seq_len) if self.has_valid_lens else None
            ),
            "verify_rotation": (
                row(1, 0, self.bs * self.max_seq_len) if self.has_rotation else None
            ),
        }

    def garbage(self, random, bits):
        """One value that no sound table holds, or that sits at an edge."""
        sizes = (self.bs, self.max_reqs, self.max_seq_len, self.lut_len or 0, self.verify_capacity)
        kind = random.randrange(4)
        if kind == 0:
            pattern = random.getrandbits(bits)
        elif kind == 1:
            pattern = random.choice(BOUNDARIES)
        elif kind == 2:
            pattern = random.choice(sizes) + random.choice([-1, 0, 1])
        else:
            pattern = random.choice(FOREIGN_PATTERNS[bits])
        return as_signed(pattern, bits)


@pytest.fixture(scope="session")
def frame_type():
    """What makes batches: `Frame`."""
    return Frame


# Calls with every tensor inside one buffer -------------------------------------------------------

INT32_TENSORS = {
    "req_to_token",
    "req_to_verify_expected_tokens",
    "verify_num_valid",
    "enable",
    "write_num_valid_reqs",
    "verify_enable",
    "out_verify_num_valid",
    "out_verify_enable",
    "out_write_num_valid_reqs",
}
END_GUARD = 301
"""Poison at both ends of a buffer: more than the 256 entries that a program stores at once."""


class Arena:
    """Every tensor of a call, inputs and outputs, side by side in one poisoned buffer per dtype.

    No two elements of poison are alike, so that poison which was read and written elsewhere is
    seen too.
    """

    def __init__(self, shapes, device, random):
        """Lay tensors of these shapes out, with guards of odd and even lengths between them."""
        import torch

        self._places = {}
        self.buffers = {}
        self._expected = {}
        self.tensors = {}
        for bits, dtype in ((32, torch.int32), (64, torch.int64)):
            length = END_GUARD
            for name, shape in shapes.items():
                if (name in INT32_TENSORS) == (bits == 32):
                    count = 1
                    for extent in shape:
                        count *= extent
                    self._places[name] = (bits, length, count)
                    length += count + random.randint(1, 65)
            self.buffers[bits] = torch.empty(length + END_GUARD, dtype=dtype, device=device)
        for name, (bits, start, count) in self._places.items():
            self.tensors[name] = self.buffers[bits][start : start + count].view(shapes[name])
        self._may_be = {}

    def load(self, batch):
        """Poison everything, then write the lists that a batch names; copied to the device."""
        import torch

        self._may_be = {}
        for bits, buffer in self.buffers.items():
            base = -70_000_000 if bits == 32 else -7_000_000_000
            image = list(range(base, base - len(buffer), -1))
            for name, values in batch.items():
                if values is not None and self._places[name][0] == bits:
                    flat = [*chain.from_iterable(values)] if values and is_table(values) else values
                    _, start, count = self._places[name]
                    assert len(flat) == count, name
                    image[start : start + count] = flat
            self._expected[bits] = image
            buffer.copy_(torch.tensor(image, dtype=buffer.dtype))

    def expect(self, **outputs):
        """From its first element on, a tensor should hold these; all else what was loaded."""
        for name, values in outputs.items():
            bits, start, count = self._places[name]
            assert len(values) <= count, name
            self._expected[bits][start : start + len(values)] = values

    def allow(self, name, index, values):
        """One element may hold any of these; with `None` among them, also what was loaded."""
        bits, start, _ = self._places[name]
        place = start + index
        self._may_be[bits, place] = [
            self._expected[bits][place] if value is None else value for value in values
        ]

    def difference(self):
        """Say where the buffers first differ from what is expected, or return None."""
        for bits, buffer in self.buffers.items():
            found, expected = buffer.tolist(), self._expected[bits]
            if found == expected and not self._may_be:
                continue
            for place, (value, wanted) in enumerate(zip(found, expected, strict=True)):
                allowed = self._may_be.get((bits, place), (wanted,))
                if value not in allowed:
                    return f"{self._name_of(bits, place)} is {value}, not {allowed}"
        return None

    def _name_of(self, bits, place):
        for name, (name_bits, start, count) in self._places.items():
            if name_bits == bits and start <= place < start + count:
                return f"{name}[{place - start}] (flat)"
        return f"a guard of the int{bits} buffer, at {place},"


def is_table(values):
    """Whether values are rows."""
    return isinstance(values[0], list)


class PlanArena(Arena):
    """An arena for the plan launcher, that knows how to launch it and what the oracle expects."""

    def __init__(self, frame, device, random):
        self._frame = frame
        shapes = {
            "req_pool_indices": (frame.bs,),
            "prefix_lens": (frame.bs,),
            "extend_seq_lens": (frame.bs,),
            "req_to_token": (frame.max_reqs, frame.max_seq_len),
            **dict.fromkeys(ENTRY_FIELDS, (frame.verify_capacity,)),
            "verify_num_valid": (1,),
            "enable": (1,),
            "write_offsets": (frame.write_req_capacity + 1,),
            "write_seed_slot_indices": (frame.write_req_capacity,),
            "write_num_valid_reqs": (1,),
        }
        if frame.lut_len is not None:
            shapes["full_to_swa_index_mapping"] = (frame.lut_len,)
        if frame.token_shape is not None:
            shapes["req_to_verify_expected_tokens"] = frame.token_shape
        if frame.has_valid_lens:
            shapes["req_to_verify_expected_tokens_valid_lens"] = (frame.bs,)
        if frame.has_rotation:
            shapes["verify_rotation"] = (1,)
        if frame.has_total:
            shapes["verify_total"] = (1,)
        names = random.sample(list(shapes), len(shapes))  # no tensor always has the same neighbour
        super().__init__({name: shapes[name] for name in names}, device, random)

    def launch(self):
        """Call `launch_canary_plan_kernels` once."""
        from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels

        launch_canary_plan_kernels(**self.arguments())

    def arguments(self):
        """The launcher's arguments."""
        from kv_canary_kernels.structs import VerifyPlan, WritePlan

        tensors = self.tensors
        rotation = {name: tensors[name] for name in ROTATION_FIELDS if name in tensors}
        return {
            "verify_plan_out": VerifyPlan(
                **{name: tensors[name] for name in (*ENTRY_FIELDS, "verify_num_valid", "enable")}
            ),
            "write_plan_out": WritePlan(
                write_offsets=tensors["write_offsets"],
                write_seed_slot_indices=tensors["write_seed_slot_indices"],
                write_num_valid_reqs=tensors["write_num_valid_reqs"],
            ),
            **{
                name: tensors[name]
                for name in ("req_pool_indices", "prefix_lens", "extend_seq_lens", "req_to_token")
            },
            **{
                name: tensors.get(name)
                for name in (
                    "full_to_swa_index_mapping",
                    "req_to_verify_expected_tokens",
                    "req_to_verify_expected_tokens_valid_lens",
                )
            },
            **self._frame.scalars(),
            **rotation,
        }

    def expect_plan_of(self, oracle, batch):
        """Expect what the oracle makes of a batch; return its plan."""
        inputs = batch | {
            "verify_rotation": None
            if batch["verify_rotation"] is None
            else batch["verify_rotation"][0],
            "write_req_capacity": self._frame.write_req_capacity,
            **self._frame.scalars(),
        }
        plan = oracle.plan(**inputs)
        if self._frame.has_rotation:
            self.expect(verify_rotation=[plan.verify_rotation])
        if self._frame.has_total:
            self.expect(verify_total=[plan.verify_total])
        self.expect(
            **{name: getattr(plan, name) for name in ENTRY_FIELDS},
            verify_num_valid=[plan.verify_num_valid],
            enable=[plan.enable],
            write_offsets=plan.write_offsets,
            write_seed_slot_indices=plan.write_seed_slot_indices,
            write_num_valid_reqs=[plan.write_num_valid_reqs],
        )
        return plan


@pytest.fixture(scope="session")
def arena_type():
    """Tensors side by side in one poisoned buffer per dtype: `Arena`."""
    return Arena


@pytest.fixture(scope="session")
def plan_arena_type():
    """The same for the plan launcher: `PlanArena`."""
    return PlanArena
