"""A run of the benchmark as lines for a terminal and as Markdown; nothing here measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kv_canary.bench.results import (
    HostResult,
    KernelResult,
    LeftOut,
    Machine,
    Report,
    Result,
    StepResult,
    SweepResult,
    Yardsticks,
)


def machine_line(machine: Machine) -> str:
    """Return where a run is made, in one line."""
    return (
        f"{machine.card}, torch {machine.torch}, Triton {machine.triton}, Python {machine.python}"
    )


def line_of(result: Result, yardsticks: Yardsticks | None = None) -> str:
    """Return what a terminal shows of a result, as soon as it is there.

    Args:
        result: what was found.
        yardsticks: what shares are told of; None leaves them out.
    """
    match result:
        case Yardsticks():
            return "\n".join(f"{name:<36}{value}" for name, value in _yardstick_rows(result))
        case KernelResult():
            share = (
                "" if yardsticks is None else f", {result.share_of_copy(yardsticks):4.0%} of copy"
            )
            return (
                f"{result.hash_format:<9}{result.case:<38}{result.kernel:<7}"
                f"{result.warm_us:9.2f} us, swept {result.swept_us:9.2f} us{share}, "
                f"host {result.host_us:5.0f} us, {_checked(result.checked)}  [{result.variant}]"
            )
        case StepResult():
            return (
                f"step {result.case}, {result.groups}, {_pages(result.page)}, "
                f"real_kv={result.real_kv}: {result.us:.1f} us, without {result.plain_us:.1f}; "
                f"adds {result.added_us:.1f} us, {result.share_of_step:.2%} of a step of "
                f"{result.step_ms} ms; host, eager: adds {result.added_host_us:.0f} us, "
                f"{_checked(result.checked)}"
            )
        case SweepResult():
            return (
                f"sweep    {result.bs:>5,} x {result.prefix:<7,}{result.kernel:<7}"
                f"{result.tight_us:9.2f} us, with {result.spare} times the capacity "
                f"{result.spare_us:9.2f} us, {result.growth:5.2f} x, {_checked(result.checked)}"
            )
        case HostResult():
            over = "" if result.over_bare is None else f"   {result.over_bare:5.2f} x"
            return f"{result.figure:<38}{result.value:8.2f} {result.unit}{over}"
        case LeftOut():
            return f"left out: {result.case}: {result.why}"


def to_markdown(report: Report) -> str:
    """Return a run as a Markdown page, a table for each kind of result that it has.

    Args:
        report: the run.
    """
    parts = ["# What kv-canary costs", machine_line(report.machine) + "."]
    yardsticks = report.yardsticks
    if yardsticks is not None:
        parts += ["## The card", _table(("yardstick", "measured"), _yardstick_rows(yardsticks), 1)]
    if report.kernels:
        parts += ["## Kernels", _kernel_words(yardsticks), _kernel_table(report, yardsticks)]
    if report.steps:
        parts += ["## Whole steps", _STEP_WORDS, _step_table(report.steps)]
    if report.sweep:
        parts += ["## Batch, prefix, capacity", _SWEEP_WORDS, _sweep_table(report.sweep)]
    if report.host:
        parts += ["## Host", _host_table(report.host)]
    if report.left_out:
        parts.append("## Left out")
        parts.append("\n".join(f"- {each.case}: {each.why}" for each in report.left_out))
    return "\n\n".join(parts) + "\n"


_STEP_WORDS = (
    "A captured forward that writes K and V of the new tokens and nothing else, with a canary and "
    "without; microseconds, the L2 swept before each."
)
_SWEEP_WORDS = (
    "Decode steps at two capacities, microseconds in a graph: what grows with the batch and with "
    "what it has cached, and does not with the room around it."
)


def _kernel_words(yardsticks: Yardsticks | None) -> str:
    words = "Medians in microseconds, graph replay; host is an eager call with all of its checks."
    if yardsticks is None:
        return words
    return words + " The share is of the copying kernel's bandwidth, from the swept time."


def _yardstick_rows(yardsticks: Yardsticks) -> list[tuple[str, str]]:
    return [
        ("copying kernel", f"{yardsticks.copy_bytes_per_us / 1e6:.2f} TB/s"),
        (f"gather of {yardsticks.gather_rows:,} rows of 32 B", f"{yardsticks.gather_us:.1f} us"),
        ("the same, L2 swept", f"{yardsticks.gather_swept_us:.1f} us"),
        ("empty kernel in a graph", f"{yardsticks.empty_us:.2f} us"),
        ("empty kernel, host", f"{yardsticks.empty_host_us:.1f} us"),
    ]


def _kernel_table(report: Report, yardsticks: Yardsticks | None) -> str:
    names = ("case", "format", "kernel", "warm", "swept", "host", "MB", "of copy", "", "variant")
    rows = [
        (
            each.case,
            each.hash_format,
            each.kernel,
            f"{each.warm_us:.2f}",
            f"{each.swept_us:.2f}",
            f"{each.host_us:.0f}",
            f"{each.bytes_moved / 1e6:.2f}",
            "-" if yardsticks is None else f"{each.share_of_copy(yardsticks):.0%}",
            _checked(each.checked),
            f"`{each.variant}`",
        )
        for each in report.kernels
    ]
    return _table(names, rows, 3)


def _step_table(steps: Sequence[StepResult]) -> str:
    names = ("step", "pools", "pages", "bytes", "without", "with", "adds", "of a step", "host adds")
    rows = [
        (
            each.case,
            each.groups,
            _pages(each.page),
            each.real_kv,
            f"{each.plain_us:.1f}",
            f"{each.us:.1f}",
            f"{each.added_us:.1f}",
            f"{each.share_of_step:.2%} of {each.step_ms} ms",
            f"{each.added_host_us:.0f}",
            _checked(each.checked),
        )
        for each in steps
    ]
    return _table((*names, ""), rows, 4)


def _sweep_table(sweep: Sequence[SweepResult]) -> str:
    names = ("kernel", "batch x prefix", "tight", "with room", "growth", "")
    rows = [
        (
            each.kernel,
            f"{each.bs:,} x {each.prefix:,}",
            f"{each.tight_us:.2f}",
            f"{each.spare_us:.2f} ({each.spare} x)",
            f"{each.growth:.2f}",
            _checked(each.checked),
        )
        for each in sweep
    ]
    return _table(names, rows, 2)


def _host_table(host: Sequence[HostResult]) -> str:
    rows = [
        (
            each.figure,
            f"{each.value:.2f} {each.unit}",
            "" if each.over_bare is None else f"{each.over_bare:.2f}",
        )
        for each in host
    ]
    return _table(("figure", "measured", "over bare reads"), rows, 1)


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], words: int) -> str:
    """Return a Markdown table whose first columns are words, to the left; numbers are right."""
    ruler = ["---" if place < words else "---:" for place in range(len(names))]
    lines = [names, ruler, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _pages(page: int) -> str:
    return "scattered" if page == 1 else f"pages of {page}"


def _checked(checked: bool) -> str:
    return "checked" if checked else "NOT CHECKED"
