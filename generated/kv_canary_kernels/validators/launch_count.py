# Generated from spec/kernels/launch_count.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_launch_count_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int64

from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_launch_count(
    *,
    kernel_run_counter: Tensor,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    if accepts_launch_count(
        kernel_run_counter,
    ):
        return
    broken = inspect_launch_count(
        kernel_run_counter=kernel_run_counter,
    )
    if broken:
        raise ContractError(broken)


def accepts_launch_count(
    kernel_run_counter: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_launch_count says what is wrong.
    """
    try:
        return (
            is_contiguous(kernel_run_counter)
            and kernel_run_counter.dtype is int64
            and kernel_run_counter.shape == (1,)
        )
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_launch_count(
    *,
    kernel_run_counter: Any,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("launch_count")
    # (a) The arguments are what they claim to be.
    inspection.required(
        "launch_count.kernel_run_counter.required",
        "kernel_run_counter",
        kernel_run_counter,
    )
    inspection.tensor(
        "launch_count.kernel_run_counter.type",
        "kernel_run_counter",
        kernel_run_counter,
    )

    # Sizes: as given, else from the first argument that has them.

    # (b) Contiguity.
    inspection.contiguous("launch_count.kernel_run_counter.contiguous", "kernel_run_counter")

    # (c) Dtypes.
    inspection.dtype("launch_count.kernel_run_counter.dtype", "kernel_run_counter", int64)

    # (e) Ranks and lengths.
    inspection.rank("launch_count.kernel_run_counter.rank", "kernel_run_counter", 1)
    inspection.length("launch_count.kernel_run_counter.length", "kernel_run_counter", 1, 0, 1)
    return inspection.found()
