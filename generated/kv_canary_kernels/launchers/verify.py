# Generated from spec/kernels/verify.yaml by `kv-canary generate`; do not edit.
# Template: launcher.py.jinja.
"""Compare what cached slots store with what belongs there, and record each difference."""

from collections.abc import Mapping

import torch

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
from kv_canary_kernels.launchers.launch_count import (
    prepare_launch_count,
    warm_up_launch_count,
)
from kv_canary_kernels.structs import VerifyOrWriteContext, VerifyPlan
from kv_canary_kernels.validators.verify import (
    accepts_verify,
    validate_verify,
)

# What of the optional tensors may be given together, in this order:
# evidence_ring, source_0_tensor, source_1_tensor, source_2_tensor, source_3_tensor.
PRESENCES = (
    "-----",
    "-+---",
    "-++--",
    "-+++-",
    "-++++",
    "+----",
    "++---",
    "+++--",
    "++++-",
    "+++++",
)


def launch_canary_verify_kernel(
    *,
    context: VerifyOrWriteContext,
    plan: VerifyPlan,
    check_verify_expected_token: bool,
    report_padding_slot: bool = False,
) -> None:
    """Compare what cached slots store with what belongs there, and record each difference.

    Each entry of the plan is one cached token. Its canary is compared with the successor hash of
    the previous slot's canary, the planned position, the planned token where one is known, and a
    hash of the true K or V bytes. Plans and canaries may be the corrupted thing: a slot outside the
    buffer is reported, and never followed. Nothing but the rings and counters is written. The order
    of rows of one launch is unspecified, and so is which violations get the last free rows.

    Args:
        context: VerifyOrWriteContext. The canaries, the rings and the real KV sources.
        plan: VerifyPlan. What to check.
        check_verify_expected_token: bool. Whether tokens are compared where the plan knows them.
        report_padding_slot: bool. Whether an entry whose slot is the padding slot is reported;
            otherwise it is passed over.

    Raises:
        ContractError: A rule is broken; nothing was launched.
    """
    if torch.compiler.is_compiling():
        # Traced, the checks would be compiled anew for each size that they read.
        torch.compiler.disable(launch_canary_verify_kernel)(
            context=context,
            plan=plan,
            check_verify_expected_token=check_verify_expected_token,
            report_padding_slot=report_padding_slot,
        )
        return
    if not accepts_verify(
        context,
        plan,
        check_verify_expected_token,
        report_padding_slot,
    ):
        validate_verify(
            context=context,
            plan=plan,
            check_verify_expected_token=check_verify_expected_token,
            report_padding_slot=report_padding_slot,
        )
    launch = prepare_verify(
        context=context,
        plan=plan,
        check_verify_expected_token=check_verify_expected_token,
        report_padding_slot=report_padding_slot,
    )
    launch()


def prepare_verify(
    *,
    context: VerifyOrWriteContext,
    plan: VerifyPlan,
    check_verify_expected_token: bool,
    report_padding_slot: bool = False,
) -> Launch:
    """Bind a launch to arguments that the validator accepts: backend, variant, grid.

    Call what comes back as often as wanted; it reads the tensors' contents anew each time.
    """
    canary_buf = context.canary_buf
    violation_ring = context.violation_ring
    violation_write_index = context.violation_write_index
    slot_run_counter = context.slot_run_counter
    kernel_run_counter = context.kernel_run_counter
    evidence_ring = context.evidence_ring
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
    verify_slot_indices = plan.verify_slot_indices
    verify_expected_tokens = plan.verify_expected_tokens
    verify_expected_positions = plan.verify_expected_positions
    verify_prev_slot_indices = plan.verify_prev_slot_indices
    verify_num_valid = plan.verify_num_valid
    enable = plan.enable
    if choose_backend(canary_buf.device, "verify") == "torch":
        return reference_launch(
            "kv_canary.reference.verify:verify",
            context=context,
            plan=plan,
            check_verify_expected_token=check_verify_expected_token,
            report_padding_slot=report_padding_slot,
        )
    require_triton("verify")
    from kv_canary_kernels.kernels.verify import _verify_kernel

    read_limit = 2 * real_kv_hash_mode + real_kv_hash_mode // 2 * 1152921504606846976
    source_0_words = min(source_0_read_bytes // 8, read_limit)
    source_1_words = min(source_1_read_bytes // 8, read_limit)
    source_2_words = min(source_2_read_bytes // 8, read_limit)
    source_3_words = min(source_3_read_bytes // 8, read_limit)
    read_class = min(
        1, source_0_words % 16 + source_1_words % 16 + source_2_words % 16 + source_3_words % 16
    ) + min(1, source_0_words % 4 + source_1_words % 4 + source_2_words % 4 + source_3_words % 4)
    size_class = class_of((0, 1, 2), read_class)
    launch = TritonLaunch(
        kernel=_verify_kernel,
        stem="verify",
        variant=(
            int(evidence_ring is not None),
            int(source_0_tensor is not None),
            int(source_1_tensor is not None),
            int(source_2_tensor is not None),
            int(source_3_tensor is not None),
            ("serial", "parallel").index(hash_format),
            int(check_verify_expected_token),
            (16, 4, 2)[size_class],
        ),
        grid=(max(1, min(2112, (verify_slot_indices.shape[0] + 127) // 128)),),
        arguments=(
            as_elements(canary_buf, torch.int64),
            violation_ring,
            violation_write_index,
            slot_run_counter,
            kernel_run_counter,
            verify_slot_indices,
            verify_expected_tokens,
            verify_expected_positions,
            verify_prev_slot_indices,
            verify_num_valid,
            enable,
            evidence_ring,
            as_elements(source_0_tensor, torch.int64),
            as_elements(source_1_tensor, torch.int64),
            as_elements(source_2_tensor, torch.int64),
            as_elements(source_3_tensor, torch.int64),
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
            0 if source_0_tensor is None else source_0_tensor.shape[0],
            0 if source_0_tensor is None else source_0_tensor.shape[1] * source_0_tensor.itemsize,
            0 if source_1_tensor is None else source_1_tensor.shape[0],
            0 if source_1_tensor is None else source_1_tensor.shape[1] * source_1_tensor.itemsize,
            0 if source_2_tensor is None else source_2_tensor.shape[0],
            0 if source_2_tensor is None else source_2_tensor.shape[1] * source_2_tensor.itemsize,
            0 if source_3_tensor is None else source_3_tensor.shape[0],
            0 if source_3_tensor is None else source_3_tensor.shape[1] * source_3_tensor.itemsize,
            verify_slot_indices.shape[0],
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
            int(kernel_kind),
            int(report_padding_slot),
        ),
        constants={
            "HASH_FORMAT": ("serial", "parallel").index(hash_format),
            "CHECK_VERIFY_EXPECTED_TOKEN": int(check_verify_expected_token),
            "READ_BLOCK": (16, 4, 2)[size_class],
        },
        num_warps=4,
        device=canary_buf.device,
    )
    launches: list[Launch] = [launch]
    if evidence_ring is not None:
        follow_up = prepare_launch_count(kernel_run_counter=kernel_run_counter)
        launches.append(follow_up)
    return launch if len(launches) == 1 else LaunchSequence(launches=tuple(launches))


def warm_up_verify(
    *,
    device: torch.device | str,
    evidence_ring: bool | None = None,
    source_0_tensor: bool | None = None,
    source_1_tensor: bool | None = None,
    source_2_tensor: bool | None = None,
    source_3_tensor: bool | None = None,
    only: Mapping[str, int] | None = None,
) -> int:
    """Compile and load the kernel's variants on a device without launching it; say how many.

    Args:
        device: A GPU; on the CPU there is nothing to compile.
        evidence_ring: Whether launches will give it; None compiles both.
        source_0_tensor: Whether launches will give it; None compiles both.
        source_1_tensor: Whether launches will give it; None compiles both.
        source_2_tensor: Whether launches will give it; None compiles both.
        source_3_tensor: Whether launches will give it; None compiles both.
        only: Values of HASH_FORMAT, CHECK_VERIFY_EXPECTED_TOKEN, READ_BLOCK that launches
            will have, by name; what is not named is compiled for every value.
    """
    require_triton("verify")
    from kv_canary_kernels.kernels.verify import _verify_kernel

    count = warm_up_kernel(
        kernel=_verify_kernel,
        stem="verify",
        device=device,
        pointers=(
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int64, True),
            (torch.int32, True),
            (torch.int32, True),
            (torch.int64, evidence_ring),
            (torch.int64, source_0_tensor),
            (torch.int64, source_1_tensor),
            (torch.int64, source_2_tensor),
            (torch.int64, source_3_tensor),
        ),
        presences=PRESENCES,
        integers=31,
        variants=(
            ({"HASH_FORMAT": 0, "CHECK_VERIFY_EXPECTED_TOKEN": 0, "READ_BLOCK": 16}, 4),
            ({"HASH_FORMAT": 0, "CHECK_VERIFY_EXPECTED_TOKEN": 1, "READ_BLOCK": 16}, 4),
            ({"HASH_FORMAT": 1, "CHECK_VERIFY_EXPECTED_TOKEN": 0, "READ_BLOCK": 16}, 4),
            ({"HASH_FORMAT": 1, "CHECK_VERIFY_EXPECTED_TOKEN": 1, "READ_BLOCK": 16}, 4),
            ({"HASH_FORMAT": 0, "CHECK_VERIFY_EXPECTED_TOKEN": 0, "READ_BLOCK": 4}, 4),
            ({"HASH_FORMAT": 0, "CHECK_VERIFY_EXPECTED_TOKEN": 1, "READ_BLOCK": 4}, 4),
            ({"HASH_FORMAT": 1, "CHECK_VERIFY_EXPECTED_TOKEN": 0, "READ_BLOCK": 4}, 4),
            ({"HASH_FORMAT": 1, "CHECK_VERIFY_EXPECTED_TOKEN": 1, "READ_BLOCK": 4}, 4),
            ({"HASH_FORMAT": 0, "CHECK_VERIFY_EXPECTED_TOKEN": 0, "READ_BLOCK": 2}, 4),
            ({"HASH_FORMAT": 0, "CHECK_VERIFY_EXPECTED_TOKEN": 1, "READ_BLOCK": 2}, 4),
            ({"HASH_FORMAT": 1, "CHECK_VERIFY_EXPECTED_TOKEN": 0, "READ_BLOCK": 2}, 4),
            ({"HASH_FORMAT": 1, "CHECK_VERIFY_EXPECTED_TOKEN": 1, "READ_BLOCK": 2}, 4),
        ),
        only=only,
    )
    if evidence_ring is not False:
        count += warm_up_launch_count(device=device)
    return count
