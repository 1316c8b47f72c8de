# Generated from spec/kernels/write_sums.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_write_sums_kernel: every rule, every example, the kernel against its reference."""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.write_sums import launch_write_sums_kernel
from kv_canary_kernels.testing import (
    T,
    backend_devices,
    changed,
    contents,
    flat,
    guarded,
    make,
)
from kv_canary_kernels.validators.write_sums import (
    accepts_write_sums,
    inspect_write_sums,
    validate_write_sums,
)

REFERENCE = "kv_canary.reference.write_sums:write_sums"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = ["num_slots", "slot_bytes", "workspace_len", "write_req_capacity", "num_tokens"]

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = ["workspace"]

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = []

VALID: dict[str, Any] = {
    "canary_buf": T((1, 32), "uint8"),
    "workspace": T((1,), "int64"),
    "write_offsets": T((2,), "int64"),
    "write_seed_slot_indices": T((1,), "int64"),
    "write_num_valid_reqs": T((1,), "int32"),
    "input_ids": T((1,), "int64"),
    "positions": T((1,), "int64"),
    "out_cache_loc": T((1,), "int64"),
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "write_sums.canary_buf.required",
        {"canary_buf": None},
        "kv-canary: canary_buf is required",
        [],
        id="write_sums.canary_buf.required",
    ),
    pytest.param(
        "write_sums.canary_buf.type",
        {"canary_buf": []},
        "kv-canary: canary_buf must be a torch.Tensor, got list",
        [],
        id="write_sums.canary_buf.type",
    ),
    pytest.param(
        "write_sums.workspace.required",
        {"workspace": None},
        "kv-canary: workspace is required",
        [],
        id="write_sums.workspace.required",
    ),
    pytest.param(
        "write_sums.workspace.type",
        {"workspace": []},
        "kv-canary: workspace must be a torch.Tensor, got list",
        [],
        id="write_sums.workspace.type",
    ),
    pytest.param(
        "write_sums.write_offsets.required",
        {"write_offsets": None},
        "kv-canary: write_offsets is required",
        [],
        id="write_sums.write_offsets.required",
    ),
    pytest.param(
        "write_sums.write_offsets.type",
        {"write_offsets": []},
        "kv-canary: write_offsets must be a torch.Tensor, got list",
        [],
        id="write_sums.write_offsets.type",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.required",
        {"write_seed_slot_indices": None},
        "kv-canary: write_seed_slot_indices is required",
        [],
        id="write_sums.write_seed_slot_indices.required",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.type",
        {"write_seed_slot_indices": []},
        "kv-canary: write_seed_slot_indices must be a torch.Tensor, got list",
        [],
        id="write_sums.write_seed_slot_indices.type",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.required",
        {"write_num_valid_reqs": None},
        "kv-canary: write_num_valid_reqs is required",
        [],
        id="write_sums.write_num_valid_reqs.required",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.type",
        {"write_num_valid_reqs": []},
        "kv-canary: write_num_valid_reqs must be a torch.Tensor, got list",
        [],
        id="write_sums.write_num_valid_reqs.type",
    ),
    pytest.param(
        "write_sums.input_ids.required",
        {"input_ids": None},
        "kv-canary: input_ids is required",
        [],
        id="write_sums.input_ids.required",
    ),
    pytest.param(
        "write_sums.input_ids.type",
        {"input_ids": []},
        "kv-canary: input_ids must be a torch.Tensor, got list",
        [],
        id="write_sums.input_ids.type",
    ),
    pytest.param(
        "write_sums.positions.required",
        {"positions": None},
        "kv-canary: positions is required",
        [],
        id="write_sums.positions.required",
    ),
    pytest.param(
        "write_sums.positions.type",
        {"positions": []},
        "kv-canary: positions must be a torch.Tensor, got list",
        [],
        id="write_sums.positions.type",
    ),
    pytest.param(
        "write_sums.out_cache_loc.required",
        {"out_cache_loc": None},
        "kv-canary: out_cache_loc is required",
        [],
        id="write_sums.out_cache_loc.required",
    ),
    pytest.param(
        "write_sums.out_cache_loc.type",
        {"out_cache_loc": []},
        "kv-canary: out_cache_loc must be a torch.Tensor, got list",
        [],
        id="write_sums.out_cache_loc.type",
    ),
    pytest.param(
        "write_sums.num_slots.type",
        {"num_slots": "1"},
        "kv-canary: num_slots must be int, got str",
        [],
        id="write_sums.num_slots.type",
    ),
    pytest.param(
        "write_sums.slot_bytes.type",
        {"slot_bytes": "1"},
        "kv-canary: slot_bytes must be int, got str",
        [],
        id="write_sums.slot_bytes.type",
    ),
    pytest.param(
        "write_sums.workspace_len.type",
        {"workspace_len": "1"},
        "kv-canary: workspace_len must be int, got str",
        [],
        id="write_sums.workspace_len.type",
    ),
    pytest.param(
        "write_sums.write_req_capacity.type",
        {"write_req_capacity": "1"},
        "kv-canary: write_req_capacity must be int, got str",
        [],
        id="write_sums.write_req_capacity.type",
    ),
    pytest.param(
        "write_sums.num_tokens.type",
        {"num_tokens": "1"},
        "kv-canary: num_tokens must be int, got str",
        [],
        id="write_sums.num_tokens.type",
    ),
    pytest.param(
        "write_sums.canary_buf.contiguous",
        {"canary_buf": T((2, 32), "uint8", strided=True)},
        "kv-canary: canary_buf must be contiguous",
        [],
        id="write_sums.canary_buf.contiguous",
    ),
    pytest.param(
        "write_sums.workspace.contiguous",
        {"workspace": T((2,), "int64", strided=True)},
        "kv-canary: workspace must be contiguous",
        [],
        id="write_sums.workspace.contiguous",
    ),
    pytest.param(
        "write_sums.write_offsets.contiguous",
        {
            "write_offsets": T((3,), "int64", strided=True),
            "write_seed_slot_indices": T((2,), "int64"),
        },
        "kv-canary: write_offsets must be contiguous",
        [],
        id="write_sums.write_offsets.contiguous",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.contiguous",
        {
            "write_offsets": T((3,), "int64"),
            "write_seed_slot_indices": T((2,), "int64", strided=True),
        },
        "kv-canary: write_seed_slot_indices must be contiguous",
        [],
        id="write_sums.write_seed_slot_indices.contiguous",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.contiguous",
        {"write_num_valid_reqs": T((2,), "int32", strided=True)},
        "kv-canary: write_num_valid_reqs must be contiguous",
        ["write_sums.write_num_valid_reqs.length"],
        id="write_sums.write_num_valid_reqs.contiguous-also-write_sums.write_num_valid_reqs.length",
    ),
    pytest.param(
        "write_sums.input_ids.contiguous",
        {
            "input_ids": T((2,), "int64", strided=True),
            "positions": T((2,), "int64"),
            "out_cache_loc": T((2,), "int64"),
        },
        "kv-canary: input_ids must be contiguous",
        [],
        id="write_sums.input_ids.contiguous",
    ),
    pytest.param(
        "write_sums.positions.contiguous",
        {
            "input_ids": T((2,), "int64"),
            "positions": T((2,), "int64", strided=True),
            "out_cache_loc": T((2,), "int64"),
        },
        "kv-canary: positions must be contiguous",
        [],
        id="write_sums.positions.contiguous",
    ),
    pytest.param(
        "write_sums.out_cache_loc.contiguous",
        {
            "input_ids": T((2,), "int64"),
            "positions": T((2,), "int64"),
            "out_cache_loc": T((2,), "int64", strided=True),
        },
        "kv-canary: out_cache_loc must be contiguous",
        [],
        id="write_sums.out_cache_loc.contiguous",
    ),
    pytest.param(
        "write_sums.canary_buf.dtype",
        {"canary_buf": T((1, 32), "int64")},
        "kv-canary: canary_buf must have dtype torch.uint8, got torch.int64",
        [],
        id="write_sums.canary_buf.dtype",
    ),
    pytest.param(
        "write_sums.workspace.dtype",
        {"workspace": T((1,), "int32")},
        "kv-canary: workspace must have dtype torch.int64, got torch.int32",
        [],
        id="write_sums.workspace.dtype",
    ),
    pytest.param(
        "write_sums.write_offsets.dtype",
        {"write_offsets": T((2,), "int32")},
        "kv-canary: write_offsets must have dtype torch.int64, got torch.int32",
        [],
        id="write_sums.write_offsets.dtype",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.dtype",
        {"write_seed_slot_indices": T((1,), "int32")},
        "kv-canary: write_seed_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="write_sums.write_seed_slot_indices.dtype",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.dtype",
        {"write_num_valid_reqs": T((1,), "int64")},
        "kv-canary: write_num_valid_reqs must have dtype torch.int32, got torch.int64",
        [],
        id="write_sums.write_num_valid_reqs.dtype",
    ),
    pytest.param(
        "write_sums.input_ids.dtype",
        {"input_ids": T((1,), "int32")},
        "kv-canary: input_ids must have dtype torch.int64, got torch.int32",
        [],
        id="write_sums.input_ids.dtype",
    ),
    pytest.param(
        "write_sums.positions.dtype",
        {"positions": T((1,), "int32")},
        "kv-canary: positions must have dtype torch.int64, got torch.int32",
        [],
        id="write_sums.positions.dtype",
    ),
    pytest.param(
        "write_sums.out_cache_loc.dtype",
        {"out_cache_loc": T((1,), "int32")},
        "kv-canary: out_cache_loc must have dtype torch.int64, got torch.int32",
        [],
        id="write_sums.out_cache_loc.dtype",
    ),
    pytest.param(
        "write_sums.canary_buf.rank",
        {"canary_buf": T((), "uint8")},
        "kv-canary: canary_buf must be 2-D, got shape ()",
        [],
        id="write_sums.canary_buf.rank",
    ),
    pytest.param(
        "write_sums.canary_buf.slot_length",
        {"canary_buf": T((0, 32), "uint8"), "num_slots": 1},
        "kv-canary: canary_buf shape[0] must be 1, got 0",
        [],
        id="write_sums.canary_buf.slot_length",
    ),
    pytest.param(
        "write_sums.canary_buf.field_length",
        {"canary_buf": T((1, 31), "uint8"), "slot_bytes": 32},
        "kv-canary: canary_buf shape[1] must be 32, got 31",
        [],
        id="write_sums.canary_buf.field_length",
    ),
    pytest.param(
        "write_sums.workspace.rank",
        {"workspace": T((), "int64")},
        "kv-canary: workspace must be 1-D, got shape ()",
        [],
        id="write_sums.workspace.rank",
    ),
    pytest.param(
        "write_sums.workspace.length",
        {"workspace": T((0,), "int64"), "workspace_len": 1},
        "kv-canary: workspace length must be 1, got 0",
        [],
        id="write_sums.workspace.length",
    ),
    pytest.param(
        "write_sums.write_offsets.rank",
        {"write_offsets": T((), "int64")},
        "kv-canary: write_offsets must be 1-D, got shape ()",
        [],
        id="write_sums.write_offsets.rank",
    ),
    pytest.param(
        "write_sums.write_offsets.length",
        {"write_offsets": T((1,), "int64")},
        "kv-canary: write_offsets length must be 2, got 1",
        [],
        id="write_sums.write_offsets.length",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.rank",
        {"write_seed_slot_indices": T((), "int64")},
        "kv-canary: write_seed_slot_indices must be 1-D, got shape ()",
        [],
        id="write_sums.write_seed_slot_indices.rank",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.length",
        {"write_seed_slot_indices": T((0,), "int64"), "write_req_capacity": 1},
        "kv-canary: write_seed_slot_indices length must be 1, got 0",
        [],
        id="write_sums.write_seed_slot_indices.length",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.rank",
        {"write_num_valid_reqs": T((), "int32")},
        "kv-canary: write_num_valid_reqs must be 1-D, got shape ()",
        [],
        id="write_sums.write_num_valid_reqs.rank",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.length",
        {"write_num_valid_reqs": T((0,), "int32")},
        "kv-canary: write_num_valid_reqs length must be 1, got 0",
        [],
        id="write_sums.write_num_valid_reqs.length",
    ),
    pytest.param(
        "write_sums.input_ids.rank",
        {"input_ids": T((), "int64")},
        "kv-canary: input_ids must be 1-D, got shape ()",
        [],
        id="write_sums.input_ids.rank",
    ),
    pytest.param(
        "write_sums.input_ids.length",
        {"input_ids": T((0,), "int64"), "num_tokens": 1},
        "kv-canary: input_ids length must be 1, got 0",
        [],
        id="write_sums.input_ids.length",
    ),
    pytest.param(
        "write_sums.positions.rank",
        {"positions": T((), "int64")},
        "kv-canary: positions must be 1-D, got shape ()",
        [],
        id="write_sums.positions.rank",
    ),
    pytest.param(
        "write_sums.positions.length",
        {"positions": T((0,), "int64")},
        "kv-canary: positions length must be 1, got 0",
        [],
        id="write_sums.positions.length",
    ),
    pytest.param(
        "write_sums.out_cache_loc.rank",
        {"out_cache_loc": T((), "int64")},
        "kv-canary: out_cache_loc must be 1-D, got shape ()",
        [],
        id="write_sums.out_cache_loc.rank",
    ),
    pytest.param(
        "write_sums.out_cache_loc.length",
        {"out_cache_loc": T((0,), "int64")},
        "kv-canary: out_cache_loc length must be 1, got 0",
        [],
        id="write_sums.out_cache_loc.length",
    ),
    pytest.param(
        "write_sums.workspace.device",
        {"workspace": T((1,), "int64", device="meta")},
        "kv-canary: workspace must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.workspace.device",
    ),
    pytest.param(
        "write_sums.write_offsets.device",
        {"write_offsets": T((2,), "int64", device="meta")},
        "kv-canary: write_offsets must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.write_offsets.device",
    ),
    pytest.param(
        "write_sums.write_seed_slot_indices.device",
        {"write_seed_slot_indices": T((1,), "int64", device="meta")},
        "kv-canary: write_seed_slot_indices must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.write_seed_slot_indices.device",
    ),
    pytest.param(
        "write_sums.write_num_valid_reqs.device",
        {"write_num_valid_reqs": T((1,), "int32", device="meta")},
        "kv-canary: write_num_valid_reqs must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.write_num_valid_reqs.device",
    ),
    pytest.param(
        "write_sums.input_ids.device",
        {"input_ids": T((1,), "int64", device="meta")},
        "kv-canary: input_ids must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.input_ids.device",
    ),
    pytest.param(
        "write_sums.positions.device",
        {"positions": T((1,), "int64", device="meta")},
        "kv-canary: positions must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.positions.device",
    ),
    pytest.param(
        "write_sums.out_cache_loc.device",
        {"out_cache_loc": T((1,), "int64", device="meta")},
        "kv-canary: out_cache_loc must be on canary_buf's device cpu, got meta",
        [],
        id="write_sums.out_cache_loc.device",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = []

SHAPES: list[Any] = [
    pytest.param(
        {
            "canary_buf": T((1, 32), "uint8"),
            "workspace": T((1,), "int64"),
            "write_offsets": T((2,), "int64"),
            "write_seed_slot_indices": T((1,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((1,), "int64"),
            "positions": T((1,), "int64"),
            "out_cache_loc": T((1,), "int64"),
        },
        1,
        id="smallest",
    ),
    pytest.param(
        {
            "canary_buf": T((0, 32), "uint8"),
            "workspace": T((0,), "int64"),
            "write_offsets": T((1,), "int64"),
            "write_seed_slot_indices": T((0,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((0,), "int64"),
            "positions": T((0,), "int64"),
            "out_cache_loc": T((0,), "int64"),
        },
        1,
        id="empty_no_optional",
    ),
    pytest.param(
        {
            "canary_buf": T((0, 32), "uint8"),
            "workspace": T((640,), "int64"),
            "write_offsets": T((1,), "int64"),
            "write_seed_slot_indices": T((0,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((0,), "int64"),
            "positions": T((0,), "int64"),
            "out_cache_loc": T((0,), "int64"),
        },
        1,
        id="empty_roomy_no_optional",
    ),
    pytest.param(
        {
            "canary_buf": T((3, 32), "uint8"),
            "workspace": T((3,), "int64"),
            "write_offsets": T((4,), "int64"),
            "write_seed_slot_indices": T((3,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((3,), "int64"),
            "positions": T((3,), "int64"),
            "out_cache_loc": T((3,), "int64"),
        },
        1,
        id="odd_no_optional",
    ),
    pytest.param(
        {
            "canary_buf": T((3, 32), "uint8"),
            "workspace": T((640,), "int64"),
            "write_offsets": T((4,), "int64"),
            "write_seed_slot_indices": T((3,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((3,), "int64"),
            "positions": T((3,), "int64"),
            "out_cache_loc": T((3,), "int64"),
        },
        1,
        id="odd_roomy_no_optional",
    ),
    pytest.param(
        {
            "canary_buf": T((17, 32), "uint8"),
            "workspace": T((17,), "int64"),
            "write_offsets": T((18,), "int64"),
            "write_seed_slot_indices": T((17,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((17,), "int64"),
            "positions": T((17,), "int64"),
            "out_cache_loc": T((17,), "int64"),
        },
        1,
        id="seventeen_no_optional",
    ),
    pytest.param(
        {
            "canary_buf": T((17, 32), "uint8"),
            "workspace": T((640,), "int64"),
            "write_offsets": T((18,), "int64"),
            "write_seed_slot_indices": T((17,), "int64"),
            "write_num_valid_reqs": T((1,), "int32"),
            "input_ids": T((17,), "int64"),
            "positions": T((17,), "int64"),
            "out_cache_loc": T((17,), "int64"),
        },
        1,
        id="seventeen_roomy_no_optional",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    return {path: make(value) for path, value in arguments.items()}


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_write_sums(**arguments)
    assert inspect_write_sums(**arguments) == ()
    assert validate_write_sums(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_write_sums(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_write_sums_kernel(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("write_sums.")}
    assert implied <= reached


def filled(arguments: dict[str, Any], device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with contents, and the poisoned buffer around each output."""

    def shape(path: str, axis: int) -> int:
        return arguments[path].shape[axis] if arguments[path] is not None else 0

    write_req_capacity = shape("write_seed_slot_indices", 0)
    num_tokens = shape("input_ids", 0)
    bounds: dict[str, tuple[int, int]] = {}
    samples: dict[str, Any] = {
        "write_offsets": lambda i: min(200 * i, num_tokens),
        "write_num_valid_reqs": lambda i: write_req_capacity,
        "out_cache_loc": lambda i: i,
    }
    values: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for path, value in arguments.items():
        if not isinstance(value, T):
            values[path] = value
            continue
        dtype = make(T((), value.dtype)).dtype
        buffers[path], values[path] = guarded(value.shape, dtype, device)
        if path in samples:
            count = values[path].numel()
            made = make(T((count,), value.dtype))
            for i in range(count):
                made[i] = samples[path](i)
            values[path].copy_(made.view(value.shape))
        elif path not in OUTPUTS:
            low, high = bounds.get(path, (None, None))
            values[path].copy_(contents(value.shape, dtype, seed=path, low=low, high=high))
    return values, buffers


def launched(backend: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "reference":
        reference = reference_of(REFERENCE)
        reference(**assembled(arguments))
        return
    monkeypatch.setenv("KV_CANARY_BACKEND", "triton")
    launch_write_sums_kernel(**assembled(arguments))


def run_and_compare(
    arguments: dict[str, Any], backend: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, wanted_buffers = filled(arguments, "cpu")
    found, found_buffers = filled(arguments, device)
    before = {path: flat(wanted[path]) for path in wanted_buffers}
    launched("reference", wanted, monkeypatch)
    launched(backend, found, monkeypatch)
    for path in found_buffers:
        assert flat(found_buffers[path]) == flat(wanted_buffers[path]), path
    after = {path: flat(found[path]) for path in found_buffers}
    check_ensured(arguments, before, after)


def check_ensured(
    arguments: dict[str, Any], before: dict[str, list[Any]], after: dict[str, list[Any]]
) -> None:
    """What the spec ensures of the outputs."""
    assert before.keys() == after.keys()


@pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") != "1", reason="needs TRITON_INTERPRET=1 before triton"
)
@pytest.mark.parametrize(("arguments", "programs"), SHAPES)
def test_interpreted_kernel_equals_reference(
    arguments: dict[str, Any], programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if programs > 600:
        pytest.skip(f"{programs} programs take too long one after another; a GPU runs them")
    run_and_compare(arguments, "triton", "cpu", monkeypatch)


@pytest.mark.gpu
@pytest.mark.parametrize(("arguments", "programs"), SHAPES)
def test_gpu_kernel_equals_reference(
    arguments: dict[str, Any], programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = [device for name, device in backend_devices() if name == "gpu"]
    if not devices:
        pytest.skip("no GPU here, or Triton's interpreter is on")
    run_and_compare(arguments, "triton", devices[0], monkeypatch)


TARGETS = (
    ("cuda", 80, 32),
    ("cuda", 90, 32),
    ("cuda", 100, 32),
    ("hip", "gfx942", 64),
    ("hip", "gfx950", 64),
)
EVERY_PRESENCE: list[tuple[bool, ...]] = [()]

COMPILED_IN: list[str] = ["REQUEST_BLOCK"]
EVERY_VALUE: list[tuple[int, ...]] = [
    (128,),
    (1024,),
]


def is_quick(
    target: tuple[str, Any, int], given: tuple[bool, ...], values: tuple[int, ...]
) -> bool:
    """Whether a compilation is one of the few that every run makes; a soak run makes the others."""
    first = given == EVERY_PRESENCE[0]
    last = given == EVERY_PRESENCE[-1] and values == EVERY_VALUE[-1]
    if target == ("cuda", 90, 32):
        few = len(EVERY_PRESENCE) <= 16 and values == EVERY_VALUE[-1]
        return first or last or few
    return (first and values == EVERY_VALUE[0]) or last


# Every variant for one target; for the others, two.
COMPILATIONS = [
    pytest.param(
        target,
        given,
        values,
        id=f"{target[0]}-{target[1]}-{''.join('-+'[g] for g in given)}{values}",
        marks=() if is_quick(target, given, values) else pytest.mark.soak,
    )
    for target in TARGETS
    for given in EVERY_PRESENCE
    for values in EVERY_VALUE
    if target == ("cuda", 90, 32) or is_quick(target, given, values)
]


@pytest.mark.compiles
@pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter replaces the compiler"
)
@pytest.mark.parametrize(("target", "given", "values"), COMPILATIONS)
def test_kernel_compiles(
    target: tuple[str, Any, int], given: tuple[bool, ...], values: tuple[int, ...]
) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kv_canary_kernels.kernels.write_sums import _write_sums_kernel

    signature = {
        "workspace_ptr": "*i64",
        "write_offsets_ptr": "*i64",
        "write_num_valid_reqs_ptr": "*i32",
        "input_ids_ptr": "*i64",
        "positions_ptr": "*i64",
        "out_cache_loc_ptr": "*i64",
        "num_slots": "i64",
        "workspace_len": "i64",
        "write_req_capacity": "i64",
        "num_tokens": "i64",
        "REQUEST_BLOCK": "constexpr",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_write_sums_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
