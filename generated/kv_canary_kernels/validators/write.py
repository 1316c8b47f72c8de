# Generated from spec/kernels/write.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_canary_write_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int32, int64, uint8

from kv_canary_kernels.constants import (
    CANARY_FIELDS_PER_SLOT,
    MAX_REAL_KV_SOURCES,
    VIOLATION_FIELDS,
    WRITE_SUM_FIELDS,
    WRITE_TOKEN_BLOCK,
    CanaryLaunchTag,
    RealKvHashMode,
)
from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection
from kv_canary_kernels.structs import RealKvSource, VerifyOrWriteContext, WritePlan

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_write(
    *,
    context: VerifyOrWriteContext,
    plan: WritePlan,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    enable_write_input_assert: bool,
    expected_input_tokens: Tensor | None,
    expected_input_positions: Tensor | None,
    num_slots: int | None = None,
    slot_stride_bytes: int | None = None,
    ring_capacity: int | None = None,
    workspace_len: int | None = None,
    write_req_capacity: int | None = None,
    num_tokens: int | None = None,
    read_limit: int | None = None,
    source_0_words: int | None = None,
    source_1_words: int | None = None,
    source_2_words: int | None = None,
    source_3_words: int | None = None,
    is_split: int | None = None,
    read_class: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = (
        num_slots
        is slot_stride_bytes
        is ring_capacity
        is workspace_len
        is write_req_capacity
        is num_tokens
        is read_limit
        is source_0_words
        is source_1_words
        is source_2_words
        is source_3_words
        is is_split
        is read_class
        is None
    )
    if derived and accepts_write(
        context,
        plan,
        input_ids,
        positions,
        out_cache_loc,
        enable_write_input_assert,
        expected_input_tokens,
        expected_input_positions,
    ):
        return
    broken = inspect_write(
        context=context,
        plan=plan,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
        enable_write_input_assert=enable_write_input_assert,
        expected_input_tokens=expected_input_tokens,
        expected_input_positions=expected_input_positions,
        num_slots=num_slots,
        slot_stride_bytes=slot_stride_bytes,
        ring_capacity=ring_capacity,
        workspace_len=workspace_len,
        write_req_capacity=write_req_capacity,
        num_tokens=num_tokens,
        read_limit=read_limit,
        source_0_words=source_0_words,
        source_1_words=source_1_words,
        source_2_words=source_2_words,
        source_3_words=source_3_words,
        is_split=is_split,
        read_class=read_class,
    )
    if broken:
        raise ContractError(broken)


def accepts_write(
    context: Any,
    plan: Any,
    input_ids: Any,
    positions: Any,
    out_cache_loc: Any,
    enable_write_input_assert: Any,
    expected_input_tokens: Any,
    expected_input_positions: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_write says what is wrong.
    """
    try:
        if not (
            isinstance(context, VerifyOrWriteContext)
            and isinstance(plan, WritePlan)
            and enable_write_input_assert.__class__ is bool
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
        write_offsets = plan.write_offsets
        write_seed_slot_indices = plan.write_seed_slot_indices
        write_num_valid_reqs = plan.write_num_valid_reqs
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
            and is_contiguous(write_offsets)
            and write_offsets.dtype is int64
            and write_offsets.device == device
            and len(write_offsets_shape := write_offsets.shape) == 1
            and is_contiguous(write_seed_slot_indices)
            and write_seed_slot_indices.dtype is int64
            and write_seed_slot_indices.device == device
            and len(write_seed_slot_indices_shape := write_seed_slot_indices.shape) == 1
            and is_contiguous(write_num_valid_reqs)
            and write_num_valid_reqs.dtype is int32
            and write_num_valid_reqs.device == device
            and write_num_valid_reqs.shape == (1,)
            and is_contiguous(input_ids)
            and input_ids.dtype is int64
            and input_ids.device == device
            and len(input_ids_shape := input_ids.shape) == 1
            and is_contiguous(positions)
            and positions.dtype is int64
            and positions.device == device
            and positions.shape == input_ids_shape
            and is_contiguous(out_cache_loc)
            and out_cache_loc.dtype is int64
            and out_cache_loc.device == device
            and out_cache_loc.shape == input_ids_shape
            and (
                expected_input_tokens is None
                or (
                    is_contiguous(expected_input_tokens)
                    and expected_input_tokens.dtype is int64
                    and expected_input_tokens.device == device
                    and expected_input_tokens.shape == input_ids_shape
                )
            )
            and (
                expected_input_positions is None
                or (
                    is_contiguous(expected_input_positions)
                    and expected_input_positions.dtype is int64
                    and expected_input_positions.device == device
                    and expected_input_positions.shape == input_ids_shape
                )
            )
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
        write_req_capacity = write_seed_slot_indices_shape[0]
        return (
            violation_ring_shape[1] == VIOLATION_FIELDS
            and (evidence_ring is None or evidence_ring_shape[0] == ring_capacity)
            and (evidence_ring is None or evidence_ring_shape[1] == VIOLATION_FIELDS)
            and write_offsets_shape[0] == write_req_capacity + 1
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
            # write.expected_inputs_required
            and (
                not enable_write_input_assert
                or (expected_input_tokens is not None and expected_input_positions is not None)
            )
            # write.expected_inputs_absent
            and (
                enable_write_input_assert
                or (expected_input_tokens is None and expected_input_positions is None)
            )
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


def inspect_write(
    *,
    context: Any,
    plan: Any,
    input_ids: Any,
    positions: Any,
    out_cache_loc: Any,
    enable_write_input_assert: Any,
    expected_input_tokens: Any,
    expected_input_positions: Any,
    num_slots: Any = None,
    slot_stride_bytes: Any = None,
    ring_capacity: Any = None,
    workspace_len: Any = None,
    write_req_capacity: Any = None,
    num_tokens: Any = None,
    read_limit: Any = None,
    source_0_words: Any = None,
    source_1_words: Any = None,
    source_2_words: Any = None,
    source_3_words: Any = None,
    is_split: Any = None,
    read_class: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("write")
    # (a) The arguments are what they claim to be.
    inspection.required("write.context.required", "context", context)
    inspection.instance("write.context.type", "context", context, VerifyOrWriteContext)
    canary_buf = inspection.field("context", context, "canary_buf")
    inspection.required("write.context.canary_buf.required", "canary_buf", canary_buf)
    inspection.tensor("write.context.canary_buf.type", "canary_buf", canary_buf)
    violation_ring = inspection.field("context", context, "violation_ring")
    inspection.required("write.context.violation_ring.required", "violation_ring", violation_ring)
    inspection.tensor("write.context.violation_ring.type", "violation_ring", violation_ring)
    violation_write_index = inspection.field("context", context, "violation_write_index")
    inspection.required(
        "write.context.violation_write_index.required",
        "violation_write_index",
        violation_write_index,
    )
    inspection.tensor(
        "write.context.violation_write_index.type",
        "violation_write_index",
        violation_write_index,
    )
    slot_run_counter = inspection.field("context", context, "slot_run_counter")
    inspection.required(
        "write.context.slot_run_counter.required",
        "slot_run_counter",
        slot_run_counter,
    )
    inspection.tensor("write.context.slot_run_counter.type", "slot_run_counter", slot_run_counter)
    kernel_run_counter = inspection.field("context", context, "kernel_run_counter")
    inspection.required(
        "write.context.kernel_run_counter.required",
        "kernel_run_counter",
        kernel_run_counter,
    )
    inspection.tensor(
        "write.context.kernel_run_counter.type",
        "kernel_run_counter",
        kernel_run_counter,
    )
    enable_chain_position_assert = inspection.field(
        "context",
        context,
        "enable_chain_position_assert",
    )
    inspection.required(
        "write.context.enable_chain_position_assert.required",
        "enable_chain_position_assert",
        enable_chain_position_assert,
    )
    inspection.tensor(
        "write.context.enable_chain_position_assert.type",
        "enable_chain_position_assert",
        enable_chain_position_assert,
    )
    evidence_ring = inspection.field("context", context, "evidence_ring")
    inspection.tensor("write.context.evidence_ring.type", "evidence_ring", evidence_ring)
    workspace = inspection.field("context", context, "workspace")
    inspection.tensor("write.context.workspace.type", "workspace", workspace)
    kernel_kind = inspection.field("context", context, "kernel_kind")
    inspection.required("write.context.kernel_kind.required", "kernel_kind", kernel_kind)
    kernel_kind = inspection.integer(
        "write.context.kernel_kind.type",
        "kernel_kind",
        kernel_kind,
        CanaryLaunchTag,
    )
    real_kv_hash_mode = inspection.field("context", context, "real_kv_hash_mode")
    inspection.required(
        "write.context.real_kv_hash_mode.required",
        "real_kv_hash_mode",
        real_kv_hash_mode,
    )
    real_kv_hash_mode = inspection.member(
        "write.context.real_kv_hash_mode.type",
        "real_kv_hash_mode",
        real_kv_hash_mode,
        RealKvHashMode,
    )
    hash_format = inspection.field("context", context, "hash_format")
    inspection.required("write.context.hash_format.required", "hash_format", hash_format)
    hash_format = inspection.choice(
        "write.context.hash_format.type",
        "hash_format",
        hash_format,
        ("serial", "parallel"),
    )
    real_kv_sources = inspection.field("context", context, "real_kv_sources")
    inspection.required(
        "write.context.real_kv_sources.required",
        "real_kv_sources",
        real_kv_sources,
    )
    real_kv_sources = inspection.listed(
        "write.context.real_kv_sources.type",
        "real_kv_sources",
        real_kv_sources,
        RealKvSource,
    )
    real_kv_sources = inspection.items(
        "write.context.real_kv_sources.items",
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
    inspection.required("write.plan.required", "plan", plan)
    inspection.instance("write.plan.type", "plan", plan, WritePlan)
    write_offsets = inspection.field("plan", plan, "write_offsets")
    inspection.required("write.plan.write_offsets.required", "plan.write_offsets", write_offsets)
    inspection.tensor("write.plan.write_offsets.type", "plan.write_offsets", write_offsets)
    write_seed_slot_indices = inspection.field("plan", plan, "write_seed_slot_indices")
    inspection.required(
        "write.plan.write_seed_slot_indices.required",
        "plan.write_seed_slot_indices",
        write_seed_slot_indices,
    )
    inspection.tensor(
        "write.plan.write_seed_slot_indices.type",
        "plan.write_seed_slot_indices",
        write_seed_slot_indices,
    )
    write_num_valid_reqs = inspection.field("plan", plan, "write_num_valid_reqs")
    inspection.required(
        "write.plan.write_num_valid_reqs.required",
        "plan.write_num_valid_reqs",
        write_num_valid_reqs,
    )
    inspection.tensor(
        "write.plan.write_num_valid_reqs.type",
        "plan.write_num_valid_reqs",
        write_num_valid_reqs,
    )
    inspection.required("write.input_ids.required", "input_ids", input_ids)
    inspection.tensor("write.input_ids.type", "input_ids", input_ids)
    inspection.required("write.positions.required", "positions", positions)
    inspection.tensor("write.positions.type", "positions", positions)
    inspection.required("write.out_cache_loc.required", "out_cache_loc", out_cache_loc)
    inspection.tensor("write.out_cache_loc.type", "out_cache_loc", out_cache_loc)
    inspection.required(
        "write.enable_write_input_assert.required",
        "enable_write_input_assert",
        enable_write_input_assert,
    )
    enable_write_input_assert = inspection.boolean(
        "write.enable_write_input_assert.type",
        "enable_write_input_assert",
        enable_write_input_assert,
    )
    inspection.tensor(
        "write.expected_input_tokens.type",
        "expected_input_tokens",
        expected_input_tokens,
    )
    inspection.tensor(
        "write.expected_input_positions.type",
        "expected_input_positions",
        expected_input_positions,
    )
    num_slots = inspection.size_type("write.num_slots.type", "num_slots", num_slots)
    slot_stride_bytes = inspection.size_type(
        "write.slot_stride_bytes.type",
        "slot_stride_bytes",
        slot_stride_bytes,
    )
    ring_capacity = inspection.size_type("write.ring_capacity.type", "ring_capacity", ring_capacity)
    workspace_len = inspection.size_type("write.workspace_len.type", "workspace_len", workspace_len)
    write_req_capacity = inspection.size_type(
        "write.write_req_capacity.type",
        "write_req_capacity",
        write_req_capacity,
    )
    num_tokens = inspection.size_type("write.num_tokens.type", "num_tokens", num_tokens)
    read_limit = inspection.size_type("write.read_limit.type", "read_limit", read_limit)
    source_0_words = inspection.size_type(
        "write.source_0_words.type",
        "source_0_words",
        source_0_words,
    )
    source_1_words = inspection.size_type(
        "write.source_1_words.type",
        "source_1_words",
        source_1_words,
    )
    source_2_words = inspection.size_type(
        "write.source_2_words.type",
        "source_2_words",
        source_2_words,
    )
    source_3_words = inspection.size_type(
        "write.source_3_words.type",
        "source_3_words",
        source_3_words,
    )
    is_split = inspection.size_type("write.is_split.type", "is_split", is_split)
    read_class = inspection.size_type("write.read_class.type", "read_class", read_class)
    kernel_kind = inspection.int64("write.context.kernel_kind.int64", "kernel_kind", kernel_kind)

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
    write_req_capacity = inspection.size(
        "write_req_capacity",
        write_req_capacity,
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        1,
        0,
    )
    num_tokens = inspection.size("num_tokens", num_tokens, "input_ids", "input_ids", 1, 0)
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
        is_split is None
        and num_tokens is not None
        and write_req_capacity is not None
        and workspace_len is not None
    ):
        is_split = min(1, max(0, num_tokens - max(2047, write_req_capacity + 1023))) * min(
            1,
            max(
                0,
                workspace_len // WRITE_SUM_FIELDS
                - num_tokens // WRITE_TOKEN_BLOCK
                - write_req_capacity,
            ),
        )
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
    inspection.contiguous("write.context.canary_buf.contiguous", "canary_buf")
    inspection.contiguous("write.context.violation_ring.contiguous", "violation_ring")
    inspection.contiguous("write.context.violation_write_index.contiguous", "violation_write_index")
    inspection.contiguous("write.context.slot_run_counter.contiguous", "slot_run_counter")
    inspection.contiguous("write.context.kernel_run_counter.contiguous", "kernel_run_counter")
    inspection.contiguous(
        "write.context.enable_chain_position_assert.contiguous",
        "enable_chain_position_assert",
    )
    inspection.contiguous("write.context.evidence_ring.contiguous", "evidence_ring")
    inspection.contiguous("write.context.workspace.contiguous", "workspace")
    inspection.contiguous("write.plan.write_offsets.contiguous", "plan.write_offsets")
    inspection.contiguous(
        "write.plan.write_seed_slot_indices.contiguous",
        "plan.write_seed_slot_indices",
    )
    inspection.contiguous("write.plan.write_num_valid_reqs.contiguous", "plan.write_num_valid_reqs")
    inspection.contiguous("write.input_ids.contiguous", "input_ids")
    inspection.contiguous("write.positions.contiguous", "positions")
    inspection.contiguous("write.out_cache_loc.contiguous", "out_cache_loc")
    inspection.contiguous("write.expected_input_tokens.contiguous", "expected_input_tokens")
    inspection.contiguous("write.expected_input_positions.contiguous", "expected_input_positions")

    # (c) Dtypes.
    inspection.dtype("write.context.canary_buf.dtype", "canary_buf", uint8)
    inspection.dtype("write.context.violation_ring.dtype", "violation_ring", int64)
    inspection.dtype("write.context.violation_write_index.dtype", "violation_write_index", int32)
    inspection.dtype("write.context.slot_run_counter.dtype", "slot_run_counter", int64)
    inspection.dtype("write.context.kernel_run_counter.dtype", "kernel_run_counter", int64)
    inspection.dtype(
        "write.context.enable_chain_position_assert.dtype",
        "enable_chain_position_assert",
        int32,
    )
    inspection.dtype("write.context.evidence_ring.dtype", "evidence_ring", int64)
    inspection.dtype("write.context.workspace.dtype", "workspace", int64)
    inspection.dtype("write.plan.write_offsets.dtype", "plan.write_offsets", int64)
    inspection.dtype(
        "write.plan.write_seed_slot_indices.dtype",
        "plan.write_seed_slot_indices",
        int64,
    )
    inspection.dtype("write.plan.write_num_valid_reqs.dtype", "plan.write_num_valid_reqs", int32)
    inspection.dtype("write.input_ids.dtype", "input_ids", int64)
    inspection.dtype("write.positions.dtype", "positions", int64)
    inspection.dtype("write.out_cache_loc.dtype", "out_cache_loc", int64)
    inspection.dtype("write.expected_input_tokens.dtype", "expected_input_tokens", int64)
    inspection.dtype("write.expected_input_positions.dtype", "expected_input_positions", int64)

    # (d) Rules on sizes.
    if (
        enable_write_input_assert is not None
        and enable_write_input_assert
        and (expected_input_tokens is None or expected_input_positions is None)
    ):
        inspection.broken(
            "write.expected_inputs_required",
            "expected_input_tokens",
            "expected input tensors are required when enable_write_input_assert=True",
            expected=(
                "if enable_write_input_assert is true, then expected_input_tokens is given, and "
                "expected_input_positions is given"
            ),
            actual=(
                f"enable_write_input_assert={enable_write_input_assert}, expected_input_tokens "
                f"given: {expected_input_tokens is not None}, expected_input_positions given: "
                f"{expected_input_positions is not None}"
            ),
        )
    if (
        enable_write_input_assert is not None
        and not enable_write_input_assert
        and (expected_input_tokens is not None or expected_input_positions is not None)
    ):
        inspection.broken(
            "write.expected_inputs_absent",
            "expected_input_tokens",
            "expected input tensors must be None when enable_write_input_assert=False",
            expected=(
                "if enable_write_input_assert is false, then expected_input_tokens is not given, "
                "and expected_input_positions is not given"
            ),
            actual=(
                f"enable_write_input_assert={enable_write_input_assert}, expected_input_tokens "
                f"given: {expected_input_tokens is not None}, expected_input_positions given: "
                f"{expected_input_positions is not None}"
            ),
        )
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
    inspection.rank("write.context.canary_buf.rank", "canary_buf", 2)
    inspection.length(
        "write.context.canary_buf.slot_length",
        "canary_buf",
        2,
        0,
        num_slots,
        "num_slots",
    )
    inspection.length(
        "write.context.canary_buf.field_length",
        "canary_buf",
        2,
        1,
        slot_stride_bytes,
        "slot_stride_bytes",
    )
    inspection.rank("write.context.violation_ring.rank", "violation_ring", 2)
    inspection.length(
        "write.context.violation_ring.violation_length",
        "violation_ring",
        2,
        0,
        ring_capacity,
        "ring_capacity",
    )
    inspection.length(
        "write.context.violation_ring.field_length",
        "violation_ring",
        2,
        1,
        VIOLATION_FIELDS,
    )
    inspection.rank("write.context.violation_write_index.rank", "violation_write_index", 1)
    inspection.length(
        "write.context.violation_write_index.length",
        "violation_write_index",
        1,
        0,
        1,
    )
    inspection.rank("write.context.slot_run_counter.rank", "slot_run_counter", 1)
    inspection.length("write.context.slot_run_counter.length", "slot_run_counter", 1, 0, 1)
    inspection.rank("write.context.kernel_run_counter.rank", "kernel_run_counter", 1)
    inspection.length("write.context.kernel_run_counter.length", "kernel_run_counter", 1, 0, 1)
    inspection.rank(
        "write.context.enable_chain_position_assert.rank",
        "enable_chain_position_assert",
        1,
    )
    inspection.length(
        "write.context.enable_chain_position_assert.length",
        "enable_chain_position_assert",
        1,
        0,
        1,
    )
    inspection.rank("write.context.evidence_ring.rank", "evidence_ring", 2)
    inspection.length(
        "write.context.evidence_ring.violation_length",
        "evidence_ring",
        2,
        0,
        ring_capacity,
        "ring_capacity",
    )
    inspection.length(
        "write.context.evidence_ring.field_length",
        "evidence_ring",
        2,
        1,
        VIOLATION_FIELDS,
    )
    inspection.rank("write.context.workspace.rank", "workspace", 1)
    inspection.length(
        "write.context.workspace.length",
        "workspace",
        1,
        0,
        workspace_len,
        "workspace_len",
    )
    inspection.rank("write.plan.write_offsets.rank", "plan.write_offsets", 1)
    inspection.length(
        "write.plan.write_offsets.length",
        "plan.write_offsets",
        1,
        0,
        None if write_req_capacity is None else write_req_capacity + 1,
    )
    inspection.rank("write.plan.write_seed_slot_indices.rank", "plan.write_seed_slot_indices", 1)
    inspection.length(
        "write.plan.write_seed_slot_indices.length",
        "plan.write_seed_slot_indices",
        1,
        0,
        write_req_capacity,
        "write_req_capacity",
    )
    inspection.rank("write.plan.write_num_valid_reqs.rank", "plan.write_num_valid_reqs", 1)
    inspection.length(
        "write.plan.write_num_valid_reqs.length",
        "plan.write_num_valid_reqs",
        1,
        0,
        1,
    )
    inspection.rank("write.input_ids.rank", "input_ids", 1)
    inspection.length("write.input_ids.length", "input_ids", 1, 0, num_tokens, "num_tokens")
    inspection.rank("write.positions.rank", "positions", 1)
    inspection.length("write.positions.length", "positions", 1, 0, num_tokens, "num_tokens")
    inspection.rank("write.out_cache_loc.rank", "out_cache_loc", 1)
    inspection.length("write.out_cache_loc.length", "out_cache_loc", 1, 0, num_tokens, "num_tokens")
    inspection.rank("write.expected_input_tokens.rank", "expected_input_tokens", 1)
    inspection.length(
        "write.expected_input_tokens.length",
        "expected_input_tokens",
        1,
        0,
        num_tokens,
        "num_tokens",
    )
    inspection.rank("write.expected_input_positions.rank", "expected_input_positions", 1)
    inspection.length(
        "write.expected_input_positions.length",
        "expected_input_positions",
        1,
        0,
        num_tokens,
        "num_tokens",
    )

    # (g) Devices.
    inspection.device("write.context.violation_ring.device", "violation_ring", "canary_buf")
    inspection.device(
        "write.context.violation_write_index.device",
        "violation_write_index",
        "canary_buf",
    )
    inspection.device("write.context.slot_run_counter.device", "slot_run_counter", "canary_buf")
    inspection.device("write.context.kernel_run_counter.device", "kernel_run_counter", "canary_buf")
    inspection.device(
        "write.context.enable_chain_position_assert.device",
        "enable_chain_position_assert",
        "canary_buf",
    )
    inspection.device("write.context.evidence_ring.device", "evidence_ring", "canary_buf")
    inspection.device("write.context.workspace.device", "workspace", "canary_buf")
    inspection.device(
        "write.context.real_kv_sources.tensor.device",
        "real_kv_sources[0].tensor",
        "canary_buf",
    )
    inspection.device(
        "write.context.real_kv_sources.tensor.device",
        "real_kv_sources[1].tensor",
        "canary_buf",
    )
    inspection.device(
        "write.context.real_kv_sources.tensor.device",
        "real_kv_sources[2].tensor",
        "canary_buf",
    )
    inspection.device(
        "write.context.real_kv_sources.tensor.device",
        "real_kv_sources[3].tensor",
        "canary_buf",
    )
    inspection.device("write.plan.write_offsets.device", "plan.write_offsets", "canary_buf")
    inspection.device(
        "write.plan.write_seed_slot_indices.device",
        "plan.write_seed_slot_indices",
        "canary_buf",
    )
    inspection.device(
        "write.plan.write_num_valid_reqs.device",
        "plan.write_num_valid_reqs",
        "canary_buf",
    )
    inspection.device("write.input_ids.device", "input_ids", "canary_buf")
    inspection.device("write.positions.device", "positions", "canary_buf")
    inspection.device("write.out_cache_loc.device", "out_cache_loc", "canary_buf")
    inspection.device("write.expected_input_tokens.device", "expected_input_tokens", "canary_buf")
    inspection.device(
        "write.expected_input_positions.device",
        "expected_input_positions",
        "canary_buf",
    )
    return inspection.found()
