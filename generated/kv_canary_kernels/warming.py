# Generated from spec/kernels by `kv-canary generate`; do not edit.
# Template: warming.py.jinja.
"""Compile and load every kernel ahead of time, before the first step or a graph capture."""

from __future__ import annotations

import torch

from kv_canary_kernels.launchers.plan import warm_up_plan
from kv_canary_kernels.launchers.plan_entries import warm_up_plan_entries
from kv_canary_kernels.launchers.plan_offsets import warm_up_plan_offsets
from kv_canary_kernels.launchers.scatter_req_token_ids import warm_up_scatter_req_token_ids
from kv_canary_kernels.launchers.verify import warm_up_verify
from kv_canary_kernels.launchers.write import warm_up_write


def warm_up(device: torch.device | str) -> int:
    """Compile and load all variants of all kernels on a device; say how many there are.

    A launch inside a graph capture needs its kernel loaded before. To load fewer, call the
    launchers' own warm_up functions with what will be given.
    """
    count = 0
    count += warm_up_plan(device=device)
    count += warm_up_plan_entries(device=device)
    count += warm_up_plan_offsets(device=device)
    count += warm_up_scatter_req_token_ids(device=device)
    count += warm_up_verify(device=device)
    count += warm_up_write(device=device)
    return count
