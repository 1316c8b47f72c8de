# Generated from spec/kernels/plan_rotation.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Move the window of a plan that is over capacity on by one capacity."""

import torch
from torch import Tensor

from kv_canary_kernels.backends import (
    Launch,
    TritonLaunch,
    choose_backend,
    reference_launch,
    require_triton,
    warm_up_kernel,
)
from kv_canary_kernels.validators.plan_rotation import (
    accepts_plan_rotation,
    validate_plan_rotation,
)

# What of the optional tensors may be given together, in this order:
# verify_total.
PRESENCES = (
    "-",
    "+",
)


def launch_plan_rotation_kernel(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    verify_capacity: int,
    verify_rotation: Tensor,
    verify_total: Tensor | None = None,
) -> None:
    """Move the window of a plan that is over capacity on by one capacity.

    The plan launcher runs this after the plan itself when it is given a rotation: every program of
    the plan reads where the window begins, and only a launch that follows may move it. Of the
    entries that a step asked for, verify_num_valid over verify_total is the share that it checks.

    Args:
        req_pool_indices: int64 [bs]. Row of req_to_token of each request; 0 marks a padding
            request.
        prefix_lens: int64 [bs]. Tokens of each request that are already in the cache.
        req_to_token: int32 [max_reqs, max_seq_len]. Slot of each position of each request row.
        swa_window_size: int. Tokens of the sliding window; 0 or less for full attention.
        verify_capacity: int. Most verify entries that the plan holds.
        verify_rotation: int64 [1]. First of the entries to plan, of all that the step asks for;
            becomes the first of the next step.
        verify_total: int64 [1]. Verify entries that the step asked for, whether the plan holds them
            or not. Optional.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_plan_rotation_kernel)(
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            verify_capacity=verify_capacity,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
        return
    if not accepts_plan_rotation(
        req_pool_indices,
        prefix_lens,
        req_to_token,
        swa_window_size,
        verify_capacity,
        verify_rotation,
        verify_total,
    ):
        validate_plan_rotation(
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            verify_capacity=verify_capacity,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
    launch = prepare_plan_rotation(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
        verify_capacity=verify_capacity,
        verify_rotation=verify_rotation,
        verify_total=verify_total,
    )
    launch()


def prepare_plan_rotation(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    verify_capacity: int,
    verify_rotation: Tensor,
    verify_total: Tensor | None = None,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    if choose_backend(verify_rotation.device, "plan_rotation") == "torch":
        return reference_launch(
            "kv_canary.reference.plan_rotation:plan_rotation",
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            verify_capacity=verify_capacity,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
    require_triton("plan_rotation")
    from kv_canary_kernels.kernels.plan_rotation import _plan_rotation_kernel

    return TritonLaunch(
        kernel=_plan_rotation_kernel,
        stem="plan_rotation",
        variant=(int(verify_total is not None),),
        grid=(1,),
        arguments=(
            req_pool_indices,
            prefix_lens,
            verify_rotation,
            verify_total,
            req_pool_indices.shape[0],
            req_to_token.shape[0],
            req_to_token.shape[1],
            swa_window_size,
            verify_capacity,
        ),
        constants={},
        num_warps=4,
        device=verify_rotation.device,
    )


def warm_up_plan_rotation(
    *,
    device: torch.device | str,
    verify_total: bool | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        verify_total: Whether launches will give it; None compiles both.
    """
    require_triton("plan_rotation")
    from kv_canary_kernels.kernels.plan_rotation import _plan_rotation_kernel

    return warm_up_kernel(
        kernel=_plan_rotation_kernel,
        stem="plan_rotation",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, verify_total),
        ),
        presences=PRESENCES,
        integers=5,
        variants=(({}, 4),),
    )
