"""The flags of `kv-canary bench`, and the order in which things are measured."""

from __future__ import annotations

import os
import platform
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from kv_canary.bench.results import Machine, Report, Result, Yardsticks, to_json
from kv_canary.bench.tables import line_of, machine_line, to_markdown
from kv_canary.errors import UsageError
from kv_canary.flags import FlagParser, choice, did_you_mean, whole_number

_ROWS = ("host", "device", "step", "all")
_STEP_MS, _LONGEST_STEP_MS = 20, 60_000
_DISTORTING = {"TRITON_INTERPRET": "1", "KV_CANARY_BACKEND": "torch"}


def run_bench(argv: Sequence[str]) -> int:
    """Measure what was asked for, print a line a result, and write the files.

    Args:
        argv: the arguments after `bench`.

    Returns:
        0; a wrong result is an error.

    Raises:
        UsageError: a flag is wrong, or this machine cannot do what it asks for.
        BenchmarkMismatchError: a timed result differs from the oracle.
    """
    options = _parser().parse(argv)
    _check_rows(options)
    files = _files(options)
    # Torch is loaded only now: a bad flag is told at once.
    import torch

    has_gpu = torch.cuda.is_available()
    asks_for_kernels = options.sweep or options.roofline is not None or options.hash_format
    rows: str = options.rows or ("all" if has_gpu or asks_for_kernels else "host")
    on_gpu = rows != "host"
    if on_gpu:
        _check_gpu(rows, has_gpu=has_gpu)
    machine = _machine(on_gpu=on_gpu)
    print(machine_line(machine), flush=True)
    report = Report(machine=machine, results=tuple(_shown(_measured(rows, options))))
    for write, path, flag in files:
        _write(write, report, path, flag)
    return 0


def _parser() -> FlagParser:
    parser = FlagParser(
        command="kv-canary bench",
        summary="Measure what the canary costs on this machine: each kernel under graph replay and "
        "as an eager call, whole decode steps with and without a canary, and what runs on the host "
        "alone. Every timed result is compared with the torch reference.",
        epilog="Rows: host (anywhere), device (kernels), step (whole steps), all. Without a word: "
        "all where there is a GPU, host where there is none. Exit status: 0 done, 1 a timed result "
        "is wrong, 2 a flag is wrong or this machine cannot do it, 130 interrupted.",
    )
    parser.positional("rows", "host, device, step or all (default: what runs here)")
    parser.value("--json", _path, "FILE", "write the results as one JSON object")
    parser.value("--markdown", _path, "FILE", "write the results as Markdown tables")
    parser.value(
        "--roofline",
        _path,
        "FILE",
        "draw the kernels under what the card can do (needs matplotlib)",
    )
    parser.number(
        "--step-ms",
        whole_number(1, _LONGEST_STEP_MS),
        _STEP_MS,
        "length of your decode step, which shares are told of, in milliseconds",
    )
    parser.value(
        "--hash-format",
        choice("parallel", "serial"),
        "NAME",
        "measure kernels in one format only (default: both)",
    )
    parser.switch("--sweep", "measure kernels over batch x prefix too, at two capacities each")
    parser.switch("--quick", "measure a part: the table's cases, parallel, and two whole steps")
    return parser


def _path(text: str) -> str:
    return text


def _check_rows(options: Namespace) -> None:
    """Raise UsageError for words and flags that do not go together."""
    rows = options.rows
    if rows is not None and rows not in _ROWS:
        raise UsageError(
            place="bench",
            rule="the rows must be one of " + ", ".join(_ROWS),
            found=rows or "nothing",
            wanted=did_you_mean(rows, _ROWS) or ", ".join(_ROWS),
            fix="kv-canary bench --help",
        )
    for flag, value in (
        ("--sweep", options.sweep),
        ("--roofline", options.roofline),
        ("--hash-format", options.hash_format),
    ):
        if value and rows in ("host", "step"):
            shown = flag if value is True else f"{flag} {value}"
            raise UsageError(
                place=flag,
                rule="this flag is about kernels, and they are not measured",
                found=f"bench {rows}",
                wanted="bench device, or bench all",
                fix=f"kv-canary bench device {shown}",
            )


def _files(options: Namespace) -> list[tuple[Callable[[Report, Path], None], Path, str]]:
    """Return what is to be written where, once it is sure that it can be: measuring takes minutes.

    Raises:
        UsageError: a folder is missing, or matplotlib is.
    """
    writers: tuple[tuple[str, str | None, str, Callable[[Report, Path], None]], ...] = (
        ("--json", options.json, "bench.json", _put_json),
        ("--markdown", options.markdown, "bench.md", _put_markdown),
        ("--roofline", options.roofline, "roofline.png", _draw),
    )
    found = []
    for flag, name, example, write in writers:
        if name is None:
            continue
        path = Path(name)
        if not name or path.is_dir() or not path.parent.is_dir():
            raise UsageError(
                place=flag,
                rule="the file must have a name, in a folder that is there",
                found=name or "nothing",
                wanted="the path of a file that can be written",
                fix=f"{flag} {example}",
            )
        found.append((write, path, flag))
    if options.roofline is not None and find_spec("matplotlib") is None:
        raise UsageError(
            place="--roofline",
            rule="matplotlib must be installed",
            found="no module `matplotlib`",
            wanted="kv-canary with its bench extra",
            fix="pip install 'kv-canary[bench]'",
        )
    return found


def _put_json(report: Report, path: Path) -> None:
    path.write_text(to_json(report) + "\n", encoding="utf-8")


def _put_markdown(report: Report, path: Path) -> None:
    path.write_text(to_markdown(report), encoding="utf-8")


def _draw(report: Report, path: Path) -> None:
    from kv_canary.bench.roofline import draw_roofline

    draw_roofline(report, path)


def _write(write: Callable[[Report, Path], None], report: Report, path: Path, flag: str) -> None:
    try:
        write(report, path)
    except OSError as error:
        raise UsageError(
            place=flag,
            rule="the file must be one that can be written",
            found=error.strerror or str(error),
            wanted="the path of a file that can be written",
            fix=f"{flag} in a folder of your own",
        ) from error


def _check_gpu(rows: str, *, has_gpu: bool) -> None:
    """Raise UsageError unless compiled kernels run here."""
    import torch

    if not has_gpu:
        raise UsageError(
            place=f"bench {rows}",
            rule="kernels and steps are measured on a CUDA or ROCm GPU",
            found=f"torch {torch.__version__}, which sees none",
            wanted="a GPU that torch can use",
            fix="kv-canary bench host",
        )
    for name, value in _DISTORTING.items():
        if os.environ.get(name) == value:
            raise UsageError(
                place=name,
                rule="compiled kernels are measured, and nothing else",
                found=f"{name}={value}",
                wanted=f"{name} unset",
                fix=f"env -u {name} kv-canary bench {rows}",
            )


def _machine(*, on_gpu: bool) -> Machine:
    import torch

    try:
        import triton
    except ImportError:
        triton_version = "none"
    else:
        triton_version = triton.__version__
    return Machine(
        card=torch.cuda.get_device_name() if on_gpu else f"no GPU, {platform.machine()}",
        torch=torch.__version__,
        triton=triton_version,
        python=platform.python_version(),
    )


def _measured(rows: str, options: Namespace) -> Iterator[Result]:
    """Yield each result as soon as it is there."""
    if rows in ("host", "all"):
        from kv_canary.bench import host

        yield from host.results(quick=options.quick)
    if rows in ("device", "all"):
        from kv_canary.bench import device, sweep, timing

        formats = ("parallel",) if options.quick else ("parallel", "serial")
        if options.hash_format is not None:
            formats = (options.hash_format,)
        yield timing.yardsticks()
        yield from device.results(
            device.TABLE if options.quick else (*device.TABLE, *device.MORE), formats
        )
        if options.sweep:
            yield from sweep.results(formats[0])
    if rows in ("step", "all"):
        from kv_canary.bench import step

        yield from step.results(options.step_ms, quick=options.quick)


def _shown(results: Iterable[Result]) -> Iterator[Result]:
    """Print each result, and pass it on."""
    yardsticks = None
    for result in results:
        if isinstance(result, Yardsticks):
            yardsticks = result
        print(line_of(result, yardsticks), flush=True)
        yield result
