"""Host results: validators beside the attribute reads they need, importing, the generator.

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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from kv_canary.bench.cases import plan_arguments
from kv_canary.bench.results import HostResult

ROUNDS = 60
CALLS = 400
CHECKOUT = Path(__file__).parents[3]
"""The repository, where this file lies in one."""


def results(*, quick: bool = False) -> Iterator[HostResult]:
    """Yield what the host side takes.

    Args:
        quick: leave out what starts processes.
    """
    yield from validator_results()
    if not quick:
        yield from import_results()
        yield from generator_results()


def validator_results() -> list[HostResult]:
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
        HostResult(figure="plan: bare attribute reads", value=bare * 1e6, unit="us"),
        HostResult(
            figure="plan: all checks, as a launch pays",
            value=checks * 1e6,
            unit="us",
            over_bare=checks / bare,
        ),
        HostResult(
            figure="plan: validate_plan, called directly",
            value=direct * 1e6,
            unit="us",
            over_bare=direct / bare,
        ),
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


def import_results() -> list[HostResult]:
    """Importing everything that a launch needs, over importing torch alone."""
    names = "VerifyPlan, WritePlan, launch_canary_plan_kernels"
    both = "import time, torch; start = time.perf_counter(); "
    both += f"from kv_canary import {names}; print(time.perf_counter() - start)"
    seconds = min(float(_python("-c", both)) for _ in range(5))
    return [HostResult(figure="import kv_canary over torch", value=seconds * 1e3, unit="ms")]


def generator_results() -> list[HostResult]:
    """The generator's check, a fresh process each time; nothing outside of a checkout.

    Not `generate`: whoever asks what things cost has not asked for files to be written.
    """
    is_checkout = (CHECKOUT / "spec" / "project.yaml").is_file()
    if not is_checkout or any(find_spec(name) is None for name in ("jinja2", "yaml")):
        return []
    times = []
    for _ in range(5):
        start = time.perf_counter()
        _python("-m", "kv_canary_codegen", "check", cwd=CHECKOUT)
        times.append(time.perf_counter() - start)
    return [HostResult(figure="check, all specs, a fresh process", value=min(times), unit="s")]


def _python(*arguments: str, cwd: Path | None = None) -> str:
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=True
    )
    return finished.stdout
