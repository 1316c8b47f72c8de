"""kv-canary: find out who damaged the KV cache of a serving engine.

Every public name is resolved when it is first touched (PEP 562), so that `import kv_canary`, the
help texts and the code generator never wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kv_canary.canary.canary import Canary
    from kv_canary.canary.config import CanaryConfig, WindowPool
    from kv_canary.canary.health import Health
    from kv_canary.errors import GeneratedCodeMissingError, PlanMismatchError, UsageError
    from kv_canary.findings.errors import CanaryError
    from kv_canary.findings.finding import Finding
    from kv_canary.findings.snapshot import Snapshot
    from kv_canary_kernels.constants import (
        PLAN_BS_BLOCK_SIZE,
        CanaryLaunchTag,
        FailReason,
        RealKvHashMode,
    )
    from kv_canary_kernels.contract import BrokenRule, ContractError
    from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels
    from kv_canary_kernels.launchers.plan_entries import launch_plan_entries_kernel
    from kv_canary_kernels.launchers.plan_offsets import launch_plan_offsets_kernel
    from kv_canary_kernels.launchers.plan_rotation import launch_plan_rotation_kernel
    from kv_canary_kernels.launchers.scatter_req_token_ids import (
        launch_scatter_req_token_ids_kernel,
    )
    from kv_canary_kernels.launchers.verify import launch_canary_verify_kernel
    from kv_canary_kernels.launchers.write import launch_canary_write_kernel
    from kv_canary_kernels.structs import (
        RealKvSource,
        VerifyOrWriteContext,
        VerifyPlan,
        WritePlan,
    )
    from kv_canary_kernels.warming import warm_up

__version__ = "0.1.0"

__all__ = [
    "PLAN_BS_BLOCK_SIZE",
    "BrokenRule",
    "Canary",
    "CanaryConfig",
    "CanaryError",
    "CanaryLaunchTag",
    "ContractError",
    "FailReason",
    "Finding",
    "GeneratedCodeMissingError",
    "Health",
    "PlanMismatchError",
    "RealKvHashMode",
    "RealKvSource",
    "Snapshot",
    "UsageError",
    "VerifyOrWriteContext",
    "VerifyPlan",
    "WindowPool",
    "WritePlan",
    "__version__",
    "launch_canary_plan_kernels",
    "launch_canary_verify_kernel",
    "launch_canary_write_kernel",
    "launch_plan_entries_kernel",
    "launch_plan_offsets_kernel",
    "launch_plan_rotation_kernel",
    "launch_scatter_req_token_ids_kernel",
    "warm_up",
]

# The imports above, as the interpreter sees them; a test holds the two together.
_MODULE_OF_NAME = {
    "BrokenRule": "kv_canary_kernels.contract",
    "Canary": "kv_canary.canary.canary",
    "CanaryConfig": "kv_canary.canary.config",
    "CanaryError": "kv_canary.findings.errors",
    "CanaryLaunchTag": "kv_canary_kernels.constants",
    "ContractError": "kv_canary_kernels.contract",
    "FailReason": "kv_canary_kernels.constants",
    "Finding": "kv_canary.findings.finding",
    "GeneratedCodeMissingError": "kv_canary.errors",
    "Health": "kv_canary.canary.health",
    "PLAN_BS_BLOCK_SIZE": "kv_canary_kernels.constants",
    "PlanMismatchError": "kv_canary.errors",
    "RealKvHashMode": "kv_canary_kernels.constants",
    "RealKvSource": "kv_canary_kernels.structs",
    "Snapshot": "kv_canary.findings.snapshot",
    "UsageError": "kv_canary.errors",
    "VerifyOrWriteContext": "kv_canary_kernels.structs",
    "VerifyPlan": "kv_canary_kernels.structs",
    "WindowPool": "kv_canary.canary.config",
    "WritePlan": "kv_canary_kernels.structs",
    "launch_canary_plan_kernels": "kv_canary_kernels.launchers.plan",
    "launch_canary_verify_kernel": "kv_canary_kernels.launchers.verify",
    "launch_canary_write_kernel": "kv_canary_kernels.launchers.write",
    "launch_plan_entries_kernel": "kv_canary_kernels.launchers.plan_entries",
    "launch_plan_offsets_kernel": "kv_canary_kernels.launchers.plan_offsets",
    "launch_plan_rotation_kernel": "kv_canary_kernels.launchers.plan_rotation",
    "launch_scatter_req_token_ids_kernel": "kv_canary_kernels.launchers.scatter_req_token_ids",
    "warm_up": "kv_canary_kernels.warming",
}


def __getattr__(name: str) -> object:
    module_name = _MODULE_OF_NAME.get(name)
    if module_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value: object = getattr(import_module(module_name), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "kv_canary_kernels":
            raise
        from kv_canary.errors import GeneratedCodeMissingError

        raise GeneratedCodeMissingError(name=name, module=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF_NAME})
