# Generated from spec/kernels/write_sums.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Sum up each block of a long request's entries, so that all its blocks can be chained at once."""

from collections.abc import Mapping

import torch
from torch import Tensor

from kv_canary_kernels.backends import (
    Launch,
    TritonLaunch,
    choose_backend,
    class_of,
    reference_launch,
    require_triton,
    warm_up_kernel,
)
from kv_canary_kernels.validators.write_sums import (
    accepts_write_sums,
    validate_write_sums,
)


def launch_write_sums_kernel(
    *,
    canary_buf: Tensor,
    workspace: Tensor,
    write_offsets: Tensor,
    write_seed_slot_indices: Tensor,
    write_num_valid_reqs: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
) -> None:
    """Sum up each block of a long request's entries, so that all its blocks can be chained at once.

    The parallel hash format is an affine map, so a block of entries is one too: how many it stores,
    and the sum of what they add, scaled to the block's beginning. The write kernel reads the sums
    of the blocks before its own. Where damaged offsets own more blocks than the workspace has room
    for, nothing is summed up, and write does without.

    Args:
        canary_buf: uint8 [num_slots, slot_bytes]. The canaries; only how many there are is read.
        workspace: int64 [workspace_len]. Takes WRITE_SUM_FIELDS numbers for each block: entries
            stored, their sum, last entry stored or -1.
        write_offsets: int64 [write_req_capacity + 1]. First entry of each request.
        write_seed_slot_indices: int64 [write_req_capacity]. Only its length is read.
        write_num_valid_reqs: int32 [1]. Requests in use.
        input_ids: int64 [num_tokens]. Token of each entry.
        positions: int64 [num_tokens]. Position of each entry in its sequence.
        out_cache_loc: int64 [num_tokens]. Slot that each entry is written to; a negative one is
            passed over.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_write_sums_kernel)(
            canary_buf=canary_buf,
            workspace=workspace,
            write_offsets=write_offsets,
            write_seed_slot_indices=write_seed_slot_indices,
            write_num_valid_reqs=write_num_valid_reqs,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
        )
        return
    if not accepts_write_sums(
        canary_buf,
        workspace,
        write_offsets,
        write_seed_slot_indices,
        write_num_valid_reqs,
        input_ids,
        positions,
        out_cache_loc,
    ):
        validate_write_sums(
            canary_buf=canary_buf,
            workspace=workspace,
            write_offsets=write_offsets,
            write_seed_slot_indices=write_seed_slot_indices,
            write_num_valid_reqs=write_num_valid_reqs,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
        )
    launch = prepare_write_sums(
        canary_buf=canary_buf,
        workspace=workspace,
        write_offsets=write_offsets,
        write_seed_slot_indices=write_seed_slot_indices,
        write_num_valid_reqs=write_num_valid_reqs,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
    )
    launch()


def prepare_write_sums(
    *,
    canary_buf: Tensor,
    workspace: Tensor,
    write_offsets: Tensor,
    write_seed_slot_indices: Tensor,
    write_num_valid_reqs: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    if choose_backend(canary_buf.device, "write_sums") == "torch":
        return reference_launch(
            "kv_canary.reference.write_sums:write_sums",
            canary_buf=canary_buf,
            workspace=workspace,
            write_offsets=write_offsets,
            write_seed_slot_indices=write_seed_slot_indices,
            write_num_valid_reqs=write_num_valid_reqs,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
        )
    require_triton("write_sums")
    from kv_canary_kernels.kernels.write_sums import _write_sums_kernel

    size_class = class_of((128, 1024), write_seed_slot_indices.shape[0])
    return TritonLaunch(
        kernel=_write_sums_kernel,
        stem="write_sums",
        variant=((128, 1024)[size_class],),
        grid=(max(1, min(1024, input_ids.shape[0] // 32)),),
        arguments=(
            workspace,
            write_offsets,
            write_num_valid_reqs,
            input_ids,
            positions,
            out_cache_loc,
            canary_buf.shape[0],
            workspace.shape[0],
            write_seed_slot_indices.shape[0],
            input_ids.shape[0],
        ),
        constants={
            "REQUEST_BLOCK": (128, 1024)[size_class],
        },
        num_warps=4,
        device=canary_buf.device,
    )


def warm_up_write_sums(
    *,
    device: torch.device | str,
    only: Mapping[str, int] | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        only: Values of REQUEST_BLOCK that launches
            will have, by name; what is not named is compiled for every value.
    """
    require_triton("write_sums")
    from kv_canary_kernels.kernels.write_sums import _write_sums_kernel

    return warm_up_kernel(
        kernel=_write_sums_kernel,
        stem="write_sums",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
        ),
        presences=("",),
        integers=4,
        variants=(
            ({"REQUEST_BLOCK": 128}, 4),
            ({"REQUEST_BLOCK": 1024}, 4),
        ),
        only=only,
    )
