# Generated from spec/kernels/scatter_req_token_ids.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Copy each request's new token ids from one flat array to its row of a table.

Token r of the flat array's stretch for a request goes to its row, from column 0 or from the
request's first column on. What does not fit in the row is left out. A row outside the table, or
offsets that no batch makes, contribute nothing. Rows that are named twice are unspecified.
"""

import triton
import triton.language as tl

TOKEN_BLOCK = tl.constexpr(256)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "flat_in_ptr",
    "offsets_ptr",
    "req_pool_indices_ptr",
    "pool_out_ptr",
    "column_starts_ptr",
    "token_count",
    "bs",
    "pool_rows",
    "pool_columns",
]


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _scatter_req_token_ids_kernel(
    flat_in_ptr,
    offsets_ptr,
    req_pool_indices_ptr,
    pool_out_ptr,
    column_starts_ptr,
    token_count: tl.int64,
    bs: tl.int64,
    pool_rows: tl.int64,
    pool_columns: tl.int64,
):
    for turn in range(tl.program_id(0), bs, tl.num_programs(0)):
        request = turn + tl.zeros([], tl.int64)
        req_pool_indices_request_in_range = (request >= 0) & (request < bs)
        row = tl.load(
            req_pool_indices_ptr + request.to(tl.int64),
            mask=req_pool_indices_request_in_range,
            other=-1,
        )
        row_in_domain = (row >= 0) & (row < pool_rows)
        first_boundary_in_range = (request >= 0) & (request < bs + 1)
        first = tl.load(offsets_ptr + request.to(tl.int64), mask=first_boundary_in_range, other=0)
        last_boundary_in_range = (request + 1 >= 0) & (request + 1 < bs + 1)
        last = tl.load(
            offsets_ptr + (request + 1).to(tl.int64),
            mask=last_boundary_in_range,
            other=0,
        )
        column_start = tl.zeros([], tl.int64)
        is_whole = row_in_domain & (first >= 0) & (first <= last) & (last <= token_count)
        if column_starts_ptr is not None:
            own_start_request_in_range = (request >= 0) & (request < bs)
            column_start = tl.load(
                column_starts_ptr + request.to(tl.int64),
                mask=own_start_request_in_range,
                other=-1,
            )
            column_start_in_domain = (column_start >= 0) & (column_start <= pool_columns)
            is_whole = is_whole & column_start_in_domain
        count = tl.where(is_whole, tl.minimum(last - first, pool_columns - column_start), 0)
        block = tl.program_id(1) * TOKEN_BLOCK
        for start in range(block, count, tl.num_programs(1) * TOKEN_BLOCK):
            index = (start + tl.arange(0, TOKEN_BLOCK)).to(tl.int64)
            is_copied = index < count
            flat_in_token_in_range = (first + index >= 0) & (first + index < token_count)
            token = tl.load(
                flat_in_ptr + (first + index).to(tl.int64),
                mask=(is_copied & flat_in_token_in_range) != 0,
                other=0,
            )
            column = column_start + index
            # A conversion keeps the low 32 bits.
            low = token.to(tl.int32)
            pool_out_row_in_range = (row >= 0) & (row < pool_rows)
            pool_out_column_in_range = (column >= 0) & (column < pool_columns)
            tl.store(
                pool_out_ptr + row.to(tl.int64) * pool_columns + column.to(tl.int64),
                low,
                mask=(is_copied & pool_out_row_in_range & pool_out_column_in_range) != 0,
            )
