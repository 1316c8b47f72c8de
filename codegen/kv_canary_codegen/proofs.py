"""What was proved of each kernel, as kept beside its spec: `proofs/<kernel>.json`.

`prove --record` writes these files; `generate` puts them into the pages, and `prove` takes what
still stands from them. A proof stands as long as its kernel's source and its contract are the same;
of these the files hold digests. Neither the solver nor Triton is needed to read them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeGuard

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.write import CommandError

FOLDER = "proofs"
RECORDED = frozenset(("fine", "kept", "larger"))
"""What `prove` says of a rule or number that it records."""
_WORD = re.compile(r"[A-Za-z_]\w*")
ABOUT = "Written by `prove --record`; do not edit."
PROSE = frozenset(
    (
        "also", "body", "called", "causes", "details", "doc", "example", "fix", "meaning",
        "message", "messages", "related", "spec_path", "summary",
    )
)  # fmt: skip
"""Fields of a spec that say things to people; nothing is proved from them."""


class ProofsError(CommandError):
    """A file of proofs cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProof:
    """What was found out about one rule."""

    rule: str
    verdict: str
    never_first: bool
    implied: bool
    breaking: str
    also_breaks: tuple[str, ...]
    smallest: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberProof:
    """What was found out about one sum or product."""

    where: str
    text: str
    fits: str
    verdict: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessProof:
    """One load, store or atomic that was proved, in all the variants that have it."""

    kind: str
    arguments: tuple[str, ...]
    line: int | None
    source: str
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProofs:
    """All that was proved of one kernel."""

    kernel: str
    contract: str
    """Digest of what a caller may give."""
    source: str
    """Digest of the kernel as it was generated."""
    prover: str
    """Digest of what drew the conclusions."""
    triton: str
    """The version that compiled the kernel to what was proved."""
    witness: str
    """A valid call."""
    rules: tuple[RuleProof, ...]
    numbers: tuple[NumberProof, ...]
    accesses: tuple[AccessProof, ...]
    shapes: tuple[tuple[int, ...], ...]
    """Which accesses variants have, by their numbers, in the IR's order."""
    variants: tuple[int, ...]
    """Of each declared variant its shape; -1 where no call takes it."""
    not_modelled: tuple[tuple[str, int], ...]
    """Operations whose results were unknown, and how often they stand in the variants."""
    notes: tuple[str, ...]
    """What the solver was not told."""

    def counts(self) -> tuple[int, ...]:
        """Of each access, how many variants have it."""
        found = [0] * len(self.accesses)
        for shape in self.variants:
            if shape >= 0:
                for number in self.shapes[shape]:
                    found[number] += 1
        return tuple(found)

    @property
    def impossible(self) -> int:
        """Variants that no call takes."""
        return sum(shape < 0 for shape in self.variants)


def canonical(item: Any) -> Any:
    """All of a part of a spec that something can be proved from, as plain values."""
    if is_dataclass(item) and not isinstance(item, type):
        return {
            "": type(item).__name__,
            **{
                f.name: canonical(getattr(item, f.name))
                for f in fields(item)
                if f.compare and f.name not in PROSE
            },
        }
    if isinstance(item, Enum):
        return item.name
    if isinstance(item, Mapping):
        return [[canonical(key), canonical(value)] for key, value in item.items()]
    if isinstance(item, frozenset):
        return sorted(map(str, item))
    if isinstance(item, tuple | list):
        return [canonical(part) for part in item]
    assert item is None or isinstance(item, str | int | float), type(item).__name__
    return item


def digest(*parts: str) -> str:
    """A digest of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def contract_digest(spec: Spec, kernel: Kernel) -> str:
    """Of all of a kernel but its body, and of what it names elsewhere in the spec."""
    text = json.dumps(canonical(kernel))
    shared: dict[str, Any] = {constant.name: constant for constant in spec.constants}
    shared.update({enum.name: enum for enum in spec.enums})
    shared.update({struct.name: struct for struct in spec.structs})
    named: dict[str, str] = {}
    waiting = [text]
    while waiting:
        words = set(_WORD.findall(waiting.pop()))
        for name in sorted(words & shared.keys() - named.keys()):
            named[name] = json.dumps(canonical(shared[name]))
            waiting.append(named[name])
    return digest(text, *(named[name] for name in sorted(named)))


def source_digest(kernel: str, constants: str) -> str:
    """Of a generated kernel's text, and of the constants that it names."""
    words = set(_WORD.findall(kernel))
    return digest(
        kernel,
        *(
            ast.unparse(node)
            for node in ast.parse(constants).body
            if words & {name.id for name in ast.walk(node) if _is_set(name)}
        ),
    )


def _is_set(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def source_of(output: Path, spec: Spec, stem: str) -> str:
    """The digest of a kernel as it stands in a generated folder; empty where there is none."""
    package = output / spec.project.package
    try:
        kernel = (package / "kernels" / f"{stem}.py").read_text(encoding="utf-8")
        return source_digest(kernel, (package / "constants.py").read_text(encoding="utf-8"))
    except OSError:
        return ""


def read_proofs(folder: Path) -> dict[str, KernelProofs]:
    """The proofs beside a spec, by kernel; none where there is no such folder.

    Raises:
        ProofsError: A file is not what `prove --record` writes.
    """
    return {
        path.stem: _read(path)
        for path in sorted((folder / FOLDER).glob("*.json"))
        if path.is_file()
    }


def _read(path: Path) -> KernelProofs:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        del found["about"]
        proofs = KernelProofs(
            **{
                **found,
                "rules": tuple(
                    RuleProof(**{**rule, "also_breaks": tuple(rule["also_breaks"])})
                    for rule in found["rules"]
                ),
                "numbers": tuple(NumberProof(**number) for number in found["numbers"]),
                "accesses": tuple(
                    AccessProof(**{**access, "arguments": tuple(access["arguments"])})
                    for access in found["accesses"]
                ),
                "shapes": tuple(tuple(shape) for shape in found["shapes"]),
                "variants": tuple(map(int, found["variants"])),
                "not_modelled": tuple((str(n), int(c)) for n, c in found["not_modelled"]),
                "notes": tuple(found["notes"]),
            }
        )
        _require_whole(proofs, path.stem)
        return proofs
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProofsError(
            place=path.as_posix(),
            rule="a file of proofs is as `prove --record` writes it",
            found=f"{type(error).__name__}: {error}",
            wanted="all its fields, each whole",
            fix=f"prove {path.stem} --record",
        ) from error


def _require_whole(proofs: KernelProofs, stem: str) -> None:
    """Raise ValueError where numbers lead nowhere, or something is not what is recorded."""
    if proofs.kernel != stem:
        raise ValueError(f"proofs of {proofs.kernel!r}")
    numbers = {number for shape in proofs.shapes for number in shape}
    if not numbers <= set(range(len(proofs.accesses))):
        raise ValueError("a shape with an access that is not there")
    if not set(proofs.variants) <= set(range(-1, len(proofs.shapes))):
        raise ValueError("a variant with a shape that is not there")
    verdicts = {rule.verdict for rule in proofs.rules}
    verdicts |= {number.verdict for number in proofs.numbers}
    if not verdicts <= RECORDED:
        raise ValueError(f"a verdict that is never recorded: {', '.join(verdicts - RECORDED)}")


def text_of(proofs: KernelProofs) -> str:
    """A file of proofs: a line for each thing that was proved, so that edits show."""
    lines = [f' "about": {json.dumps(ABOUT)}']
    for name, value in asdict(proofs).items():
        if not isinstance(value, tuple):
            lines.append(f" {json.dumps(name)}: {json.dumps(value)}")
        elif not value:
            lines.append(f" {json.dumps(name)}: []")
        elif name == "variants":
            lines.append(f" {json.dumps(name)}: [\n{_wrapped(value)}\n ]")
        else:
            items = ",\n".join(f"  {json.dumps(item)}" for item in value)
            lines.append(f" {json.dumps(name)}: [\n{items}\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _wrapped(items: tuple[object, ...], count: int = 24) -> str:
    """Short items, some to a line."""
    texts = [json.dumps(item) for item in items]
    rows = [", ".join(texts[at : at + count]) for at in range(0, len(texts), count)]
    return ",\n".join(f"  {row}" for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofView:
    """What a page says of a kernel's proofs."""

    stands: bool
    """Whether the kernel and its contract are still what was proved."""
    triton: str
    variants: int
    impossible: int
    proofs: int
    """Accesses over all variants."""
    witness: str
    breaking: Mapping[str, str]
    """By rule, a call that breaks it first; no call does so with a rule that is not here."""
    asked: frozenset[str]
    """Rules that the solver was asked about: those that numbers decide."""
    smallest: frozenset[str]
    """Rules of which that call is proved to be the smallest."""
    kept: Mapping[str, str]
    """By rule, why it stays although others say as much, or are broken first."""
    rows: tuple[tuple[str, str, int, int, bool], ...]
    """Kind, tensors, lines, proofs, whether an index may wrap before it is compared."""


def proof_view(proofs: KernelProofs | None, contract: str, source: str) -> ProofView | None:
    """What a page says, given the kernel's digests now."""
    if proofs is None:
        return None
    rows: dict[tuple[str, str], tuple[set[tuple[int | None, str]], int, bool]] = {}
    for access, count in zip(proofs.accesses, proofs.counts(), strict=True):
        key = (access.kind, " or ".join(access.arguments))
        lines, before, starred = rows.get(key, (set(), 0, False))
        lines.add((access.line, access.source))
        rows[key] = (lines, before + count, starred or bool(access.remark))
    return ProofView(
        stands=proofs.contract == contract and proofs.source == source,
        triton=proofs.triton,
        variants=len(proofs.variants),
        impossible=proofs.impossible,
        proofs=sum(proofs.counts()),
        witness=proofs.witness,
        breaking={rule.rule: rule.breaking for rule in proofs.rules if rule.breaking},
        asked=frozenset(rule.rule for rule in proofs.rules),
        smallest=frozenset(rule.rule for rule in proofs.rules if rule.smallest == "yes"),
        kept={rule.rule: rule.reason for rule in proofs.rules if rule.verdict == "kept"},
        rows=tuple(
            (kind, tensors, len(lines), count, starred)
            for (kind, tensors), (lines, count, starred) in sorted(rows.items())
        ),
    )
