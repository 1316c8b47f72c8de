"""A process of its own, which runs tests against what was generated, each time in a child.

It reads one JSON object a line and answers each with one. `folder` holds a generated package and is
found before any other; `tests` and `keyword` are what pytest takes; `seconds` is the longest that
the child may run. The answer is null if all pass, else the first test that does not, and what it
says.

Note [A child for each trial]
Torch, Triton and pytest take longer to import than most trials take to run. They are imported once,
and each trial is a fork, which sees a package that nobody has imported yet.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

SLOW = ("torch", "numpy", "triton", "triton.language", "triton.runtime.interpreter")
"""What trials import; a project may do without some of it."""
MARKERS = "not gpu and not compiles"


class First:
    """A plugin of pytest: puts a folder before all others, and keeps the first failure."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.found: tuple[str, str] | None = None

    def pytest_configure(self, config: Any) -> None:
        """After the project's own paths were set."""
        sys.path.insert(0, self.folder)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported is a failure as well."""
        self._keep(report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """What a test's set-up, call and tear-down came to."""
        self._keep(report)

    def _keep(self, report: Any) -> None:
        if report.failed and self.found is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            said = crash.message if crash is not None else str(report.longrepr)
            self.found = (report.nodeid, said.strip().split("\n")[0][:200])


def tried(asked: Mapping[str, Any], answer: int) -> None:
    """Run the tests in this process, a child, and write what they come to."""
    pytest = import_module("pytest")
    first = First(asked["folder"])
    sys.dont_write_bytecode = True
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    words = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", "-m", MARKERS]
    if asked["keyword"]:
        words += ["-k", asked["keyword"]]
    status = int(pytest.main([*words, *asked["tests"]], plugins=[first]))
    if status and first.found is None:
        first.found = ("pytest", f"it ends with {status}")
    os.write(answer, json.dumps(first.found).encode())


def in_child(asked: Mapping[str, Any]) -> Any:
    """What `tried` says, from a child that is ended when its time is over."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        with contextlib.suppress(BaseException):
            tried(asked, writing)
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], asked["seconds"])
    text = b""
    if ready:
        while piece := os.read(reading, 65536):
            text += piece
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    if not ready:
        return ["hung", f"no end in {asked['seconds']:.0f} s"]
    return json.loads(text) if text else ["crashed", f"the process ended with status {status}"]


def main(words: Sequence[str] | None = None) -> None:
    """Answer every line of the input."""
    for name in ("pytest", *SLOW):
        with contextlib.suppress(ImportError):
            import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(in_child(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
