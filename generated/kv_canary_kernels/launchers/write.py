# Generated from spec/kernels/write.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Stamp the canary of every slot that a step writes, and check what is being written."""

from collections.abc import Mapping

import torch
from torch import Tensor

from kv_canary_kernels.backends import (
    Launch,
    LaunchSequence,
    TritonLaunch,
    as_elements,
    choose_backend,
    class_of,
    reference_launch,
    require_triton,
    warm_up_kernel,
)
from kv_canary_kernels.constants import WRITE_SUM_FIELDS, WRITE_TOKEN_BLOCK
from kv_canary_kernels.launchers.launch_count import (
    prepare_launch_count,
    warm_up_launch_count,
)
from kv_canary_kernels.launchers.write_sums import (
    prepare_write_sums,
    warm_up_write_sums,
)
from kv_canary_kernels.structs import VerifyOrWriteContext, WritePlan
from kv_canary_kernels.validators.write import (
    accepts_write,
    validate_write,
)

# What of the optional tensors may be given together, in this order:
# evidence_ring, workspace, source_0_tensor, source_1_tensor, source_2_tensor, source_3_tensor,
# expected_input_tokens, expected_input_positions.
PRESENCES = (
    "--------",
    "------++",
    "--+-----",
    "--+---++",
    "--++----",
    "--++--++",
    "--+++---",
    "--+++-++",
    "--++++--",
    "--++++++",
    "-+------",
    "-+----++",
    "-++-----",
    "-++---++",
    "-+++----",
    "-+++--++",
    "-++++---",
    "-++++-++",
    "-+++++--",
    "-+++++++",
    "+-------",
    "+-----++",
    "+-+-----",
    "+-+---++",
    "+-++----",
    "+-++--++",
    "+-+++---",
    "+-+++-++",
    "+-++++--",
    "+-++++++",
    "++------",
    "++----++",
    "+++-----",
    "+++---++",
    "++++----",
    "++++--++",
    "+++++---",
    "+++++-++",
    "++++++--",
    "++++++++",
)


def launch_canary_write_kernel(
    *,
    context: VerifyOrWriteContext,
    plan: WritePlan,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    enable_write_input_assert: bool,
    expected_input_tokens: Tensor | None,
    expected_input_positions: Tensor | None,
) -> None:
    """Stamp the canary of every slot that a step writes, and check what is being written.

    Each request's entries are chained: a canary holds the hash of all tokens and positions before
    it, from the seed slot on. Hashes of K or V bytes, and whatever else is independent, are made
    for many entries at once; only the chain is serial. Plans and tables may be the corrupted thing:
    a slot or seed outside the buffer is reported and never followed, and a request whose offsets
    are damaged stores nothing. What a slot holds that is written twice in one launch is
    unspecified.

    Args:
        context: VerifyOrWriteContext. The canaries, the rings and the real KV sources.
        plan: WritePlan. Which entries each request writes.
        input_ids: int64 [num_tokens]. Token of each entry.
        positions: int64 [num_tokens]. Position of each entry in its sequence.
        out_cache_loc: int64 [num_tokens]. Slot that each entry is written to; a negative one is
            passed over.
        enable_write_input_assert: bool. Whether tokens and positions are compared with the expected
            ones.
        expected_input_tokens: int64 [num_tokens]. Token that each entry should have. Optional.
        expected_input_positions: int64 [num_tokens]. Position that each entry should have.
            Optional.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_canary_write_kernel)(
            context=context,
            plan=plan,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
            enable_write_input_assert=enable_write_input_assert,
            expected_input_tokens=expected_input_tokens,
            expected_input_positions=expected_input_positions,
        )
        return
    if not accepts_write(
        context,
        plan,
        input_ids,
        positions,
        out_cache_loc,
        enable_write_input_assert,
        expected_input_tokens,
        expected_input_positions,
    ):
        validate_write(
            context=context,
            plan=plan,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
            enable_write_input_assert=enable_write_input_assert,
            expected_input_tokens=expected_input_tokens,
            expected_input_positions=expected_input_positions,
        )
    launch = prepare_write(
        context=context,
        plan=plan,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
        enable_write_input_assert=enable_write_input_assert,
        expected_input_tokens=expected_input_tokens,
        expected_input_positions=expected_input_positions,
    )
    launch()


def prepare_write(
    *,
    context: VerifyOrWriteContext,
    plan: WritePlan,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    enable_write_input_assert: bool,
    expected_input_tokens: Tensor | None,
    expected_input_positions: Tensor | None,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    canary_buf = context.canary_buf
    violation_ring = context.violation_ring
    violation_write_index = context.violation_write_index
    slot_run_counter = context.slot_run_counter
    kernel_run_counter = context.kernel_run_counter
    enable_chain_position_assert = context.enable_chain_position_assert
    evidence_ring = context.evidence_ring
    workspace = context.workspace
    kernel_kind = context.kernel_kind
    real_kv_hash_mode = context.real_kv_hash_mode
    hash_format = context.hash_format
    real_kv_sources = context.real_kv_sources
    source_0 = real_kv_sources[0] if len(real_kv_sources) > 0 else None
    source_0_tensor = None if source_0 is None else source_0.tensor
    source_0_page_size = 0 if source_0 is None else source_0.page_size
    source_0_num_bytes_per_token = 0 if source_0 is None else source_0.num_bytes_per_token
    source_0_read_bytes = 0 if source_0 is None else source_0.read_bytes
    source_1 = real_kv_sources[1] if len(real_kv_sources) > 1 else None
    source_1_tensor = None if source_1 is None else source_1.tensor
    source_1_page_size = 0 if source_1 is None else source_1.page_size
    source_1_num_bytes_per_token = 0 if source_1 is None else source_1.num_bytes_per_token
    source_1_read_bytes = 0 if source_1 is None else source_1.read_bytes
    source_2 = real_kv_sources[2] if len(real_kv_sources) > 2 else None
    source_2_tensor = None if source_2 is None else source_2.tensor
    source_2_page_size = 0 if source_2 is None else source_2.page_size
    source_2_num_bytes_per_token = 0 if source_2 is None else source_2.num_bytes_per_token
    source_2_read_bytes = 0 if source_2 is None else source_2.read_bytes
    source_3 = real_kv_sources[3] if len(real_kv_sources) > 3 else None
    source_3_tensor = None if source_3 is None else source_3.tensor
    source_3_page_size = 0 if source_3 is None else source_3.page_size
    source_3_num_bytes_per_token = 0 if source_3 is None else source_3.num_bytes_per_token
    source_3_read_bytes = 0 if source_3 is None else source_3.read_bytes
    write_offsets = plan.write_offsets
    write_seed_slot_indices = plan.write_seed_slot_indices
    write_num_valid_reqs = plan.write_num_valid_reqs
    if choose_backend(canary_buf.device, "write") == "torch":
        return reference_launch(
            "kv_canary.reference.write:write",
            context=context,
            plan=plan,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
            enable_write_input_assert=enable_write_input_assert,
            expected_input_tokens=expected_input_tokens,
            expected_input_positions=expected_input_positions,
        )
    require_triton("write")
    from kv_canary_kernels.kernels.write import _write_kernel

    read_limit = 2 * real_kv_hash_mode + real_kv_hash_mode // 2 * 1152921504606846976
    source_0_words = min(source_0_read_bytes // 8, read_limit)
    source_1_words = min(source_1_read_bytes // 8, read_limit)
    source_2_words = min(source_2_read_bytes // 8, read_limit)
    source_3_words = min(source_3_read_bytes // 8, read_limit)
    is_split = min(
        1, max(0, input_ids.shape[0] - max(2047, write_seed_slot_indices.shape[0] + 1023))
    ) * min(
        1,
        max(
            0,
            (0 if workspace is None else workspace.shape[0]) // WRITE_SUM_FIELDS
            - input_ids.shape[0] // WRITE_TOKEN_BLOCK
            - write_seed_slot_indices.shape[0],
        ),
    )
    read_class = min(
        1, source_0_words % 16 + source_1_words % 16 + source_2_words % 16 + source_3_words % 16
    ) + min(1, source_0_words % 4 + source_1_words % 4 + source_2_words % 4 + source_3_words % 4)
    size_class = class_of((0, 1, 2), read_class)
    size_class_1 = class_of((128, 1024), write_seed_slot_indices.shape[0])
    launch = TritonLaunch(
        kernel=_write_kernel,
        stem="write",
        variant=(
            int(evidence_ring is not None),
            int(workspace is not None),
            int(source_0_tensor is not None),
            int(source_1_tensor is not None),
            int(source_2_tensor is not None),
            int(source_3_tensor is not None),
            int(expected_input_tokens is not None),
            int(expected_input_positions is not None),
            ("serial", "parallel").index(hash_format),
            (16, 4, 2)[size_class],
            (128, 1024)[size_class_1],
        ),
        grid=(
            (write_seed_slot_indices.shape[0] + WRITE_TOKEN_BLOCK - 1) // WRITE_TOKEN_BLOCK
            + max(1, min(1024, input_ids.shape[0] // 32)),
        ),
        arguments=(
            as_elements(canary_buf, torch.int64),
            violation_ring,
            violation_write_index,
            slot_run_counter,
            kernel_run_counter,
            enable_chain_position_assert,
            write_offsets,
            write_seed_slot_indices,
            write_num_valid_reqs,
            input_ids,
            positions,
            out_cache_loc,
            evidence_ring,
            workspace,
            as_elements(source_0_tensor, torch.int64),
            as_elements(source_1_tensor, torch.int64),
            as_elements(source_2_tensor, torch.int64),
            as_elements(source_3_tensor, torch.int64),
            expected_input_tokens,
            expected_input_positions,
            0
            if source_0_tensor is None
            else source_0_tensor.stride(0) * source_0_tensor.itemsize // 8,
            0
            if source_1_tensor is None
            else source_1_tensor.stride(0) * source_1_tensor.itemsize // 8,
            0
            if source_2_tensor is None
            else source_2_tensor.stride(0) * source_2_tensor.itemsize // 8,
            0
            if source_3_tensor is None
            else source_3_tensor.stride(0) * source_3_tensor.itemsize // 8,
            canary_buf.shape[0],
            canary_buf.shape[1],
            violation_ring.shape[0],
            0 if workspace is None else workspace.shape[0],
            0 if source_0_tensor is None else source_0_tensor.shape[0],
            0 if source_0_tensor is None else source_0_tensor.shape[1] * source_0_tensor.itemsize,
            0 if source_1_tensor is None else source_1_tensor.shape[0],
            0 if source_1_tensor is None else source_1_tensor.shape[1] * source_1_tensor.itemsize,
            0 if source_2_tensor is None else source_2_tensor.shape[0],
            0 if source_2_tensor is None else source_2_tensor.shape[1] * source_2_tensor.itemsize,
            0 if source_3_tensor is None else source_3_tensor.shape[0],
            0 if source_3_tensor is None else source_3_tensor.shape[1] * source_3_tensor.itemsize,
            write_seed_slot_indices.shape[0],
            input_ids.shape[0],
            source_0_page_size,
            source_0_num_bytes_per_token,
            source_1_page_size,
            source_1_num_bytes_per_token,
            source_2_page_size,
            source_2_num_bytes_per_token,
            source_3_page_size,
            source_3_num_bytes_per_token,
            read_limit,
            source_0_words,
            source_1_words,
            source_2_words,
            source_3_words,
            is_split,
            int(kernel_kind),
        ),
        constants={
            "HASH_FORMAT": ("serial", "parallel").index(hash_format),
            "READ_BLOCK": (16, 4, 2)[size_class],
            "REQUEST_BLOCK": (128, 1024)[size_class_1],
        },
        num_warps=4,
        device=canary_buf.device,
    )
    launches: list[Launch] = [launch]
    if is_split == 1 and hash_format == "parallel" and workspace is not None:
        follow_up = prepare_write_sums(
            canary_buf=canary_buf,
            workspace=workspace,
            write_offsets=write_offsets,
            write_seed_slot_indices=write_seed_slot_indices,
            write_num_valid_reqs=write_num_valid_reqs,
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
        )
        launches.insert(0, follow_up)
    if evidence_ring is not None:
        follow_up = prepare_launch_count(kernel_run_counter=kernel_run_counter)
        launches.append(follow_up)
    return launch if len(launches) == 1 else LaunchSequence(launches=tuple(launches))


def warm_up_write(
    *,
    device: torch.device | str,
    evidence_ring: bool | None = None,
    workspace: bool | None = None,
    source_0_tensor: bool | None = None,
    source_1_tensor: bool | None = None,
    source_2_tensor: bool | None = None,
    source_3_tensor: bool | None = None,
    expected_input_tokens: bool | None = None,
    expected_input_positions: bool | None = None,
    only: Mapping[str, int] | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        evidence_ring: Whether launches will give it; None compiles both.
        workspace: Whether launches will give it; None compiles both.
        source_0_tensor: Whether launches will give it; None compiles both.
        source_1_tensor: Whether launches will give it; None compiles both.
        source_2_tensor: Whether launches will give it; None compiles both.
        source_3_tensor: Whether launches will give it; None compiles both.
        expected_input_tokens: Whether launches will give it; None compiles both.
        expected_input_positions: Whether launches will give it; None compiles both.
        only: Values of HASH_FORMAT, READ_BLOCK, REQUEST_BLOCK that launches
            will have, by name; what is not named is compiled for every value.
    """
    require_triton("write")
    from kv_canary_kernels.kernels.write import _write_kernel

    count = warm_up_kernel(
        kernel=_write_kernel,
        stem="write",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, evidence_ring),
            (torch.int64, workspace),
            (torch.int64, source_0_tensor),
            (torch.int64, source_1_tensor),
            (torch.int64, source_2_tensor),
            (torch.int64, source_3_tensor),
            (torch.int64, expected_input_tokens),
            (torch.int64, expected_input_positions),
        ),
        presences=PRESENCES,
        integers=33,
        variants=(
            ({"HASH_FORMAT": 0, "READ_BLOCK": 16, "REQUEST_BLOCK": 128}, 4),
            ({"HASH_FORMAT": 1, "READ_BLOCK": 16, "REQUEST_BLOCK": 128}, 4),
            ({"HASH_FORMAT": 0, "READ_BLOCK": 16, "REQUEST_BLOCK": 1024}, 4),
            ({"HASH_FORMAT": 1, "READ_BLOCK": 16, "REQUEST_BLOCK": 1024}, 4),
            ({"HASH_FORMAT": 0, "READ_BLOCK": 4, "REQUEST_BLOCK": 128}, 4),
            ({"HASH_FORMAT": 1, "READ_BLOCK": 4, "REQUEST_BLOCK": 128}, 4),
            ({"HASH_FORMAT": 0, "READ_BLOCK": 4, "REQUEST_BLOCK": 1024}, 4),
            ({"HASH_FORMAT": 1, "READ_BLOCK": 4, "REQUEST_BLOCK": 1024}, 4),
            ({"HASH_FORMAT": 0, "READ_BLOCK": 2, "REQUEST_BLOCK": 128}, 4),
            ({"HASH_FORMAT": 1, "READ_BLOCK": 2, "REQUEST_BLOCK": 128}, 4),
            ({"HASH_FORMAT": 0, "READ_BLOCK": 2, "REQUEST_BLOCK": 1024}, 4),
            ({"HASH_FORMAT": 1, "READ_BLOCK": 2, "REQUEST_BLOCK": 1024}, 4),
        ),
        only=only,
    )
    if workspace is not False:
        count += warm_up_write_sums(device=device)
    if evidence_ring is not False:
        count += warm_up_launch_count(device=device)
    return count
