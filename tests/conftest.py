"""What several test modules share: the oracle, the backends, and calls of the plan's launchers.

Torch and the packages are imported when a fixture needs them, so that tests of the generator run
without either.
"""

import importlib.util
import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
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
}
"""What every element of an output holds before a launch, by output."""

ENTRY_FIELDS = (
    "verify_slot_indices",
    "verify_expected_tokens",
    "verify_expected_positions",
    "verify_prev_slot_indices",
)
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
    """The scalar meaning of every kernel, `tests/oracle.py`."""
    return load_by_path(HERE / "oracle.py")


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
        """Return every output of one `launch_canary_plan_kernels`, by name."""
        from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels
        from kv_canary_kernels.structs import VerifyPlan, WritePlan

        outputs = self._poisoned_plan(inputs)
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
        return {name: guarded(name, expect[name], capacity) for name in ENTRY_FIELDS} | {
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
