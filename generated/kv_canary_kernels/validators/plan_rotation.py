# Generated from spec/kernels/plan_rotation.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_plan_rotation_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int32, int64

from kv_canary_kernels.constants import PLAN_BS_BLOCK_SIZE
from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_plan_rotation(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    verify_capacity: int,
    verify_rotation: Tensor,
    verify_total: Tensor | None = None,
    bs: int | None = None,
    max_reqs: int | None = None,
    max_seq_len: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = bs is max_reqs is max_seq_len is None
    if derived and accepts_plan_rotation(
        req_pool_indices,
        prefix_lens,
        req_to_token,
        swa_window_size,
        verify_capacity,
        verify_rotation,
        verify_total,
    ):
        return
    broken = inspect_plan_rotation(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
        verify_capacity=verify_capacity,
        verify_rotation=verify_rotation,
        verify_total=verify_total,
        bs=bs,
        max_reqs=max_reqs,
        max_seq_len=max_seq_len,
    )
    if broken:
        raise ContractError(broken)


def accepts_plan_rotation(
    req_pool_indices: Any,
    prefix_lens: Any,
    req_to_token: Any,
    swa_window_size: Any,
    verify_capacity: Any,
    verify_rotation: Any,
    verify_total: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_plan_rotation says what is wrong.
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
            is_contiguous(verify_rotation)
            and verify_rotation.dtype is int64
            and (device := verify_rotation.device) is not None
            and verify_rotation.shape == (1,)
            and is_contiguous(req_pool_indices)
            and req_pool_indices.dtype is int64
            and req_pool_indices.device == device
            and len(req_pool_indices_shape := req_pool_indices.shape) == 1
            and is_contiguous(prefix_lens)
            and prefix_lens.dtype is int64
            and prefix_lens.device == device
            and prefix_lens.shape == req_pool_indices_shape
            and is_contiguous(req_to_token)
            and req_to_token.dtype is int32
            and req_to_token.device == device
            and req_to_token.dim() == 2
            and (
                verify_total is None
                or (
                    is_contiguous(verify_total)
                    and verify_total.dtype is int64
                    and verify_total.device == device
                    and verify_total.shape == (1,)
                )
            )
        ):
            return False
        bs = req_pool_indices_shape[0]
        return (
            # plan_rotation.bs_range
            bs <= PLAN_BS_BLOCK_SIZE
            # plan_rotation.verify_capacity_non_negative
            and verify_capacity >= 0
        )
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_plan_rotation(
    *,
    req_pool_indices: Any,
    prefix_lens: Any,
    req_to_token: Any,
    swa_window_size: Any,
    verify_capacity: Any,
    verify_rotation: Any,
    verify_total: Any = None,
    bs: Any = None,
    max_reqs: Any = None,
    max_seq_len: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("plan_rotation")
    # (a) The arguments are what they claim to be.
    inspection.required(
        "plan_rotation.req_pool_indices.required",
        "req_pool_indices",
        req_pool_indices,
    )
    inspection.tensor("plan_rotation.req_pool_indices.type", "req_pool_indices", req_pool_indices)
    inspection.required("plan_rotation.prefix_lens.required", "prefix_lens", prefix_lens)
    inspection.tensor("plan_rotation.prefix_lens.type", "prefix_lens", prefix_lens)
    inspection.required("plan_rotation.req_to_token.required", "req_to_token", req_to_token)
    inspection.tensor("plan_rotation.req_to_token.type", "req_to_token", req_to_token)
    inspection.required(
        "plan_rotation.swa_window_size.required",
        "swa_window_size",
        swa_window_size,
    )
    swa_window_size = inspection.integer(
        "plan_rotation.swa_window_size.type",
        "swa_window_size",
        swa_window_size,
    )
    inspection.required(
        "plan_rotation.verify_capacity.required",
        "verify_capacity",
        verify_capacity,
    )
    verify_capacity = inspection.integer(
        "plan_rotation.verify_capacity.type",
        "verify_capacity",
        verify_capacity,
    )
    inspection.required(
        "plan_rotation.verify_rotation.required",
        "verify_rotation",
        verify_rotation,
    )
    inspection.tensor("plan_rotation.verify_rotation.type", "verify_rotation", verify_rotation)
    inspection.tensor("plan_rotation.verify_total.type", "verify_total", verify_total)
    bs = inspection.size_type("plan_rotation.bs.type", "bs", bs)
    max_reqs = inspection.size_type("plan_rotation.max_reqs.type", "max_reqs", max_reqs)
    max_seq_len = inspection.size_type("plan_rotation.max_seq_len.type", "max_seq_len", max_seq_len)
    swa_window_size = inspection.int64(
        "plan_rotation.swa_window_size.int64",
        "swa_window_size",
        swa_window_size,
    )
    verify_capacity = inspection.int64(
        "plan_rotation.verify_capacity.int64",
        "verify_capacity",
        verify_capacity,
    )

    # Sizes: as given, else from the first argument that has them.
    bs = inspection.size("bs", bs, "req_pool_indices", "req_pool_indices", 1, 0)
    max_reqs = inspection.size("max_reqs", max_reqs, "req_to_token", "req_to_token", 2, 0)
    max_seq_len = inspection.size("max_seq_len", max_seq_len, "req_to_token", "req_to_token", 2, 1)

    # (b) Contiguity.
    inspection.contiguous("plan_rotation.req_pool_indices.contiguous", "req_pool_indices")
    inspection.contiguous("plan_rotation.prefix_lens.contiguous", "prefix_lens")
    inspection.contiguous("plan_rotation.req_to_token.contiguous", "req_to_token")
    inspection.contiguous("plan_rotation.verify_rotation.contiguous", "verify_rotation")
    inspection.contiguous("plan_rotation.verify_total.contiguous", "verify_total")

    # (c) Dtypes.
    inspection.dtype("plan_rotation.req_pool_indices.dtype", "req_pool_indices", int64)
    inspection.dtype("plan_rotation.prefix_lens.dtype", "prefix_lens", int64)
    inspection.dtype("plan_rotation.req_to_token.dtype", "req_to_token", int32)
    inspection.dtype("plan_rotation.verify_rotation.dtype", "verify_rotation", int64)
    inspection.dtype("plan_rotation.verify_total.dtype", "verify_total", int64)

    # (d) Rules on sizes.
    if bs is not None and bs > PLAN_BS_BLOCK_SIZE:
        inspection.broken(
            "plan_rotation.bs_range",
            "req_pool_indices",
            f"rotation kernel bs must be at most {PLAN_BS_BLOCK_SIZE}, got {bs}",
            expected="bs is at most PLAN_BS_BLOCK_SIZE (4096)",
            actual=f"bs={bs}",
        )
    if verify_capacity is not None and verify_capacity < 0:
        inspection.broken(
            "plan_rotation.verify_capacity_non_negative",
            "verify_capacity",
            f"verify_capacity must be non-negative, got {verify_capacity}",
            expected="verify_capacity is at least 0",
            actual=f"verify_capacity={verify_capacity}",
        )

    # (e) Ranks and lengths.
    inspection.rank("plan_rotation.req_pool_indices.rank", "req_pool_indices", 1)
    inspection.length("plan_rotation.req_pool_indices.length", "req_pool_indices", 1, 0, bs, "bs")
    inspection.rank("plan_rotation.prefix_lens.rank", "prefix_lens", 1)
    inspection.length("plan_rotation.prefix_lens.length", "prefix_lens", 1, 0, bs, "bs")
    inspection.rank("plan_rotation.req_to_token.rank", "req_to_token", 2)
    inspection.length(
        "plan_rotation.req_to_token.row_length",
        "req_to_token",
        2,
        0,
        max_reqs,
        "max_reqs",
    )
    inspection.length(
        "plan_rotation.req_to_token.position_length",
        "req_to_token",
        2,
        1,
        max_seq_len,
        "max_seq_len",
    )
    inspection.rank("plan_rotation.verify_rotation.rank", "verify_rotation", 1)
    inspection.length("plan_rotation.verify_rotation.length", "verify_rotation", 1, 0, 1)
    inspection.rank("plan_rotation.verify_total.rank", "verify_total", 1)
    inspection.length("plan_rotation.verify_total.length", "verify_total", 1, 0, 1)

    # (g) Devices.
    inspection.device(
        "plan_rotation.req_pool_indices.device",
        "req_pool_indices",
        "verify_rotation",
    )
    inspection.device("plan_rotation.prefix_lens.device", "prefix_lens", "verify_rotation")
    inspection.device("plan_rotation.req_to_token.device", "req_to_token", "verify_rotation")
    inspection.device("plan_rotation.verify_total.device", "verify_total", "verify_rotation")
    return inspection.found()
