# Generated from spec/kernels/plan_rotation.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Move the window of a plan that is over capacity on by one capacity.

The plan launcher runs this after the plan itself when it is given a rotation: every program of the
plan reads where the window begins, and only a launch that follows may move it. Of the entries that
a step asked for, verify_num_valid over verify_total is the share that it checks.
"""

import triton
import triton.language as tl

from kv_canary_kernels import constants

PLAN_BS_BLOCK_SIZE = tl.constexpr(constants.PLAN_BS_BLOCK_SIZE)
REQ_POOL_IDX_PADDING = tl.constexpr(constants.REQ_POOL_IDX_PADDING)

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = [
    "req_pool_indices_ptr",
    "prefix_lens_ptr",
    "verify_rotation_ptr",
    "verify_total_ptr",
    "bs",
    "max_reqs",
    "max_seq_len",
    "swa_window_size",
    "verify_capacity",
]


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _plan_rotation_kernel(
    req_pool_indices_ptr,
    prefix_lens_ptr,
    verify_rotation_ptr,
    verify_total_ptr,
    bs: tl.int64,
    max_reqs: tl.int64,
    max_seq_len: tl.int64,
    swa_window_size: tl.int64,
    verify_capacity: tl.int64,
):
    # What each request of the batch adds to the verify plan, as a vector. A request whose row or
    # length is wild adds one entry, so that verify has something to report.
    requests = tl.arange(0, PLAN_BS_BLOCK_SIZE)
    req_pool_indices_request_in_range = (requests >= 0) & (requests < bs)
    rows = tl.load(
        req_pool_indices_ptr + requests.to(tl.int64),
        mask=req_pool_indices_request_in_range,
        other=REQ_POOL_IDX_PADDING,
    )
    rows_in_domain = (rows >= 0) & (rows < max_reqs)
    prefix_lens_request_in_range = (requests >= 0) & (requests < bs)
    prefixes = tl.load(
        prefix_lens_ptr + requests.to(tl.int64),
        mask=prefix_lens_request_in_range,
        other=0,
    )
    prefixes_in_domain = (prefixes >= 0) & (prefixes <= max_seq_len)
    are_real = rows != REQ_POOL_IDX_PADDING
    are_sound = rows_in_domain & prefixes_in_domain
    cached = tl.where(are_sound, prefixes, 0)
    window_starts = tl.where(swa_window_size > 0, tl.maximum(cached - swa_window_size, 0), 0)
    verify_counts = tl.where(are_real, tl.where(are_sound, cached - window_starts, 1), 0)
    entry_total = tl.sum(verify_counts)
    start = tl.load(verify_rotation_ptr)
    start_in_total = start % tl.maximum(entry_total, 1)
    start_in_total = tl.where(start_in_total < 0, start_in_total + entry_total, start_in_total)
    moved = (start_in_total + tl.minimum(verify_capacity, entry_total)) % tl.maximum(entry_total, 1)
    start = tl.where(entry_total > verify_capacity, moved, start)
    tl.store(verify_rotation_ptr, start)
    if verify_total_ptr is not None:
        tl.store(verify_total_ptr, entry_total)
