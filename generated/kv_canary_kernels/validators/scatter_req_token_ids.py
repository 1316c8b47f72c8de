# Generated from spec/kernels/scatter_req_token_ids.yaml by `kv-canary generate`; do not edit.
# Template: validator.py.jinja.
"""The contract of launch_scatter_req_token_ids_kernel, checked on the host before any device
work.
"""

from typing import Any

from torch import Tensor, int32, int64

from kv_canary_kernels.contract import BrokenRule, ContractError, ContractTypeError, Inspection

# Unbound, it raises TypeError for whatever is no tensor: one call tells both.
is_contiguous = Tensor.is_contiguous

# Rules whose error is a TypeError as well.
TYPE_ERRORS = frozenset(
    (
        "scatter_req_token_ids.flat_in.dtype",
        "scatter_req_token_ids.offsets.dtype",
        "scatter_req_token_ids.req_pool_indices.dtype",
        "scatter_req_token_ids.pool_out.dtype",
        "scatter_req_token_ids.column_starts.dtype",
    ),
)


def validate_scatter_req_token_ids(
    *,
    flat_in: Tensor,
    offsets: Tensor,
    req_pool_indices: Tensor,
    pool_out: Tensor,
    column_starts: Tensor | None = None,
    token_count: int | None = None,
    bs: int | None = None,
    pool_rows: int | None = None,
    pool_columns: int | None = None,
) -> None:
    """Raise ContractError unless every rule holds; sizes left None are read from the arguments."""
    derived = token_count is bs is pool_rows is pool_columns is None
    if derived and accepts_scatter_req_token_ids(
        flat_in,
        offsets,
        req_pool_indices,
        pool_out,
        column_starts,
    ):
        return
    broken = inspect_scatter_req_token_ids(
        flat_in=flat_in,
        offsets=offsets,
        req_pool_indices=req_pool_indices,
        pool_out=pool_out,
        column_starts=column_starts,
        token_count=token_count,
        bs=bs,
        pool_rows=pool_rows,
        pool_columns=pool_columns,
    )
    if broken:
        first = broken[0].rule_id
        raise (ContractTypeError if first in TYPE_ERRORS else ContractError)(broken)


def accepts_scatter_req_token_ids(
    flat_in: Any,
    offsets: Any,
    req_pool_indices: Any,
    pool_out: Any,
    column_starts: Any,
) -> bool:
    """Whether every rule holds, each attribute read once; what a launch pays in every step.

    On False, inspect_scatter_req_token_ids says what is wrong.
    """
    try:
        if not (
            is_contiguous(pool_out)
            and pool_out.dtype is int32
            and (device := pool_out.device) is not None
            and pool_out.dim() == 2
            and is_contiguous(flat_in)
            and flat_in.dtype is int64
            and flat_in.device == device
            and flat_in.dim() == 1
            and is_contiguous(offsets)
            and offsets.dtype is int64
            and offsets.device == device
            and len(offsets_shape := offsets.shape) == 1
            and is_contiguous(req_pool_indices)
            and req_pool_indices.dtype is int64
            and req_pool_indices.device == device
            and len(req_pool_indices_shape := req_pool_indices.shape) == 1
            and (
                column_starts is None
                or (
                    is_contiguous(column_starts)
                    and column_starts.dtype is int64
                    and column_starts.device == device
                    and column_starts.shape == req_pool_indices_shape
                )
            )
        ):
            return False
        bs = req_pool_indices_shape[0]
        return offsets_shape[0] == bs + 1
    except (AttributeError, RuntimeError, TypeError, ValueError):
        # No tensor at all, or one without strides, sparse or nested, or a struct without its
        # fields: inspect names it.
        return False


def inspect_scatter_req_token_ids(
    *,
    flat_in: Any,
    offsets: Any,
    req_pool_indices: Any,
    pool_out: Any,
    column_starts: Any = None,
    token_count: Any = None,
    bs: Any = None,
    pool_rows: Any = None,
    pool_columns: Any = None,
) -> tuple[BrokenRule, ...]:
    """Every rule that the arguments break, in checking order, each with its message."""
    inspection = Inspection("scatter_req_token_ids")
    # (a) The arguments are what they claim to be.
    inspection.required("scatter_req_token_ids.flat_in.required", "flat_in", flat_in)
    inspection.tensor("scatter_req_token_ids.flat_in.type", "flat_in", flat_in)
    inspection.required("scatter_req_token_ids.offsets.required", "offsets", offsets)
    inspection.tensor("scatter_req_token_ids.offsets.type", "offsets", offsets)
    inspection.required(
        "scatter_req_token_ids.req_pool_indices.required",
        "req_pool_indices",
        req_pool_indices,
    )
    inspection.tensor(
        "scatter_req_token_ids.req_pool_indices.type",
        "req_pool_indices",
        req_pool_indices,
    )
    inspection.required("scatter_req_token_ids.pool_out.required", "pool_out", pool_out)
    inspection.tensor("scatter_req_token_ids.pool_out.type", "pool_out", pool_out)
    inspection.tensor("scatter_req_token_ids.column_starts.type", "column_starts", column_starts)
    token_count = inspection.size_type(
        "scatter_req_token_ids.token_count.type",
        "token_count",
        token_count,
    )
    bs = inspection.size_type("scatter_req_token_ids.bs.type", "bs", bs)
    pool_rows = inspection.size_type("scatter_req_token_ids.pool_rows.type", "pool_rows", pool_rows)
    pool_columns = inspection.size_type(
        "scatter_req_token_ids.pool_columns.type",
        "pool_columns",
        pool_columns,
    )

    # Sizes: as given, else from the first argument that has them.
    token_count = inspection.size("token_count", token_count, "flat_in", "flat_in", 1, 0)
    bs = inspection.size("bs", bs, "req_pool_indices", "req_pool_indices", 1, 0)
    pool_rows = inspection.size("pool_rows", pool_rows, "pool_out", "pool_out", 2, 0)
    pool_columns = inspection.size("pool_columns", pool_columns, "pool_out", "pool_out", 2, 1)

    # (b) Ranks.
    inspection.rank(
        "scatter_req_token_ids.flat_in.rank",
        "flat_in",
        1,
        text="scatter_req_token_ids {name} must be {wanted}, got shape {found}",
    )
    inspection.rank(
        "scatter_req_token_ids.offsets.rank",
        "offsets",
        1,
        text="scatter_req_token_ids {name} must be {wanted}, got shape {found}",
    )
    inspection.rank(
        "scatter_req_token_ids.req_pool_indices.rank",
        "req_pool_indices",
        1,
        text="scatter_req_token_ids {name} must be {wanted}, got shape {found}",
    )
    inspection.rank(
        "scatter_req_token_ids.pool_out.rank",
        "pool_out",
        2,
        text="scatter_req_token_ids {name} must be {wanted}, got shape {found}",
    )
    inspection.rank(
        "scatter_req_token_ids.column_starts.rank",
        "column_starts",
        1,
        text="scatter_req_token_ids {name} must be {wanted}, got shape {found}",
    )

    # (c) Dtypes.
    inspection.dtype(
        "scatter_req_token_ids.flat_in.dtype",
        "flat_in",
        int64,
        text="scatter_req_token_ids {name} must be {dtype}, got {found}",
    )
    inspection.dtype(
        "scatter_req_token_ids.offsets.dtype",
        "offsets",
        int64,
        text="scatter_req_token_ids {name} must be {dtype}, got {found}",
    )
    inspection.dtype(
        "scatter_req_token_ids.req_pool_indices.dtype",
        "req_pool_indices",
        int64,
        text="scatter_req_token_ids {name} must be {dtype}, got {found}",
    )
    inspection.dtype(
        "scatter_req_token_ids.pool_out.dtype",
        "pool_out",
        int32,
        text="scatter_req_token_ids {name} must be {dtype}, got {found}",
    )
    inspection.dtype(
        "scatter_req_token_ids.column_starts.dtype",
        "column_starts",
        int64,
        text="scatter_req_token_ids {name} must be {dtype}, got {found}",
    )

    # (d) Lengths.
    inspection.length(
        "scatter_req_token_ids.flat_in.length",
        "flat_in",
        1,
        0,
        token_count,
        "token_count",
    )
    inspection.length(
        "scatter_req_token_ids.offsets.length",
        "offsets",
        1,
        0,
        None if bs is None else bs + 1,
        text="scatter_req_token_ids offsets length {found} != bs+1 ({wanted})",
    )
    inspection.length(
        "scatter_req_token_ids.req_pool_indices.length",
        "req_pool_indices",
        1,
        0,
        bs,
        "bs",
    )
    inspection.length(
        "scatter_req_token_ids.pool_out.row_length",
        "pool_out",
        2,
        0,
        pool_rows,
        "pool_rows",
    )
    inspection.length(
        "scatter_req_token_ids.pool_out.column_length",
        "pool_out",
        2,
        1,
        pool_columns,
        "pool_columns",
    )
    inspection.length("scatter_req_token_ids.column_starts.length", "column_starts", 1, 0, bs, "bs")

    # (e) Contiguity.
    inspection.contiguous("scatter_req_token_ids.flat_in.contiguous", "flat_in")
    inspection.contiguous("scatter_req_token_ids.offsets.contiguous", "offsets")
    inspection.contiguous("scatter_req_token_ids.req_pool_indices.contiguous", "req_pool_indices")
    inspection.contiguous("scatter_req_token_ids.pool_out.contiguous", "pool_out")
    inspection.contiguous("scatter_req_token_ids.column_starts.contiguous", "column_starts")

    # (h) Devices.
    inspection.device("scatter_req_token_ids.flat_in.device", "flat_in", "pool_out")
    inspection.device("scatter_req_token_ids.offsets.device", "offsets", "pool_out")
    inspection.device(
        "scatter_req_token_ids.req_pool_indices.device",
        "req_pool_indices",
        "pool_out",
    )
    inspection.device("scatter_req_token_ids.column_starts.device", "column_starts", "pool_out")
    return inspection.found()
