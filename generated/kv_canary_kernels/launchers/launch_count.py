# Generated from spec/kernels/launch_count.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Count one launch, after it, so that all its programs read the same count before."""

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
from kv_canary_kernels.validators.launch_count import (
    accepts_launch_count,
    validate_launch_count,
)


def launch_launch_count_kernel(
    *,
    kernel_run_counter: Tensor,
) -> None:
    """Count one launch, after it, so that all its programs read the same count before.

    Rows of an evidence ring name the step in which they were recorded, which is the count of
    launches before theirs. Were a launch to count itself, programs that start late would read
    another number.

    Args:
        kernel_run_counter: int64 [1]. Launches so far.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_launch_count_kernel)(
            kernel_run_counter=kernel_run_counter,
        )
        return
    if not accepts_launch_count(
        kernel_run_counter,
    ):
        validate_launch_count(
            kernel_run_counter=kernel_run_counter,
        )
    launch = prepare_launch_count(
        kernel_run_counter=kernel_run_counter,
    )
    launch()


def prepare_launch_count(
    *,
    kernel_run_counter: Tensor,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    if choose_backend(kernel_run_counter.device, "launch_count") == "torch":
        return reference_launch(
            "kv_canary.reference.launch_count:launch_count",
            kernel_run_counter=kernel_run_counter,
        )
    require_triton("launch_count")
    from kv_canary_kernels.kernels.launch_count import _launch_count_kernel

    return TritonLaunch(
        kernel=_launch_count_kernel,
        stem="launch_count",
        variant=(),
        grid=(1,),
        arguments=(kernel_run_counter,),
        constants={},
        num_warps=1,
        device=kernel_run_counter.device,
    )


def warm_up_launch_count(
    *,
    device: torch.device | str,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
    """
    require_triton("launch_count")
    from kv_canary_kernels.kernels.launch_count import _launch_count_kernel

    return warm_up_kernel(
        kernel=_launch_count_kernel,
        stem="launch_count",
        device=device,
        pointers=((torch.int64, True),),
        presences=("",),
        integers=0,
        variants=(({}, 1),),
    )
