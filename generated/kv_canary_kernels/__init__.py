# Generated from spec/project.yaml by `kv-canary generate`; do not edit.
# Template: package_init.py.jinja.
"""Kernels, validators and launchers of kv-canary."""

import importlib
from typing import Any

_HOMES: dict[str, str] = {
    "BrokenRule": "kv_canary_kernels.contract",
    "CANARY_CHAIN_ANCHOR": "kv_canary_kernels.constants",
    "CANARY_FIELDS_PER_SLOT": "kv_canary_kernels.constants",
    "CANARY_FIELD_POSITION": "kv_canary_kernels.constants",
    "CANARY_FIELD_PREV_HASH": "kv_canary_kernels.constants",
    "CANARY_FIELD_REAL_KV_HASH": "kv_canary_kernels.constants",
    "CANARY_FIELD_TOKEN": "kv_canary_kernels.constants",
    "CanaryLaunchTag": "kv_canary_kernels.constants",
    "ContractError": "kv_canary_kernels.contract",
    "EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_ENTRY": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_EXPECTED_POSITION": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_PREVIOUS_SLOT": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_REQUEST": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_RESERVED": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_STEP": "kv_canary_kernels.constants",
    "EVIDENCE_FIELD_STORED_REAL_KV_HASH": "kv_canary_kernels.constants",
    "FailReason": "kv_canary_kernels.constants",
    "GOLDEN_RATIO_64": "kv_canary_kernels.constants",
    "MAX_REAL_KV_SOURCES": "kv_canary_kernels.constants",
    "PARALLEL_CHAIN_INVERSE": "kv_canary_kernels.constants",
    "PARALLEL_CHAIN_MULTIPLIER": "kv_canary_kernels.constants",
    "PLAN_BS_BLOCK_SIZE": "kv_canary_kernels.constants",
    "REQ_POOL_IDX_PADDING": "kv_canary_kernels.constants",
    "RealKvHashMode": "kv_canary_kernels.constants",
    "RealKvSource": "kv_canary_kernels.structs",
    "TOKEN_TO_KV_SLOT_PADDING": "kv_canary_kernels.constants",
    "VIOLATION_COUNT_LIMIT": "kv_canary_kernels.constants",
    "VIOLATION_FIELDS": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_EXPECTED_AUX": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_EXPECTED_TOKEN": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_FAIL_REASON_BITS": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_KERNEL_KIND": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_POSITION": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_SLOT_IDX": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_STORED_CHAIN_HASH": "kv_canary_kernels.constants",
    "VIOLATION_FIELD_STORED_TOKEN": "kv_canary_kernels.constants",
    "VerifyOrWriteContext": "kv_canary_kernels.structs",
    "VerifyPlan": "kv_canary_kernels.structs",
    "WRITE_LANE_ENTRIES": "kv_canary_kernels.constants",
    "WRITE_POWER_BITS": "kv_canary_kernels.constants",
    "WRITE_SUM_FIELDS": "kv_canary_kernels.constants",
    "WRITE_TOKEN_BLOCK": "kv_canary_kernels.constants",
    "WritePlan": "kv_canary_kernels.structs",
    "launch_canary_plan_kernels": "kv_canary_kernels.launchers.plan",
    "launch_canary_verify_kernel": "kv_canary_kernels.launchers.verify",
    "launch_canary_write_kernel": "kv_canary_kernels.launchers.write",
    "launch_launch_count_kernel": "kv_canary_kernels.launchers.launch_count",
    "launch_plan_entries_kernel": "kv_canary_kernels.launchers.plan_entries",
    "launch_plan_offsets_kernel": "kv_canary_kernels.launchers.plan_offsets",
    "launch_plan_rotation_kernel": "kv_canary_kernels.launchers.plan_rotation",
    "launch_scatter_req_token_ids_kernel": "kv_canary_kernels.launchers.scatter_req_token_ids",
    "launch_write_sums_kernel": "kv_canary_kernels.launchers.write_sums",
    "warm_up": "kv_canary_kernels.warming",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: importing the package loads no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
