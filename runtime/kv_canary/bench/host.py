"""Host rows: validators beside the attribute reads they need, importing, the generator.

Ratios are measured side by side in one run, alternating: machines are shared and clocks drift.
"""

from __future__ import annotations

import ast
import inspect
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kv_canary.bench.cases import plan_arguments

ROUNDS = 60
CALLS = 400


def rows() -> Iterator[str]:
    """One line a figure."""
    yield from validator_rows()
    yield from import_rows()
    yield from generator_rows()


def validator_rows() -> list[str]:
    """The plan validator beside the attribute reads that it contains and nothing else."""
    from kv_canary_kernels.validators.plan import accepts_plan, validate_plan

    arguments = plan_arguments("cpu")
    if not accepts_plan(**arguments):
        raise AssertionError("the benchmark's own call must be valid")
    bare, checks, direct = _alternated(
        _caller(bare_reads(accepts_plan, arguments), arguments),
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


def bare_reads(function: Callable[..., bool], arguments: dict[str, Any]) -> Callable[..., None]:
    """A function of the same signature that reads what a validator reads, and decides nothing.

    Tensors that the arguments leave out are not read.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    names = {argument.arg for argument in definition.args.args}
    names -= {name for name in names if arguments.get(name) is None}
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
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id in names
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
