# Generated from spec/kernels by `kv-canary generate`; do not edit.
# Template: warming.py.jinja.
"""Compile and load every kernel ahead of time, before the first step or a graph capture."""

from __future__ import annotations

import torch

from kv_canary_kernels.launchers.plan import warm_up_plan
from kv_canary_kernels.launchers.plan_entries import warm_up_plan_entries
from kv_canary_kernels.launchers.plan_offsets import warm_up_plan_offsets


def warm_up(device: torch.device | str) -> int:
    """Compile and load all variants of all kernels on a device; say how many there are.

    A launch inside a graph capture needs its kernel loaded before. To load fewer, call the
    launchers' own warm_up functions with what will be given.
    """
    count = 0
    count += warm_up_plan(device=device)
    count += warm_up_plan_entries(device=device)
    count += warm_up_plan_offsets(device=device)
    return count
