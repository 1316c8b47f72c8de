"""`python -m kv_canary.bench`: what kv-canary costs, each figure beside the floor it stands on.

Host rows need no GPU: the validators beside the bare attribute reads that they cannot do without,
importing the package beside importing torch, and the generator. Ratios are measured side by side
in one run, alternating, since machines are shared and clocks drift.
"""

from __future__ import annotations

import ast
import inspect
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import torch

ROUNDS = 60
CALLS = 400


def main() -> int:
    """Print one line a figure."""
    for line in (*validator_rows(), *import_rows(), *generator_rows()):
        print(line, flush=True)
    return 0


def plan_arguments(
    device: str, *, bs: int = 8, seq_len: int = 64, window: bool = True
) -> dict[str, Any]:
    """A valid call of launch_canary_plan_kernels with every optional tensor given."""
    from kv_canary import VerifyPlan, WritePlan

    generator = torch.Generator().manual_seed(0)

    def integers(low: int, high: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator, dtype=dtype).to(device)

    rows = bs + 1
    slots = rows * seq_len + 1
    capacity = bs * seq_len
    return {
        "verify_plan_out": VerifyPlan.allocate(verify_capacity=capacity, device=device),
        "write_plan_out": WritePlan.allocate(write_req_capacity=bs, device=device),
        "req_pool_indices": torch.arange(1, rows, dtype=torch.int64, device=device),
        "prefix_lens": integers(1, seq_len + 1, (bs,), torch.int64),
        "extend_seq_lens": integers(0, 4, (bs,), torch.int64),
        "req_to_token": integers(1, slots, (rows, seq_len), torch.int32),
        "swa_window_size": 16 if window else 0,
        "full_to_swa_index_mapping": integers(1, slots, (slots,), torch.int64) if window else None,
        "verify_capacity": capacity,
        "req_to_verify_expected_tokens": integers(0, 1000, (rows, seq_len), torch.int32),
        "req_to_verify_expected_tokens_valid_lens": integers(0, seq_len, (bs,), torch.int64),
        "kv_token_id_vs_position_offset": 0,
    }


def validator_rows() -> list[str]:
    """The plan validator beside the attribute reads that it contains and nothing else."""
    from kv_canary_kernels.validators.plan import accepts_plan, validate_plan

    arguments = plan_arguments("cpu")
    if not accepts_plan(**arguments):
        raise AssertionError("the benchmark's own call must be valid")
    bare, checks, direct = _alternated(
        _caller(bare_reads(accepts_plan), arguments),
        _caller(accepts_plan, arguments),
        _caller(validate_plan, arguments),
    )
    return [
        f"plan: bare attribute reads            {bare * 1e6:8.2f} us",
        f"plan: all checks, as a launch pays    {checks * 1e6:8.2f} us   {checks / bare:5.2f} x",
        f"plan: validate_plan, called directly  {direct * 1e6:8.2f} us   {direct / bare:5.2f} x",
    ]


def _caller(function: Callable[..., object], arguments: dict[str, Any]) -> Callable[[], object]:
    """A function that calls another with its arguments written out, as a launcher does."""
    keywords = any(
        parameter.kind is parameter.KEYWORD_ONLY
        for parameter in inspect.signature(function).parameters.values()
    )
    names = ", ".join(f"{name}={name}" if keywords else name for name in arguments)
    scope: dict[str, Any] = {**arguments, "function": function}
    exec(f"def call():\n    function({names})", scope)
    call: Callable[[], object] = scope["call"]
    return call


def bare_reads(function: Callable[..., bool]) -> Callable[..., None]:
    """A function of the same signature that reads what a validator reads, and decides nothing."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    names = {argument.arg for argument in definition.args.args}
    statements: list[ast.stmt] = []
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            statements.append(node)  # A struct's field, kept in a variable.
            names.update(t.id for t in node.targets if isinstance(t, ast.Name))
    statements += [
        ast.Expr(value=node)
        for node in ast.walk(definition)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "is_contiguous"
    ]
    called = {
        id(node.func)
        for node in ast.walk(definition)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for node in ast.walk(definition):
        read = node.func if isinstance(node, ast.Call) else node
        if not isinstance(read, ast.Attribute) or (read is node and id(node) in called):
            continue
        owner = read.value
        is_field = any(isinstance(s, ast.Assign) and s.value is node for s in statements)
        if isinstance(owner, ast.Name) and owner.id in names and not is_field:
            assert isinstance(node, ast.expr)
            statements.append(ast.Expr(value=node))
    definition.body = statements
    definition.returns = None
    module = ast.fix_missing_locations(ast.Module(body=[definition], type_ignores=[]))
    scope: dict[str, Any] = {"Any": Any, "is_contiguous": torch.Tensor.is_contiguous}
    exec(compile(module, "<bare reads>", "exec"), scope)
    reads: Callable[..., None] = scope[definition.name]
    return reads


def _alternated(*calls: Callable[[], object]) -> list[float]:
    """Median seconds of each call, measured in turns."""
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, samples, strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            found.append((time.perf_counter() - start) / CALLS)
    return [statistics.median(found) for found in samples]


def import_rows() -> list[str]:
    """Importing everything that a launch needs, over importing torch alone."""
    names = "VerifyPlan, WritePlan, launch_canary_plan_kernels"
    both = "import time, torch; start = time.perf_counter(); "
    both += f"from kv_canary import {names}; print(time.perf_counter() - start)"
    seconds = min(float(_python("-c", both)) for _ in range(5))
    return [f"import kv_canary over torch           {seconds * 1e3:8.1f} ms"]


def generator_rows() -> list[str]:
    """The generator as a command, a fresh process each time."""
    rows = []
    for command in ("check", "generate"):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            _python("-m", "kv_canary_codegen", command)
            times.append(time.perf_counter() - start)
        rows.append(f"{command:8s} all specs, a fresh process  {min(times):8.2f} s")
    return rows


def _python(*arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True
    )
    return finished.stdout


if __name__ == "__main__":
    sys.exit(main())
