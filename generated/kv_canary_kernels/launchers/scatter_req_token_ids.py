# Generated from spec/kernels/scatter_req_token_ids.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Copy each request's new token ids from one flat array to its row of a table."""

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
from kv_canary_kernels.validators.scatter_req_token_ids import (
    accepts_scatter_req_token_ids,
    validate_scatter_req_token_ids,
)

# What of the optional tensors may be given together, in this order:
# column_starts.
PRESENCES = (
    "-",
    "+",
)


def launch_scatter_req_token_ids_kernel(
    *,
    flat_in: Tensor,
    offsets: Tensor,
    req_pool_indices: Tensor,
    pool_out: Tensor,
    column_starts: Tensor | None = None,
) -> None:
    """Copy each request's new token ids from one flat array to its row of a table.

    Token r of the flat array's stretch for a request goes to its row, from column 0 or from the
    request's first column on. What does not fit in the row is left out. A row outside the table, or
    offsets that no batch makes, contribute nothing. Rows that are named twice are unspecified.

    Args:
        flat_in: int64 [token_count]. Token ids of all requests, one stretch a request.
        offsets: int64 [bs + 1]. Stretch of request r: from offsets[r] up to offsets[r + 1].
        req_pool_indices: int64 [bs]. Row of each request; row 0 is a row like any other.
        pool_out: int32 [pool_rows, pool_columns]. Takes the low 32 bits of each token id.
        column_starts: int64 [bs]. First column of each request; without it, all begin at column 0.
            Optional.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_scatter_req_token_ids_kernel)(
            flat_in=flat_in,
            offsets=offsets,
            req_pool_indices=req_pool_indices,
            pool_out=pool_out,
            column_starts=column_starts,
        )
        return
    if not accepts_scatter_req_token_ids(
        flat_in,
        offsets,
        req_pool_indices,
        pool_out,
        column_starts,
    ):
        validate_scatter_req_token_ids(
            flat_in=flat_in,
            offsets=offsets,
            req_pool_indices=req_pool_indices,
            pool_out=pool_out,
            column_starts=column_starts,
        )
    launch = prepare_scatter_req_token_ids(
        flat_in=flat_in,
        offsets=offsets,
        req_pool_indices=req_pool_indices,
        pool_out=pool_out,
        column_starts=column_starts,
    )
    launch()


def prepare_scatter_req_token_ids(
    *,
    flat_in: Tensor,
    offsets: Tensor,
    req_pool_indices: Tensor,
    pool_out: Tensor,
    column_starts: Tensor | None = None,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    if choose_backend(pool_out.device, "scatter_req_token_ids") == "torch":
        return reference_launch(
            "kv_canary.reference.scatter_req_token_ids:scatter_req_token_ids",
            flat_in=flat_in,
            offsets=offsets,
            req_pool_indices=req_pool_indices,
            pool_out=pool_out,
            column_starts=column_starts,
        )
    require_triton("scatter_req_token_ids")
    from kv_canary_kernels.kernels.scatter_req_token_ids import _scatter_req_token_ids_kernel

    return TritonLaunch(
        kernel=_scatter_req_token_ids_kernel,
        stem="scatter_req_token_ids",
        variant=(int(column_starts is not None),),
        grid=(
            min(req_pool_indices.shape[0], 65535),
            max(1, min(32, (pool_out.shape[1] + 1023) // 1024)),
        ),
        arguments=(
            flat_in,
            offsets,
            req_pool_indices,
            pool_out,
            column_starts,
            flat_in.shape[0],
            req_pool_indices.shape[0],
            pool_out.shape[0],
            pool_out.shape[1],
        ),
        constants={},
        num_warps=4,
        device=pool_out.device,
    )


def warm_up_scatter_req_token_ids(
    *,
    device: torch.device | str,
    column_starts: bool | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        column_starts: Whether launches will give it; None compiles both.
    """
    require_triton("scatter_req_token_ids")
    from kv_canary_kernels.kernels.scatter_req_token_ids import _scatter_req_token_ids_kernel

    return warm_up_kernel(
        kernel=_scatter_req_token_ids_kernel,
        stem="scatter_req_token_ids",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, column_starts),
        ),
        presences=PRESENCES,
        integers=4,
        variants=(({}, 4),),
    )
