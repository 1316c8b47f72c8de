"""What a spec says about its mutants: `mutate.yaml` in the spec folder, if there is one.

    rules:        mutant -> why no call can tell it from the spec as it is
    bodies:       mutant -> why it may survive
    tests:        kernel -> hand-written tests that launch it, as pytest takes them, by the tests' folder
    keyword:      of these tests, which are run, as pytest's `-k` takes it

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
KEYS = ("rules", "bodies", "tests", "keyword")
SHORTEST_SENTENCE = 20
"""Letters; less explains nothing."""


class ReasonError(CommandError):
    """The file is not what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """What a spec says about its mutants."""

    survivors: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keyword: str = ""


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
    for key in ("rules", "bodies"):
        for name, reason in _mapping(path, key, found).items():
            sentence = isinstance(reason, str) and reason.strip().endswith(".")
            if not sentence or len(reason) < SHORTEST_SENTENCE:
                raise _error(path, f"`{name}` needs a reason", repr(reason), "a sentence")
            survivors[str(name)] = reason
    tests: dict[str, tuple[str, ...]] = {}
    for name, chosen in _mapping(path, "tests", found).items():
        if not isinstance(chosen, list) or not all(isinstance(item, str) for item in chosen):
            raise _error(path, f"`tests` of `{name}` must be a list", repr(chosen), "[test_a.py]")
        tests[str(name)] = tuple(chosen)
    keyword = found.get("keyword") or ""
    if not isinstance(keyword, str):
        raise _error(path, "`keyword` must be text", repr(keyword), "what `pytest -k` takes")
    return Reasons(survivors=survivors, tests=tests, keyword=keyword)


def _mapping(path: Path, key: str, found: Mapping[str, Any]) -> Mapping[Any, Any]:
    entries = found.get(key) or {}
    if not isinstance(entries, dict):
        raise _error(path, f"`{key}` must be a mapping", type(entries).__name__, "a mapping")
    return entries


def _error(path: Path, rule: str, found: str, wanted: str) -> ReasonError:
    return ReasonError(
        place=path.as_posix(), rule=rule, found=found, wanted=wanted, fix=f"edit {path.name}"
    )
