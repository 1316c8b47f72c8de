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

from kv_canary_codegen.reasons import ReasonError, read_file, sentences

FILE = "mutate.yaml"
FAMILIES = ("rules", "bodies", "guards")
TEST_KEYS = {"run", "keyword"}


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
    parts = read_file(path, (*FAMILIES, "tests"))
    survivors: dict[str, str] = {}
    for family in FAMILIES:
        survivors.update(sentences(path, parts[family]))
    tests: dict[str, Tests] = {}
    for name, chosen in parts["tests"].items():
        good = isinstance(chosen, dict) and "run" in chosen and not set(chosen) - TEST_KEYS
        if not good or not isinstance(chosen["run"], list):
            wanted = "{run: [test_a.py], keyword: words}"
            raise ReasonError(path, f"`tests` of `{name}` says what is run", repr(chosen), wanted)
        keyword = str(chosen.get("keyword", ""))
        tests[str(name)] = Tests(run=tuple(map(str, chosen["run"])), keyword=keyword)
    return Reasons(survivors=survivors, tests=tests)
