# Generated from spec/kernels/plan.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Plan one step, what to verify and what to write, in one launch without scratch."""

from collections.abc import Mapping

import torch
from torch import Tensor

from kv_canary_kernels.backends import (
    Launch,
    LaunchSequence,
    TritonLaunch,
    alignment_of,
    choose_backend,
    class_of,
    reference_launch,
    require_triton,
    warm_up_kernel,
)
from kv_canary_kernels.launchers.plan_rotation import (
    prepare_plan_rotation,
    warm_up_plan_rotation,
)
from kv_canary_kernels.structs import VerifyPlan, WritePlan
from kv_canary_kernels.validators.plan import (
    accepts_plan,
    validate_plan,
)

# What of the optional tensors may be given together, in this order:
# full_to_swa_index_mapping, req_to_verify_expected_tokens,
# req_to_verify_expected_tokens_valid_lens, verify_rotation.
PRESENCES = (
    "----",
    "---+",
    "--+-",
    "--++",
    "-++-",
    "-+++",
    "+---",
    "+--+",
    "+-+-",
    "+-++",
    "+++-",
    "++++",
)


def launch_canary_plan_kernels(
    *,
    verify_plan_out: VerifyPlan,
    write_plan_out: WritePlan,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    full_to_swa_index_mapping: Tensor | None,
    verify_capacity: int,
    req_to_verify_expected_tokens: Tensor | None,
    req_to_verify_expected_tokens_valid_lens: Tensor | None,
    kv_token_id_vs_position_offset: int,
    verify_rotation: Tensor | None = None,
    verify_total: Tensor | None = None,
) -> None:
    """Plan one step, what to verify and what to write, in one launch without scratch.

    Each request's program works out the sums that it needs, so that the whole plan is one launch.
    The tables are read when the kernel runs, and nothing is read back: a captured graph replays it
    with new inputs. Beyond verify_capacity nothing is verified in this step, and enable says so;
    given a verify_rotation, a part is verified in each step, and the next step takes the next part.
    Outputs share memory neither with each other nor with inputs; nothing checks that.

    Args:
        verify_plan_out: VerifyPlan. Takes the verify entries.
        write_plan_out: WritePlan. Takes the write offsets and seeds.
        req_pool_indices: int64 [bs]. Row of req_to_token of each request; 0 marks a padding
            request.
        prefix_lens: int64 [bs]. Tokens of each request that are already in the cache.
        extend_seq_lens: int64 [bs]. Tokens of each request that this step writes; a negative count
            is read as 0.
        req_to_token: int32 [max_reqs, max_seq_len]. Slot of each position of each request row.
        swa_window_size: int. Tokens of the sliding window; 0 or less for full attention.
        full_to_swa_index_mapping: int64 [lut_len]. Slot of the sliding-window pool for each slot of
            the full pool; 0 is evicted. Optional.
        verify_capacity: int. Most verify entries that the plan holds.
        req_to_verify_expected_tokens: int32 [token_rows, token_columns]. Token that each position
            of each request row should hold. Optional.
        req_to_verify_expected_tokens_valid_lens: int64 [bs]. Tokens known of each request of the
            batch (by place in the batch, not by row). Optional.
        kv_token_id_vs_position_offset: int. Added to a position to find its token in the expected
            tokens.
        verify_rotation: int64 [1]. First of the entries to plan, of all that the step asks for;
            becomes the first of the next step. Optional.
        verify_total: int64 [1]. Verify entries that the step asked for, whether the plan holds them
            or not. Optional.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_canary_plan_kernels)(
            verify_plan_out=verify_plan_out,
            write_plan_out=write_plan_out,
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            extend_seq_lens=extend_seq_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_capacity=verify_capacity,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
        return
    if not accepts_plan(
        verify_plan_out,
        write_plan_out,
        req_pool_indices,
        prefix_lens,
        extend_seq_lens,
        req_to_token,
        swa_window_size,
        full_to_swa_index_mapping,
        verify_capacity,
        req_to_verify_expected_tokens,
        req_to_verify_expected_tokens_valid_lens,
        kv_token_id_vs_position_offset,
        verify_rotation,
        verify_total,
    ):
        validate_plan(
            verify_plan_out=verify_plan_out,
            write_plan_out=write_plan_out,
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            extend_seq_lens=extend_seq_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_capacity=verify_capacity,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
    launch = prepare_plan(
        verify_plan_out=verify_plan_out,
        write_plan_out=write_plan_out,
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        extend_seq_lens=extend_seq_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
        full_to_swa_index_mapping=full_to_swa_index_mapping,
        verify_capacity=verify_capacity,
        req_to_verify_expected_tokens=req_to_verify_expected_tokens,
        req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
        kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
        verify_rotation=verify_rotation,
        verify_total=verify_total,
    )
    launch()


def prepare_plan(
    *,
    verify_plan_out: VerifyPlan,
    write_plan_out: WritePlan,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    full_to_swa_index_mapping: Tensor | None,
    verify_capacity: int,
    req_to_verify_expected_tokens: Tensor | None,
    req_to_verify_expected_tokens_valid_lens: Tensor | None,
    kv_token_id_vs_position_offset: int,
    verify_rotation: Tensor | None = None,
    verify_total: Tensor | None = None,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    out_verify_slot_indices = verify_plan_out.verify_slot_indices
    out_verify_expected_tokens = verify_plan_out.verify_expected_tokens
    out_verify_expected_positions = verify_plan_out.verify_expected_positions
    out_verify_prev_slot_indices = verify_plan_out.verify_prev_slot_indices
    out_verify_num_valid = verify_plan_out.verify_num_valid
    out_verify_enable = verify_plan_out.enable
    out_write_offsets = write_plan_out.write_offsets
    out_write_seed_slot_indices = write_plan_out.write_seed_slot_indices
    out_write_num_valid_reqs = write_plan_out.write_num_valid_reqs
    if choose_backend(out_verify_slot_indices.device, "plan") == "torch":
        return reference_launch(
            "kv_canary.reference.plan:plan",
            verify_plan_out=verify_plan_out,
            write_plan_out=write_plan_out,
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            extend_seq_lens=extend_seq_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            full_to_swa_index_mapping=full_to_swa_index_mapping,
            verify_capacity=verify_capacity,
            req_to_verify_expected_tokens=req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens=req_to_verify_expected_tokens_valid_lens,
            kv_token_id_vs_position_offset=kv_token_id_vs_position_offset,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
    require_triton("plan")
    from kv_canary_kernels.kernels.plan import _plan_kernel

    size_class = class_of((16, 256, 1024, 4096), req_pool_indices.shape[0])
    size_class_1 = class_of((131072, 131073), verify_capacity)
    launch = TritonLaunch(
        kernel=_plan_kernel,
        stem="plan",
        variant=(
            int(full_to_swa_index_mapping is not None),
            int(req_to_verify_expected_tokens is not None),
            int(req_to_verify_expected_tokens_valid_lens is not None),
            int(verify_rotation is not None),
            (16, 256, 1024, 4096)[size_class],
            (16, 16, 16, 4)[size_class],
            (128, 512)[size_class_1],
            alignment_of(
                out_verify_slot_indices,
                out_verify_expected_tokens,
                out_verify_expected_positions,
                out_verify_prev_slot_indices,
            ),
        ),
        grid=(
            (out_write_offsets.shape[0] + 256 - 1) // 256
            + max(
                1,
                min(
                    528,
                    (
                        min(verify_capacity, req_pool_indices.shape[0] * req_to_token.shape[1])
                        + (128, 512)[size_class_1]
                        - 1
                    )
                    // (128, 512)[size_class_1],
                ),
            ),
        ),
        arguments=(
            out_verify_slot_indices,
            out_verify_expected_tokens,
            out_verify_expected_positions,
            out_verify_prev_slot_indices,
            out_verify_num_valid,
            out_verify_enable,
            out_write_offsets,
            out_write_seed_slot_indices,
            out_write_num_valid_reqs,
            req_pool_indices,
            prefix_lens,
            extend_seq_lens,
            req_to_token,
            full_to_swa_index_mapping,
            req_to_verify_expected_tokens,
            req_to_verify_expected_tokens_valid_lens,
            verify_rotation,
            req_pool_indices.shape[0],
            req_to_token.shape[0],
            req_to_token.shape[1],
            0 if full_to_swa_index_mapping is None else full_to_swa_index_mapping.shape[0],
            0 if req_to_verify_expected_tokens is None else req_to_verify_expected_tokens.shape[0],
            0 if req_to_verify_expected_tokens is None else req_to_verify_expected_tokens.shape[1],
            out_write_offsets.shape[0],
            out_write_seed_slot_indices.shape[0],
            swa_window_size,
            verify_capacity,
            kv_token_id_vs_position_offset,
        ),
        constants={
            "BATCH_BLOCK": (16, 256, 1024, 4096)[size_class],
            "MEMBER_BLOCK": (16, 16, 16, 4)[size_class],
            "TILE_BLOCK": (128, 512)[size_class_1],
            "WIDE_ALIGNMENT": alignment_of(
                out_verify_slot_indices,
                out_verify_expected_tokens,
                out_verify_expected_positions,
                out_verify_prev_slot_indices,
            ),
        },
        num_warps=4,
        device=out_verify_slot_indices.device,
    )
    launches: list[Launch] = [launch]
    if verify_rotation is not None:
        follow_up = prepare_plan_rotation(
            req_pool_indices=req_pool_indices,
            prefix_lens=prefix_lens,
            req_to_token=req_to_token,
            swa_window_size=swa_window_size,
            verify_capacity=verify_capacity,
            verify_rotation=verify_rotation,
            verify_total=verify_total,
        )
        launches.append(follow_up)
    return launch if len(launches) == 1 else LaunchSequence(launches=tuple(launches))


def warm_up_plan(
    *,
    device: torch.device | str,
    full_to_swa_index_mapping: bool | None = None,
    req_to_verify_expected_tokens: bool | None = None,
    req_to_verify_expected_tokens_valid_lens: bool | None = None,
    verify_rotation: bool | None = None,
    only: Mapping[str, int] | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        full_to_swa_index_mapping: Whether launches will give it; None compiles both.
        req_to_verify_expected_tokens: Whether launches will give it; None compiles both.
        req_to_verify_expected_tokens_valid_lens: Whether launches will give it; None compiles both.
        verify_rotation: Whether launches will give it; None compiles both.
        only: Values of BATCH_BLOCK, MEMBER_BLOCK, TILE_BLOCK, WIDE_ALIGNMENT that launches
            will have, by name; what is not named is compiled for every value.
    """
    require_triton("plan")
    from kv_canary_kernels.kernels.plan import _plan_kernel

    count = warm_up_kernel(
        kernel=_plan_kernel,
        stem="plan",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, full_to_swa_index_mapping),
            (torch.int32, req_to_verify_expected_tokens),
            (torch.int64, req_to_verify_expected_tokens_valid_lens),
            (torch.int64, verify_rotation),
        ),
        presences=PRESENCES,
        integers=11,
        variants=(
            ({"BATCH_BLOCK": 16, "MEMBER_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 16, "MEMBER_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 16, "MEMBER_BLOCK": 16, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 16, "MEMBER_BLOCK": 16, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 256, "MEMBER_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 256, "MEMBER_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 256, "MEMBER_BLOCK": 16, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 256, "MEMBER_BLOCK": 16, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 1024, "MEMBER_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 1024, "MEMBER_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 1024, "MEMBER_BLOCK": 16, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 1024, "MEMBER_BLOCK": 16, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 4096, "MEMBER_BLOCK": 4, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 4096, "MEMBER_BLOCK": 4, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 8}, 4),
            ({"BATCH_BLOCK": 4096, "MEMBER_BLOCK": 4, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 16}, 4),
            ({"BATCH_BLOCK": 4096, "MEMBER_BLOCK": 4, "TILE_BLOCK": 512, "WIDE_ALIGNMENT": 8}, 4),
        ),
        only=only,
    )
    if verify_rotation is not False:
        count += warm_up_plan_rotation(device=device)
    return count
