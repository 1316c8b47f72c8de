"""Asking the processes that judge mutants; each has a time in which it answers."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kv_canary_codegen.mutate.judge import CALLS, REFUSED
from kv_canary_codegen.write import CommandError

MESSAGES_SECONDS = 60


class MutateError(CommandError):
    """The command cannot be carried out."""


class HungError(Exception):
    """No answer came in time, and the process is gone."""


class Process:
    """A process that answers each line with one."""

    def __init__(self, module: str, variables: Mapping[str, str]) -> None:
        self.running = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **{name: value for name, value in os.environ.items() if "_BACKEND" not in name},
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                "OMP_NUM_THREADS": "1",
                **variables,
            },
        )

    def ask(self, question: Any, seconds: float) -> Any:
        """The answer to a question.

        Raises:
            HungError: There is none in time.
            MutateError: The process ended.
        """
        process = self.running
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], seconds)
            if not ready:
                self.end()
                raise HungError
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            assert process.stderr is not None, "a pipe"
            said = process.stderr.read().decode(errors="replace").strip().split("\n")
            self.end()
            raise MutateError(
                place=" ".join(map(str, process.args[1:]))
                if isinstance(process.args, list)
                else "",
                rule="the process that judges mutants must run",
                found=said[-1],
                wanted="torch, pytest and the project's tests",
                fix="see whether the tests pass by themselves",
            )
        return json.loads(answer)

    def end(self) -> None:
        """End the process."""
        self.running.kill()
        self.running.communicate()


class Messages:
    """The hand-written messages; their process is begun anew where one hangs."""

    def __init__(self, package: str, texts: Mapping[str, str], tests: Path) -> None:
        self.first = {"package": package, "texts": dict(texts), "tests": str(tests.resolve())}
        self.cases = 0
        self._process: Process | None = None

    @staticmethod
    def missing(tests: Path) -> str:
        """What a project lacks for this, or nothing."""
        lacking = [file for file in (CALLS, REFUSED) if not (tests / file).is_file()]
        return f"no {' and no '.join(lacking)} in {tests.as_posix()}" if lacking else ""

    def begin(self) -> None:
        """Begin, and see that every case passes while nothing is edited.

        Raises:
            MutateError: One does not.
        """
        self._process = Process("kv_canary_codegen.mutate.judge", {})
        told = self._process.ask(self.first, 10 * MESSAGES_SECONDS)
        self.cases = told["cases"]
        if told["failing"]:
            self.end()
            raise MutateError(
                place=f"{self.first['tests']}/{REFUSED}",
                rule="what is to notice a mutant must pass without one",
                found="; ".join(told["failing"][:3]),
                wanted="no failing case",
                fix="run the tests, and mend what fails",
            )

    def noticed(self, changed: Mapping[str, str], rule: str) -> tuple[str, str] | None:
        """The first case that fails after an edit, and how; `hung` where there is no answer."""
        if self._process is None:
            self.begin()
        assert self._process is not None, "it was begun"
        try:
            found = self._process.ask({"changed": dict(changed), "rule": rule}, MESSAGES_SECONDS)
        except HungError:
            self._process = None
            return "hung", f"no answer in {MESSAGES_SECONDS} s"
        return None if found is None else (found[0], found[1])

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.end()
            self._process = None


class Trials:
    """Tests of some kernels, run against a generated folder of this process's own."""

    def __init__(self, place: Path, generated: Mapping[str, str]) -> None:
        self.place = place
        self.generated = dict(generated)
        self._process = Process("kv_canary_codegen.mutate.trials", {"TRITON_INTERPRET": "1"})
        self._put(generated)

    def _put(self, texts: Mapping[str, str]) -> None:
        for file, text in texts.items():
            path = self.place / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def noticed(
        self, changed: Mapping[str, str], tests: Sequence[str], keyword: str, seconds: float
    ) -> tuple[str, str] | None:
        """The first test that fails after some generated files are changed, and what it says."""
        with self.changed(changed):
            asked = {
                "folder": str(self.place),
                "tests": list(tests),
                "keyword": keyword,
                "seconds": seconds,
            }
            found = self._process.ask(asked, seconds + 60)
        return None if found is None else (found[0], found[1])

    @contextlib.contextmanager
    def changed(self, texts: Mapping[str, str]) -> Iterator[Path]:
        """The generated folder while some of its files read otherwise."""
        self._put(texts)
        try:
            yield self.place
        finally:
            self._put({file: self.generated[file] for file in texts})

    def end(self) -> None:
        """End the process."""
        self._process.end()
