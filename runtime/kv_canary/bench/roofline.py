"""A run of the benchmark as a picture: what each launch moved a second, under what the card can do.

A launch that moves few bytes is bound by the time of an empty kernel, one that moves many by the
copying kernel: two straight lines, both measured in the same run. Scattered canaries have a ceiling
of their own, the gather. Hashing is not drawn: where the bytes of K and V are covered whole, it may
be what holds a launch below its roof.
"""

from __future__ import annotations

from pathlib import Path

from kv_canary.bench.results import Report
from kv_canary.errors import UsageError

_COLOURS = {"plan": "tab:blue", "verify": "tab:orange", "write": "tab:green"}
_MARKS = {"parallel": "o", "serial": "s"}


def attainable(bytes_moved: float, *, empty_us: float, bytes_per_us: float) -> float:
    """Return the most bytes a microsecond that a launch of so many bytes can show.

    Args:
        bytes_moved: bytes of the launch.
        empty_us: what a launch takes that moves nothing.
        bytes_per_us: what a long launch moves.
    """
    return min(bytes_moved / empty_us, bytes_per_us)


def draw_roofline(report: Report, path: Path) -> None:
    """Draw a run's kernels to a file, whose ending says in which format.

    Args:
        report: a run with yardsticks and kernels.
        path: where the picture goes.

    Raises:
        UsageError: there is nothing to draw, or the file cannot be written in that format.
    """
    yardsticks = report.yardsticks
    kernels = [each for each in report.kernels if each.bytes_moved > 0]
    if yardsticks is None or not kernels:
        raise UsageError(
            place="--roofline",
            rule="a picture needs kernels and yardsticks",
            found="neither in this run" if yardsticks is None else "no kernel in this run",
            wanted="device rows",
            fix="kv-canary bench device --roofline " + str(path),
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Without pyplot there is no window and no state, whatever the machine's settings say.
    figure = Figure(figsize=(9, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    sizes = sorted(each.bytes_moved for each in kernels)
    copied = yardsticks.copy_bytes_per_us
    corner = copied * yardsticks.empty_us
    places = sorted({sizes[0] / 2, min(max(corner, sizes[0] / 2), sizes[-1] * 2), sizes[-1] * 2})
    roof = [
        attainable(place, empty_us=yardsticks.empty_us, bytes_per_us=copied) for place in places
    ]
    axes.plot(places, [each / 1e6 for each in roof], color="black", label="copy, empty kernel")
    axes.axhline(
        yardsticks.gather_bytes_per_us / 1e6,
        color="gray",
        linestyle="--",
        label="scattered gather of 32 B, 64 fetched",
    )
    drawn: set[str] = set()
    for each in kernels:
        label = f"{each.kernel}, {each.hash_format}"
        axes.scatter(
            [each.bytes_moved],
            [each.bytes_moved / each.swept_us / 1e6],
            color=_COLOURS.get(each.kernel, "tab:red"),
            marker=_MARKS.get(each.hash_format, "x"),
            label=None if label in drawn else label,
        )
        drawn.add(label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bytes that a launch must move")
    axes.set_ylabel("TB/s, L2 swept before each launch")
    axes.set_title(f"{report.machine.card}, Triton {report.machine.triton}")
    axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            place="--roofline",
            rule="the picture must be a file that can be written, in a format of matplotlib's",
            found=str(error).partition("\n")[0],
            wanted="a file such as roofline.png, roofline.svg or roofline.pdf",
            fix="--roofline roofline.png",
        ) from error
