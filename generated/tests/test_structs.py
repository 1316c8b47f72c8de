# Generated from spec/structs.yaml by `kv-canary generate`; do not edit.
# Template: structs_test.py.jinja.
"""Structs: what allocate makes, how many bytes it takes, and the rules on its sizes."""

from typing import Any

import pytest
import torch

from kv_canary_kernels import structs
from kv_canary_kernels.contract import ContractError

# Struct, sizes of the smallest allocation.
SMALLEST: list[Any] = [
    pytest.param("VerifyPlan", {"verify_capacity": 1}, id="VerifyPlan"),
    pytest.param("WritePlan", {"write_req_capacity": 1}, id="WritePlan"),
]

# Struct, field, shape of the smallest allocation, dtype, what it is filled with; None for anything.
FIELDS: list[Any] = [
    pytest.param(
        "VerifyPlan",
        "verify_slot_indices",
        (1,),
        "int64",
        None,
        id="VerifyPlan.verify_slot_indices",
    ),
    pytest.param(
        "VerifyPlan",
        "verify_expected_tokens",
        (1,),
        "int64",
        None,
        id="VerifyPlan.verify_expected_tokens",
    ),
    pytest.param(
        "VerifyPlan",
        "verify_expected_positions",
        (1,),
        "int64",
        None,
        id="VerifyPlan.verify_expected_positions",
    ),
    pytest.param(
        "VerifyPlan",
        "verify_prev_slot_indices",
        (1,),
        "int64",
        None,
        id="VerifyPlan.verify_prev_slot_indices",
    ),
    pytest.param(
        "VerifyPlan",
        "verify_num_valid",
        (1,),
        "int32",
        0,
        id="VerifyPlan.verify_num_valid",
    ),
    pytest.param("VerifyPlan", "enable", (1,), "int32", 1, id="VerifyPlan.enable"),
    pytest.param("WritePlan", "write_offsets", (2,), "int64", None, id="WritePlan.write_offsets"),
    pytest.param(
        "WritePlan",
        "write_seed_slot_indices",
        (1,),
        "int64",
        None,
        id="WritePlan.write_seed_slot_indices",
    ),
    pytest.param(
        "WritePlan",
        "write_num_valid_reqs",
        (1,),
        "int32",
        None,
        id="WritePlan.write_num_valid_reqs",
    ),
]

# Rule, struct, sizes that break it, sizes that do not, message.
EXAMPLES: list[Any] = [
    pytest.param(
        "VerifyPlan.verify_capacity_positive",
        "VerifyPlan",
        {"verify_capacity": 0},
        {"verify_capacity": 1},
        "kv-canary: VerifyPlan verify_capacity must be positive, got 0",
        id="VerifyPlan.verify_capacity_positive",
    ),
    pytest.param(
        "WritePlan.write_req_capacity_positive",
        "WritePlan",
        {"write_req_capacity": 0},
        {"write_req_capacity": 1},
        "kv-canary: WritePlan write_req_capacity must be positive, got 0",
        id="WritePlan.write_req_capacity_positive",
    ),
]


@pytest.mark.parametrize(("name", "sizes"), SMALLEST)
def test_allocation_bytes_is_the_sum_over_the_tensors(name: str, sizes: dict[str, int]) -> None:
    struct = getattr(structs, name)
    made = struct.allocate(**sizes, device="cpu")
    tensors = [getattr(made, field) for field in struct.__slots__]
    found = sum(t.numel() * t.element_size() for t in tensors if t is not None)
    assert struct.allocation_bytes(**sizes) == found


@pytest.mark.parametrize(("name", "field", "shape", "dtype", "initial"), FIELDS)
def test_field_has_its_shape_dtype_and_initial_value(
    name: str, field: str, shape: tuple[int, ...] | None, dtype: str, initial: int | None
) -> None:
    sizes = next(case.values[1] for case in SMALLEST if case.values[0] == name)
    tensor = getattr(getattr(structs, name).allocate(**sizes, device="cpu"), field)
    if shape is None:
        assert tensor is None
        return
    assert (tuple(tensor.shape), tensor.dtype) == (shape, getattr(torch, dtype))
    assert initial is None or tensor.unique().tolist() == [initial]


@pytest.mark.parametrize(("name", "sizes"), SMALLEST)
def test_repr_shows_shapes_and_no_contents(name: str, sizes: dict[str, int]) -> None:
    made = getattr(structs, name).allocate(**sizes, device="cpu")
    assert "tensor(" not in repr(made)
    assert repr(made).startswith(f"{name}(")
    assert " on cpu" in repr(made)


@pytest.mark.parametrize(("rule", "name", "wrong", "right", "message"), EXAMPLES)
def test_rule_of_a_size_raises_exactly_its_message(
    rule: str, name: str, wrong: dict[str, Any], right: dict[str, int], message: str
) -> None:
    struct = getattr(structs, name)
    with pytest.raises(ContractError) as caught:
        struct.allocate(**wrong, device="cpu")
    assert str(caught.value) == message
    assert caught.value.broken_rules[0].rule_id == rule
    with pytest.raises(ContractError) as caught:
        struct.allocation_bytes(**wrong)
    assert str(caught.value) == message
    struct.allocate(**right, device="cpu")


# Rule, struct, fields that break it, fields that do not, message, tensors that stand beside them.
MADE: list[Any] = [
    pytest.param(
        "RealKvSource.page_size_positive",
        "RealKvSource",
        {"page_size": 0, "num_bytes_per_token": 32, "read_bytes": 16},
        {"page_size": 1, "num_bytes_per_token": 32, "read_bytes": 16},
        "kv-canary: RealKvSource.page_size must be >= 1, got 0",
        id="RealKvSource.page_size_positive",
    ),
    pytest.param(
        "RealKvSource.num_bytes_per_token_multiple_of_16",
        "RealKvSource",
        {"page_size": 1, "num_bytes_per_token": 24, "read_bytes": 16},
        {"page_size": 1, "num_bytes_per_token": 32, "read_bytes": 16},
        "kv-canary: RealKvSource.num_bytes_per_token must be a positive multiple of 16, got 24",
        id="RealKvSource.num_bytes_per_token_multiple_of_16",
    ),
    pytest.param(
        "RealKvSource.read_bytes_within_token",
        "RealKvSource",
        {"page_size": 1, "num_bytes_per_token": 32, "read_bytes": 48},
        {"page_size": 1, "num_bytes_per_token": 32, "read_bytes": 32},
        "kv-canary: RealKvSource.read_bytes must be a positive multiple of 16 in (0, "
        "num_bytes_per_token=32], got 48",
        id="RealKvSource.read_bytes_within_token",
    ),
]
TENSORS: dict[str, list[str]] = {
    "RealKvSource": ["tensor"],
    "VerifyOrWriteContext": [
        "canary_buf",
        "violation_ring",
        "violation_write_index",
        "slot_run_counter",
        "kernel_run_counter",
        "enable_chain_position_assert",
    ],
}


@pytest.mark.parametrize(("rule", "name", "wrong", "right", "message"), MADE)
def test_rule_of_a_field_raises_exactly_its_message(
    rule: str, name: str, wrong: dict[str, Any], right: dict[str, Any], message: str
) -> None:
    tensors = {field: torch.zeros(1, 64, dtype=torch.uint8) for field in TENSORS[name]}
    struct = getattr(structs, name)
    with pytest.raises(ContractError) as caught:
        struct(**tensors, **wrong)
    assert str(caught.value) == message
    assert caught.value.broken_rules[0].rule_id == rule
    made = struct(**tensors, **right)
    assert "tensor(" not in repr(made)
