"""What a spec says about its mutants: `mutate.yaml` in the spec folder, if there is one.

    rules:        mutant -> why no call can tell it from the spec as it is
    bodies:       mutant -> why it may survive
    guards:       mutant -> what else keeps the access inside, and why the guard stays
    tests:        kernel -> `run`, hand-written tests that launch it, as pytest takes them, in the
                  tests' folder, and `keyword`, which of them, as pytest's `-k` takes it

Every reason is a sentence, and one that no survivor needs is a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kv_canary_codegen.write import CommandError

FILE = "mutate.yaml"
KEYS = ("rules", "bodies", "guards", "tests")
TEST_KEYS = {"run", "keyword"}
SHORTEST_SENTENCE = 20
"""Letters; less explains nothing."""


class ReasonError(CommandError):
    """The file is not what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """Hand-written tests that launch a kernel."""

    run: tuple[str, ...]
    keyword: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """What a spec says about its mutants."""

    survivors: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, Tests] = field(default_factory=dict)


def read_reasons(folder: Path) -> Reasons:
    """The reasons of a spec folder.

    Raises:
        ReasonError: A key is unknown, a reason is no sentence, or tests are no list.
    """
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Reasons()
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise _error(path, "it must be YAML", str(error), "a mapping") from error
    if not isinstance(found, dict) or set(found) - set(KEYS):
        raise _error(path, "it has four keys", ", ".join(map(str, found)), ", ".join(KEYS))
    survivors: dict[str, str] = {}
    for key in KEYS[:-1]:
        for name, reason in _mapping(path, key, found).items():
            sentence = isinstance(reason, str) and reason.strip().endswith(".")
            if not sentence or len(reason) < SHORTEST_SENTENCE:
                raise _error(path, f"`{name}` needs a reason", repr(reason), "a sentence")
            survivors[str(name)] = reason
    tests: dict[str, Tests] = {}
    for name, chosen in _mapping(path, "tests", found).items():
        good = isinstance(chosen, dict) and "run" in chosen and not set(chosen) - TEST_KEYS
        if not good or not isinstance(chosen["run"], list):
            wanted = "{run: [test_a.py], keyword: words}"
            raise _error(path, f"`tests` of `{name}` says what is run", repr(chosen), wanted)
        keyword = str(chosen.get("keyword", ""))
        tests[str(name)] = Tests(run=tuple(map(str, chosen["run"])), keyword=keyword)
    return Reasons(survivors=survivors, tests=tests)


def _mapping(path: Path, key: str, found: Mapping[str, Any]) -> Mapping[Any, Any]:
    entries = found.get(key) or {}
    if not isinstance(entries, dict):
        raise _error(path, f"`{key}` must be a mapping", type(entries).__name__, "a mapping")
    return entries


def _error(path: Path, rule: str, found: str, wanted: str) -> ReasonError:
    return ReasonError(
        place=path.as_posix(), rule=rule, found=found, wanted=wanted, fix=f"edit {path.name}"
    )
