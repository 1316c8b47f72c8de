"""What timed launches left behind, compared with the torch reference on a copy on the CPU.

Note [What is checked]
Outputs are poisoned before the first launch and compared after the last one that was timed, so that
what is judged is what was timed. A plan and the stamps of a write must equal the reference's. A
verify launch must have found nothing, must have counted every entry of every launch, and must then
report a stamp that is changed under it: twice, by its position and by its successor's hash. Stamps
of the prefix come from the public write launcher; a wrong one is a violation, since the verify
launch computes its own hashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor

from kv_canary.bench.steps import Step
from kv_canary.errors import BenchmarkMismatchError
from kv_canary.reference.plan import plan
from kv_canary.reference.write import write

POISON = -7
"""What an output holds before a launch; no slot, token, position or count is that."""
POISON_BYTE = 0x5A
POSITION_BYTE = 8
"""A byte of a stamp's position."""

_ENTRY_FIELDS = tuple(
    f"verify_plan_out.verify_{name}"
    for name in ("slot_indices", "expected_tokens", "expected_positions", "prev_slot_indices")
)


class Judge:
    """The right results of one step, and where the launches stood when they began.

    Args:
        step: the step, as it was made.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        arguments = copied_to_cpu(step.plan_arguments())
        plan(**arguments)
        self._plan = {
            f"{name}.{each.name}": getattr(arguments[name], each.name)
            for name in ("verify_plan_out", "write_plan_out")
            for each in fields(arguments[name])
        }
        bs = step.shape.bs
        self._used = dict.fromkeys(_ENTRY_FIELDS, step.entries) | {
            "write_plan_out.write_offsets": bs + 1,
            "write_plan_out.write_seed_slot_indices": bs,
        }
        writing = copied_to_cpu(step.write_arguments())
        writing["plan"] = arguments["write_plan_out"]
        write(**writing)
        self._stamps = writing["context"].canary_buf[step.written_slots().cpu()]
        self._violations = self._counted = 0

    def begin(self, kernel: str) -> None:
        """Poison what a kernel writes, and take down the counters.

        Args:
            kernel: stem of the kernel.
        """
        step = self._step
        if kernel == "plan":
            for tensor in step.plan_outputs().values():
                tensor.fill_(POISON)
        if kernel == "write":
            step.context.canary_buf[step.written_slots()] = POISON_BYTE
        self._violations = int(step.context.violation_write_index)
        self._counted = int(step.context.slot_run_counter)

    def judge(self, kernel: str) -> None:
        """Compare what a kernel's launches left behind; see Note [What is checked].

        Args:
            kernel: stem of the kernel; at least one launch of it ran since begin.

        Raises:
            BenchmarkMismatchError: something differs.
        """
        step = self._step
        if kernel == "plan":
            self._judge_plan()
            return
        found = int(step.context.violation_write_index) - self._violations
        self._expect(kernel, found == 0, f"{found} violations in a clean cache")
        each = step.entries if kernel == "verify" else step.tokens
        counted = int(step.context.slot_run_counter) - self._counted
        whole = counted > 0 and counted % each == 0
        self._expect(kernel, whole, f"{counted} entries counted, in launches of {each}")
        if kernel == "verify":
            self._judge_damage()
            return
        stamps = step.context.canary_buf[step.written_slots()].cpu()
        wrong = int((stamps != self._stamps).any(1).sum())
        self._expect(kernel, wrong == 0, f"{wrong} of {step.tokens} stamps differ")

    def _judge_plan(self) -> None:
        for name, tensor in self._step.plan_outputs().items():
            # Behind what is in use, a plan may hold anything.
            used = self._used.get(name, 1)
            wrong = int((tensor[:used].cpu() != self._plan[name][:used]).sum())
            self._expect("plan", wrong == 0, f"{wrong} elements of {name} differ")

    def _judge_damage(self) -> None:
        from kv_canary import launch_canary_verify_kernel

        step = self._step
        if step.entries < 2 * step.shape.bs:
            return  # There may be no successor that is verified too.
        stamp = step.context.canary_buf[int(step.verify_plan.verify_slot_indices[0])]
        stamp[POSITION_BYTE] ^= 1
        launch_canary_verify_kernel(**step.verify_arguments())
        found = int(step.context.violation_write_index) - self._violations
        stamp[POSITION_BYTE] ^= 1
        self._expect("verify", found == 2, f"a changed stamp was reported {found} times, not twice")

    def _expect(self, kernel: str, holds: bool, what: str) -> None:
        if not holds:
            raise BenchmarkMismatchError(case=self._step.shape.name, kernel=kernel, what=what)


def copied_to_cpu(value: Any) -> Any:
    """Return a launcher's arguments with every tensor, also in structs, copied to the CPU.

    Args:
        value: keywords, a struct, a list of structs, a tensor, or anything else, which stays.
    """
    if isinstance(value, Tensor):
        return value.to("cpu", copy=True)
    if isinstance(value, Mapping):
        return {name: copied_to_cpu(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return tuple(copied_to_cpu(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: copied_to_cpu(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **found)
    return value
