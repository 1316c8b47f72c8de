"""Turn what a canary recorded into findings that people understand.

`snapshot` is all that goes in; `find` gives findings; `report` prints them; `dump` keeps a snapshot
in a file for another process. Nothing here knows of the replay, of injected faults or of the object
that takes the snapshot. Names are resolved when first touched, so that help texts need no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kv_canary.findings.decode import Violation, log_line
    from kv_canary.findings.dump import (
        DamagedDumpError,
        DumpError,
        NewerDumpError,
        NotADumpError,
        read_dump,
        write_dump,
    )
    from kv_canary.findings.errors import CanaryError
    from kv_canary.findings.finding import Cause, Certainty, Finding, Ranges
    from kv_canary.findings.grouping import find
    from kv_canary.findings.report import report_json, report_text, summary_line
    from kv_canary.findings.snapshot import (
        GroupSnapshot,
        HalfSnapshot,
        Snapshot,
        StepSnapshot,
    )
    from kv_canary.findings.told import Told

__all__ = [
    "CanaryError",
    "Cause",
    "Certainty",
    "DamagedDumpError",
    "DumpError",
    "Finding",
    "GroupSnapshot",
    "HalfSnapshot",
    "NewerDumpError",
    "NotADumpError",
    "Ranges",
    "Snapshot",
    "StepSnapshot",
    "Told",
    "Violation",
    "find",
    "log_line",
    "read_dump",
    "report_json",
    "report_text",
    "summary_line",
    "write_dump",
]

# The imports above, as the interpreter sees them; a test holds the two together.
_MODULE_OF_NAME = {
    "CanaryError": "errors",
    "Cause": "finding",
    "Certainty": "finding",
    "DamagedDumpError": "dump",
    "DumpError": "dump",
    "Finding": "finding",
    "GroupSnapshot": "snapshot",
    "HalfSnapshot": "snapshot",
    "NewerDumpError": "dump",
    "NotADumpError": "dump",
    "Ranges": "finding",
    "Snapshot": "snapshot",
    "StepSnapshot": "snapshot",
    "Told": "told",
    "Violation": "decode",
    "find": "grouping",
    "log_line": "decode",
    "read_dump": "dump",
    "report_json": "report",
    "report_text": "report",
    "summary_line": "report",
    "write_dump": "dump",
}


def __getattr__(name: str) -> object:
    module = _MODULE_OF_NAME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF_NAME})
