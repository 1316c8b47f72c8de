"""`kv-canary faults`: the table of faults, each of them run and measured."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kv_canary.flags import FlagParser, whole_number

if TYPE_CHECKING:
    from kv_canary.faults.fault import Fault
    from kv_canary.faults.measure import Trial

_COLUMNS = 100
_SEEDS = 2


def run_faults(argv: Sequence[str]) -> int:
    """Run every fault at a few seeds and print what was found.

    Args:
        argv: the arguments after `faults`.

    Returns:
        0 when every fault was found as promised, and nothing of those that none can see; else 1.

    Raises:
        UsageError: a flag is wrong.
    """
    options = _parser().parse(argv)
    # Torch is loaded only now: a bad flag is told at once.
    from kv_canary.faults.catalogue import FAULTS
    from kv_canary.faults.measure import run_trial

    trials: dict[str, list[Trial]] = {}
    for number, fault in enumerate(FAULTS, start=1):
        if sys.stderr.isatty() and not options.json:
            print(f"{number} of {len(FAULTS)}: {fault.name}", file=sys.stderr, flush=True)
        trials[fault.name] = [run_trial(fault, seed) for seed in range(options.seeds)]
    if options.json:
        print(json.dumps([_as_json(fault, trials[fault.name]) for fault in FAULTS], indent=2))
    else:
        print(_text(FAULTS, trials, seeds=options.seeds))
    kept = all(not trial.disappointments() for each in trials.values() for trial in each)
    return 0 if kept else 1


def _parser() -> FlagParser:
    parser = FlagParser(
        command="kv-canary faults",
        summary="Run every fault that can be injected on a small pool, and print what happened in "
        "the field, which checks saw it, the cause that was named, and after how many steps.",
        epilog="`kv-canary replay --canary --inject NAME` injects one into a real trace. Exit "
        "status: 0 all found as promised, 1 one was not, 2 a flag is wrong.",
    )
    parser.number("--seeds", whole_number(1, 1000), _SEEDS, "run each fault at N seeds")
    parser.switch("--json", "print the table as one JSON list")
    return parser


def _seen_checks(trials: Sequence[Trial]) -> list[str]:
    """Return the names of the checks that saw a fault, lowest bit first."""
    names: dict[str, None] = {}
    for trial in trials:
        for check in trial.checks:
            names[str(check.name)] = None
    return list(names)


def _steps(trials: Sequence[Trial]) -> list[int]:
    return sorted({n for trial in trials if (n := trial.steps_until_found) is not None})


def _kept(trials: Sequence[Trial]) -> int:
    return sum(1 for trial in trials if not trial.disappointments())


def _as_json(fault: Fault, trials: Sequence[Trial]) -> dict[str, object]:
    return {
        "name": fault.name,
        "happened": fault.happened,
        "detectable": fault.is_detectable,
        "cause": None if fault.cause is None else fault.cause.value,
        "why_unseen": fault.why_unseen or None,
        "checks": _seen_checks(trials),
        "steps_until_found": _steps(trials),
        "seeds": len(trials),
        "as_promised": _kept(trials),
        "not_as_promised": [
            {"seed": trial.seed, "what": trial.disappointments()}
            for trial in trials
            if trial.disappointments()
        ],
    }


def _text(faults: Sequence[Fault], trials: dict[str, list[Trial]], *, seeds: int) -> str:
    count = f"{seeds} seed{'' if seeds == 1 else 's'}"
    lines = [f"Each fault at {count}; steps from the fault to the finding, 0 is the same step."]
    by_cause: dict[str, list[str]] = {}
    for fault in faults:
        if fault.cause is None:
            continue
        by_cause.setdefault(fault.cause.value, []).append(fault.name)
        own = trials[fault.name]
        steps = _steps(own)
        plural = "" if steps == [1] else "s"
        found = f"after {' or '.join(map(str, steps))} step{plural}" if steps else "never"
        lines += ["", f"{fault.name}  ->  {fault.cause.value}"]
        lines += _labelled("happened", fault.happened)
        lines += _labelled("seen by", ", ".join(_seen_checks(own)) or "nothing")
        lines += _labelled("found", f"{found}, at {_kept(own)} of {len(own)} seeds")
        lines += _complaints(own)
    lines += [
        "",
        "Faults of one class, which the evidence in a finding tells apart:",
    ]
    for cause, names in by_cause.items():
        lines += _labelled(cause, ", ".join(names), width=20)
    lines += ["", "What no stamp can see, injected too, with nothing found:"]
    for fault in faults:
        if fault.cause is not None:
            continue
        own = trials[fault.name]
        lines += ["", fault.name]
        lines += _labelled("happened", fault.happened)
        lines += _labelled("unseen", f"{fault.why_unseen}.")
        lines += _labelled("silent", f"at {_kept(own)} of {len(own)} seeds")
        lines += _complaints(own)
    return "\n".join(lines)


def _complaints(trials: Sequence[Trial]) -> list[str]:
    return [
        line
        for trial in trials
        for text in trial.disappointments()
        for line in _labelled("BUT", f"seed {trial.seed}: {text}")
    ]


def _labelled(label: str, text: str, *, width: int = 10) -> list[str]:
    return textwrap.wrap(
        text,
        width=_COLUMNS,
        initial_indent=f"  {label:<{width}}",
        subsequent_indent=" " * (2 + width),
        break_long_words=False,
        break_on_hyphens=False,
    )
