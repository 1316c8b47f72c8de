"""Results that stand until the IR, the contract, or the prover itself changes.

Kept by a digest of all three, so that nothing has to be thrown away by hand. Only what was proved
is kept: what was not is looked at again each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import z3

from kv_canary_codegen.model import Body, Kernel, Spec
from kv_canary_codegen.prove.arguments import Variant
from kv_canary_codegen.prove.engine import AccessResult, VariantResult
from kv_canary_codegen.prove.rules import ContractResult, NumberResult, RuleResult, Verdict
from kv_canary_codegen.prove.safety import Status

EMPTY = Body(helpers="", lines=(), accesses=(), words=frozenset())


def default_folder(name: str) -> Path:
    """Where results of a project are kept, unless somebody says otherwise."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / name / "prove"


@cache
def _prover() -> str:
    """A digest of all that draws the conclusions."""
    digest = hashlib.sha256(z3.get_version_string().encode())
    package = Path(__file__).parent
    for path in sorted([*package.glob("*.py"), *package.parent.glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of results; None keeps nothing."""

    folder: Path | None

    def variant(
        self, spec: Spec, kernel: Kernel, variant: Variant, text: str
    ) -> VariantResult | None:
        """A proof that stands."""
        found = self._read(_variant_key(spec, kernel, variant, text))
        if found is None:
            return None
        accesses = tuple(
            AccessResult(
                **{**entry, "arguments": tuple(entry["arguments"]), "status": Status.PROVED}
            )
            for entry in found["accesses"]
        )
        return VariantResult(
            stem=found["stem"],
            variant=found["variant"],
            accesses=accesses,
            in_text=found["in_text"],
            not_modelled=tuple((name, count) for name, count in found["not_modelled"]),
            notes=tuple(found["notes"]),
            questions=0,
        )

    def keep_variant(
        self, spec: Spec, kernel: Kernel, variant: Variant, text: str, result: VariantResult
    ) -> None:
        """Keep a proof, if it is one."""
        if result.error or any(a.status is not Status.PROVED for a in result.accesses):
            return
        entry = asdict(result)
        for access in entry["accesses"]:
            del access["status"], access["counterexample"]
        self._write(_variant_key(spec, kernel, variant, text), entry)

    def rules(self, spec: Spec, kernel: Kernel, kept: Iterable[str]) -> ContractResult | None:
        """What was found out about a kernel's rules."""
        found = self._read(_rules_key(spec, kernel, kept))
        if found is None:
            return None
        return ContractResult(
            kernel=found["kernel"],
            witness=found["witness"],
            rules=tuple(
                RuleResult(
                    **{
                        **entry,
                        "verdict": Verdict(entry["verdict"]),
                        "also_breaks": tuple(entry["also_breaks"]),
                    }
                )
                for entry in found["rules"]
            ),
            numbers=tuple(
                NumberResult(**{**entry, "verdict": Verdict(entry["verdict"])})
                for entry in found["numbers"]
            ),
        )

    def keep_rules(
        self, spec: Spec, kernel: Kernel, kept: Iterable[str], result: ContractResult
    ) -> None:
        """Keep what was found out, if all of it was and is well."""
        verdicts = {r.verdict for r in result.rules} | {n.verdict for n in result.numbers}
        if verdicts & {Verdict.UNPROVED, Verdict.REFUTED} or not result.witness:
            return
        entry = asdict(result)
        for part in (*entry["rules"], *entry["numbers"]):
            part["verdict"] = part["verdict"].value
        self._write(_rules_key(spec, kernel, kept), entry)

    def _read(self, key: str) -> dict[str, Any] | None:
        if self.folder is None:
            return None
        try:
            found = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _write(self, key: str, entry: object) -> None:
        if self.folder is None:
            return
        # A cache that cannot be written is no reason to fail.
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{key}.json"
            staged = path.with_suffix(f".{os.getpid()}")
            staged.write_text(json.dumps(entry), encoding="utf-8")
            staged.replace(path)


def _contract(spec: Spec, kernel: Kernel) -> str:
    """All of a kernel but its body, and what its rules read elsewhere."""
    return repr((replace(kernel, body=EMPTY), spec.constants, spec.enums, spec.structs))


def _variant_key(spec: Spec, kernel: Kernel, variant: Variant, text: str) -> str:
    parts = (_prover(), _contract(spec, kernel), repr(variant), text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _rules_key(spec: Spec, kernel: Kernel, kept: Iterable[str]) -> str:
    parts = ("rules", _prover(), _contract(spec, kernel), *sorted(kept))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
