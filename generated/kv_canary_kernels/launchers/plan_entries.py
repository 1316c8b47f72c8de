# Generated from spec/kernels/plan_entries.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Write the verify entries of each request, from the offsets that plan_offsets left in the
scratch.
"""

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
from kv_canary_kernels.validators.plan_entries import (
    accepts_plan_entries,
    validate_plan_entries,
)

# What of the optional tensors may be given together, in this order:
# full_to_swa_index_mapping, req_to_verify_expected_tokens,
# req_to_verify_expected_tokens_valid_lens.
PRESENCES = (
    "---",
    "--+",
    "-++",
    "+--",
    "+-+",
    "+++",
)


def launch_plan_entries_kernel(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    full_to_swa_index_mapping: Tensor | None,
    verify_offsets_scratch: Tensor,
    verify_enable: Tensor,
    req_to_verify_expected_tokens: Tensor | None,
    req_to_verify_expected_tokens_valid_lens: Tensor | None,
    out_verify_slot_indices: Tensor,
    out_verify_expected_tokens: Tensor,
    out_verify_expected_positions: Tensor,
    out_verify_prev_slot_indices: Tensor,
    kv_token_id_vs_position_offset: int,
    swa_window_size: int,
) -> None:
    """Write the verify entries of each request, from the offsets that plan_offsets left in the
    scratch.

    The other half of the plan. Each cached token that the step reads becomes one entry: its slot,
    the slot before it, the position and the token that should be there. A scratch offset, whatever
    it holds, never lets an entry be written outside the plan's arrays.

    Args:
        req_pool_indices: int64 [bs]. Row of req_to_token of each request; 0 marks a padding
            request.
        prefix_lens: int64 [bs]. Tokens of each request that are already in the cache.
        req_to_token: int32 [max_reqs, max_seq_len]. Slot of each position of each request row.
        full_to_swa_index_mapping: int64 [lut_len]. Slot of the sliding-window pool for each slot of
            the full pool; 0 is evicted. Optional.
        verify_offsets_scratch: int64 [>= bs + 1]. First verify entry of each request, as
            plan_offsets wrote it.
        verify_enable: int32 [1]. 0 writes no entry.
        req_to_verify_expected_tokens: int32 [token_rows, token_columns]. Token that each position
            of each request row should hold. Optional.
        req_to_verify_expected_tokens_valid_lens: int64 [bs]. Tokens known of each request of the
            batch (by place in the batch, not by row). Optional.
        out_verify_slot_indices: int64 [verify_capacity]. Slot of each entry; -2 marks a request
            whose row or length is wild.
        out_verify_expected_tokens: int64 [verify_capacity]. Token that the slot should hold; -1
            when nobody knows.
        out_verify_expected_positions: int64 [verify_capacity]. Position that the slot should hold.
        out_verify_prev_slot_indices: int64 [verify_capacity]. Slot of the token before; -1 for the
            first of a sequence.
        kv_token_id_vs_position_offset: int. Added to a position to find its token in the expected
            tokens.
        swa_window_size: int. Tokens of the sliding window; 0 or less for full attention.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_plan_entries_kernel)(
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_offsets_scratch=verify_offsets_scratch,
            verify_enable=verify_enable,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            out_verify_slot_indices=out_verify_slot_indices,
            out_verify_expected_tokens=out_verify_expected_tokens,
            out_verify_expected_positions=out_verify_expected_positions,
            out_verify_prev_slot_indices=out_verify_prev_slot_indices,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            swa_window_size=swa_window_size,
        )
        return
    if not accepts_plan_entries(
        req_pool_indices,
        prefix_lens,
        req_to_token,
        full_to_swa_index_mapping,
        verify_offsets_scratch,
        verify_enable,
        req_to_verify_expected_tokens,
        req_to_verify_expected_tokens_valid_lens,
        out_verify_slot_indices,
        out_verify_expected_tokens,
        out_verify_expected_positions,
        out_verify_prev_slot_indices,
        kv_token_id_vs_position_offset,
        swa_window_size,
    ):
        validate_plan_entries(
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_offsets_scratch=verify_offsets_scratch,
            verify_enable=verify_enable,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            out_verify_slot_indices=out_verify_slot_indices,
            out_verify_expected_tokens=out_verify_expected_tokens,
            out_verify_expected_positions=out_verify_expected_positions,
            out_verify_prev_slot_indices=out_verify_prev_slot_indices,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            swa_window_size=swa_window_size,
        )
    launch = prepare_plan_entries(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        verify_offsets_scratch=verify_offsets_scratch,
        verify_enable=verify_enable,
        req_to_verify_expected_tokens=req_to_verify_expected_tokens,
        req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
        out_verify_slot_indices=out_verify_slot_indices,
        out_verify_expected_tokens=out_verify_expected_tokens,
        out_verify_expected_positions=out_verify_expected_positions,
        out_verify_prev_slot_indices=out_verify_prev_slot_indices,
        kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
        swa_window_size=swa_window_size,
    )
    launch()


def prepare_plan_entries(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    full_to_swa_index_mapping: Tensor | None,
    verify_offsets_scratch: Tensor,
    verify_enable: Tensor,
    req_to_verify_expected_tokens: Tensor | None,
    req_to_verify_expected_tokens_valid_lens: Tensor | None,
    out_verify_slot_indices: Tensor,
    out_verify_expected_tokens: Tensor,
    out_verify_expected_positions: Tensor,
    out_verify_prev_slot_indices: Tensor,
    kv_token_id_vs_position_offset: int,
    swa_window_size: int,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    if choose_backend(out_verify_slot_indices.device, "plan_entries") == "torch":
        return reference_launch(
            "kv_canary.reference.plan_entries:plan_entries",
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_offsets_scratch=verify_offsets_scratch,
            verify_enable=verify_enable,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            out_verify_slot_indices=out_verify_slot_indices,
            out_verify_expected_tokens=out_verify_expected_tokens,
            out_verify_expected_positions=out_verify_expected_positions,
            out_verify_prev_slot_indices=out_verify_prev_slot_indices,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            swa_window_size=swa_window_size,
        )
    require_triton("plan_entries")
    from kv_canary_kernels.kernels.plan_entries import _plan_entries_kernel

    return TritonLaunch(
        kernel=_plan_entries_kernel,
        stem="plan_entries",
        variant=(
            int(full_to_swa_index_mapping is not None),
            int(req_to_verify_expected_tokens is not None),
            int(req_to_verify_expected_tokens_valid_lens is not None),
        ),
        grid=(req_pool_indices.shape[0], max(1, min(32, (req_to_token.shape[1] + 1023) // 1024))),
        arguments=(
            req_pool_indices,
            prefix_lens,
            req_to_token,
            verify_offsets_scratch,
            verify_enable,
            out_verify_slot_indices,
            out_verify_expected_tokens,
            out_verify_expected_positions,
            out_verify_prev_slot_indices,
            full_to_swa_index_mapping,
            req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens,
            req_pool_indices.shape[0],
            req_to_token.shape[0],
            req_to_token.shape[1],
            0 if full_to_swa_index_mapping is None else full_to_swa_index_mapping.shape[0],
            0 if req_to_verify_expected_tokens is None else req_to_verify_expected_tokens.shape[0],
            0 if req_to_verify_expected_tokens is None else req_to_verify_expected_tokens.shape[1],
            out_verify_slot_indices.shape[0],
            kv_token_id_vs_position_offset,
            swa_window_size,
        ),
        constants={},
        num_warps=4,
        device=out_verify_slot_indices.device,
    )


def warm_up_plan_entries(
    *,
    device: torch.device | str,
    full_to_swa_index_mapping: bool | None = None,
    req_to_verify_expected_tokens: bool | None = None,
    req_to_verify_expected_tokens_valid_lens: bool | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        full_to_swa_index_mapping: Whether launches will give it; None compiles both.
        req_to_verify_expected_tokens: Whether launches will give it; None compiles both.
        req_to_verify_expected_tokens_valid_lens: Whether launches will give it; None compiles both.
    """
    require_triton("plan_entries")
    from kv_canary_kernels.kernels.plan_entries import _plan_entries_kernel

    return warm_up_kernel(
        kernel=_plan_entries_kernel,
        stem="plan_entries",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, full_to_swa_index_mapping),
            (torch.int32, req_to_verify_expected_tokens),
            (torch.int64, req_to_verify_expected_tokens_valid_lens),
        ),
        presences=PRESENCES,
        integers=9,
        variants=(({}, 4),),
    )
