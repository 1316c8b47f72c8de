"""A process of its own, which makes a project's hand-written calls of what was generated.

It reads one JSON object a line and answers each with one. The first names the package, gives the
text of every module of it, and names the folder of the tests; the answer lists the cases that fail
as things stand. Each one after it gives modules that differ, and the answer names the first case
that notices. Nothing is launched: what a case asks for is settled before a launch.

Note [What a project's tests give]
`data/messages.jsonl` has one wrong call a line, and `data/accepted.jsonl` one right call: `id`,
`call`, `change`, and of a wrong one `message`, and perhaps `also` and `broken`. `test_messages.py`
knows how a call is made and what its refusal promises: `make_call(call, change)`,
`assert_refused(error, message, also=..., broken=...)`, and in `MODULES` the module of each call. A
case that sets the environment is about backends, not rules.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

CALLS = "test_messages.py"
REFUSED, ACCEPTED = "data/messages.jsonl", "data/accepted.jsonl"


class Texts(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a package from texts, each compiled once."""

    def __init__(self, package: str, texts: Mapping[str, str]) -> None:
        self.package = package
        self.texts = dict(texts)
        self._compiled: dict[tuple[str, str], CodeType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where a module of the package comes from; other modules are no business of ours."""
        if name != self.package and not name.startswith(f"{self.package}."):
            return None
        file = self.file(name)
        if file is None:
            return None
        package = file.endswith("/__init__.py")
        return importlib.util.spec_from_loader(name, self, origin=file, is_package=package)

    def file(self, name: str) -> str | None:
        """The file of a module."""
        stem = name.replace(".", "/")
        return next((f for f in (f"{stem}.py", f"{stem}/__init__.py") if f in self.texts), None)

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's text in it."""
        file = self.file(module.__name__)
        assert file is not None, "it was found"
        key = (file, self.texts[file])
        if key not in self._compiled:
            self._compiled[key] = compile(self.texts[file], file, "exec")
        exec(self._compiled[key], module.__dict__)

    def needed(self, name: str) -> set[str]:
        """A module of the package and all that it imports from there."""
        found, open_ = set(), [name]
        while open_:
            name = open_.pop()
            file = self.file(name)
            if file is not None and name not in found:
                found.add(name)
                open_ += re.findall(
                    rf"^\s*from ({self.package}\.[\w.]+) import", self.texts[file], re.MULTILINE
                )
        return found

    def forget(self, files: Iterable[str]) -> None:
        """Let the next import of whatever needs these files be a new one."""
        changed = {f.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for f in files}
        for name in [n for n in sys.modules if n.startswith(f"{self.package}.")]:
            if self.needed(name) & changed:
                del sys.modules[name]


class Judge:
    """The cases, and the package that they are made with."""

    def __init__(self, package: str, texts: Mapping[str, str], tests: Path) -> None:
        self.texts = Texts(package, texts)
        self.original = dict(texts)
        sys.meta_path.insert(0, self.texts)
        self.package = package
        self.calls = _loaded(tests / CALLS)
        self.cases = [
            case
            for file in (REFUSED, ACCEPTED)
            if (tests / file).is_file()
            for case in map(json.loads, (tests / file).read_text("utf-8").splitlines())
            if not any("environment" in what for what in case["change"].values())
        ]
        self.rules: dict[str, set[str]] = {}
        self._no_launches()

    def _no_launches(self) -> None:
        backends = importlib.import_module(f"{self.package}.backends")
        vars(backends)["reference_of"] = lambda path: lambda **arguments: None

    def failing(self) -> list[str]:
        """The cases that fail as things stand, and of the others which rules they break."""
        found = []
        for case in self.cases:
            reason = self._reason(case, remember=True)
            if reason is not None:
                found.append(f"{case['id']}: {reason}")
        return found

    def noticed(self, changed: Mapping[str, str], rule: str) -> tuple[str, str] | None:
        """The first case that a change of some modules makes fail, and how it does."""
        self.texts.texts |= changed
        self.texts.forget(changed)
        try:
            for case in self._ordered(changed, rule):
                reason = self._reason(case)
                if reason is not None:
                    return case["id"], reason
            return None
        finally:
            self.texts.texts = dict(self.original)
            self.texts.forget(changed)

    def _ordered(self, changed: Iterable[str], rule: str) -> Iterator[dict[str, Any]]:
        """Those that run a changed module: the ones about the rule first, then the right calls."""
        names = {f.removesuffix(".py").replace("/", ".") for f in changed}
        concerned: dict[str, bool] = {}
        for call, module in self.calls.MODULES.items():
            concerned[call] = bool(self.texts.needed(f"{self.package}.{module}") & names)
        cases = [c for c in self.cases if concerned[c["call"].partition(".")[0]]]
        ranks = {
            case["id"]: 0
            if any(r == rule or r.startswith(f"{rule}.") for r in self.rules.get(case["id"], ()))
            else 1 + ("message" in case)
            for case in cases
        }
        yield from sorted(cases, key=lambda case: ranks[case["id"]])

    def _reason(self, case: Mapping[str, Any], *, remember: bool = False) -> str | None:
        """Why a case fails, if it does."""
        error: BaseException | None = None
        try:
            self.calls.make_call(case["call"], case["change"])()
        except Exception as raised:
            error = raised
        if "message" not in case:
            return None if error is None else f"it is refused: {_said(error)}"
        if error is None:
            return "it is accepted"
        try:
            told = {name: case[name] for name in ("also", "broken") if name in case}
            self.calls.assert_refused(error, case["message"], **told)
        except (AssertionError, AttributeError, IndexError):
            return f"it says: {_said(error)}"
        if remember:
            broken = getattr(error, "broken_rules", ())
            self.rules[case["id"]] = {rule.rule_id for rule in broken}
        return None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:200]


def _loaded(path: Path) -> Any:
    """A file that stands in no package, imported under its own name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "a Python file"
    assert spec.loader is not None, "a Python file"
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Answer every line of the input."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    first = json.loads(sys.stdin.readline())
    judge = Judge(first["package"], first["texts"], Path(first["tests"]))
    told: dict[str, Any] = {"failing": judge.failing(), "cases": len(judge.cases)}
    print(json.dumps(told), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            found = judge.noticed(asked["changed"], asked["rule"])
        except Exception as error:
            found = ("import", _said(error))
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
