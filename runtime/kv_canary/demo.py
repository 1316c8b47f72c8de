"""`kv-canary demo`: a real trace with a canary, a fault that it finds, and two contract errors."""

from __future__ import annotations

import traceback
from typing import Any

import torch

from kv_canary import ContractError, VerifyPlan, WritePlan, launch_canary_plan_kernels
from kv_canary.faults.catalogue import fault_named
from kv_canary.replay.canary import replay_with_canary
from kv_canary.replay.report import canary_text, show_progress
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, read_trace
from kv_canary_kernels.rules import explain

_SCALE = 64
_WINDOW = 64
_FAULT = "slot-shared-other-positions"
# By then a few dozen requests have come, and some decode beside others that prefill.
_FAULT_STEP = 40


def run_demo() -> int:
    """Replay the shipped slice clean and with a fault, then show two contract errors.

    Returns:
        0 when nothing was found at first, then the fault and nothing else; 1 otherwise.
    """
    settings = ReplaySettings(scale=_SCALE, window=_WINDOW)
    trace = read_trace(SHIPPED_SLICE)
    _title(
        f"{len(trace)} requests of a real chat service, a canary in every step, lengths / {_SCALE}"
    )
    with show_progress(quiet=False) as on_progress:
        clean = replay_with_canary(trace, settings, on_progress=on_progress)
    print(canary_text(clean))

    fault = fault_named(_FAULT)
    _title(f"The same, and a fault: {fault.name}")
    print(fault.happened)
    with show_progress(quiet=False) as on_progress:
        damaged = replay_with_canary(
            trace, settings, injection=fault.injection(_FAULT_STEP), on_progress=on_progress
        )
    print(canary_text(damaged))
    print("\n`kv-canary faults` lists what else can be injected, and what no stamp can see.")
    if clean.findings or [each.cause for each in damaged.findings] != [fault.cause]:
        return 1

    error = _error_of(verify_capacity=2048)
    _title("A caller's mistake: a verify_capacity that is not the plan's")
    _show(error)
    _title("Another one: lengths of the wrong dtype")
    _show(_error_of(prefix_lens=torch.tensor([3, 5], dtype=torch.int32)))

    rule_id = error.broken_rules[0].rule_id
    _title(f"kv-canary explain {rule_id}")
    print(explain(rule_id).rstrip())
    return 0


def _error_of(**mistake: object) -> ContractError:
    """Return what the launcher raises for a call that is right but for one argument."""
    arguments: dict[str, Any] = {
        "verify_plan_out": VerifyPlan.allocate(verify_capacity=1024, device="cpu"),
        "write_plan_out": WritePlan.allocate(write_req_capacity=8, device="cpu"),
        "req_pool_indices": torch.tensor([1, 2]),
        "prefix_lens": torch.tensor([3, 5]),
        "extend_seq_lens": torch.tensor([1, 1]),
        "req_to_token": torch.zeros((4, 16), dtype=torch.int32),
        "swa_window_size": 0,
        "full_to_swa_index_mapping": None,
        "verify_capacity": 1024,
        "req_to_verify_expected_tokens": None,
        "req_to_verify_expected_tokens_valid_lens": None,
        "kv_token_id_vs_position_offset": 0,
    }
    try:
        launch_canary_plan_kernels(**{**arguments, **mistake})
    except ContractError as error:
        return error
    raise AssertionError(f"the launcher took {mistake}")


def _show(error: ContractError) -> None:
    print("".join(traceback.format_exception_only(error)), end="")


def _title(text: str) -> None:
    print(f"\n== {text}")
