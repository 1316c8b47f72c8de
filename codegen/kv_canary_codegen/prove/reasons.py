"""What a spec says about its proofs: `prove.yaml` in the spec folder, if there is one.

    kept:         rule id -> why it stays although no call breaks it first, or others say as much
    waivers:      access -> why it may stay unproved; an access is `stem: kind argument`

Every reason is a sentence, and there are at most `MOST_WAIVERS` waivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from kv_canary_codegen.write import CommandError

FILE = "prove.yaml"
KEYS = ("kept", "waivers")
MOST_WAIVERS = 2
SHORTEST_SENTENCE = 20
"""Letters; less explains nothing."""


class ReasonError(CommandError):
    """The file is not what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """What a spec says about its proofs."""

    kept: Mapping[str, str] = field(default_factory=dict)
    waivers: Mapping[str, str] = field(default_factory=dict)


def read_reasons(folder: Path) -> Reasons:
    """The reasons of a spec folder.

    Raises:
        ReasonError: A key is unknown, a reason is no sentence, or there are too many waivers.
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
        raise _error(path, "it has two keys", ", ".join(map(str, found)), ", ".join(KEYS))
    parts: dict[str, dict[str, str]] = {}
    for key in KEYS:
        entries = found.get(key) or {}
        if not isinstance(entries, dict):
            raise _error(path, f"`{key}` must be a mapping", type(entries).__name__, "a mapping")
        for name, reason in entries.items():
            sentence = isinstance(reason, str) and reason.strip().endswith(".")
            if not sentence or len(reason) < SHORTEST_SENTENCE:
                raise _error(path, f"`{name}` needs a reason", repr(reason), "a sentence")
        parts[key] = {str(name): str(reason) for name, reason in entries.items()}
    if len(parts["waivers"]) > MOST_WAIVERS:
        count = str(len(parts["waivers"]))
        raise _error(path, "waivers are few", count, f"at most {MOST_WAIVERS}")
    return Reasons(kept=parts["kept"], waivers=parts["waivers"])


def _error(path: Path, rule: str, found: str, wanted: str) -> ReasonError:
    return ReasonError(
        place=path.as_posix(), rule=rule, found=found, wanted=wanted, fix=f"edit {path.name}"
    )
