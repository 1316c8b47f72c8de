# Generated from spec/kernels/write_sums.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_write_sums_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int32, int64, uint8

from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_write_sums(
    *,
    canary_buf: Tensor,
    workspace: Tensor,
    write_offsets: Tensor,
    write_seed_slot_indices: Tensor,
    write_num_valid_reqs: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    num_slots: int | None = None,
    slot_bytes: int | None = None,
    workspace_len: int | None = None,
    write_req_capacity: int | None = None,
    num_tokens: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = num_slots is slot_bytes is workspace_len is write_req_capacity is num_tokens is None
    if derived and accepts_write_sums(
        canary_buf,
        workspace,
        write_offsets,
        write_seed_slot_indices,
        write_num_valid_reqs,
        input_ids,
        positions,
        out_cache_loc,
    ):
        return
    broken = inspect_write_sums(
        canary_buf=canary_buf,
        workspace=workspace,
        write_offsets=write_offsets,
        write_seed_slot_indices=write_seed_slot_indices,
        write_num_valid_reqs=write_num_valid_reqs,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
        num_slots=num_slots,
        slot_bytes=slot_bytes,
        workspace_len=workspace_len,
        write_req_capacity=write_req_capacity,
        num_tokens=num_tokens,
    )
    if broken:
        raise ContractError(broken)


def accepts_write_sums(
    canary_buf: Any,
    workspace: Any,
    write_offsets: Any,
    write_seed_slot_indices: Any,
    write_num_valid_reqs: Any,
    input_ids: Any,
    positions: Any,
    out_cache_loc: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_write_sums says what is wrong.
    """
    try:
        if not (
            is_contiguous(canary_buf)
            and canary_buf.dtype is uint8
            and (device := canary_buf.device) is not None
            and canary_buf.dim() == 2
            and is_contiguous(workspace)
            and workspace.dtype is int64
            and workspace.device == device
            and workspace.dim() == 1
            and is_contiguous(write_offsets)
            and write_offsets.dtype is int64
            and write_offsets.device == device
            and len(write_offsets_shape := write_offsets.shape) == 1
            and is_contiguous(write_seed_slot_indices)
            and write_seed_slot_indices.dtype is int64
            and write_seed_slot_indices.device == device
            and len(write_seed_slot_indices_shape := write_seed_slot_indices.shape) == 1
            and is_contiguous(write_num_valid_reqs)
            and write_num_valid_reqs.dtype is int32
            and write_num_valid_reqs.device == device
            and write_num_valid_reqs.shape == (1,)
            and is_contiguous(input_ids)
            and input_ids.dtype is int64
            and input_ids.device == device
            and len(input_ids_shape := input_ids.shape) == 1
            and is_contiguous(positions)
            and positions.dtype is int64
            and positions.device == device
            and positions.shape == input_ids_shape
            and is_contiguous(out_cache_loc)
            and out_cache_loc.dtype is int64
            and out_cache_loc.device == device
            and out_cache_loc.shape == input_ids_shape
        ):
            return False
        write_req_capacity = write_seed_slot_indices_shape[0]
        return write_offsets_shape[0] == write_req_capacity + 1
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_write_sums(
    *,
    canary_buf: Any,
    workspace: Any,
    write_offsets: Any,
    write_seed_slot_indices: Any,
    write_num_valid_reqs: Any,
    input_ids: Any,
    positions: Any,
    out_cache_loc: Any,
    num_slots: Any = None,
    slot_bytes: Any = None,
    workspace_len: Any = None,
    write_req_capacity: Any = None,
    num_tokens: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("write_sums")
    # (a) The arguments are what they claim to be.
    inspection.required("write_sums.canary_buf.required", "canary_buf", canary_buf)
    inspection.tensor("write_sums.canary_buf.type", "canary_buf", canary_buf)
    inspection.required("write_sums.workspace.required", "workspace", workspace)
    inspection.tensor("write_sums.workspace.type", "workspace", workspace)
    inspection.required("write_sums.write_offsets.required", "write_offsets", write_offsets)
    inspection.tensor("write_sums.write_offsets.type", "write_offsets", write_offsets)
    inspection.required(
        "write_sums.write_seed_slot_indices.required",
        "write_seed_slot_indices",
        write_seed_slot_indices,
    )
    inspection.tensor(
        "write_sums.write_seed_slot_indices.type",
        "write_seed_slot_indices",
        write_seed_slot_indices,
    )
    inspection.required(
        "write_sums.write_num_valid_reqs.required",
        "write_num_valid_reqs",
        write_num_valid_reqs,
    )
    inspection.tensor(
        "write_sums.write_num_valid_reqs.type",
        "write_num_valid_reqs",
        write_num_valid_reqs,
    )
    inspection.required("write_sums.input_ids.required", "input_ids", input_ids)
    inspection.tensor("write_sums.input_ids.type", "input_ids", input_ids)
    inspection.required("write_sums.positions.required", "positions", positions)
    inspection.tensor("write_sums.positions.type", "positions", positions)
    inspection.required("write_sums.out_cache_loc.required", "out_cache_loc", out_cache_loc)
    inspection.tensor("write_sums.out_cache_loc.type", "out_cache_loc", out_cache_loc)
    num_slots = inspection.size_type("write_sums.num_slots.type", "num_slots", num_slots)
    slot_bytes = inspection.size_type("write_sums.slot_bytes.type", "slot_bytes", slot_bytes)
    workspace_len = inspection.size_type(
        "write_sums.workspace_len.type",
        "workspace_len",
        workspace_len,
    )
    write_req_capacity = inspection.size_type(
        "write_sums.write_req_capacity.type",
        "write_req_capacity",
        write_req_capacity,
    )
    num_tokens = inspection.size_type("write_sums.num_tokens.type", "num_tokens", num_tokens)

    # Sizes: as given, else from the first argument that has them.
    num_slots = inspection.size("num_slots", num_slots, "canary_buf", "canary_buf", 2, 0)
    slot_bytes = inspection.size("slot_bytes", slot_bytes, "canary_buf", "canary_buf", 2, 1)
    workspace_len = inspection.size("workspace_len", workspace_len, "workspace", "workspace", 1, 0)
    write_req_capacity = inspection.size(
        "write_req_capacity",
        write_req_capacity,
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        1,
        0,
    )
    num_tokens = inspection.size("num_tokens", num_tokens, "input_ids", "input_ids", 1, 0)

    # (b) Contiguity.
    inspection.contiguous("write_sums.canary_buf.contiguous", "canary_buf")
    inspection.contiguous("write_sums.workspace.contiguous", "workspace")
    inspection.contiguous("write_sums.write_offsets.contiguous", "write_offsets")
    inspection.contiguous(
        "write_sums.write_seed_slot_indices.contiguous",
        "write_seed_slot_indices",
    )
    inspection.contiguous("write_sums.write_num_valid_reqs.contiguous", "write_num_valid_reqs")
    inspection.contiguous("write_sums.input_ids.contiguous", "input_ids")
    inspection.contiguous("write_sums.positions.contiguous", "positions")
    inspection.contiguous("write_sums.out_cache_loc.contiguous", "out_cache_loc")

    # (c) Dtypes.
    inspection.dtype("write_sums.canary_buf.dtype", "canary_buf", uint8)
    inspection.dtype("write_sums.workspace.dtype", "workspace", int64)
    inspection.dtype("write_sums.write_offsets.dtype", "write_offsets", int64)
    inspection.dtype("write_sums.write_seed_slot_indices.dtype", "write_seed_slot_indices", int64)
    inspection.dtype("write_sums.write_num_valid_reqs.dtype", "write_num_valid_reqs", int32)
    inspection.dtype("write_sums.input_ids.dtype", "input_ids", int64)
    inspection.dtype("write_sums.positions.dtype", "positions", int64)
    inspection.dtype("write_sums.out_cache_loc.dtype", "out_cache_loc", int64)

    # (e) Ranks and lengths.
    inspection.rank("write_sums.canary_buf.rank", "canary_buf", 2)
    inspection.length(
        "write_sums.canary_buf.slot_length",
        "canary_buf",
        2,
        0,
        num_slots,
        "num_slots",
    )
    inspection.length(
        "write_sums.canary_buf.field_length",
        "canary_buf",
        2,
        1,
        slot_bytes,
        "slot_bytes",
    )
    inspection.rank("write_sums.workspace.rank", "workspace", 1)
    inspection.length(
        "write_sums.workspace.length",
        "workspace",
        1,
        0,
        workspace_len,
        "workspace_len",
    )
    inspection.rank("write_sums.write_offsets.rank", "write_offsets", 1)
    inspection.length(
        "write_sums.write_offsets.length",
        "write_offsets",
        1,
        0,
        None if write_req_capacity is None else write_req_capacity + 1,
    )
    inspection.rank("write_sums.write_seed_slot_indices.rank", "write_seed_slot_indices", 1)
    inspection.length(
        "write_sums.write_seed_slot_indices.length",
        "write_seed_slot_indices",
        1,
        0,
        write_req_capacity,
        "write_req_capacity",
    )
    inspection.rank("write_sums.write_num_valid_reqs.rank", "write_num_valid_reqs", 1)
    inspection.length("write_sums.write_num_valid_reqs.length", "write_num_valid_reqs", 1, 0, 1)
    inspection.rank("write_sums.input_ids.rank", "input_ids", 1)
    inspection.length("write_sums.input_ids.length", "input_ids", 1, 0, num_tokens, "num_tokens")
    inspection.rank("write_sums.positions.rank", "positions", 1)
    inspection.length("write_sums.positions.length", "positions", 1, 0, num_tokens, "num_tokens")
    inspection.rank("write_sums.out_cache_loc.rank", "out_cache_loc", 1)
    inspection.length(
        "write_sums.out_cache_loc.length",
        "out_cache_loc",
        1,
        0,
        num_tokens,
        "num_tokens",
    )

    # (g) Devices.
    inspection.device("write_sums.workspace.device", "workspace", "canary_buf")
    inspection.device("write_sums.write_offsets.device", "write_offsets", "canary_buf")
    inspection.device(
        "write_sums.write_seed_slot_indices.device",
        "write_seed_slot_indices",
        "canary_buf",
    )
    inspection.device(
        "write_sums.write_num_valid_reqs.device",
        "write_num_valid_reqs",
        "canary_buf",
    )
    inspection.device("write_sums.input_ids.device", "input_ids", "canary_buf")
    inspection.device("write_sums.positions.device", "positions", "canary_buf")
    inspection.device("write_sums.out_cache_loc.device", "out_cache_loc", "canary_buf")
    return inspection.found()
