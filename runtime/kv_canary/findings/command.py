"""The flags of `kv-canary diagnose`, and what the command does with them."""

from __future__ import annotations

from collections.abc import Sequence

from kv_canary.errors import UsageError
from kv_canary.flags import FlagParser


def run_diagnose(argv: Sequence[str]) -> int:
    """Print the findings of a dump.

    Args:
        argv: the arguments after `diagnose`.

    Returns:
        0 when the dump tells of no damage, 1 when it does.

    Raises:
        UsageError: a flag is wrong, or the file is no dump that can be read.
    """
    parser = FlagParser(
        command="kv-canary diagnose",
        summary="Read a dump that a canary wrote, and say what damaged the KV cache, where, and "
        "what to look at next. Nothing of the process that wrote it is needed.",
        epilog="Exit status: 0 nothing found, 1 findings, 2 a flag or the file is wrong.",
    )
    parser.positional("dump", "file that a canary wrote in raise or log mode, or by Canary.dump")
    parser.switch("--json", "print one JSON object instead of text")
    options = parser.parse(argv)
    if options.dump is None:
        raise UsageError(
            place="diagnose",
            rule="the file to read must be named",
            found="no file",
            wanted="the path of a dump",
            fix="kv-canary diagnose DUMP",
        )

    # Torch is loaded only now: a bad flag is told at once.
    from kv_canary.findings.dump import read_dump
    from kv_canary.findings.grouping import find
    from kv_canary.findings.report import report_json, report_text

    snapshot = read_dump(options.dump)
    findings = find(snapshot)
    print((report_json if options.json else report_text)(findings, snapshot))
    return 1 if findings else 0
