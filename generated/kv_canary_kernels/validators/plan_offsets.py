# Generated from spec/kernels/plan_offsets.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_plan_offsets_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int32, int64

from kv_canary_kernels.constants import PLAN_BS_BLOCK_SIZE
from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_plan_offsets(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    req_to_token: Tensor,
    full_to_swa_index_mapping: Tensor | None,
    out_verify_offsets_scratch: Tensor,
    out_write_offsets: Tensor,
    out_write_seed_slot_indices: Tensor,
    out_verify_num_valid: Tensor,
    out_verify_enable: Tensor,
    out_write_num_valid_reqs: Tensor,
    swa_window_size: int,
    verify_capacity: int,
    bs: int | None = None,
    max_reqs: int | None = None,
    max_seq_len: int | None = None,
    lut_len: int | None = None,
    write_offsets_len: int | None = None,
    write_req_capacity: int | None = None,
    has_swa_lut: bool | None = None,
    req_to_token_stride0: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = (
        bs
        is max_reqs
        is max_seq_len
        is lut_len
        is write_offsets_len
        is write_req_capacity
        is has_swa_lut
        is req_to_token_stride0
        is None
    )
    if derived and accepts_plan_offsets(
        req_pool_indices,
        prefix_lens,
        extend_seq_lens,
        req_to_token,
        full_to_swa_index_mapping,
        out_verify_offsets_scratch,
        out_write_offsets,
        out_write_seed_slot_indices,
        out_verify_num_valid,
        out_verify_enable,
        out_write_num_valid_reqs,
        swa_window_size,
        verify_capacity,
    ):
        return
    broken = inspect_plan_offsets(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        extend_seq_lens=extend_seq_lens,
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        out_verify_offsets_scratch=out_verify_offsets_scratch,
        out_write_offsets=out_write_offsets,
        out_write_seed_slot_indices=out_write_seed_slot_indices,
        out_verify_num_valid=out_verify_num_valid,
        out_verify_enable=out_verify_enable,
        out_write_num_valid_reqs=out_write_num_valid_reqs,
        swa_window_size=swa_window_size,
        verify_capacity=verify_capacity,
        bs=bs,
        max_reqs=max_reqs,
        max_seq_len=max_seq_len,
        lut_len=lut_len,
        write_offsets_len=write_offsets_len,
        write_req_capacity=write_req_capacity,
        has_swa_lut=has_swa_lut,
        req_to_token_stride0=req_to_token_stride0,
    )
    if broken:
        raise ContractError(broken)


def accepts_plan_offsets(
    req_pool_indices: Any,
    prefix_lens: Any,
    extend_seq_lens: Any,
    req_to_token: Any,
    full_to_swa_index_mapping: Any,
    out_verify_offsets_scratch: Any,
    out_write_offsets: Any,
    out_write_seed_slot_indices: Any,
    out_verify_num_valid: Any,
    out_verify_enable: Any,
    out_write_num_valid_reqs: Any,
    swa_window_size: Any,
    verify_capacity: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_plan_offsets says what is wrong.
    """
    try:
        if not (
            swa_window_size.__class__ is int
            and -9223372036854775808 <= swa_window_size <= 9223372036854775807
            and verify_capacity.__class__ is int
            and -9223372036854775808 <= verify_capacity <= 9223372036854775807
        ):
            return False
        if not (
            is_contiguous(out_verify_offsets_scratch)
            and out_verify_offsets_scratch.dtype is int64
            and (device := out_verify_offsets_scratch.device) is not None
            and len(out_verify_offsets_scratch_shape := out_verify_offsets_scratch.shape) == 1
            and is_contiguous(req_pool_indices)
            and req_pool_indices.dtype is int64
            and req_pool_indices.device == device
            and len(req_pool_indices_shape := req_pool_indices.shape) == 1
            and is_contiguous(prefix_lens)
            and prefix_lens.dtype is int64
            and prefix_lens.device == device
            and prefix_lens.shape == req_pool_indices_shape
            and is_contiguous(extend_seq_lens)
            and extend_seq_lens.dtype is int64
            and extend_seq_lens.device == device
            and extend_seq_lens.shape == req_pool_indices_shape
            and is_contiguous(req_to_token)
            and req_to_token.dtype is int32
            and req_to_token.device == device
            and req_to_token.dim() == 2
            and (
                full_to_swa_index_mapping is None
                or (
                    is_contiguous(full_to_swa_index_mapping)
                    and full_to_swa_index_mapping.dtype is int64
                    and full_to_swa_index_mapping.device == device
                    and len(full_to_swa_index_mapping_shape := full_to_swa_index_mapping.shape) == 1
                )
            )
            and is_contiguous(out_write_offsets)
            and out_write_offsets.dtype is int64
            and out_write_offsets.device == device
            and len(out_write_offsets_shape := out_write_offsets.shape) == 1
            and is_contiguous(out_write_seed_slot_indices)
            and out_write_seed_slot_indices.dtype is int64
            and out_write_seed_slot_indices.device == device
            and len(out_write_seed_slot_indices_shape := out_write_seed_slot_indices.shape) == 1
            and is_contiguous(out_verify_num_valid)
            and out_verify_num_valid.dtype is int32
            and out_verify_num_valid.device == device
            and out_verify_num_valid.shape == (1,)
            and is_contiguous(out_verify_enable)
            and out_verify_enable.dtype is int32
            and out_verify_enable.device == device
            and out_verify_enable.shape == (1,)
            and is_contiguous(out_write_num_valid_reqs)
            and out_write_num_valid_reqs.dtype is int32
            and out_write_num_valid_reqs.device == device
            and out_write_num_valid_reqs.shape == (1,)
        ):
            return False
        bs = req_pool_indices_shape[0]
        lut_len = 0 if full_to_swa_index_mapping is None else full_to_swa_index_mapping_shape[0]
        write_offsets_len = out_write_offsets_shape[0]
        write_req_capacity = out_write_seed_slot_indices_shape[0]
        has_swa_lut = full_to_swa_index_mapping is not None
        req_to_token_stride0 = req_to_token.stride()[0]
        # Certain where no size is given: plan_offsets.write_req_capacity_non_negative,
        # plan_offsets.lut_len_non_negative, plan_offsets.has_swa_lut_is_bool,
        # plan_offsets.lut_len_zero_without_lut, plan_offsets.req_to_token_stride0_matches.
        return (
            out_verify_offsets_scratch_shape[0] >= PLAN_BS_BLOCK_SIZE + 1
            # plan_offsets.bs_range
            and bs <= PLAN_BS_BLOCK_SIZE
            # plan_offsets.write_offsets_len_positive
            and write_offsets_len > 0
            # plan_offsets.verify_capacity_non_negative
            and verify_capacity >= 0
            # plan_offsets.req_to_token_stride0_positive
            and req_to_token_stride0 > 0
            # plan_offsets.lut_len_positive_with_lut
            and (not has_swa_lut or lut_len > 0)
            # plan_offsets.write_offsets_len_is_capacity_plus_one
            and write_offsets_len == write_req_capacity + 1
            # plan_offsets.bs_within_write_req_capacity
            and bs <= write_req_capacity
        )
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_plan_offsets(
    *,
    req_pool_indices: Any,
    prefix_lens: Any,
    extend_seq_lens: Any,
    req_to_token: Any,
    full_to_swa_index_mapping: Any,
    out_verify_offsets_scratch: Any,
    out_write_offsets: Any,
    out_write_seed_slot_indices: Any,
    out_verify_num_valid: Any,
    out_verify_enable: Any,
    out_write_num_valid_reqs: Any,
    swa_window_size: Any,
    verify_capacity: Any,
    bs: Any = None,
    max_reqs: Any = None,
    max_seq_len: Any = None,
    lut_len: Any = None,
    write_offsets_len: Any = None,
    write_req_capacity: Any = None,
    has_swa_lut: Any = None,
    req_to_token_stride0: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("plan_offsets")
    # (a) The arguments are what they claim to be.
    inspection.required(
        "plan_offsets.req_pool_indices.required",
        "req_pool_indices",
        req_pool_indices,
    )
    inspection.tensor("plan_offsets.req_pool_indices.type", "req_pool_indices", req_pool_indices)
    inspection.required("plan_offsets.prefix_lens.required", "prefix_lens", prefix_lens)
    inspection.tensor("plan_offsets.prefix_lens.type", "prefix_lens", prefix_lens)
    inspection.required("plan_offsets.extend_seq_lens.required", "extend_seq_lens", extend_seq_lens)
    inspection.tensor("plan_offsets.extend_seq_lens.type", "extend_seq_lens", extend_seq_lens)
    inspection.required("plan_offsets.req_to_token.required", "req_to_token", req_to_token)
    inspection.tensor("plan_offsets.req_to_token.type", "req_to_token", req_to_token)
    inspection.tensor(
        "plan_offsets.full_to_swa_index_mapping.type",
        "lut_tensor",
        full_to_swa_index_mapping,
    )
    inspection.required(
        "plan_offsets.out_verify_offsets_scratch.required",
        "out_verify_offsets_scratch",
        out_verify_offsets_scratch,
    )
    inspection.tensor(
        "plan_offsets.out_verify_offsets_scratch.type",
        "out_verify_offsets_scratch",
        out_verify_offsets_scratch,
    )
    inspection.required(
        "plan_offsets.out_write_offsets.required",
        "out_write_offsets",
        out_write_offsets,
    )
    inspection.tensor("plan_offsets.out_write_offsets.type", "out_write_offsets", out_write_offsets)
    inspection.required(
        "plan_offsets.out_write_seed_slot_indices.required",
        "out_write_seed_slot_indices",
        out_write_seed_slot_indices,
    )
    inspection.tensor(
        "plan_offsets.out_write_seed_slot_indices.type",
        "out_write_seed_slot_indices",
        out_write_seed_slot_indices,
    )
    inspection.required(
        "plan_offsets.out_verify_num_valid.required",
        "out_verify_num_valid",
        out_verify_num_valid,
    )
    inspection.tensor(
        "plan_offsets.out_verify_num_valid.type",
        "out_verify_num_valid",
        out_verify_num_valid,
    )
    inspection.required(
        "plan_offsets.out_verify_enable.required",
        "out_verify_enable",
        out_verify_enable,
    )
    inspection.tensor("plan_offsets.out_verify_enable.type", "out_verify_enable", out_verify_enable)
    inspection.required(
        "plan_offsets.out_write_num_valid_reqs.required",
        "out_write_num_valid_reqs",
        out_write_num_valid_reqs,
    )
    inspection.tensor(
        "plan_offsets.out_write_num_valid_reqs.type",
        "out_write_num_valid_reqs",
        out_write_num_valid_reqs,
    )
    inspection.required("plan_offsets.swa_window_size.required", "swa_window_size", swa_window_size)
    swa_window_size = inspection.integer(
        "plan_offsets.swa_window_size.type",
        "swa_window_size",
        swa_window_size,
    )
    inspection.required("plan_offsets.verify_capacity.required", "verify_capacity", verify_capacity)
    verify_capacity = inspection.integer(
        "plan_offsets.verify_capacity.type",
        "verify_capacity",
        verify_capacity,
    )
    bs = inspection.size_type("plan_offsets.bs.type", "bs", bs)
    max_reqs = inspection.size_type("plan_offsets.max_reqs.type", "max_reqs", max_reqs)
    max_seq_len = inspection.size_type("plan_offsets.max_seq_len.type", "max_seq_len", max_seq_len)
    lut_len = inspection.size_type("plan_offsets.lut_len.type", "lut_len", lut_len)
    write_offsets_len = inspection.size_type(
        "plan_offsets.write_offsets_len.type",
        "write_offsets_len",
        write_offsets_len,
    )
    write_req_capacity = inspection.size_type(
        "plan_offsets.write_req_capacity.type",
        "write_req_capacity",
        write_req_capacity,
    )
    req_to_token_stride0 = inspection.size_type(
        "plan_offsets.req_to_token_stride0.type",
        "req_to_token_stride0",
        req_to_token_stride0,
    )
    swa_window_size = inspection.int64(
        "plan_offsets.swa_window_size.int64",
        "swa_window_size",
        swa_window_size,
    )
    verify_capacity = inspection.int64(
        "plan_offsets.verify_capacity.int64",
        "verify_capacity",
        verify_capacity,
    )

    # Sizes: as given, else from the first argument that has them.
    bs = inspection.size("bs", bs, "req_pool_indices", "req_pool_indices", 1, 0)
    max_reqs = inspection.size("max_reqs", max_reqs, "req_to_token", "req_to_token", 2, 0)
    max_seq_len = inspection.size("max_seq_len", max_seq_len, "req_to_token", "req_to_token", 2, 1)
    lut_len = inspection.size(
        "lut_len",
        lut_len,
        "lut_tensor",
        "full_to_swa_index_mapping",
        1,
        0,
        absent=full_to_swa_index_mapping is None,
    )
    write_offsets_len = inspection.size(
        "write_offsets_len",
        write_offsets_len,
        "out_write_offsets",
        "out_write_offsets",
        1,
        0,
    )
    write_req_capacity = inspection.size(
        "write_req_capacity",
        write_req_capacity,
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        1,
        0,
    )
    if has_swa_lut is None:
        has_swa_lut = full_to_swa_index_mapping is not None
    if req_to_token_stride0 is None and inspection.ranked("req_to_token", 2):
        req_to_token_stride0 = req_to_token.stride()[0]

    # (b) Contiguity.
    inspection.contiguous("plan_offsets.req_pool_indices.contiguous", "req_pool_indices")
    inspection.contiguous("plan_offsets.prefix_lens.contiguous", "prefix_lens")
    inspection.contiguous("plan_offsets.extend_seq_lens.contiguous", "extend_seq_lens")
    inspection.contiguous("plan_offsets.req_to_token.contiguous", "req_to_token")
    inspection.contiguous("plan_offsets.full_to_swa_index_mapping.contiguous", "lut_tensor")
    inspection.contiguous(
        "plan_offsets.out_verify_offsets_scratch.contiguous",
        "out_verify_offsets_scratch",
    )
    inspection.contiguous("plan_offsets.out_write_offsets.contiguous", "out_write_offsets")
    inspection.contiguous(
        "plan_offsets.out_write_seed_slot_indices.contiguous",
        "out_write_seed_slot_indices",
    )
    inspection.contiguous("plan_offsets.out_verify_num_valid.contiguous", "out_verify_num_valid")
    inspection.contiguous("plan_offsets.out_verify_enable.contiguous", "out_verify_enable")
    inspection.contiguous(
        "plan_offsets.out_write_num_valid_reqs.contiguous",
        "out_write_num_valid_reqs",
    )

    # (c) Dtypes.
    inspection.dtype("plan_offsets.req_pool_indices.dtype", "req_pool_indices", int64)
    inspection.dtype("plan_offsets.prefix_lens.dtype", "prefix_lens", int64)
    inspection.dtype("plan_offsets.extend_seq_lens.dtype", "extend_seq_lens", int64)
    inspection.dtype("plan_offsets.req_to_token.dtype", "req_to_token", int32)
    inspection.dtype("plan_offsets.full_to_swa_index_mapping.dtype", "lut_tensor", int64)
    inspection.dtype(
        "plan_offsets.out_verify_offsets_scratch.dtype",
        "out_verify_offsets_scratch",
        int64,
    )
    inspection.dtype("plan_offsets.out_write_offsets.dtype", "out_write_offsets", int64)
    inspection.dtype(
        "plan_offsets.out_write_seed_slot_indices.dtype",
        "out_write_seed_slot_indices",
        int64,
    )
    inspection.dtype("plan_offsets.out_verify_num_valid.dtype", "out_verify_num_valid", int32)
    inspection.dtype("plan_offsets.out_verify_enable.dtype", "out_verify_enable", int32)
    inspection.dtype(
        "plan_offsets.out_write_num_valid_reqs.dtype",
        "out_write_num_valid_reqs",
        int32,
    )

    # (d) Rules on sizes.
    if bs is not None and not 0 <= bs <= PLAN_BS_BLOCK_SIZE:
        inspection.broken(
            "plan_offsets.bs_range",
            "req_pool_indices",
            f"offsets kernel bs must be in [0, {PLAN_BS_BLOCK_SIZE}], got {bs}",
            expected="bs is at least 0 and at most PLAN_BS_BLOCK_SIZE (4096)",
            actual=f"bs={bs}",
        )
    if write_offsets_len is not None and write_offsets_len <= 0:
        inspection.broken(
            "plan_offsets.write_offsets_len_positive",
            "out_write_offsets",
            f"write_offsets_len must be positive, got {write_offsets_len}",
            expected="write_offsets_len is greater than 0",
            actual=f"write_offsets_len={write_offsets_len}",
        )
    if write_req_capacity is not None and write_req_capacity < 0:
        inspection.broken(
            "plan_offsets.write_req_capacity_non_negative",
            "out_write_seed_slot_indices",
            f"write_req_capacity must be non-negative, got {write_req_capacity}",
            expected="write_req_capacity is at least 0",
            actual=f"write_req_capacity={write_req_capacity}",
        )
    if verify_capacity is not None and verify_capacity < 0:
        inspection.broken(
            "plan_offsets.verify_capacity_non_negative",
            "verify_capacity",
            f"verify_capacity must be non-negative, got {verify_capacity}",
            expected="verify_capacity is at least 0",
            actual=f"verify_capacity={verify_capacity}",
        )
    if req_to_token_stride0 is not None and req_to_token_stride0 <= 0:
        inspection.broken(
            "plan_offsets.req_to_token_stride0_positive",
            "req_to_token",
            f"req_to_token_stride0 must be positive, got {req_to_token_stride0}",
            expected="req_to_token_stride0 is greater than 0",
            actual=f"req_to_token_stride0={req_to_token_stride0}",
        )
    if lut_len is not None and lut_len < 0:
        inspection.broken(
            "plan_offsets.lut_len_non_negative",
            "full_to_swa_index_mapping",
            f"lut_len must be non-negative, got {lut_len}",
            expected="lut_len is at least 0",
            actual=f"lut_len={lut_len}",
        )
    if has_swa_lut is not None and not isinstance(has_swa_lut, bool):
        inspection.broken(
            "plan_offsets.has_swa_lut_is_bool",
            "full_to_swa_index_mapping",
            f"has_swa_lut must be bool, got {type(has_swa_lut).__name__}",
            expected="has_swa_lut is a bool",
            actual=f"has_swa_lut={has_swa_lut}",
        )
    if isinstance(has_swa_lut, bool) and lut_len is not None and has_swa_lut and lut_len <= 0:
        inspection.broken(
            "plan_offsets.lut_len_positive_with_lut",
            "full_to_swa_index_mapping",
            "lut_len must be positive when has_swa_lut is True",
            expected="if has_swa_lut is true, then lut_len is greater than 0",
            actual=f"has_swa_lut={has_swa_lut}, lut_len={lut_len}",
        )
    if isinstance(has_swa_lut, bool) and lut_len is not None and not has_swa_lut and lut_len != 0:
        inspection.broken(
            "plan_offsets.lut_len_zero_without_lut",
            "full_to_swa_index_mapping",
            "lut_len must be 0 when has_swa_lut is False",
            expected="if has_swa_lut is false, then lut_len equals 0",
            actual=f"has_swa_lut={has_swa_lut}, lut_len={lut_len}",
        )

    # (e) Ranks and lengths.
    inspection.rank("plan_offsets.req_pool_indices.rank", "req_pool_indices", 1)
    inspection.length("plan_offsets.req_pool_indices.length", "req_pool_indices", 1, 0, bs, "bs")
    inspection.rank("plan_offsets.prefix_lens.rank", "prefix_lens", 1)
    inspection.length("plan_offsets.prefix_lens.length", "prefix_lens", 1, 0, bs, "bs")
    inspection.rank("plan_offsets.extend_seq_lens.rank", "extend_seq_lens", 1)
    inspection.length("plan_offsets.extend_seq_lens.length", "extend_seq_lens", 1, 0, bs, "bs")
    inspection.rank("plan_offsets.req_to_token.rank", "req_to_token", 2)
    inspection.length(
        "plan_offsets.req_to_token.row_length",
        "req_to_token",
        2,
        0,
        max_reqs,
        "max_reqs",
    )
    inspection.length(
        "plan_offsets.req_to_token.position_length",
        "req_to_token",
        2,
        1,
        max_seq_len,
        "max_seq_len",
    )
    inspection.rank("plan_offsets.full_to_swa_index_mapping.rank", "lut_tensor", 1)
    inspection.length(
        "plan_offsets.full_to_swa_index_mapping.length",
        "lut_tensor",
        1,
        0,
        lut_len,
        "lut_len",
    )
    inspection.rank("plan_offsets.out_verify_offsets_scratch.rank", "out_verify_offsets_scratch", 1)
    inspection.at_least(
        "plan_offsets.out_verify_offsets_scratch.length",
        "out_verify_offsets_scratch",
        1,
        0,
        PLAN_BS_BLOCK_SIZE + 1,
    )
    inspection.rank("plan_offsets.out_write_offsets.rank", "out_write_offsets", 1)
    inspection.length(
        "plan_offsets.out_write_offsets.length",
        "out_write_offsets",
        1,
        0,
        write_offsets_len,
        "write_offsets_len",
    )
    inspection.rank(
        "plan_offsets.out_write_seed_slot_indices.rank",
        "out_write_seed_slot_indices",
        1,
    )
    inspection.length(
        "plan_offsets.out_write_seed_slot_indices.length",
        "out_write_seed_slot_indices",
        1,
        0,
        write_req_capacity,
        "write_req_capacity",
    )
    inspection.rank("plan_offsets.out_verify_num_valid.rank", "out_verify_num_valid", 1)
    inspection.length("plan_offsets.out_verify_num_valid.length", "out_verify_num_valid", 1, 0, 1)
    inspection.rank("plan_offsets.out_verify_enable.rank", "out_verify_enable", 1)
    inspection.length("plan_offsets.out_verify_enable.length", "out_verify_enable", 1, 0, 1)
    inspection.rank("plan_offsets.out_write_num_valid_reqs.rank", "out_write_num_valid_reqs", 1)
    inspection.length(
        "plan_offsets.out_write_num_valid_reqs.length",
        "out_write_num_valid_reqs",
        1,
        0,
        1,
    )

    # (f) Relations between sizes.
    if (
        write_offsets_len is not None
        and write_req_capacity is not None
        and write_offsets_len != write_req_capacity + 1
    ):
        inspection.broken(
            "plan_offsets.write_offsets_len_is_capacity_plus_one",
            "out_write_offsets",
            f"write_offsets_len must equal write_req_capacity + 1, got {write_offsets_len} and "
            f"{write_req_capacity}",
            expected="write_offsets_len equals write_req_capacity + 1",
            actual=(
                f"write_offsets_len={write_offsets_len}, write_req_capacity={write_req_capacity}"
            ),
        )
    if bs is not None and write_req_capacity is not None and bs > write_req_capacity:
        inspection.broken(
            "plan_offsets.bs_within_write_req_capacity",
            "out_write_seed_slot_indices",
            f"bs={bs} exceeds write_req_capacity={write_req_capacity}",
            expected="bs is at most write_req_capacity",
            actual=f"bs={bs}, write_req_capacity={write_req_capacity}",
        )
    if (
        req_to_token_stride0 is not None
        and inspection.ranked("req_to_token", 2)
        and req_to_token_stride0 != req_to_token.stride()[0]
    ):
        inspection.broken(
            "plan_offsets.req_to_token_stride0_matches",
            "req_to_token",
            f"req_to_token_stride0={req_to_token_stride0} does not match "
            f"req_to_token.stride(0)={req_to_token.stride()[0]}",
            expected="req_to_token_stride0 equals req_to_token.stride(0)",
            actual=(
                f"req_to_token_stride0={req_to_token_stride0}, "
                f"req_to_token.stride()[0]={req_to_token.stride()[0]}"
            ),
        )

    # (g) Devices.
    inspection.device(
        "plan_offsets.req_pool_indices.device",
        "req_pool_indices",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.prefix_lens.device",
        "prefix_lens",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.extend_seq_lens.device",
        "extend_seq_lens",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.req_to_token.device",
        "req_to_token",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.full_to_swa_index_mapping.device",
        "lut_tensor",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.out_write_offsets.device",
        "out_write_offsets",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.out_write_seed_slot_indices.device",
        "out_write_seed_slot_indices",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.out_verify_num_valid.device",
        "out_verify_num_valid",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.out_verify_enable.device",
        "out_verify_enable",
        "out_verify_offsets_scratch",
    )
    inspection.device(
        "plan_offsets.out_write_num_valid_reqs.device",
        "out_write_num_valid_reqs",
        "out_verify_offsets_scratch",
    )
    return inspection.found()
