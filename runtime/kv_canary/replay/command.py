"""The flags of `kv-canary replay`, and what the command does with them."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kv_canary.devices import check_device
from kv_canary.errors import UsageError
from kv_canary.flags import FlagParser, choice, whole_number
from kv_canary.replay.report import (
    canary_json,
    canary_line,
    canary_text,
    show_progress,
    summary_json,
    summary_line,
    summary_text,
)
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, TraceRequest, read_trace

if TYPE_CHECKING:
    from kv_canary.replay.canary import Injection
    from kv_canary.replay.engine import Progress

_DEFAULT = ReplaySettings()
_MOST = 2**31 - 1
# By then a few requests decode.
_INJECT_STEP = 10
# The pool's books take about a hundred bytes a slot.
_MOST_SLOTS = 2**26

# The launcher's own switch; Triton reads the other one when it is first imported.
_BACKEND_VARIABLE = "KV_CANARY_BACKEND"
_INTERPRETER = {"TRITON_INTERPRET": "1", _BACKEND_VARIABLE: "triton"}


def run_replay(argv: Sequence[str]) -> int:
    """Replay a trace and print what was compared.

    Args:
        argv: the arguments after `replay`.

    Returns:
        0 when every plan was right and a canary found nothing, 1 when one did, 2 when the backend
        asked for cannot run.

    Raises:
        UsageError: a flag or a file is wrong, or a fault found nothing to damage.
        PlanMismatchError: a plan differs from the pool's books.
    """
    options = _parser().parse(argv)
    _check_canary_flags(options)
    backend: str | None = options.backend
    if backend == "interpreter" and not _is_set(_INTERPRETER):
        _start_again_interpreted(argv)
    device = options.device or ("cuda" if backend == "triton" else "cpu")
    settings = ReplaySettings(
        scale=options.scale,
        seed=options.seed,
        window=options.window,
        page_size=options.page_size,
        pool_slots=options.pool_slots,
        window_pool_slots=options.window_pool_slots,
        max_batch=options.max_batch,
        chunk=options.chunk,
        step_ms=options.step_ms,
        verify_capacity=options.verify_capacity,
        token_offset=options.token_offset,
        device=device,
    )
    path = Path(options.trace) if options.trace is not None else SHIPPED_SLICE
    trace = read_trace(path, limit=options.requests)

    # Torch is loaded only now: a bad flag or a bad file is told at once.
    from kv_canary import ContractError

    has_type = check_device(
        device, fix="--device cpu, with --backend torch or --backend interpreter"
    )
    is_interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if has_type == "cpu" and backend == "triton" and not is_interpreted:
        raise UsageError(
            place="--device",
            rule="compiled Triton kernels need a GPU",
            found=device,
            wanted="a GPU, or another backend",
            fix="--backend interpreter, or --backend torch",
        )
    environment = {_BACKEND_VARIABLE: backend} if backend in ("torch", "triton") else {}
    with (
        _environment(environment),
        show_progress(quiet=options.quiet or options.json) as on_progress,
    ):
        try:
            if options.canary or options.inject is not None:
                return _run_canary(trace, settings, options, on_progress)
            from kv_canary.replay.engine import replay

            summary = replay(trace, settings, on_progress=on_progress)
        except ContractError as error:
            # The backend is the user's choice; any other broken rule would be our own mistake.
            if not error.broken_rules[0].rule_id.startswith("backend."):
                raise
            print(error, *error.__notes__, sep="\n  ", file=sys.stderr)
            return 2
    if options.json:
        print(summary_json(summary))
    elif options.quiet:
        print(summary_line(summary))
    else:
        print(summary_text(summary))
    return 0


def _parser() -> FlagParser:
    parser = FlagParser(
        command="kv-canary replay",
        summary="Replay a request trace through a paged KV pool, plan every step with the real "
        "launcher, and compare each plan with the pool's own books.",
        epilog="All sizes are in replayed tokens, that is, after --scale. Exit status: 0 all plans "
        "right and nothing found, 1 a plan differs or a canary found something, 2 a flag or a "
        "file is wrong or the fault was not injected, 130 interrupted.",
    )
    parser.positional("trace", "Mooncake trace, one JSON object a line (default: a shipped slice)")
    number = parser.number
    at_all = whole_number(1, _MOST)
    slots = whole_number(1, _MOST_SLOTS)
    number("--requests", at_all, None, "replay at most the first N lines")
    number("--scale", whole_number(1, 512), _DEFAULT.scale, "divide all lengths by N")
    number("--seed", whole_number(0, _MOST), _DEFAULT.seed, "decides token ids and page order")
    number("--window", whole_number(0, _MOST), _DEFAULT.window, "sliding window, 0 for none")
    number("--page-size", whole_number(1, 512), None, "slots in a page (default: up to 16)")
    number("--pool-slots", slots, None, "slots of the pool (default: 2097152 / scale)")
    number("--window-pool-slots", slots, None, "slots of the window pool (default: a quarter)")
    number("--max-batch", at_all, _DEFAULT.max_batch, "most requests at once")
    number("--chunk", at_all, _DEFAULT.chunk, "most prompt tokens in a step")
    number("--step-ms", at_all, _DEFAULT.step_ms, "trace time that a step stands for")
    number("--verify-capacity", slots, None, "entries of a verify plan (default: enough)")
    number(
        "--token-offset",
        whole_number(-1024, 1024),
        _DEFAULT.token_offset,
        "column of a position's expected token minus that position",
    )
    parser.value(
        "--backend",
        choice("torch", "interpreter", "triton"),
        "NAME",
        "what runs the plan: torch, interpreter (Triton's, on the CPU) or triton (default: "
        "KV_CANARY_BACKEND, else torch on a CPU and triton on a GPU)",
    )
    parser.value("--device", str, "NAME", "where the plan runs (default: cpu; cuda with triton)")
    parser.switch("--canary", "run a canary in every step, instead of comparing the plans")
    parser.value(
        "--inject",
        str,
        "FAULT[@STEP]",
        f"with a canary: damage the cache as `kv-canary faults` lists it, from step {_INJECT_STEP} "
        "on, as soon as there is a victim",
    )
    parser.value("--dump", str, "FILE", "with a canary: write what it knows for `diagnose`")
    parser.value(
        "--real-kv",
        choice("none", "partial", "all"),
        "HOW",
        "with a canary: bytes of each token that are covered, none, partial or all (default: "
        "partial)",
    )
    number("--drafts", whole_number(0, 16), 0, "with a canary: most rejected drafts in a step")
    number("--sweep-every", at_all, None, "with a canary: steps between sweeps (default: none)")
    parser.switch("--json", "print the summary as one JSON object, and no progress")
    parser.switch("--quiet", "print one line at the end, and no progress")
    return parser


def _check_canary_flags(options: Namespace) -> None:
    """Raise UsageError for a flag that says nothing without a canary."""
    if options.canary or options.inject is not None:
        _check_dump(options.dump)
        return
    given = {
        "--dump": options.dump,
        "--real-kv": options.real_kv,
        "--drafts": options.drafts,
        "--sweep-every": options.sweep_every,
    }
    for flag, value in given.items():
        if value:
            raise UsageError(
                place=flag,
                rule="this flag is about a canary, and none is asked for",
                found="no --canary",
                wanted="--canary, or --inject",
                fix=f"--canary {flag} {value}",
            )


def _check_dump(dump: str | None) -> None:
    """Raise UsageError for a dump that could not be written after the whole replay."""
    folder = None if dump is None else Path(dump).parent
    if folder is not None and not folder.is_dir():
        raise UsageError(
            place="--dump",
            rule="the dump's folder must be there",
            found=str(folder),
            wanted="a file in a folder that is there",
            fix=f"mkdir -p {folder}",
        )


def _run_canary(
    trace: Sequence[TraceRequest],
    settings: ReplaySettings,
    options: Namespace,
    on_progress: Callable[[Progress], None] | None,
) -> int:
    """Replay with a canary, print what it did and found, and return the exit status."""
    from kv_canary.replay.canary import CanaryOptions, replay_with_canary

    injection: Injection | None = None
    drafts = options.drafts
    if options.inject is not None:
        from kv_canary.faults.catalogue import fault_named

        name, at, step = options.inject.partition("@")
        fault = fault_named(name)
        if at and not (step.isascii() and step.isdigit() and len(step) <= 9):
            raise UsageError(
                place="--inject",
                rule="the step must be a whole number, 0 or more",
                found=step or "nothing",
                wanted=f"{name}@STEP",
                fix=f"--inject {name}@{_INJECT_STEP}",
            )
        injection = fault.injection(int(step) if at else _INJECT_STEP)
        if fault.needs_window and not settings.window:
            raise UsageError(
                place="--inject",
                rule=f"the fault {name} needs a sliding window",
                found="--window 0",
                wanted="--window with a number of tokens",
                fix=f"--window 256 --inject {options.inject}",
            )
        drafts = drafts or (2 if fault.needs_drafts else 0)
    summary = replay_with_canary(
        trace,
        settings,
        CanaryOptions(
            real_kv=options.real_kv or "partial",
            drafts=drafts,
            sweep_every=options.sweep_every or 0,
        ),
        injection=injection,
        dump=None if options.dump is None else Path(options.dump),
        on_progress=on_progress,
    )
    if options.json:
        print(canary_json(summary))
    elif options.quiet:
        print(canary_line(summary))
    else:
        print(canary_text(summary))
    if summary.findings:
        return 1
    if injection is not None and summary.injected is None:
        raise _not_injected(injection, summary.steps)
    return 0


def _not_injected(injection: Injection, steps: int) -> UsageError:
    """Return the error of a fault that never struck, which a clean end would hide."""
    name, step = injection.name, injection.step
    is_late = step >= steps
    return UsageError(
        place="--inject",
        rule="the fault must be injected before the replay ends",
        found=f"the replay ended after step {steps - 1}, before step {step}"
        if is_late
        else f"no victim for {name} from step {step} to step {steps - 1}, the last",
        wanted=f"a step up to {steps - 1}"
        if is_late
        else "a step with a request that the fault can harm, and that will be read again",
        fix=f"--inject {name}@{min(_INJECT_STEP, steps // 2)}, or more --requests"
        if is_late
        else "more --requests, a smaller --scale, or another --seed",
    )


def _is_set(variables: Mapping[str, str]) -> bool:
    return all(os.environ.get(name) == value for name, value in variables.items())


def _start_again_interpreted(argv: Sequence[str]) -> None:
    """Replace this process: Triton's interpreter must be chosen before triton is imported."""
    sys.stdout.flush()
    sys.stderr.flush()
    command = [sys.executable, "-m", "kv_canary", "replay", *argv]
    os.execve(sys.executable, command, {**os.environ, **_INTERPRETER})


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
