"""Proves the kernels of a spec: every access of every declared variant, from the compiled IR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.prove import ir
from kv_canary_codegen.prove.arguments import Arguments, Variant, classes_of, variants_of
from kv_canary_codegen.prove.counterexample import Counterexample, Refuter
from kv_canary_codegen.prove.logic import NotModelledError
from kv_canary_codegen.prove.lowering import lowered
from kv_canary_codegen.prove.safety import Judge, Judged, Status
from kv_canary_codegen.prove.solver import Solver
from kv_canary_codegen.prove.walk import Walk

MEMORY_BITS = 63
"""A tensor takes fewer bytes than two to this: what torch can count."""
_ALIGNED = re.compile(r" \{tt\.divisibility = [^}]*\}|, tt\.divisibility = [^,}]*")
Place = tuple[str, str, tuple[str, ...], int | None, str]
"""An access over all variants: stem, kind, arguments, line, source."""
_ACCESS = re.compile(r"^\s*(?:%[^=]*= )?\"?(?:tt\.(?:load|store|atomic_\w+)|tt\.descriptor_\w+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessResult:
    """One row of the table."""

    number: int
    """Its place among the accesses of its variant, in the IR's order."""
    kind: str
    arguments: tuple[str, ...]
    line: int | None
    """In the kernel's generated file."""
    source: str
    """That line."""
    status: Status
    reason: str
    """Why it is not proved."""
    remark: str
    """What may wrap before the index is compared, which is safe and perhaps not meant."""
    counterexample: Counterexample | None = None
    waiver: str = ""
    """The spec's sentence for leaving it unproved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """The accesses of one variant."""

    stem: str
    variant: str
    accesses: tuple[AccessResult, ...]
    in_text: int
    """Accesses that the IR's text holds, counted by themselves."""
    not_modelled: tuple[tuple[str, int], ...]
    """Operations whose results are unknown here."""
    notes: tuple[str, ...]
    """Parameters, sizes and rules that the solver was not told."""
    questions: int
    error: str = ""
    """Why there is no IR, if there is none."""

    def count(self, status: Status) -> int:
        """How many accesses have a status."""
        return sum(access.status is status for access in self.accesses)


@dataclass(slots=True)
class _Analysis:
    """One variant under one bound on memory."""

    arguments: Arguments
    solver: Solver
    walk: Walk
    judged: tuple[Judged, ...]


def accesses_in(text: str) -> int:
    """How many accesses a text holds, without understanding it."""
    return sum(_ACCESS.match(line) is not None for line in text.split("\n"))


def _analysis(
    spec: Spec, kernel: Kernel, variant: Variant, module: ir.Module, memory_bits: int,
    answers: MutableMapping[str, str],
) -> _Analysis:  # fmt: skip
    arguments = Arguments(kernel, spec, variant, memory_bits)
    solver = Solver(arguments.arithmetic.linear, arguments.arithmetic.exact, answers)
    walk = Walk(arguments, solver)
    walk.module(module)
    return _Analysis(
        arguments=arguments,
        solver=solver,
        walk=walk,
        judged=Judge(walk, arguments, solver).all(),
    )


def proved_variant(
    spec: Spec,
    kernel: Kernel,
    variant: Variant,
    text: str,
    output: Path,
    answers: MutableMapping[str, str],
    tried: set[Place],
    *,
    refute: bool = True,
) -> VariantResult:
    """Judge every access of one variant; look for a counterexample of each that is not proved.

    Args:
        spec: The spec.
        kernel: The kernel.
        variant: The variant.
        text: Its IR.
        output: The folder that was generated into.
        answers: Of questions asked before; new ones are added.
        tried: Accesses of which a counterexample was looked for, in another variant; the same.
        refute: Whether one is looked for at all.
    """
    module = ir.parse(text)
    analysis = _analysis(spec, kernel, variant, module, MEMORY_BITS, answers)
    refuter = Refuter(spec, kernel, output, analysis.arguments, analysis.walk, analysis.solver)
    results: list[AccessResult] = []
    for judged in analysis.judged:
        line, source = _source(judged, kernel)
        result = AccessResult(
            number=judged.use.number,
            kind=judged.use.kind,
            arguments=judged.arguments,
            line=line,
            source=source,
            status=judged.status,
            reason=judged.reason,
            remark=judged.remark,
        )
        place = (kernel.stem, result.kind, result.arguments, line, source)
        if judged.status is not Status.PROVED and refute and place not in tried:
            tried.add(place)
            found = refuter.refuted(judged)
            if found is not None:
                result = replace(result, status=Status.REFUTED, counterexample=found)
        results.append(result)
    return VariantResult(
        stem=kernel.stem,
        variant=variant.name,
        accesses=tuple(results),
        in_text=accesses_in(text),
        not_modelled=tuple(sorted(analysis.walk.not_modelled.items())),
        notes=tuple(dict.fromkeys(analysis.arguments.notes)),
        questions=analysis.solver.asked,
    )


def _source(judged: Judged, kernel: Kernel) -> tuple[int | None, str]:
    place = judged.use.operation.place
    if place is None:
        return None, ""
    try:
        lines = Path(place.file).read_text(encoding="utf-8").split("\n")
        return place.line, lines[place.line - 1].strip()
    except (OSError, IndexError):
        return place.line, ""


def chosen_variants(
    spec: Spec, stems: Iterable[str] | None = None
) -> tuple[tuple[Kernel, Variant], ...]:
    """Every variant of the kernels named, or of all."""
    wanted = None if stems is None else set(stems)
    return tuple(
        (kernel, variant)
        for kernel in spec.kernels
        if wanted is None or kernel.stem in wanted
        for variant in variants_of(kernel, spec)
    )


def proved(
    spec: Spec,
    output: Path,
    jobs: Sequence[tuple[Kernel, Variant]],
    *,
    refute: bool = True,
    workers: int = 1,
    known: Callable[[Kernel, Variant, str], VariantResult | None] = lambda *_: None,
    keep: Callable[[Kernel, Variant, str, VariantResult], None] = lambda *_: None,
) -> tuple[VariantResult, ...]:
    """Judge variants, each from the IR that it compiles to.

    Args:
        spec: The spec that was generated from.
        output: The folder that was generated into.
        jobs: What to judge.
        refute: Whether to look for counterexamples.
        workers: Processes to work in; with 1, this one.
        known: Gives a result that stands already, by the IR's text.
        keep: Is given each new result.
    """
    texts = lowered(spec, output, jobs)
    found: dict[int, VariantResult] = {}
    waiting: dict[str, list[int]] = {}
    same: dict[tuple[object, ...], int] = {}
    repeats: dict[int, int] = {}
    for number, ((kernel, variant), result) in enumerate(zip(jobs, texts, strict=True)):
        if result.error:
            found[number] = _without_text(kernel, variant, result.error)
            continue
        key = (kernel.stem, variant.given, classes_of(kernel, variant), _bare(result.text))
        before = known(kernel, variant, result.text)
        if before is not None:
            found[number] = before
        elif key in same:
            # Variants may differ in hints alone.
            repeats[number] = same[key]
        else:
            same[key] = number
            waiting.setdefault(kernel.stem, []).append(number)
    batches = [
        tuple(numbers[start::workers])
        for numbers in waiting.values()
        for start in range(min(workers, len(numbers)))
    ]
    requests = [
        _Batch(
            spec=spec,
            output=output,
            jobs=tuple((*jobs[number], texts[number].text) for number in batch),
            refute=refute,
        )
        for batch in batches
    ]
    if workers > 1 and len(requests) > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            answers = list(pool.map(_judged_batch, requests))
    else:
        answers = [_judged_batch(request) for request in requests]
    for batch, results in zip(batches, answers, strict=True):
        for number, judged in zip(batch, results, strict=True):
            found[number] = judged
            keep(*jobs[number], texts[number].text, judged)
    for number, first in repeats.items():
        kernel, variant = jobs[number]
        found[number] = replace(found[first], variant=variant.name, questions=0)
        keep(kernel, variant, texts[number].text, found[number])
    return tuple(found[number] for number in range(len(jobs)))


def _bare(text: str) -> str:
    """A text without what says how addresses are aligned, which is nothing that is proved."""
    return _ALIGNED.sub("", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Variants that one process judges, one after the other: they share most questions."""

    spec: Spec
    output: Path
    jobs: tuple[tuple[Kernel, Variant, str], ...]
    refute: bool


def _judged_batch(batch: _Batch) -> tuple[VariantResult, ...]:
    answers: dict[str, str] = {}
    tried: set[Place] = set()
    found = []
    for kernel, variant, text in batch.jobs:
        try:
            found.append(
                proved_variant(
                    batch.spec,
                    kernel,
                    variant,
                    text,
                    batch.output,
                    answers,
                    tried,
                    refute=batch.refute,
                )
            )
        except (
            ir.IrError,
            NotModelledError,
            RecursionError,
            KeyError,
            IndexError,
            ValueError,
        ) as error:
            # Nothing is fine that could not be looked at.
            reason = f"the prover failed: {type(error).__name__}: {error}"
            found.append(_without_text(kernel, variant, reason, text))
    return tuple(found)


def _without_text(kernel: Kernel, variant: Variant, error: str, text: str = "") -> VariantResult:
    """A variant of which nothing is known: each access that its text has is unproved."""
    count = accesses_in(text)
    return VariantResult(
        stem=kernel.stem,
        variant=variant.name,
        accesses=tuple(
            AccessResult(
                number=number, kind="access", arguments=(), line=None, source="",
                status=Status.UNPROVED, reason=error, remark="",
            )
            for number in range(count)
        ),
        in_text=count,
        not_modelled=(),
        notes=(),
        questions=0,
        error=error,
    )  # fmt: skip
