# Generated from spec/kernels/plan_entries.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_plan_entries_kernel, checked on the host before any device work."""

from typing import Any

from torch import Tensor, int32, int64

from kv_canary_kernels.contract import BrokenRule, ContractError, Inspection

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous


def validate_plan_entries(
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
    bs: int | None = None,
    max_reqs: int | None = None,
    max_seq_len: int | None = None,
    lut_len: int | None = None,
    token_rows: int | None = None,
    token_columns: int | None = None,
    verify_capacity: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = (
        bs
        is max_reqs
        is max_seq_len
        is lut_len
        is token_rows
        is token_columns
        is verify_capacity
        is None
    )
    if derived and accepts_plan_entries(
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
        return
    broken = inspect_plan_entries(
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
        bs=bs,
        max_reqs=max_reqs,
        max_seq_len=max_seq_len,
        lut_len=lut_len,
        token_rows=token_rows,
        token_columns=token_columns,
        verify_capacity=verify_capacity,
    )
    if broken:
        raise ContractError(broken)


def accepts_plan_entries(
    req_pool_indices: Any,
    prefix_lens: Any,
    req_to_token: Any,
    full_to_swa_index_mapping: Any,
    verify_offsets_scratch: Any,
    verify_enable: Any,
    req_to_verify_expected_tokens: Any,
    req_to_verify_expected_tokens_valid_lens: Any,
    out_verify_slot_indices: Any,
    out_verify_expected_tokens: Any,
    out_verify_expected_positions: Any,
    out_verify_prev_slot_indices: Any,
    kv_token_id_vs_position_offset: Any,
    swa_window_size: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_plan_entries says what is wrong.
    """
    try:
        if not (
            kv_token_id_vs_position_offset.__class__ is int
            and -9223372036854775808 <= kv_token_id_vs_position_offset <= 9223372036854775807
            and swa_window_size.__class__ is int
            and -9223372036854775808 <= swa_window_size <= 9223372036854775807
        ):
            return False
        if not (
            is_contiguous(out_verify_slot_indices)
            and out_verify_slot_indices.dtype is int64
            and (device := out_verify_slot_indices.device) is not None
            and len(out_verify_slot_indices_shape := out_verify_slot_indices.shape) == 1
            and is_contiguous(req_pool_indices)
            and req_pool_indices.dtype is int64
            and req_pool_indices.device == device
            and len(req_pool_indices_shape := req_pool_indices.shape) == 1
            and is_contiguous(prefix_lens)
            and prefix_lens.dtype is int64
            and prefix_lens.device == device
            and prefix_lens.shape == req_pool_indices_shape
            and is_contiguous(req_to_token)
            and req_to_token.dtype is int32
            and req_to_token.device == device
            and req_to_token.dim() == 2
            and (
                full_to_swa_index_mapping is None
                or (
                    is_contiguous(full_to_swa_index_mapping)
                    and full_to_swa_index_mapping.dtype is int64
                    and full_to_swa_index_mapping.device == device
                    and full_to_swa_index_mapping.dim() == 1
                )
            )
            and is_contiguous(verify_offsets_scratch)
            and verify_offsets_scratch.dtype is int64
            and verify_offsets_scratch.device == device
            and len(verify_offsets_scratch_shape := verify_offsets_scratch.shape) == 1
            and is_contiguous(verify_enable)
            and verify_enable.dtype is int32
            and verify_enable.device == device
            and verify_enable.shape == (1,)
            and (
                req_to_verify_expected_tokens is None
                or (
                    is_contiguous(req_to_verify_expected_tokens)
                    and req_to_verify_expected_tokens.dtype is int32
                    and req_to_verify_expected_tokens.device == device
                    and req_to_verify_expected_tokens.dim() == 2
                )
            )
            and (
                req_to_verify_expected_tokens_valid_lens is None
                or (
                    is_contiguous(req_to_verify_expected_tokens_valid_lens)
                    and req_to_verify_expected_tokens_valid_lens.dtype is int64
                    and req_to_verify_expected_tokens_valid_lens.device == device
                    and req_to_verify_expected_tokens_valid_lens.shape == req_pool_indices_shape
                )
            )
            and is_contiguous(out_verify_expected_tokens)
            and out_verify_expected_tokens.dtype is int64
            and out_verify_expected_tokens.device == device
            and out_verify_expected_tokens.shape == out_verify_slot_indices_shape
            and is_contiguous(out_verify_expected_positions)
            and out_verify_expected_positions.dtype is int64
            and out_verify_expected_positions.device == device
            and out_verify_expected_positions.shape == out_verify_slot_indices_shape
            and is_contiguous(out_verify_prev_slot_indices)
            and out_verify_prev_slot_indices.dtype is int64
            and out_verify_prev_slot_indices.device == device
            and out_verify_prev_slot_indices.shape == out_verify_slot_indices_shape
        ):
            return False
        bs = req_pool_indices_shape[0]
        return (
            verify_offsets_scratch_shape[0] >= bs + 1
            # plan_entries.expected_tokens_need_valid_lens
            and (
                req_to_verify_expected_tokens is None
                or req_to_verify_expected_tokens_valid_lens is not None
            )
        )
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_plan_entries(
    *,
    req_pool_indices: Any,
    prefix_lens: Any,
    req_to_token: Any,
    full_to_swa_index_mapping: Any,
    verify_offsets_scratch: Any,
    verify_enable: Any,
    req_to_verify_expected_tokens: Any,
    req_to_verify_expected_tokens_valid_lens: Any,
    out_verify_slot_indices: Any,
    out_verify_expected_tokens: Any,
    out_verify_expected_positions: Any,
    out_verify_prev_slot_indices: Any,
    kv_token_id_vs_position_offset: Any,
    swa_window_size: Any,
    bs: Any = None,
    max_reqs: Any = None,
    max_seq_len: Any = None,
    lut_len: Any = None,
    token_rows: Any = None,
    token_columns: Any = None,
    verify_capacity: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("plan_entries")
    # (a) The arguments are what they claim to be.
    inspection.required(
        "plan_entries.req_pool_indices.required",
        "req_pool_indices",
        req_pool_indices,
    )
    inspection.tensor("plan_entries.req_pool_indices.type", "req_pool_indices", req_pool_indices)
    inspection.required("plan_entries.prefix_lens.required", "prefix_lens", prefix_lens)
    inspection.tensor("plan_entries.prefix_lens.type", "prefix_lens", prefix_lens)
    inspection.required("plan_entries.req_to_token.required", "req_to_token", req_to_token)
    inspection.tensor("plan_entries.req_to_token.type", "req_to_token", req_to_token)
    inspection.tensor(
        "plan_entries.full_to_swa_index_mapping.type",
        "full_to_swa_index_mapping",
        full_to_swa_index_mapping,
    )
    inspection.required(
        "plan_entries.verify_offsets_scratch.required",
        "verify_offsets_scratch",
        verify_offsets_scratch,
    )
    inspection.tensor(
        "plan_entries.verify_offsets_scratch.type",
        "verify_offsets_scratch",
        verify_offsets_scratch,
    )
    inspection.required("plan_entries.verify_enable.required", "verify_enable", verify_enable)
    inspection.tensor("plan_entries.verify_enable.type", "verify_enable", verify_enable)
    inspection.tensor(
        "plan_entries.req_to_verify_expected_tokens.type",
        "req_to_verify_expected_tokens",
        req_to_verify_expected_tokens,
    )
    inspection.tensor(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.type",
        "req_to_verify_expected_tokens_valid_lens",
        req_to_verify_expected_tokens_valid_lens,
    )
    inspection.required(
        "plan_entries.out_verify_slot_indices.required",
        "out_verify_slot_indices",
        out_verify_slot_indices,
    )
    inspection.tensor(
        "plan_entries.out_verify_slot_indices.type",
        "out_verify_slot_indices",
        out_verify_slot_indices,
    )
    inspection.required(
        "plan_entries.out_verify_expected_tokens.required",
        "out_verify_expected_tokens",
        out_verify_expected_tokens,
    )
    inspection.tensor(
        "plan_entries.out_verify_expected_tokens.type",
        "out_verify_expected_tokens",
        out_verify_expected_tokens,
    )
    inspection.required(
        "plan_entries.out_verify_expected_positions.required",
        "out_verify_expected_positions",
        out_verify_expected_positions,
    )
    inspection.tensor(
        "plan_entries.out_verify_expected_positions.type",
        "out_verify_expected_positions",
        out_verify_expected_positions,
    )
    inspection.required(
        "plan_entries.out_verify_prev_slot_indices.required",
        "out_verify_prev_slot_indices",
        out_verify_prev_slot_indices,
    )
    inspection.tensor(
        "plan_entries.out_verify_prev_slot_indices.type",
        "out_verify_prev_slot_indices",
        out_verify_prev_slot_indices,
    )
    inspection.required(
        "plan_entries.kv_token_id_vs_position_offset.required",
        "kv_token_id_vs_position_offset",
        kv_token_id_vs_position_offset,
    )
    kv_token_id_vs_position_offset = inspection.integer(
        "plan_entries.kv_token_id_vs_position_offset.type",
        "kv_token_id_vs_position_offset",
        kv_token_id_vs_position_offset,
    )
    inspection.required("plan_entries.swa_window_size.required", "swa_window_size", swa_window_size)
    swa_window_size = inspection.integer(
        "plan_entries.swa_window_size.type",
        "swa_window_size",
        swa_window_size,
    )
    bs = inspection.size_type("plan_entries.bs.type", "bs", bs)
    max_reqs = inspection.size_type("plan_entries.max_reqs.type", "max_reqs", max_reqs)
    max_seq_len = inspection.size_type("plan_entries.max_seq_len.type", "max_seq_len", max_seq_len)
    lut_len = inspection.size_type("plan_entries.lut_len.type", "lut_len", lut_len)
    token_rows = inspection.size_type("plan_entries.token_rows.type", "token_rows", token_rows)
    token_columns = inspection.size_type(
        "plan_entries.token_columns.type",
        "token_columns",
        token_columns,
    )
    verify_capacity = inspection.size_type(
        "plan_entries.verify_capacity.type",
        "verify_capacity",
        verify_capacity,
    )
    kv_token_id_vs_position_offset = inspection.int64(
        "plan_entries.kv_token_id_vs_position_offset.int64",
        "kv_token_id_vs_position_offset",
        kv_token_id_vs_position_offset,
    )
    swa_window_size = inspection.int64(
        "plan_entries.swa_window_size.int64",
        "swa_window_size",
        swa_window_size,
    )

    # Sizes: as given, else from the first argument that has them.
    bs = inspection.size("bs", bs, "req_pool_indices", "req_pool_indices", 1, 0)
    max_reqs = inspection.size("max_reqs", max_reqs, "req_to_token", "req_to_token", 2, 0)
    max_seq_len = inspection.size("max_seq_len", max_seq_len, "req_to_token", "req_to_token", 2, 1)
    lut_len = inspection.size(
        "lut_len",
        lut_len,
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        1,
        0,
        absent=full_to_swa_index_mapping is None,
    )
    token_rows = inspection.size(
        "token_rows",
        token_rows,
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        2,
        0,
        absent=req_to_verify_expected_tokens is None,
    )
    token_columns = inspection.size(
        "token_columns",
        token_columns,
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        2,
        1,
        absent=req_to_verify_expected_tokens is None,
    )
    verify_capacity = inspection.size(
        "verify_capacity",
        verify_capacity,
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        1,
        0,
    )

    # (b) Contiguity.
    inspection.contiguous("plan_entries.req_pool_indices.contiguous", "req_pool_indices")
    inspection.contiguous("plan_entries.prefix_lens.contiguous", "prefix_lens")
    inspection.contiguous("plan_entries.req_to_token.contiguous", "req_to_token")
    inspection.contiguous(
        "plan_entries.full_to_swa_index_mapping.contiguous",
        "full_to_swa_index_mapping",
    )
    inspection.contiguous(
        "plan_entries.verify_offsets_scratch.contiguous",
        "verify_offsets_scratch",
    )
    inspection.contiguous("plan_entries.verify_enable.contiguous", "verify_enable")
    inspection.contiguous(
        "plan_entries.req_to_verify_expected_tokens.contiguous",
        "req_to_verify_expected_tokens",
    )
    inspection.contiguous(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.contiguous",
        "req_to_verify_expected_tokens_valid_lens",
    )
    inspection.contiguous(
        "plan_entries.out_verify_slot_indices.contiguous",
        "out_verify_slot_indices",
    )
    inspection.contiguous(
        "plan_entries.out_verify_expected_tokens.contiguous",
        "out_verify_expected_tokens",
    )
    inspection.contiguous(
        "plan_entries.out_verify_expected_positions.contiguous",
        "out_verify_expected_positions",
    )
    inspection.contiguous(
        "plan_entries.out_verify_prev_slot_indices.contiguous",
        "out_verify_prev_slot_indices",
    )

    # (c) Dtypes.
    inspection.dtype("plan_entries.req_pool_indices.dtype", "req_pool_indices", int64)
    inspection.dtype("plan_entries.prefix_lens.dtype", "prefix_lens", int64)
    inspection.dtype("plan_entries.req_to_token.dtype", "req_to_token", int32)
    inspection.dtype(
        "plan_entries.full_to_swa_index_mapping.dtype",
        "full_to_swa_index_mapping",
        int64,
    )
    inspection.dtype("plan_entries.verify_offsets_scratch.dtype", "verify_offsets_scratch", int64)
    inspection.dtype("plan_entries.verify_enable.dtype", "verify_enable", int32)
    inspection.dtype(
        "plan_entries.req_to_verify_expected_tokens.dtype",
        "req_to_verify_expected_tokens",
        int32,
    )
    inspection.dtype(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.dtype",
        "req_to_verify_expected_tokens_valid_lens",
        int64,
    )
    inspection.dtype("plan_entries.out_verify_slot_indices.dtype", "out_verify_slot_indices", int64)
    inspection.dtype(
        "plan_entries.out_verify_expected_tokens.dtype",
        "out_verify_expected_tokens",
        int64,
    )
    inspection.dtype(
        "plan_entries.out_verify_expected_positions.dtype",
        "out_verify_expected_positions",
        int64,
    )
    inspection.dtype(
        "plan_entries.out_verify_prev_slot_indices.dtype",
        "out_verify_prev_slot_indices",
        int64,
    )

    # (d) Rules on sizes.
    if (
        req_to_verify_expected_tokens is not None
        and req_to_verify_expected_tokens_valid_lens is None
    ):
        inspection.broken(
            "plan_entries.expected_tokens_need_valid_lens",
            "req_to_verify_expected_tokens_valid_lens",
            "launch_plan_entries_kernel requires req_to_verify_expected_tokens_valid_lens when "
            "req_to_verify_expected_tokens is set",
            expected=(
                "if req_to_verify_expected_tokens is given, then "
                "req_to_verify_expected_tokens_valid_lens is given"
            ),
            actual=(
                "req_to_verify_expected_tokens given: "
                f"{req_to_verify_expected_tokens is not None}, "
                "req_to_verify_expected_tokens_valid_lens given: "
                f"{req_to_verify_expected_tokens_valid_lens is not None}"
            ),
        )

    # (e) Ranks and lengths.
    inspection.rank("plan_entries.req_pool_indices.rank", "req_pool_indices", 1)
    inspection.length("plan_entries.req_pool_indices.length", "req_pool_indices", 1, 0, bs, "bs")
    inspection.rank("plan_entries.prefix_lens.rank", "prefix_lens", 1)
    inspection.length("plan_entries.prefix_lens.length", "prefix_lens", 1, 0, bs, "bs")
    inspection.rank("plan_entries.req_to_token.rank", "req_to_token", 2)
    inspection.length(
        "plan_entries.req_to_token.row_length",
        "req_to_token",
        2,
        0,
        max_reqs,
        "max_reqs",
    )
    inspection.length(
        "plan_entries.req_to_token.position_length",
        "req_to_token",
        2,
        1,
        max_seq_len,
        "max_seq_len",
    )
    inspection.rank("plan_entries.full_to_swa_index_mapping.rank", "full_to_swa_index_mapping", 1)
    inspection.length(
        "plan_entries.full_to_swa_index_mapping.length",
        "full_to_swa_index_mapping",
        1,
        0,
        lut_len,
        "lut_len",
    )
    inspection.rank("plan_entries.verify_offsets_scratch.rank", "verify_offsets_scratch", 1)
    inspection.at_least(
        "plan_entries.verify_offsets_scratch.length",
        "verify_offsets_scratch",
        1,
        0,
        None if bs is None else bs + 1,
    )
    inspection.rank("plan_entries.verify_enable.rank", "verify_enable", 1)
    inspection.length("plan_entries.verify_enable.length", "verify_enable", 1, 0, 1)
    inspection.rank(
        "plan_entries.req_to_verify_expected_tokens.rank",
        "req_to_verify_expected_tokens",
        2,
    )
    inspection.length(
        "plan_entries.req_to_verify_expected_tokens.row_length",
        "req_to_verify_expected_tokens",
        2,
        0,
        token_rows,
        "token_rows",
    )
    inspection.length(
        "plan_entries.req_to_verify_expected_tokens.column_length",
        "req_to_verify_expected_tokens",
        2,
        1,
        token_columns,
        "token_columns",
    )
    inspection.rank(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.rank",
        "req_to_verify_expected_tokens_valid_lens",
        1,
    )
    inspection.length(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.length",
        "req_to_verify_expected_tokens_valid_lens",
        1,
        0,
        bs,
        "bs",
    )
    inspection.rank("plan_entries.out_verify_slot_indices.rank", "out_verify_slot_indices", 1)
    inspection.length(
        "plan_entries.out_verify_slot_indices.length",
        "out_verify_slot_indices",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank("plan_entries.out_verify_expected_tokens.rank", "out_verify_expected_tokens", 1)
    inspection.length(
        "plan_entries.out_verify_expected_tokens.length",
        "out_verify_expected_tokens",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank(
        "plan_entries.out_verify_expected_positions.rank",
        "out_verify_expected_positions",
        1,
    )
    inspection.length(
        "plan_entries.out_verify_expected_positions.length",
        "out_verify_expected_positions",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )
    inspection.rank(
        "plan_entries.out_verify_prev_slot_indices.rank",
        "out_verify_prev_slot_indices",
        1,
    )
    inspection.length(
        "plan_entries.out_verify_prev_slot_indices.length",
        "out_verify_prev_slot_indices",
        1,
        0,
        verify_capacity,
        "verify_capacity",
    )

    # (g) Devices.
    inspection.device(
        "plan_entries.req_pool_indices.device",
        "req_pool_indices",
        "out_verify_slot_indices",
    )
    inspection.device("plan_entries.prefix_lens.device", "prefix_lens", "out_verify_slot_indices")
    inspection.device("plan_entries.req_to_token.device", "req_to_token", "out_verify_slot_indices")
    inspection.device(
        "plan_entries.full_to_swa_index_mapping.device",
        "full_to_swa_index_mapping",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.verify_offsets_scratch.device",
        "verify_offsets_scratch",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.verify_enable.device",
        "verify_enable",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.req_to_verify_expected_tokens.device",
        "req_to_verify_expected_tokens",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.device",
        "req_to_verify_expected_tokens_valid_lens",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.out_verify_expected_tokens.device",
        "out_verify_expected_tokens",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.out_verify_expected_positions.device",
        "out_verify_expected_positions",
        "out_verify_slot_indices",
    )
    inspection.device(
        "plan_entries.out_verify_prev_slot_indices.device",
        "out_verify_prev_slot_indices",
        "out_verify_slot_indices",
    )
    return inspection.found()
