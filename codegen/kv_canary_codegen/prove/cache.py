"""Results that stand until the IR, the contract, or the prover itself changes.

Kept by a digest of all three, so that nothing has to be thrown away by hand. A variant is found by
its IR's text, or, without compiling it, by the kernel's source and Triton's version, which the IR
follows from. Only what was proved is kept: what was not is looked at again each time. Answers of
the solver are kept by the question, and outlive edits of the prover.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import z3

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.proofs import contract_digest, source_of
from kv_canary_codegen.prove.arguments import Variant
from kv_canary_codegen.prove.results import AccessResult, VariantResult
from kv_canary_codegen.prove.rules import ContractResult, NumberResult, RuleResult, Verdict
from kv_canary_codegen.prove.safety import Status

DERIVED = "access:"
"""What conclusions of the prover begin with among the answers; the rest are the solver's own."""

SILENT = (
    "__init__", "__main__", "cache", "command", "counterexample", "guarded_calls", "reasons",
    "record", "replay", "report",
)  # fmt: skip
"""Modules that start the prover, keep and show what it found, or look for what it did not prove."""
OF_RULES = ("contracts", "rules")
"""Modules that say nothing of accesses."""
TOLD_BY = ("checks", "expr", "model", "views")
"""Modules of the generator that say what a kernel is given, and which rules hold of it."""


def default_folder(name: str) -> Path:
    """Where results of a project are kept, unless somebody says otherwise."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / name / "prove"


@cache
def prover_digest(*, rules: bool = False) -> str:
    """A digest of all that draws conclusions, about accesses or about rules.

    What reads a spec is not in it: what it read shows in the contract.
    """
    found = hashlib.sha256(z3.get_version_string().encode())
    package = Path(__file__).parent
    paths = [p for p in sorted(package.glob("*.py")) if p.stem not in SILENT]
    paths += [package.parent / f"{name}.py" for name in TOLD_BY]
    if rules:
        paths.append(package.parent / "search.py")
    else:
        paths = [p for p in paths if p.stem not in OF_RULES]
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:24]


@cache
def triton_version() -> str:
    """The version that kernels are compiled with here; empty without Triton."""
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of results; None keeps nothing."""

    folder: Path | None
    _digests: dict[tuple[str, str], str] = field(default_factory=dict, compare=False)

    def by_source(
        self, spec: Spec, output: Path, kernel: Kernel, variant: Variant
    ) -> VariantResult | None:
        """A proof that stands for a kernel as it was generated."""
        key = self._source_key(spec, output, kernel, variant)
        return None if key is None else self._variant(key)

    def by_ir(self, spec: Spec, kernel: Kernel, variant: Variant, ir: str) -> VariantResult | None:
        """A proof that stands for an IR, by its digest."""
        return self._variant(self._ir_key(spec, kernel, variant, ir))

    def keep(
        self, spec: Spec, output: Path, kernel: Kernel, variant: Variant, result: VariantResult
    ) -> None:
        """Keep a proof, if it is one."""
        if result.error or any(a.status is not Status.PROVED for a in result.accesses):
            return
        entry = asdict(result)
        for access in entry["accesses"]:
            del access["status"], access["counterexample"]
        self._write(self._ir_key(spec, kernel, variant, result.ir), entry)
        key = self._source_key(spec, output, kernel, variant)
        if key is not None:
            self._write(key, entry)

    def _variant(self, key: str) -> VariantResult | None:
        found = self._read(key)
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
            ir=found["ir"],
            impossible=found["impossible"],
        )

    def answers(self) -> dict[str, str]:
        """The solver's answers by digests of the questions."""
        found: dict[str, str] = {}
        path = self._answers_path()
        if path is not None:
            with contextlib.suppress(OSError):
                for line in path.read_text(encoding="utf-8").splitlines():
                    question, _, answer = line.partition(" ")
                    if len(question) == hashlib.sha256().digest_size * 2 and answer:
                        found[question] = answer
        return found

    def keep_answers(self, answers: Sequence[tuple[str, str]]) -> None:
        """Keep new answers of the solver."""
        path = self._answers_path()
        lines = [f"{q} {a}\n" for q, a in answers if not q.startswith(DERIVED)]
        if path is not None and lines:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                # One write, at the end: other processes may be adding to it too.
                with path.open("ab", buffering=0) as file:
                    file.write("".join(lines).encode())

    def _answers_path(self) -> Path | None:
        return self.folder and self.folder / f"answers-z3-{z3.get_version_string()}.txt"

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

    def _ir_key(self, spec: Spec, kernel: Kernel, variant: Variant, ir: str) -> str:
        return _key("ir", prover_digest(), self._contract(spec, kernel), repr(variant), ir)

    def _source_key(self, spec: Spec, output: Path, kernel: Kernel, variant: Variant) -> str | None:
        source = self._once("source", kernel.stem, lambda: source_of(output, spec, kernel.stem))
        if not source or not triton_version():
            return None
        parts = (self._contract(spec, kernel), repr(variant), source, triton_version())
        return _key("source", prover_digest(), *parts)

    def _contract(self, spec: Spec, kernel: Kernel) -> str:
        return self._once("contract", kernel.stem, lambda: contract_digest(spec, kernel))

    def _once(self, what: str, stem: str, made: Callable[[], str]) -> str:
        if (what, stem) not in self._digests:
            self._digests[what, stem] = made()
        return self._digests[what, stem]

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


def _rules_key(spec: Spec, kernel: Kernel, kept: Iterable[str]) -> str:
    return _key("rules", prover_digest(rules=True), contract_digest(spec, kernel), *sorted(kept))


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
