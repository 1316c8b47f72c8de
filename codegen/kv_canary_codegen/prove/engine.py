"""Proves the kernels of a spec: every access of every declared variant, from the compiled IR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.proofs import digest
from kv_canary_codegen.prove import ir
from kv_canary_codegen.prove.arguments import Arguments, Variant, classes_of, variants_of
from kv_canary_codegen.prove.cache import Cache
from kv_canary_codegen.prove.counterexample import Refuter
from kv_canary_codegen.prove.logic import NotModelledError
from kv_canary_codegen.prove.lowering import Lowered, lowered
from kv_canary_codegen.prove.results import AccessResult, VariantResult
from kv_canary_codegen.prove.safety import Judge, Judged, Status
from kv_canary_codegen.prove.solver import Solver
from kv_canary_codegen.prove.walk import Walk

MEMORY_BITS = 63
"""A tensor takes fewer bytes than two to this: what torch can count."""
BATCH = 8
"""Variants that are compiled and judged before another process may take over."""
_ALIGNED = re.compile(r" \{tt\.divisibility = [^}]*\}|, tt\.divisibility = [^,}]*")
Place = tuple[str, str, tuple[str, ...], int | None, str]
"""An access over all variants: stem, kind, arguments, line, source."""
_ACCESS = re.compile(r"^\s*(?:%[^=]*= )?\"?(?:tt\.(?:load|store|atomic_\w+)|tt\.descriptor_\w+)\b")


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
    if _impossible(spec, kernel, variant):
        return VariantResult(
            stem=kernel.stem,
            variant=variant.name,
            accesses=(),
            in_text=0,
            not_modelled=(),
            notes=(),
            questions=1,
            ir=digest(text),
            impossible=True,
        )
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
        ir=digest(text),
    )


def _impossible(spec: Spec, kernel: Kernel, variant: Variant) -> bool:
    """Whether no call that the rules allow takes a variant.

    Its accesses would be proved from the contradiction. Said by itself, it can be counted: a prover
    that took the rules for contradictory would show here, not as proofs.
    """
    arguments = Arguments(kernel, spec, variant, MEMORY_BITS)
    return Solver(arguments.arithmetic.linear, arguments.arithmetic.exact).contradictory()


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
    cache: Cache | None = None,
    said: Callable[[int, int], None] = lambda done, count: None,
) -> tuple[VariantResult, ...]:
    """Judge variants, each from the IR that it compiles to.

    Args:
        spec: The spec that was generated from.
        output: The folder that was generated into.
        jobs: What to judge.
        refute: Whether to look for counterexamples.
        workers: Processes to work in; with 1, this one.
        cache: Holds results that stand, and is given new ones as soon as there are any.
        said: Is told how many variants are done, of how many.

    Raises:
        LoweringError: Triton is missing or cannot be used.
    """
    cache = cache or Cache(None)
    found: dict[int, VariantResult] = {}
    for number, (kernel, variant) in enumerate(jobs):
        before = cache.by_source(spec, output, kernel, variant)
        if before is not None:
            found[number] = before
    batches = _batches(jobs, [number for number in range(len(jobs)) if number not in found])
    start = (spec, output, refute, cache)

    def take(batch: tuple[int, ...], results: tuple[VariantResult, ...]) -> None:
        found.update(zip(batch, results, strict=True))
        said(len(found), len(jobs))

    if workers > 1 and len(batches) > 1:
        with ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_begin, initargs=start
        ) as pool:
            running = {
                pool.submit(_work, tuple(jobs[number] for number in batch)): batch
                for batch in batches
            }
            for done in as_completed(running):
                take(running[done], done.result())
    else:
        worker = _Worker(*start)
        for batch in batches:
            take(batch, worker.judged(tuple(jobs[number] for number in batch)))
    return tuple(found[number] for number in range(len(jobs)))


def _batches(
    jobs: Sequence[tuple[Kernel, Variant]], numbers: Iterable[int]
) -> list[tuple[int, ...]]:
    """Neighbours of one kernel together, since they share most questions; long ones first."""
    found: list[tuple[int, ...]] = []
    for _, group in groupby(numbers, key=lambda number: jobs[number][0].stem):
        same = tuple(group)
        found += [same[at : at + BATCH] for at in range(0, len(same), BATCH)]
    return sorted(found, key=lambda batch: -len(jobs[batch[0]][0].body.lines))


def _bare(text: str) -> str:
    """A text without what says how addresses are aligned, which is nothing that is proved."""
    return _ALIGNED.sub("", text)


@dataclass(slots=True)
class _Worker:
    """Judges variants, and remembers what it asked the solver."""

    spec: Spec
    output: Path
    refute: bool
    cache: Cache
    answers: dict[str, str] = field(default_factory=dict)
    tried: set[Place] = field(default_factory=set)
    alike: dict[tuple[object, ...], VariantResult] = field(default_factory=dict)
    _kept: int = 0

    def judged(self, jobs: Sequence[tuple[Kernel, Variant]]) -> tuple[VariantResult, ...]:
        """Results of some variants."""
        if not self.answers:
            self.answers.update(self.cache.answers())
            self._kept = len(self.answers)
        found = []
        for (kernel, variant), text in zip(
            jobs, lowered(self.spec, self.output, jobs), strict=True
        ):
            result = self._judged(kernel, variant, text)
            self.cache.keep(self.spec, self.output, kernel, variant, result)
            found.append(result)
        new = list(self.answers.items())[self._kept :]
        self.cache.keep_answers(new)
        self._kept = len(self.answers)
        return tuple(found)

    def _judged(self, kernel: Kernel, variant: Variant, lowered: Lowered) -> VariantResult:
        if lowered.error:
            return without_text(kernel, variant, lowered.error)
        text = lowered.text
        ir_digest = digest(text)
        before = self.cache.by_ir(self.spec, kernel, variant, ir_digest)
        if before is not None:
            return before
        scalars = {scalar.name.upper() for scalar in kernel.scalars}
        compiled = tuple(pair for pair in variant.values if pair[0] in scalars)
        key = (kernel.stem, variant.given, compiled, classes_of(kernel, variant), _bare(text))
        if key in self.alike:
            # Variants may differ in hints alone.
            known = self.alike[key]
            return replace(known, variant=variant.name, ir=ir_digest, questions=0)
        try:
            result = proved_variant(
                self.spec,
                kernel,
                variant,
                text,
                self.output,
                self.answers,
                self.tried,
                refute=self.refute,
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
            return without_text(kernel, variant, reason, text)
        self.alike[key] = result
        return result


_worker: list[_Worker] = []
"""Of a process of a pool, the one that it works with."""


def _begin(spec: Spec, output: Path, refute: bool, cache: Cache) -> None:
    _worker[:] = [_Worker(spec, output, refute, cache)]


def _work(jobs: tuple[tuple[Kernel, Variant], ...]) -> tuple[VariantResult, ...]:
    return _worker[0].judged(jobs)


def without_text(kernel: Kernel, variant: Variant, error: str, text: str = "") -> VariantResult:
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
        ir=digest(text),
        error=error,
    )  # fmt: skip
