"""Proofs between a report and the files that `generate` and later runs read; see `proofs`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.proofs import (
    AccessProof,
    KernelProofs,
    NumberProof,
    RuleProof,
    contract_digest,
    digest,
    source_of,
)
from kv_canary_codegen.prove.arguments import variants_of
from kv_canary_codegen.prove.cache import prover_digest, triton_version
from kv_canary_codegen.prove.results import AccessResult, VariantResult
from kv_canary_codegen.prove.rules import ContractResult, NumberResult, RuleResult, Verdict
from kv_canary_codegen.prove.safety import Status


def recorded(
    spec: Spec,
    output: Path,
    kernel: Kernel,
    kept: Mapping[str, str],
    contract: ContractResult,
    variants: tuple[VariantResult, ...],
) -> KernelProofs:
    """What is kept of one kernel of which everything is proved."""
    accesses: dict[AccessProof, int] = {}
    shapes: dict[tuple[int, ...], int] = {}
    of_variants = []
    unknown: Counter[str] = Counter()
    for variant in variants:
        shape = tuple(
            accesses.setdefault(
                AccessProof(
                    kind=access.kind,
                    arguments=access.arguments,
                    line=access.line,
                    source=access.source,
                    remark=access.remark,
                ),
                len(accesses),
            )
            for access in variant.accesses
        )
        number = -1 if variant.impossible else shapes.setdefault(shape, len(shapes))
        of_variants.append(number)
        unknown.update(dict(variant.not_modelled))
    return KernelProofs(
        kernel=kernel.stem,
        contract=contract_digest(spec, kernel),
        source=source_of(output, spec, kernel.stem),
        prover=_prover(kept),
        triton=triton_version(),
        witness=contract.witness,
        rules=tuple(RuleProof(**_plain(rule)) for rule in contract.rules),
        numbers=tuple(NumberProof(**_plain(number)) for number in contract.numbers),
        accesses=tuple(accesses),
        shapes=tuple(shapes),
        variants=tuple(of_variants),
        not_modelled=tuple(sorted(unknown.items())),
        notes=tuple(dict.fromkeys(note for variant in variants for note in variant.notes)),
    )


def _prover(kept: Mapping[str, str]) -> str:
    """A digest of what draws the conclusions, and of the spec's reasons."""
    return digest(
        prover_digest(),
        prover_digest(rules=True),
        *(f"{rule}: {why}" for rule, why in sorted(kept.items())),
    )


def stands(
    proofs: KernelProofs, spec: Spec, output: Path, kernel: Kernel, kept: Mapping[str, str]
) -> bool:
    """Whether the same would come out again, here."""
    return (
        proofs.contract == contract_digest(spec, kernel)
        and proofs.source == source_of(output, spec, kernel.stem)
        and proofs.prover == _prover(kept)
        and proofs.triton == triton_version()
        and len(proofs.variants) == len(variants_of(kernel, spec))
    )


def contract_of(proofs: KernelProofs) -> ContractResult:
    """What is kept of a kernel's rules, as it was found out."""
    return ContractResult(
        kernel=proofs.kernel,
        witness=proofs.witness,
        rules=tuple(RuleResult(**_found(proofs.kernel, rule)) for rule in proofs.rules),
        numbers=tuple(NumberResult(**_found(proofs.kernel, n)) for n in proofs.numbers),
    )


def _plain(result: RuleResult | NumberResult) -> dict[str, Any]:
    """The fields of what is kept: all but the kernel, which the file is of."""
    found = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "kernel"}
    return {**found, "verdict": result.verdict.value}


def _found(kernel: str, proof: RuleProof | NumberProof) -> dict[str, Any]:
    """The fields of what was found out."""
    found = {f.name: getattr(proof, f.name) for f in fields(proof)}
    return {**found, "kernel": kernel, "verdict": Verdict(proof.verdict)}


def variants_from(proofs: KernelProofs, spec: Spec, kernel: Kernel) -> tuple[VariantResult, ...]:
    """What is kept of a kernel's variants, as it was found out."""
    found = []
    for variant, shape in zip(variants_of(kernel, spec), proofs.variants, strict=True):
        numbers = () if shape < 0 else proofs.shapes[shape]
        found.append(
            VariantResult(
                stem=kernel.stem,
                variant=variant.name,
                accesses=tuple(
                    AccessResult(
                        number=number,
                        kind=proofs.accesses[place].kind,
                        arguments=proofs.accesses[place].arguments,
                        line=proofs.accesses[place].line,
                        source=proofs.accesses[place].source,
                        status=Status.PROVED,
                        reason="",
                        remark=proofs.accesses[place].remark,
                    )
                    for number, place in enumerate(numbers)
                ),
                in_text=len(numbers),
                not_modelled=(),
                notes=proofs.notes,
                questions=0,
                impossible=shape < 0,
            )
        )
    return tuple(found)
