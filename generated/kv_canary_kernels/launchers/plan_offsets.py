# Generated from spec/kernels/plan_offsets.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Turn per-request lengths into verify and write offsets, in one launch over the batch."""

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
from kv_canary_kernels.validators.plan_offsets import (
    accepts_plan_offsets,
    validate_plan_offsets,
)

# What of the optional tensors may be given together, in this order:
# full_to_swa_index_mapping.
PRESENCES = (
    "-",
    "+",
)


def launch_plan_offsets_kernel(
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
) -> None:
    """Turn per-request lengths into verify and write offsets, in one launch over the batch.

    Half of the plan, for callers that keep the scratch themselves. Each request gets the offset of
    its first verify entry (in the scratch) and of its first write entry, and the slot that its
    write chain starts from. Tables are never trusted: a request whose row or length is wild gets
    one verify entry, which plan_entries fills so that verify reports it.

    Args:
        req_pool_indices: int64 [bs]. Row of req_to_token of each request; 0 marks a padding
            request.
        prefix_lens: int64 [bs]. Tokens of each request that are already in the cache.
        extend_seq_lens: int64 [bs]. Tokens of each request that this step writes; a negative count
            is read as 0.
        req_to_token: int32 [max_reqs, max_seq_len]. Slot of each position of each request row.
        full_to_swa_index_mapping: int64 [lut_len]. Slot of the sliding-window pool for each slot of
            the full pool; 0 is evicted. Optional.
        out_verify_offsets_scratch: int64 [>= PLAN_BS_BLOCK_SIZE + 1]. First verify entry of each
            request, then the total.
        out_write_offsets: int64 [write_offsets_len]. First write entry of each request, then the
            total, then zeros.
        out_write_seed_slot_indices: int64 [write_req_capacity]. Slot of the last cached token of
            each request; -1 when there is none or nothing to write.
        out_verify_num_valid: int32 [1]. Verify entries in use, at most verify_capacity.
        out_verify_enable: int32 [1]. 1, or 0 when there are more verify entries than
            verify_capacity.
        out_write_num_valid_reqs: int32 [1]. Requests in use, bs.
        swa_window_size: int. Tokens of the sliding window; 0 or less for full attention.
        verify_capacity: int. Most verify entries that the plan holds.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_plan_offsets_kernel)(
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
        )
        return
    if not accepts_plan_offsets(
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
        validate_plan_offsets(
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
        )
    launch = prepare_plan_offsets(
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
    )
    launch()


def prepare_plan_offsets(
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
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    if choose_backend(out_verify_offsets_scratch.device, "plan_offsets") == "torch":
        return reference_launch(
            "kv_canary.reference.plan_offsets:plan_offsets",
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
        )
    require_triton("plan_offsets")
    from kv_canary_kernels.kernels.plan_offsets import _plan_offsets_kernel

    return TritonLaunch(
        kernel=_plan_offsets_kernel,
        stem="plan_offsets",
        variant=(int(full_to_swa_index_mapping is not None),),
        grid=(req_pool_indices.shape[0] + 1,),
        arguments=(
            req_pool_indices,
            prefix_lens,
            extend_seq_lens,
            req_to_token,
            out_verify_offsets_scratch,
            out_write_offsets,
            out_write_seed_slot_indices,
            out_verify_num_valid,
            out_verify_enable,
            out_write_num_valid_reqs,
            full_to_swa_index_mapping,
            req_pool_indices.shape[0],
            req_to_token.shape[0],
            req_to_token.shape[1],
            0 if full_to_swa_index_mapping is None else full_to_swa_index_mapping.shape[0],
            out_write_offsets.shape[0],
            out_write_seed_slot_indices.shape[0],
            swa_window_size,
            verify_capacity,
        ),
        constants={},
        num_warps=4,
        device=out_verify_offsets_scratch.device,
    )


def warm_up_plan_offsets(
    *,
    device: torch.device | str,
    full_to_swa_index_mapping: bool | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        full_to_swa_index_mapping: Whether launches will give it; None compiles both.
    """
    require_triton("plan_offsets")
    from kv_canary_kernels.kernels.plan_offsets import _plan_offsets_kernel

    return warm_up_kernel(
        kernel=_plan_offsets_kernel,
        stem="plan_offsets",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int32, True),
            (torch.int32, True),
            (torch.int64, full_to_swa_index_mapping),
        ),
        presences=PRESENCES,
        integers=8,
        variants=(({}, 4),),
    )
