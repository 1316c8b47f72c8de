# Generated from spec/kernels/verify.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_canary_verify_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int32, int64, uint8

from kv_canary_kernels.constants import (
    CANARY_FIELDS_PER_SLOT,
    MAX_REAL_KV_SOURCES,
    VIOLATION_FIELDS,
    CanaryLaunchTag,
    RealKvHashMode,
)
from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection
from kv_canary_kernels.structs import RealKvSource, VerifyOrWriteContext, VerifyPlan

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_verify(
    *,
    context: VerifyOrWriteContext,
    plan: VerifyPlan,
    check_verify_expected_token: bool,
    report_padding_slot: bool = False,
    num_slots: int | None = None,
    slot_stride_bytes: int | None = None,
    ring_capacity: int | None = None,
    workspace_len: int | None = None,
    verify_capacity: int | None = None,
    read_limit: int | None = None,
    source_0_words: int | None = None,
    source_1_words: int | None = None,
    source_2_words: int | None = None,
    source_3_words: int | None = None,
    read_class: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = (
        num_slots
        is slot_stride_bytes
        is ring_capacity
        is workspace_len
        is verify_capacity
        is read_limit
        is source_0_words
        is source_1_words
        is source_2_words
        is source_3_words
        is read_class
        is None
    )
    if derived and accepts_verify(
        context,
        plan,
        check_verify_expected_token,
        report_padding_slot,
    ):
        return
    broken = inspect_verify(
        context=context,
        plan=plan,
        check_verify_expected_token=check_verify_expected_token,
        report_padding_slot=report_padding_slot,
        num_slots=num_slots,
        slot_stride_bytes=slot_stride_bytes,
        ring_capacity=ring_capacity,
        workspace_len=workspace_len,
        verify_capacity=verify_capacity,
        read_limit=read_limit,
        source_0_words=source_0_words,
        source_1_words=source_1_words,
        source_2_words=source_2_words,
        source_3_words=source_3_words,
        read_class=read_class,
    )
    if broken:
        raise ContractError(broken)


def accepts_verify(
    context: Any,
    plan: Any,
    check_verify_expected_token: Any,
    report_padding_slot: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_verify says what is wrong.
    """
    try:
        if not (
            isinstance(context, VerifyOrWriteContext)
            and isinstance(plan, VerifyPlan)
            and check_verify_expected_token.__class__ is bool
            and report_padding_slot.__class__ is bool
        ):
            return False
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
        source_1 = real_kv_sources[1] if len(real_kv_sources) > 1 else None
        source_1_tensor = None if source_1 is None else source_1.tensor
        source_1_page_size = 0 if source_1 is None else source_1.page_size
        source_1_num_bytes_per_token = 0 if source_1 is None else source_1.num_bytes_per_token
        source_2 = real_kv_sources[2] if len(real_kv_sources) > 2 else None
        source_2_tensor = None if source_2 is None else source_2.tensor
        source_2_page_size = 0 if source_2 is None else source_2.page_size
        source_2_num_bytes_per_token = 0 if source_2 is None else source_2.num_bytes_per_token
        source_3 = real_kv_sources[3] if len(real_kv_sources) > 3 else None
        source_3_tensor = None if source_3 is None else source_3.tensor
        source_3_page_size = 0 if source_3 is None else source_3.page_size
        source_3_num_bytes_per_token = 0 if source_3 is None else source_3.num_bytes_per_token
        verify_slot_indices = plan.verify_slot_indices
        verify_expected_tokens = plan.verify_expected_tokens
        verify_expected_positions = plan.verify_expected_positions
        verify_prev_slot_indices = plan.verify_prev_slot_indices
        verify_num_valid = plan.verify_num_valid
        enable = plan.enable
        if not (
            (kernel_kind.__class__ is int or isinstance(kernel_kind, CanaryLaunchTag))
            and -9223372036854775808 <= kernel_kind <= 9223372036854775807
            and (
                isinstance(real_kv_hash_mode, RealKvHashMode)
                or (real_kv_hash_mode.__class__ is int and real_kv_hash_mode in (0, 1, 2))
            )
            and hash_format.__class__ is str
            and hash_format in ("serial", "parallel")
            and real_kv_sources.__class__ in (tuple, list)
            and (len(real_kv_sources) <= 0 or source_0.__class__ is RealKvSource)
            and (len(real_kv_sources) <= 1 or source_1.__class__ is RealKvSource)
            and (len(real_kv_sources) <= 2 or source_2.__class__ is RealKvSource)
            and (len(real_kv_sources) <= 3 or source_3.__class__ is RealKvSource)
        ):
            return False
        if not (
            is_contiguous(canary_buf)
            and canary_buf.dtype is uint8
            and (device := canary_buf.device) is not None
            and len(canary_buf_shape := canary_buf.shape) == 2
            and is_contiguous(violation_ring)
            and violation_ring.dtype is int64
            and violation_ring.device == device
            and len(violation_ring_shape := violation_ring.shape) == 2
            and is_contiguous(violation_write_index)
            and violation_write_index.dtype is int32
            and violation_write_index.device == device
            and violation_write_index.shape == (1,)
            and is_contiguous(slot_run_counter)
            and slot_run_counter.dtype is int64
            and slot_run_counter.device == device
            and slot_run_counter.shape == (1,)
            and is_contiguous(kernel_run_counter)
            and kernel_run_counter.dtype is int64
            and kernel_run_counter.device == device
            and kernel_run_counter.shape == (1,)
            and is_contiguous(enable_chain_position_assert)
            and enable_chain_position_assert.dtype is int32
            and enable_chain_position_assert.device == device
            and enable_chain_position_assert.shape == (1,)
            and (
                evidence_ring is None
                or (
                    is_contiguous(evidence_ring)
                    and evidence_ring.dtype is int64
                    and evidence_ring.device == device
                    and len(evidence_ring_shape := evidence_ring.shape) == 2
                )
            )
            and (
                workspace is None
                or (
                    is_contiguous(workspace)
                    and workspace.dtype is int64
                    and workspace.device == device
                    and workspace.dim() == 1
                )
            )
            and (source_0_tensor is None or source_0_tensor.device == device)
            and (source_1_tensor is None or source_1_tensor.device == device)
            and (source_2_tensor is None or source_2_tensor.device == device)
            and (source_3_tensor is None or source_3_tensor.device == device)
            and is_contiguous(verify_slot_indices)
            and verify_slot_indices.dtype is int64
            and verify_slot_indices.device == device
            and len(verify_slot_indices_shape := verify_slot_indices.shape) == 1
            and is_contiguous(verify_expected_tokens)
            and verify_expected_tokens.dtype is int64
            and verify_expected_tokens.device == device
            and verify_expected_tokens.shape == verify_slot_indices_shape
            and is_contiguous(verify_expected_positions)
            and verify_expected_positions.dtype is int64
            and verify_expected_positions.device == device
            and verify_expected_positions.shape == verify_slot_indices_shape
            and is_contiguous(verify_prev_slot_indices)
            and verify_prev_slot_indices.dtype is int64
            and verify_prev_slot_indices.device == device
            and verify_prev_slot_indices.shape == verify_slot_indices_shape
            and is_contiguous(verify_num_valid)
            and verify_num_valid.dtype is int32
            and verify_num_valid.device == device
            and verify_num_valid.shape == (1,)
            and is_contiguous(enable)
            and enable.dtype is int32
            and enable.device == device
            and enable.shape == (1,)
        ):
            return False
        num_slots = canary_buf_shape[0]
        slot_stride_bytes = canary_buf_shape[1]
        ring_capacity = violation_ring_shape[0]
        source_0_pages = 0 if source_0_tensor is None else source_0_tensor.shape[0]
        source_0_row_bytes = (
            0 if source_0_tensor is None else source_0_tensor.shape[1] * source_0_tensor.itemsize
        )
        source_1_pages = 0 if source_1_tensor is None else source_1_tensor.shape[0]
        source_1_row_bytes = (
            0 if source_1_tensor is None else source_1_tensor.shape[1] * source_1_tensor.itemsize
        )
        source_2_pages = 0 if source_2_tensor is None else source_2_tensor.shape[0]
        source_2_row_bytes = (
            0 if source_2_tensor is None else source_2_tensor.shape[1] * source_2_tensor.itemsize
        )
        source_3_pages = 0 if source_3_tensor is None else source_3_tensor.shape[0]
        source_3_row_bytes = (
            0 if source_3_tensor is None else source_3_tensor.shape[1] * source_3_tensor.itemsize
        )
        return (
            violation_ring_shape[1] == VIOLATION_FIELDS
            and (evidence_ring is None or evidence_ring_shape[0] == ring_capacity)
            and (evidence_ring is None or evidence_ring_shape[1] == VIOLATION_FIELDS)
            # verify.at_most_4_real_kv_sources
            and len(real_kv_sources) <= MAX_REAL_KV_SOURCES
            # verify.source_rows_packed
            and (source_0_tensor is None or source_0_tensor.stride()[-1] == 1)
            # verify.source_2_d
            and (source_0_tensor is None or source_0_tensor.dim() == 2)
            # verify.source_aligned
            and (source_0_tensor is None or source_0_tensor.data_ptr() % 16 == 0)
            # verify.source_row_holds_page
            and (
                source_0_tensor is None
                or source_0_row_bytes >= source_0_page_size * source_0_num_bytes_per_token
            )
            # verify.source_covers_slots
            and (source_0_tensor is None or source_0_pages * source_0_page_size >= num_slots)
            # verify.source_rows_packed
            and (source_1_tensor is None or source_1_tensor.stride()[-1] == 1)
            # verify.source_2_d
            and (source_1_tensor is None or source_1_tensor.dim() == 2)
            # verify.source_aligned
            and (source_1_tensor is None or source_1_tensor.data_ptr() % 16 == 0)
            # verify.source_row_holds_page
            and (
                source_1_tensor is None
                or source_1_row_bytes >= source_1_page_size * source_1_num_bytes_per_token
            )
            # verify.source_covers_slots
            and (source_1_tensor is None or source_1_pages * source_1_page_size >= num_slots)
            # verify.source_rows_packed
            and (source_2_tensor is None or source_2_tensor.stride()[-1] == 1)
            # verify.source_2_d
            and (source_2_tensor is None or source_2_tensor.dim() == 2)
            # verify.source_aligned
            and (source_2_tensor is None or source_2_tensor.data_ptr() % 16 == 0)
            # verify.source_row_holds_page
            and (
                source_2_tensor is None
                or source_2_row_bytes >= source_2_page_size * source_2_num_bytes_per_token
            )
            # verify.source_covers_slots
            and (source_2_tensor is None or source_2_pages * source_2_page_size >= num_slots)
            # verify.source_rows_packed
            and (source_3_tensor is None or source_3_tensor.stride()[-1] == 1)
            # verify.source_2_d
            and (source_3_tensor is None or source_3_tensor.dim() == 2)
            # verify.source_aligned
            and (source_3_tensor is None or source_3_tensor.data_ptr() % 16 == 0)
            # verify.source_row_holds_page
            and (
                source_3_tensor is None
                or source_3_row_bytes >= source_3_page_size * source_3_num_bytes_per_token
            )
            # verify.source_covers_slots
            and (source_3_tensor is None or source_3_pages * source_3_page_size >= num_slots)
            # verify.canary_slot_stride_aligned
            and slot_stride_bytes % 16 == 0
            # verify.canary_start_aligned
            and canary_buf.data_ptr() % 16 == 0
            # verify.canary_slot_holds_fields
            and slot_stride_bytes // 8 >= CANARY_FIELDS_PER_SLOT
        )
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_verify(
    *,
    context: Any,
    plan: Any,
    check_verify_expected_token: Any,
    report_padding_slot: Any = False,
    num_slots: Any = None,
    slot_stride_bytes: Any = None,
    ring_capacity: Any = None,
    workspace_len: Any = None,
    verify_capacity: Any = None,
    read_limit: Any = None,
    source_0_words: Any = None,
    source_1_words: Any = None,
    source_2_words: Any = None,
    source_3_words: Any = None,
    read_class: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("verify")
    # (a) The arguments are what they claim to be.
    inspection.required("verify.context.required", "context", context)
    inspection.instance("verify.context.type", "context", context, VerifyOrWriteContext)
    canary_buf = inspection.field("context", context, "canary_buf")
    inspection.required("verify.context.canary_buf.required", "canary_buf", canary_buf)
    inspection.tensor("verify.context.canary_buf.type", "canary_buf", canary_buf)
    violation_ring = inspection.field("context", context, "violation_ring")
    inspection.required("verify.context.violation_ring.required", "violation_ring", violation_ring)
    inspection.tensor("verify.context.violation_ring.type", "violation_ring", violation_ring)
    violation_write_index = inspection.field("context", context, "violation_write_index")
    inspection.required(
        "verify.context.violation_write_index.required",
        "violation_write_index",
        violation_write_index,
    )
    inspection.tensor(
        "verify.context.violation_write_index.type",
        "violation_write_index",
        violation_write_index,
    )
    slot_run_counter = inspection.field("context", context, "slot_run_counter")
    inspection.required(
        "verify.context.slot_run_counter.required",
        "slot_run_counter",
        slot_run_counter,
    )
    inspection.tensor("verify.context.slot_run_counter.type", "slot_run_counter", slot_run_counter)
    kernel_run_counter = inspection.field("context", context, "kernel_run_counter")
    inspection.required(
        "verify.context.kernel_run_counter.required",
        "kernel_run_counter",
        kernel_run_counter,
    )
    inspection.tensor(
        "verify.context.kernel_run_counter.type",
        "kernel_run_counter",
        kernel_run_counter,
    )
    enable_chain_position_assert = inspection.field(
        "context",
        context,
        "enable_chain_position_assert",
    )
    inspection.required(
        "verify.context.enable_chain_position_assert.required",
        "enable_chain_position_assert",
        enable_chain_position_assert,
    )
    inspection.tensor(
        "verify.context.enable_chain_position_assert.type",
        "enable_chain_position_assert",
        enable_chain_position_assert,
    )
    evidence_ring = inspection.field("context", context, "evidence_ring")
    inspection.tensor("verify.context.evidence_ring.type", "evidence_ring", evidence_ring)
    workspace = inspection.field("context", context, "workspace")
    inspection.tensor("verify.context.workspace.type", "workspace", workspace)
    kernel_kind = inspection.field("context", context, "kernel_kind")
    inspection.required("verify.context.kernel_kind.required", "kernel_kind", kernel_kind)
    kernel_kind = inspection.integer(
        "verify.context.kernel_kind.type",
        "kernel_kind",
        kernel_kind,
        CanaryLaunchTag,
    )
    real_kv_hash_mode = inspection.field("context", context, "real_kv_hash_mode")
    inspection.required(
        "verify.context.real_kv_hash_mode.required",
        "real_kv_hash_mode",
        real_kv_hash_mode,
    )
    real_kv_hash_mode = inspection.member(
        "verify.context.real_kv_hash_mode.type",
        "real_kv_hash_mode",
        real_kv_hash_mode,
        RealKvHashMode,
    )
    hash_format = inspection.field("context", context, "hash_format")
    inspection.required("verify.context.hash_format.required", "hash_format", hash_format)
    hash_format = inspection.choice(
        "verify.context.hash_format.type",
        "hash_format",
        hash_format,
        ("serial", "parallel"),
    )
    real_kv_sources = inspection.field("context", context, "real_kv_sources")
    inspection.required(
        "verify.context.real_kv_sources.required",
        "real_kv_sources",
        real_kv_sources,
    )
    real_kv_sources = inspection.listed(
        "verify.context.real_kv_sources.type",
        "real_kv_sources",
        real_kv_sources,
        RealKvSource,
    )
    real_kv_sources = inspection.items(
        "verify.context.real_kv_sources.items",
        "real_kv_sources",
        real_kv_sources,
        RealKvSource,
    )
    source_0_tensor = inspection.item_tensor(
        real_kv_sources,
        0,
        "tensor",
        "real_kv_sources[0].tensor",
    )
    source_1_tensor = inspection.item_tensor(
        real_kv_sources,
        1,
        "tensor",
        "real_kv_sources[1].tensor",
    )
    source_2_tensor = inspection.item_tensor(
        real_kv_sources,
        2,
        "tensor",
        "real_kv_sources[2].tensor",
    )
    source_3_tensor = inspection.item_tensor(
        real_kv_sources,
        3,
        "tensor",
        "real_kv_sources[3].tensor",
    )
    source_0_page_size = inspection.item_integer(real_kv_sources, 0, "page_size")
    source_0_num_bytes_per_token = inspection.item_integer(
        real_kv_sources,
        0,
        "num_bytes_per_token",
    )
    source_0_read_bytes = inspection.item_integer(real_kv_sources, 0, "read_bytes")
    source_1_page_size = inspection.item_integer(real_kv_sources, 1, "page_size")
    source_1_num_bytes_per_token = inspection.item_integer(
        real_kv_sources,
        1,
        "num_bytes_per_token",
    )
    source_1_read_bytes = inspection.item_integer(real_kv_sources, 1, "read_bytes")
    source_2_page_size = inspection.item_integer(real_kv_sources, 2, "page_size")
    source_2_num_bytes_per_token = inspection.item_integer(
        real_kv_sources,
        2,
        "num_bytes_per_token",
    )
    source_2_read_bytes = inspection.item_integer(real_kv_sources, 2, "read_bytes")
    source_3_page_size = inspection.item_integer(real_kv_sources, 3, "page_size")
    source_3_num_bytes_per_token = inspection.item_integer(
        real_kv_sources,
        3,
        "num_bytes_per_token",
    )
    source_3_read_bytes = inspection.item_integer(real_kv_sources, 3, "read_bytes")
    inspection.required("verify.plan.required", "plan", plan)
    inspection.instance("verify.plan.type", "plan", plan, VerifyPlan)
    verify_slot_indices = inspection.field("plan", plan, "verify_slot_indices")
    inspection.required(
        "verify.plan.verify_slot_indices.required",
        "plan.verify_slot_indices",
        verify_slot_indices,
    )
    inspection.tensor(
        "verify.plan.verify_slot_indices.type",
        "plan.verify_slot_indices",
        verify_slot_indices,
    )
    verify_expected_tokens = inspection.field("plan", plan, "verify_expected_tokens")
    inspection.required(
        "verify.plan.verify_expected_tokens.required",
        "plan.verify_expected_tokens",
        verify_expected_tokens,
    )
    inspection.tensor(
        "verify.plan.verify_expected_tokens.type",
        "plan.verify_expected_tokens",
        verify_expected_tokens,
    )
    verify_expected_positions = inspection.field("plan", plan, "verify_expected_positions")
    inspection.required(
        "verify.plan.verify_expected_positions.required",
        "plan.verify_expected_positions",
        verify_expected_positions,
    )
    inspection.tensor(
        "verify.plan.verify_expected_positions.type",
        "plan.verify_expected_positions",
        verify_expected_positions,
    )
    verify_prev_slot_indices = inspection.field("plan", plan, "verify_prev_slot_indices")
    inspection.required(
        "verify.plan.verify_prev_slot_indices.required",
        "plan.verify_prev_slot_indices",
        verify_prev_slot_indices,
    )
    inspection.tensor(
        "verify.plan.verify_prev_slot_indices.type",
        "plan.verify_prev_slot_indices",
        verify_prev_slot_indices,
    )
    verify_num_valid = inspection.field("plan", plan, "verify_num_valid")
    inspection.required(
        "verify.plan.verify_num_valid.required",
        "plan.verify_num_valid",
        verify_num_valid,
    )
    inspection.tensor(
        "verify.plan.verify_num_valid.type",
        "plan.verify_num_valid",
        verify_num_valid,
    )
    enable = inspection.field("plan", plan, "enable")
    inspection.required("verify.plan.enable.required", "plan.enable", enable)
    inspection.tensor("verify.plan.enable.type", "plan.enable", enable)
    inspection.required(
        "verify.check_verify_expected_token.required",
        "check_verify_expected_token",
        check_verify_expected_token,
    )
    check_verify_expected_token = inspection.boolean(
        "verify.check_verify_expected_token.type",
        "check_verify_expected_token",
        check_verify_expected_token,
    )
    inspection.required(
        "verify.report_padding_slot.required",
        "report_padding_slot",
        report_padding_slot,
    )
    report_padding_slot = inspection.boolean(
        "verify.report_padding_slot.type",
        "report_padding_slot",
        report_padding_slot,
    )
    num_slots = inspection.size_type("verify.num_slots.type", "num_slots", num_slots)
    slot_stride_bytes = inspection.size_type(
        "verify.slot_stride_bytes.type",
        "slot_stride_bytes",
        slot_stride_bytes,
    )
    ring_capacity = inspection.size_type(
        "verify.ring_capacity.type",
        "ring_capacity",
        ring_capacity,
    )
    workspace_len = inspection.size_type(
        "verify.workspace_len.type",
        "workspace_len",
        workspace_len,
    )
    verify_capacity = inspection.size_type(
        "verify.verify_capacity.type",
        "verify_capacity",
        verify_capacity,
    )
    read_limit = inspection.size_type("verify.read_limit.type", "read_limit", read_limit)
    source_0_words = inspection.size_type(
        "verify.source_0_words.type",
        "source_0_words",
        source_0_words,
    )
    source_1_words = inspection.size_type(
        "verify.source_1_words.type",
        "source_1_words",
        source_1_words,
    )
    source_2_words = inspection.size_type(
        "verify.source_2_words.type",
        "source_2_words",
        source_2_words,
    )
    source_3_words = inspection.size_type(
        "verify.source_3_words.type",
        "source_3_words",
        source_3_words,
    )
    read_class = inspection.size_type("verify.read_class.type", "read_class", read_class)
    kernel_kind = inspection.int64("verify.context.kernel_kind.int64", "kernel_kind", kernel_kind)

    # Sizes: as given, else from the first argument that has them.
    num_slots = inspection.size("num_slots", num_slots, "canary_buf", "context.canary_buf", 2, 0)
    slot_stride_bytes = inspection.size(
        "slot_stride_bytes",
        slot_stride_bytes,
        "canary_buf",
        "context.canary_buf",
        2,
        1,
    )
    ring_capacity = inspection.size(
        "ring_capacity",
        ring_capacity,
        "violation_ring",
        "context.violation_ring",
        2,
        0,
    )
    workspace_len = inspection.size(
        "workspace_len",
        workspace_len,
        "workspace",
        "context.workspace",
        1,
        0,
        absent=workspace is None,
    )
    source_0_pages = inspection.item_extent(source_0_tensor, 0)
    source_0_row_bytes = inspection.item_extent(source_0_tensor, 1, in_bytes=True)
    source_1_pages = inspection.item_extent(source_1_tensor, 0)
    source_1_row_bytes = inspection.item_extent(source_1_tensor, 1, in_bytes=True)
    source_2_pages = inspection.item_extent(source_2_tensor, 0)
    source_2_row_bytes = inspection.item_extent(source_2_tensor, 1, in_bytes=True)
    source_3_pages = inspection.item_extent(source_3_tensor, 0)
    source_3_row_bytes = inspection.item_extent(source_3_tensor, 1, in_bytes=True)
    verify_capacity = inspection.size(
        "verify_capacity",
        verify_capacity,
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        1,
        0,
    )
    if read_limit is None and real_kv_hash_mode is not None:
        read_limit = 2 * real_kv_hash_mode + real_kv_hash_mode // 2 * 1152921504606846976
    if source_0_words is None and source_0_read_bytes is not None and read_limit is not None:
        source_0_words = min(source_0_read_bytes // 8, read_limit)
    if source_1_words is None and source_1_read_bytes is not None and read_limit is not None:
        source_1_words = min(source_1_read_bytes // 8, read_limit)
    if source_2_words is None and source_2_read_bytes is not None and read_limit is not None:
        source_2_words = min(source_2_read_bytes // 8, read_limit)
    if source_3_words is None and source_3_read_bytes is not None and read_limit is not None:
        source_3_words = min(source_3_read_bytes // 8, read_limit)
    if (
        read_class is None
        and source_0_words is not None
        and source_1_words is not None
        and source_2_words is not None
        and source_3_words is not None
    ):
        read_class = min(
            1, source_0_words % 16 + source_1_words % 16 + source_2_words % 16 + source_3_words % 16
        ) + min(
            1, source_0_words % 4 + source_1_words % 4 + source_2_words % 4 + source_3_words % 4
        )

    # The launcher's own rules.
    if len(real_kv_sources) > MAX_REAL_KV_SOURCES:
        inspection.broken(
            "verify.at_most_4_real_kv_sources",
            "context.real_kv_sources",
            f"at most {MAX_REAL_KV_SOURCES} RealKvSource entries supported, got "
            f"{len(real_kv_sources)}",
            expected="the length of context.real_kv_sources is at most MAX_REAL_KV_SOURCES (4)",
            actual=f"len(context.real_kv_sources)={len(real_kv_sources)}",
        )
    if (
        source_0_tensor is not None
        and inspection.has_axes("real_kv_sources[0].tensor", 1)
        and source_0_tensor.stride()[-1] != 1
    ):
        inspection.broken(
            "verify.source_rows_packed",
            "context.real_kv_sources[0].tensor",
            "real_kv_sources[0].tensor rows must be packed (stride(-1) == 1), got strides "
            f"{tuple(source_0_tensor.stride())}",
            expected=(
                "if context.real_kv_sources[0].tensor is given, then "
                "context.real_kv_sources[0].tensor.stride(-1) equals 1"
            ),
            actual=f"context.real_kv_sources[0].tensor.stride()[-1]={source_0_tensor.stride()[-1]}",
        )
    if (
        source_0_tensor is not None
        and inspection.has_axes("real_kv_sources[0].tensor", 0)
        and source_0_tensor.dim() != 2
    ):
        inspection.broken(
            "verify.source_2_d",
            "context.real_kv_sources[0].tensor",
            "real_kv_sources[0].tensor (viewed as uint8) must be 2-D, got "
            f"{source_0_tensor.dim()}-D",
            expected=(
                "if context.real_kv_sources[0].tensor is given, then "
                "context.real_kv_sources[0].tensor.dim() equals 2"
            ),
            actual=f"context.real_kv_sources[0].tensor.dim()={source_0_tensor.dim()}",
        )
    if (
        source_0_tensor is not None
        and inspection.has_axes("real_kv_sources[0].tensor", 0)
        and source_0_tensor.data_ptr() % 16 != 0
    ):
        inspection.broken(
            "verify.source_aligned",
            "context.real_kv_sources[0].tensor",
            "real_kv_sources[0].tensor must start on a 16-byte boundary",
            expected=(
                "if context.real_kv_sources[0].tensor is given, then "
                "context.real_kv_sources[0].tensor.data_ptr() % 16 equals 0"
            ),
        )
    if (
        source_0_tensor is not None
        and source_0_row_bytes is not None
        and source_0_page_size is not None
        and source_0_num_bytes_per_token is not None
        and source_0_row_bytes < source_0_page_size * source_0_num_bytes_per_token
    ):
        inspection.broken(
            "verify.source_row_holds_page",
            "context.real_kv_sources[0].tensor",
            f"real_kv_sources[0].tensor rows hold {source_0_row_bytes} bytes, need page_size * "
            f"num_bytes_per_token = {source_0_page_size * source_0_num_bytes_per_token}",
            expected=(
                "if context.real_kv_sources[0].tensor is given, then source_0_row_bytes is at "
                "least source_0_page_size * source_0_num_bytes_per_token"
            ),
            actual=(
                f"source_0_row_bytes={source_0_row_bytes}, "
                f"source_0_page_size={source_0_page_size}, "
                f"source_0_num_bytes_per_token={source_0_num_bytes_per_token}"
            ),
        )
    if (
        source_0_tensor is not None
        and source_0_pages is not None
        and source_0_page_size is not None
        and num_slots is not None
        and source_0_pages * source_0_page_size < num_slots
    ):
        inspection.broken(
            "verify.source_covers_slots",
            "context.real_kv_sources[0].tensor",
            f"real_kv_sources[0].tensor covers {source_0_pages * source_0_page_size} slots, needs "
            f"{num_slots}",
            expected=(
                "if context.real_kv_sources[0].tensor is given, then source_0_pages * "
                "source_0_page_size is at least num_slots"
            ),
            actual=(
                f"source_0_pages={source_0_pages}, source_0_page_size={source_0_page_size}, "
                f"num_slots={num_slots}"
            ),
        )
    if (
        source_1_tensor is not None
        and inspection.has_axes("real_kv_sources[1].tensor", 1)
        and source_1_tensor.stride()[-1] != 1
    ):
        inspection.broken(
            "verify.source_rows_packed",
            "context.real_kv_sources[1].tensor",
            "real_kv_sources[1].tensor rows must be packed (stride(-1) == 1), got strides "
            f"{tuple(source_1_tensor.stride())}",
            expected=(
                "if context.real_kv_sources[1].tensor is given, then "
                "context.real_kv_sources[1].tensor.stride(-1) equals 1"
            ),
            actual=f"context.real_kv_sources[1].tensor.stride()[-1]={source_1_tensor.stride()[-1]}",
        )
    if (
        source_1_tensor is not None
        and inspection.has_axes("real_kv_sources[1].tensor", 0)
        and source_1_tensor.dim() != 2
    ):
        inspection.broken(
            "verify.source_2_d",
            "context.real_kv_sources[1].tensor",
            "real_kv_sources[1].tensor (viewed as uint8) must be 2-D, got "
            f"{source_1_tensor.dim()}-D",
            expected=(
                "if context.real_kv_sources[1].tensor is given, then "
                "context.real_kv_sources[1].tensor.dim() equals 2"
            ),
            actual=f"context.real_kv_sources[1].tensor.dim()={source_1_tensor.dim()}",
        )
    if (
        source_1_tensor is not None
        and inspection.has_axes("real_kv_sources[1].tensor", 0)
        and source_1_tensor.data_ptr() % 16 != 0
    ):
        inspection.broken(
            "verify.source_aligned",
            "context.real_kv_sources[1].tensor",
            "real_kv_sources[1].tensor must start on a 16-byte boundary",
            expected=(
                "if context.real_kv_sources[1].tensor is given, then "
                "context.real_kv_sources[1].tensor.data_ptr() % 16 equals 0"
            ),
        )
    if (
        source_1_tensor is not None
        and source_1_row_bytes is not None
        and source_1_page_size is not None
        and source_1_num_bytes_per_token is not None
        and source_1_row_bytes < source_1_page_size * source_1_num_bytes_per_token
    ):
        inspection.broken(
            "verify.source_row_holds_page",
            "context.real_kv_sources[1].tensor",
            f"real_kv_sources[1].tensor rows hold {source_1_row_bytes} bytes, need page_size * "
            f"num_bytes_per_token = {source_1_page_size * source_1_num_bytes_per_token}",
            expected=(
                "if context.real_kv_sources[1].tensor is given, then source_1_row_bytes is at "
                "least source_1_page_size * source_1_num_bytes_per_token"
            ),
            actual=(
                f"source_1_row_bytes={source_1_row_bytes}, "
                f"source_1_page_size={source_1_page_size}, "
                f"source_1_num_bytes_per_token={source_1_num_bytes_per_token}"
            ),
        )
    if (
        source_1_tensor is not None
        and source_1_pages is not None
        and source_1_page_size is not None
        and num_slots is not None
        and source_1_pages * source_1_page_size < num_slots
    ):
        inspection.broken(
            "verify.source_covers_slots",
            "context.real_kv_sources[1].tensor",
            f"real_kv_sources[1].tensor covers {source_1_pages * source_1_page_size} slots, needs "
            f"{num_slots}",
            expected=(
                "if context.real_kv_sources[1].tensor is given, then source_1_pages * "
                "source_1_page_size is at least num_slots"
            ),
            actual=(
                f"source_1_pages={source_1_pages}, source_1_page_size={source_1_page_size}, "
                f"num_slots={num_slots}"
            ),
        )
    if (
        source_2_tensor is not None
        and inspection.has_axes("real_kv_sources[2].tensor", 1)
        and source_2_tensor.stride()[-1] != 1
    ):
        inspection.broken(
            "verify.source_rows_packed",
            "context.real_kv_sources[2].tensor",
            "real_kv_sources[2].tensor rows must be packed (stride(-1) == 1), got strides "
            f"{tuple(source_2_tensor.stride())}",
            expected=(
                "if context.real_kv_sources[2].tensor is given, then "
                "context.real_kv_sources[2].tensor.stride(-1) equals 1"
            ),
            actual=f"context.real_kv_sources[2].tensor.stride()[-1]={source_2_tensor.stride()[-1]}",
        )
    if (
        source_2_tensor is not None
        and inspection.has_axes("real_kv_sources[2].tensor", 0)
        and source_2_tensor.dim() != 2
    ):
        inspection.broken(
            "verify.source_2_d",
            "context.real_kv_sources[2].tensor",
            "real_kv_sources[2].tensor (viewed as uint8) must be 2-D, got "
            f"{source_2_tensor.dim()}-D",
            expected=(
                "if context.real_kv_sources[2].tensor is given, then "
                "context.real_kv_sources[2].tensor.dim() equals 2"
            ),
            actual=f"context.real_kv_sources[2].tensor.dim()={source_2_tensor.dim()}",
        )
    if (
        source_2_tensor is not None
        and inspection.has_axes("real_kv_sources[2].tensor", 0)
        and source_2_tensor.data_ptr() % 16 != 0
    ):
        inspection.broken(
            "verify.source_aligned",
            "context.real_kv_sources[2].tensor",
            "real_kv_sources[2].tensor must start on a 16-byte boundary",
            expected=(
                "if context.real_kv_sources[2].tensor is given, then "
                "context.real_kv_sources[2].tensor.data_ptr() % 16 equals 0"
            ),
        )
    if (
        source_2_tensor is not None
        and source_2_row_bytes is not None
        and source_2_page_size is not None
        and source_2_num_bytes_per_token is not None
        and source_2_row_bytes < source_2_page_size * source_2_num_bytes_per_token
    ):
        inspection.broken(
            "verify.source_row_holds_page",
            "context.real_kv_sources[2].tensor",
            f"real_kv_sources[2].tensor rows hold {source_2_row_bytes} bytes, need page_size * "
            f"num_bytes_per_token = {source_2_page_size * source_2_num_bytes_per_token}",
            expected=(
                "if context.real_kv_sources[2].tensor is given, then source_2_row_bytes is at "
                "least source_2_page_size * source_2_num_bytes_per_token"
            ),
            actual=(
                f"source_2_row_bytes={source_2_row_bytes}, "
                f"source_2_page_size={source_2_page_size}, "
                f"source_2_num_bytes_per_token={source_2_num_bytes_per_token}"
            ),
        )
    if (
        source_2_tensor is not None
        and source_2_pages is not None
        and source_2_page_size is not None
        and num_slots is not None
        and source_2_pages * source_2_page_size < num_slots
    ):
        inspection.broken(
            "verify.source_covers_slots",
            "context.real_kv_sources[2].tensor",
            f"real_kv_sources[2].tensor covers {source_2_pages * source_2_page_size} slots, needs "
            f"{num_slots}",
            expected=(
                "if context.real_kv_sources[2].tensor is given, then source_2_pages * "
                "source_2_page_size is at least num_slots"
            ),
            actual=(
                f"source_2_pages={source_2_pages}, source_2_page_size={source_2_page_size}, "
                f"num_slots={num_slots}"
            ),
        )
    if (
        source_3_tensor is not None
        and inspection.has_axes("real_kv_sources[3].tensor", 1)
        and source_3_tensor.stride()[-1] != 1
    ):
        inspection.broken(
            "verify.source_rows_packed",
            "context.real_kv_sources[3].tensor",
            "real_kv_sources[3].tensor rows must be packed (stride(-1) == 1), got strides "
            f"{tuple(source_3_tensor.stride())}",
            expected=(
                "if context.real_kv_sources[3].tensor is given, then "
                "context.real_kv_sources[3].tensor.stride(-1) equals 1"
            ),
            actual=f"context.real_kv_sources[3].tensor.stride()[-1]={source_3_tensor.stride()[-1]}",
        )
    if (
        source_3_tensor is not None
        and inspection.has_axes("real_kv_sources[3].tensor", 0)
        and source_3_tensor.dim() != 2
    ):
        inspection.broken(
            "verify.source_2_d",
            "context.real_kv_sources[3].tensor",
            "real_kv_sources[3].tensor (viewed as uint8) must be 2-D, got "
            f"{source_3_tensor.dim()}-D",
            expected=(
                "if context.real_kv_sources[3].tensor is given, then "
                "context.real_kv_sources[3].tensor.dim() equals 2"
            ),
            actual=f"context.real_kv_sources[3].tensor.dim()={source_3_tensor.dim()}",
        )
    if (
        source_3_tensor is not None
        and inspection.has_axes("real_kv_sources[3].tensor", 0)
        and source_3_tensor.data_ptr() % 16 != 0
    ):
        inspection.broken(
            "verify.source_aligned",
            "context.real_kv_sources[3].tensor",
            "real_kv_sources[3].tensor must start on a 16-byte boundary",
            expected=(
                "if context.real_kv_sources[3].tensor is given, then "
                "context.real_kv_sources[3].tensor.data_ptr() % 16 equals 0"
            ),
        )
    if (
        source_3_tensor is not None
        and source_3_row_bytes is not None
        and source_3_page_size is not None
        and source_3_num_bytes_per_token is not None
        and source_3_row_bytes < source_3_page_size * source_3_num_bytes_per_token
    ):
        inspection.broken(
            "verify.source_row_holds_page",
            "context.real_kv_sources[3].tensor",
            f"real_kv_sources[3].tensor rows hold {source_3_row_bytes} bytes, need page_size * "
            f"num_bytes_per_token = {source_3_page_size * source_3_num_bytes_per_token}",
            expected=(
                "if context.real_kv_sources[3].tensor is given, then source_3_row_bytes is at "
                "least source_3_page_size * source_3_num_bytes_per_token"
            ),
            actual=(
                f"source_3_row_bytes={source_3_row_bytes}, "
                f"source_3_page_size={source_3_page_size}, "
                f"source_3_num_bytes_per_token={source_3_num_bytes_per_token}"
            ),
        )
    if (
        source_3_tensor is not None
        and source_3_pages is not None
        and source_3_page_size is not None
        and num_slots is not None
        and source_3_pages * source_3_page_size < num_slots
    ):
        inspection.broken(
            "verify.source_covers_slots",
            "context.real_kv_sources[3].tensor",
            f"real_kv_sources[3].tensor covers {source_3_pages * source_3_page_size} slots, needs "
            f"{num_slots}",
            expected=(
                "if context.real_kv_sources[3].tensor is given, then source_3_pages * "
                "source_3_page_size is at least num_slots"
            ),
            actual=(
                f"source_3_pages={source_3_pages}, source_3_page_size={source_3_page_size}, "
                f"num_slots={num_slots}"
            ),
        )

    # (b) Contiguity.
    inspection.contiguous("verify.context.canary_buf.contiguous", "canary_buf")
    inspection.contiguous("verify.context.violation_ring.contiguous", "violation_ring")
    inspection.contiguous(
        "verify.context.violation_write_index.contiguous",
        "violation_write_index",
    )
    inspection.contiguous("verify.context.slot_run_counter.contiguous", "slot_run_counter")
    inspection.contiguous("verify.context.kernel_run_counter.contiguous", "kernel_run_counter")
    inspection.contiguous(
        "verify.context.enable_chain_position_assert.contiguous",
        "enable_chain_position_assert",
    )
    inspection.contiguous("verify.context.evidence_ring.contiguous", "evidence_ring")
    inspection.contiguous("verify.context.workspace.contiguous", "workspace")
    inspection.contiguous("verify.plan.verify_slot_indices.contiguous", "plan.verify_slot_indices")
    inspection.contiguous(
        "verify.plan.verify_expected_tokens.contiguous",
        "plan.verify_expected_tokens",
    )
    inspection.contiguous(
        "verify.plan.verify_expected_positions.contiguous",
        "plan.verify_expected_positions",
    )
    inspection.contiguous(
        "verify.plan.verify_prev_slot_indices.contiguous",
        "plan.verify_prev_slot_indices",
    )
    inspection.contiguous("verify.plan.verify_num_valid.contiguous", "plan.verify_num_valid")
    inspection.contiguous("verify.plan.enable.contiguous", "plan.enable")

    # (c) Dtypes.
    inspection.dtype("verify.context.canary_buf.dtype", "canary_buf", uint8)
    inspection.dtype("verify.context.violation_ring.dtype", "violation_ring", int64)
    inspection.dtype("verify.context.violation_write_index.dtype", "violation_write_index", int32)
    inspection.dtype("verify.context.slot_run_counter.dtype", "slot_run_counter", int64)
    inspection.dtype("verify.context.kernel_run_counter.dtype", "kernel_run_counter", int64)
    inspection.dtype(
        "verify.context.enable_chain_position_assert.dtype",
        "enable_chain_position_assert",
        int32,
    )
    inspection.dtype("verify.context.evidence_ring.dtype", "evidence_ring", int64)
    inspection.dtype("verify.context.workspace.dtype", "workspace", int64)
    inspection.dtype("verify.plan.verify_slot_indices.dtype", "plan.verify_slot_indices", int64)
    inspection.dtype(
        "verify.plan.verify_expected_tokens.dtype",
        "plan.verify_expected_tokens",
        int64,
    )
    inspection.dtype(
        "verify.plan.verify_expected_positions.dtype",
        "plan.verify_expected_positions",
        int64,
    )
    inspection.dtype(
        "verify.plan.verify_prev_slot_indices.dtype",
        "plan.verify_prev_slot_indices",
        int64,
    )
    inspection.dtype("verify.plan.verify_num_valid.dtype", "plan.verify_num_valid", int32)
    inspection.dtype("verify.plan.enable.dtype", "plan.enable", int32)

    # (d) Rules on sizes.
    if slot_stride_bytes is not None and slot_stride_bytes % 16 != 0:
        inspection.broken(
            "verify.canary_slot_stride_aligned",
            "context.canary_buf",
            "canary_buf slot stride and start must be multiples of 16 bytes, got "
            f"{slot_stride_bytes}",
            expected="slot_stride_bytes % 16 equals 0",
            actual=f"slot_stride_bytes={slot_stride_bytes}",
        )
    if inspection.ranked("canary_buf", 2) and canary_buf.data_ptr() % 16 != 0:
        inspection.broken(
            "verify.canary_start_aligned",
            "context.canary_buf",
            "canary_buf slot stride and start must be multiples of 16 bytes, got "
            f"{canary_buf.data_ptr() % 16}",
            expected="context.canary_buf.data_ptr() % 16 equals 0",
        )
    if slot_stride_bytes is not None and slot_stride_bytes // 8 < CANARY_FIELDS_PER_SLOT:
        inspection.broken(
            "verify.canary_slot_holds_fields",
            "context.canary_buf",
            f"canary_buf slot stride must hold at least {CANARY_FIELDS_PER_SLOT} int64 fields, "
            f"got {slot_stride_bytes // 8}",
            expected="slot_stride_bytes // 8 is at least CANARY_FIELDS_PER_SLOT (4)",
            actual=f"slot_stride_bytes={slot_stride_bytes}",
        )

    # (e) Ranks and lengths.
    inspection.rank("verify.context.canary_buf.rank", "canary_buf", 2)
    inspection.length(
        "verify.context.canary_buf.slot_length",
        "canary_buf",
        2,
        0,
        num_slots,
        "num_slots",
    )
    inspection.length(
        "verify.context.canary_buf.field_length",
        "canary_buf",
        2,
        1,
        slot_stride_bytes,
        "slot_stride_bytes",
    )
    inspection.rank("verify.context.violation_ring.rank", "violation_ring", 2)
    inspection.length(
        "verify.context.violation_ring.violation_length",
        "violation_ring",
        2,
        0,
        ring_capacity,
        "ring_capacity",
    )
    inspection.length(
        "verify.context.violation_ring.field_length",
        "violation_ring",
        2,
        1,
        VIOLATION_FIELDS,
    )
    inspection.rank("verify.context.violation_write_index.rank", "violation_write_index", 1)
    inspection.length(
        "verify.context.violation_write_index.length",
        "violation_write_index",
        1,
        0,
        1,
    )
    inspection.rank("verify.context.slot_run_counter.rank", "slot_run_counter", 1)
    inspection.length("verify.context.slot_run_counter.length", "slot_run_counter", 1, 0, 1)
    inspection.rank("verify.context.kernel_run_counter.rank", "kernel_run_counter", 1)
    inspection.length("verify.context.kernel_run_counter.length", "kernel_run_counter", 1, 0, 1)
    inspection.rank(
        "verify.context.enable_chain_position_assert.rank",
        "enable_chain_position_assert",
        1,
    )
    inspection.length(
        "verify.context.enable_chain_position_assert.length",
        "enable_chain_position_assert",
        1,
        0,
        1,
    )
    inspection.rank("verify.context.evidence_ring.rank", "evidence_ring", 2)
    inspection.length(
        "verify.context.evidence_ring.violation_length",
        "evidence_ring",
        2,
        0,
        ring_capacity,
        "ring_capacity",
    )
    inspection.length(
        "verify.context.evidence_ring.field_length",
        "evidence_ring",
        2,
        1,
        VIOLATION_FIELDS,
    )
    inspection.rank("verify.context.workspace.rank", "workspace", 1)
    inspection.length(
        "verify.context.workspace.length",
        "workspace",
        1,
        0,
        workspace_len,
        "workspace_len",
    )
    inspection.rank("verify.plan.verify_slot_indices.rank", "plan.verify_slot_indices", 1)
    inspection.length(
        "verify.plan.verify_slot_indices.length",
        "plan.verify_slot_indices",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank("verify.plan.verify_expected_tokens.rank", "plan.verify_expected_tokens", 1)
    inspection.length(
        "verify.plan.verify_expected_tokens.length",
        "plan.verify_expected_tokens",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank(
        "verify.plan.verify_expected_positions.rank",
        "plan.verify_expected_positions",
        1,
    )
    inspection.length(
        "verify.plan.verify_expected_positions.length",
        "plan.verify_expected_positions",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank("verify.plan.verify_prev_slot_indices.rank", "plan.verify_prev_slot_indices", 1)
    inspection.length(
        "verify.plan.verify_prev_slot_indices.length",
        "plan.verify_prev_slot_indices",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank("verify.plan.verify_num_valid.rank", "plan.verify_num_valid", 1)
    inspection.length("verify.plan.verify_num_valid.length", "plan.verify_num_valid", 1, 0, 1)
    inspection.rank("verify.plan.enable.rank", "plan.enable", 1)
    inspection.length("verify.plan.enable.length", "plan.enable", 1, 0, 1)

    # (g) Devices.
    inspection.device("verify.context.violation_ring.device", "violation_ring", "canary_buf")
    inspection.device(
        "verify.context.violation_write_index.device",
        "violation_write_index",
        "canary_buf",
    )
    inspection.device("verify.context.slot_run_counter.device", "slot_run_counter", "canary_buf")
    inspection.device(
        "verify.context.kernel_run_counter.device",
        "kernel_run_counter",
        "canary_buf",
    )
    inspection.device(
        "verify.context.enable_chain_position_assert.device",
        "enable_chain_position_assert",
        "canary_buf",
    )
    inspection.device("verify.context.evidence_ring.device", "evidence_ring", "canary_buf")
    inspection.device("verify.context.workspace.device", "workspace", "canary_buf")
    inspection.device(
        "verify.context.real_kv_sources.tensor.device",
        "real_kv_sources[0].tensor",
        "canary_buf",
    )
    inspection.device(
        "verify.context.real_kv_sources.tensor.device",
        "real_kv_sources[1].tensor",
        "canary_buf",
    )
    inspection.device(
        "verify.context.real_kv_sources.tensor.device",
        "real_kv_sources[2].tensor",
        "canary_buf",
    )
    inspection.device(
        "verify.context.real_kv_sources.tensor.device",
        "real_kv_sources[3].tensor",
        "canary_buf",
    )
    inspection.device(
        "verify.plan.verify_slot_indices.device",
        "plan.verify_slot_indices",
        "canary_buf",
    )
    inspection.device(
        "verify.plan.verify_expected_tokens.device",
        "plan.verify_expected_tokens",
        "canary_buf",
    )
    inspection.device(
        "verify.plan.verify_expected_positions.device",
        "plan.verify_expected_positions",
        "canary_buf",
    )
    inspection.device(
        "verify.plan.verify_prev_slot_indices.device",
        "plan.verify_prev_slot_indices",
        "canary_buf",
    )
    inspection.device("verify.plan.verify_num_valid.device", "plan.verify_num_valid", "canary_buf")
    inspection.device("verify.plan.enable.device", "plan.enable", "canary_buf")
    return inspection.found()
