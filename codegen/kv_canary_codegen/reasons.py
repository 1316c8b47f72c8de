"""Reasons that a spec gives in files beside it: YAML, a mapping a key, each reason a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kv_canary_codegen.write import CommandError

_COUNTS = ("no", "one", "two", "three", "four")
SHORTEST_SENTENCE = 20
"""Letters; less explains nothing."""


class ReasonError(CommandError):
    """The file is not what it should be."""

    def __init__(self, path: Path, rule: str, found: str, wanted: str) -> None:
        super().__init__(
            place=path.as_posix(), rule=rule, found=found, wanted=wanted, fix=f"edit {path.name}"
        )


def read_file(path: Path, keys: Sequence[str]) -> dict[str, Mapping[Any, Any]]:
    """A mapping for each key, empty where the file or the key is not there.

    Raises:
        ReasonError: It is no YAML, a key is unknown, or a value is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {key: {} for key in keys}
    except (OSError, UnicodeDecodeError) as error:
        raise ReasonError(path, "it must be text in UTF-8", str(error), "a mapping") from error
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ReasonError(path, "it must be YAML", str(error), "a mapping") from error
    if not isinstance(found, dict) or set(found) - set(keys):
        rule = f"it has {_COUNTS[len(keys)]} keys"
        raise ReasonError(path, rule, ", ".join(map(str, found)), ", ".join(keys))
    parts: dict[str, Mapping[Any, Any]] = {}
    for key in keys:
        parts[key] = found.get(key) or {}
        if not isinstance(parts[key], dict):
            kind = type(parts[key]).__name__
            raise ReasonError(path, f"`{key}` must be a mapping", kind, "a mapping")
    return parts


def sentences(path: Path, entries: Mapping[Any, Any]) -> dict[str, str]:
    """Entries of a file, each with its reason.

    Raises:
        ReasonError: A reason is no sentence.
    """
    for name, reason in entries.items():
        sentence = isinstance(reason, str) and reason.strip().endswith(".")
        if not sentence or len(reason) < SHORTEST_SENTENCE:
            raise ReasonError(path, f"`{name}` needs a reason", repr(reason), "a sentence")
    return {str(name): reason for name, reason in entries.items()}
