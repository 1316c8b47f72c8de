# Generated from spec/kernels/launch_count.yaml by `kv-canary generate`; do not edit.
# Template: kernel.py.jinja.
"""Count one launch, after it, so that all its programs read the same count before.

Rows of an evidence ring name the step in which they were recorded, which is the count of launches
before theirs. Were a launch to count itself, programs that start late would read another number.
"""

import triton
import triton.language as tl

# Nothing but presence and the declared variants makes another compilation.
UNSPECIALIZED = ["kernel_run_counter_ptr"]


@triton.jit(do_not_specialize=UNSPECIALIZED, do_not_specialize_on_alignment=UNSPECIALIZED)
def _launch_count_kernel(
    kernel_run_counter_ptr,
):
    tl.atomic_add(kernel_run_counter_ptr, 1)
