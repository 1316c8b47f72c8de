"""What a person sees of a replay: progress while it runs, and a summary at its end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kv_canary.replay.canary import CanarySummary
    from kv_canary.replay.engine import Progress, ReplaySummary

_SECONDS_BETWEEN_LINES = 2.0


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Give a function to call after every step, or None when there is nobody to look.

    A bar where rich is installed, a plain line every two seconds where it is not; both go to
    stderr, and only if that is a terminal.

    Args:
        quiet: show nothing at all.
    """
    if quiet or not sys.stderr.isatty():
        yield None
    elif find_spec("rich") is None:
        yield _plain_lines()
    else:
        with _rich_bar() as update:
            yield update


def summary_text(summary: ReplaySummary) -> str:
    """Return a summary as lines of name and value."""
    lines = {
        "requests": f"{summary.requests:,}",
        "steps": f"{summary.steps:,}, at most {summary.peak_batch} requests in one",
        "tokens": f"{summary.prefill_tokens:,} prefilled, {summary.decode_tokens:,} decoded; "
        f"{summary.chunked_prefills:,} prefills in chunks",
        "prefix cache": f"{summary.prefix_cache_hit_share:.1%} of {summary.prompt_tokens:,} prompt "
        f"tokens hit; {summary.evicted_blocks:,} blocks of {summary.block_tokens} tokens evicted, "
        f"{summary.merged_blocks:,} merged",
        "pool": f"{summary.pool_slots:,} slots in pages of {summary.page_size}, "
        f"at most {summary.peak_pool_use:.1%} held",
        "window": f"{summary.window:,} tokens; "
        f"{summary.evicted_window_pages:,} cached window pages evicted",
        "plans": f"{summary.plans:,} on {summary.device} by {summary.backend}, "
        f"{summary.plans_over_capacity:,} over capacity"
        + ("; those hold no entry to verify" if summary.plans_over_capacity else ""),
        "entries": f"{summary.verify_entries:,} to verify, {summary.write_entries:,} to write, "
        f"{summary.padding_entries:,} padding requests",
        "compared": f"{summary.values_compared:,} values with the pool's books: all equal",
        "time": f"{summary.wall_seconds:.1f} s, {summary.plan_share:.0%} of it in the plan",
    }
    if not summary.window:
        del lines["window"]
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines.items())


def canary_text(summary: CanarySummary) -> str:
    """Return a replay with a canary as lines of name and value, and what was found."""
    lines = {
        "requests": f"{summary.requests:,} done, {summary.steps:,} steps",
        "tokens": f"{summary.prefill_tokens:,} prefilled, {summary.decode_tokens:,} decoded, "
        f"{summary.rejected_drafts:,} drafted and rolled back",
        "prefix cache": f"{summary.prefix_cache_hit_share:.1%} of the prompt tokens hit; "
        f"{summary.evicted_blocks:,} blocks and {summary.evicted_window_pages:,} window pages "
        f"evicted; {summary.announced_prefixes:,} prefixes announced",
        "pool": f"{summary.pool_slots:,} slots in pages of {summary.page_size}, "
        + (f"window of {summary.window:,} tokens" if summary.window else "no window"),
        "canary": f"{summary.slots_checked:,} stamps verified, {summary.slots_stamped:,} made, "
        f"{_covered(summary.real_kv)}; {summary.canary_bytes / 2**20:,.1f} MiB on "
        f"{summary.device}, by {summary.backend}",
        "swept": f"{summary.swept_entries:,} entries of cached prefixes",
        "time": f"{summary.wall_seconds:.1f} s, "
        f"{summary.canary_seconds / max(summary.wall_seconds, 1e-9):.0%} of it in the canary",
    }
    if not summary.swept_entries:
        del lines["swept"]
    if summary.fault is not None:
        lines["injected"] = f"{summary.fault}: {_injected(summary)}"
    lines["found"] = _found(summary)
    width = max(map(len, lines))
    blocks = ["\n".join(f"{name:<{width}}  {value}" for name, value in lines.items())]
    return "\n\n".join([*blocks, *map(str, summary.findings)])


def canary_line(summary: CanarySummary) -> str:
    """Return the one line that `--quiet` leaves of a replay with a canary."""
    return (
        f"{summary.requests:,} requests, {summary.steps:,} steps, "
        f"{summary.slots_checked:,} stamps verified: {_found(summary)}"
    )


def canary_json(summary: CanarySummary) -> str:
    """Return a replay with a canary as one JSON object, keyed by the fields of CanarySummary."""
    values = {each.name: getattr(summary, each.name) for each in fields(summary)}
    injected = summary.injected
    values["injected"] = None if injected is None else asdict(injected)
    values["findings"] = [finding.to_json() for finding in summary.findings]
    return json.dumps(values, indent=2)


def _covered(real_kv: str) -> str:
    words = {"none": "no byte", "partial": "the first 16 bytes", "all": "every byte"}
    return f"{words[real_kv]} of each token covered"


def _injected(summary: CanarySummary) -> str:
    if summary.injected is None:
        return "no, the replay ended before it had a victim"
    return f"in step {summary.injected_step}, {summary.injected.what}"


def _found(summary: CanarySummary) -> str:
    count = len(summary.findings)
    if not count:
        is_missing = summary.fault is not None and summary.injected is None
        return "nothing, as no fault was injected" if is_missing else "nothing"
    found = f"{count} finding{'' if count == 1 else 's'} in step {summary.found_step}"
    if summary.found_step is None or summary.injected_step is None:
        return found
    later = summary.found_step - summary.injected_step
    if later == 0:
        return f"{found}, the fault's own"
    return f"{found}, {later} step{'' if later == 1 else 's'} after the fault"


def summary_line(summary: ReplaySummary) -> str:
    """Return the one line that `--quiet` leaves."""
    return (
        f"{summary.requests:,} requests, {summary.steps:,} steps, {summary.plans:,} plans: "
        f"{summary.values_compared:,} values compared, all equal"
    )


def summary_json(summary: ReplaySummary) -> str:
    """Return a summary as one JSON object, keyed by the fields of ReplaySummary."""
    return json.dumps(asdict(summary), indent=2)


def _plain_lines() -> Callable[[Progress], None]:
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def update(progress: Progress) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            print(
                f"{progress.requests_done:,} of {progress.requests:,} requests, "
                f"{progress.steps:,} steps, {progress.verify_entries:,} entries compared",
                file=sys.stderr,
                flush=True,
            )

    return update


@contextmanager
def _rich_bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("requests"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[steps]:,} steps, {task.fields[entries]:,} entries compared"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replay", total=None, steps=0, entries=0)

        def update(progress: Progress) -> None:
            bar.update(
                task,
                total=progress.requests,
                completed=progress.requests_done,
                steps=progress.steps,
                entries=progress.verify_entries,
            )

        yield update
