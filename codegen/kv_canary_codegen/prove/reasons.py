"""What a spec says about its proofs: `prove.yaml` in the spec folder, if there is one.

    kept:         rule id -> why it stays although no call breaks it first, or others say as much
    waivers:      access -> why it may stay unproved; an access is `stem: kind argument`

Every reason is a sentence, and there are at most `MOST_WAIVERS` waivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kv_canary_codegen.reasons import ReasonError, read_file, sentences

FILE = "prove.yaml"
KEYS = ("kept", "waivers")
MOST_WAIVERS = 2


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
    parts = {key: sentences(path, part) for key, part in read_file(path, KEYS).items()}
    if len(parts["waivers"]) > MOST_WAIVERS:
        count = str(len(parts["waivers"]))
        raise ReasonError(path, "waivers are few", count, f"at most {MOST_WAIVERS}")
    return Reasons(kept=parts["kept"], waivers=parts["waivers"])
