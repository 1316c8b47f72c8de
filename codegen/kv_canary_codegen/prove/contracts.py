"""Whether launchers that run one kernel after another hold the later one to its contract.

A follow-up is launched without its validator. So of every call that the first kernel's rules
accept, and in which the follow-up runs, the follow-up's rules have to hold; and of the contents
that it takes, the domains that it names: those that the first kernel writes by what it ensures, the
others because its caller was asked for the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from kv_canary_codegen import expr as language
from kv_canary_codegen.checks import CheckKind, checks_of
from kv_canary_codegen.model import (
    Ensure,
    EnsureKind,
    FollowUp,
    Kernel,
    Spec,
    TensorArgument,
)
from kv_canary_codegen.prove.logic import NotModelledError, Scope, shown, translate
from kv_canary_codegen.prove.rules import Space, Verdict, ask

Z3 = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainResult:
    """One thing that a follow-up requires."""

    launcher: str
    follow_up: str
    requires: str
    verdict: Verdict
    example: str
    """A call, or contents, of which it does not hold; or why that is not known."""


def checked_chains(spec: Spec) -> tuple[ChainResult, ...]:
    """Every requirement of every kernel that a launcher runs after its own."""
    by_stem = {kernel.stem: kernel for kernel in spec.kernels}
    return tuple(
        result
        for kernel in spec.kernels
        for follow_up in kernel.then
        for result in _chain(spec, kernel, by_stem[follow_up.stem], follow_up)
    )


def _chain(spec: Spec, first: Kernel, later: Kernel, follow_up: FollowUp) -> list[ChainResult]:
    space = Space(first, spec)
    accepted: list[Z3] = [z3.Not(given) for given, _ in space.explicit.values()]
    for check in checks_of(first):
        try:
            held = space.holds(check)
        except NotModelledError:
            continue  # Knowing less is safe.
        if held is not None:
            accepted.append(held)
    if follow_up.when is not None:
        accepted.append(translate(follow_up.when, space.scope()))
    linked = _linked(first, later)
    results = []

    def add(requires: str, goal: Z3 | None, why: str = "", *more: Z3) -> None:
        verdict, example = Verdict.FINE, ""
        if goal is None:
            verdict, example = Verdict.UNPROVED, why
        else:
            try:
                model = ask(space, *accepted, *more, z3.Not(goal))
                if model is not None:
                    verdict, example = Verdict.REFUTED, space.described(model)
                    element = model.eval(z3.Int("it"))
                    if z3.is_int_value(element):
                        example += f", an element of {element}"
            except NotModelledError as gave_up:
                verdict, example = Verdict.UNPROVED, str(gave_up)
        results.append(
            ChainResult(
                launcher=first.launcher,
                follow_up=later.stem,
                requires=requires,
                verdict=verdict,
                example=example,
            )
        )

    scope = _scope(space, first, later, linked)
    for check in checks_of(later):
        subject = check.subject
        if check.kind is CheckKind.REQUIRED and isinstance(subject, TensorArgument):
            own = linked.get(subject.path)
            add(
                check.id, None if own is None else space.given[own.path], "nothing is passed for it"
            )
        elif check.kind is CheckKind.DTYPE and isinstance(subject, TensorArgument):
            own = linked.get(subject.path)
            if own is not None:
                same = own.type.dtype is subject.type.dtype
                rank = own.type.rank == subject.type.rank
                add(check.id, z3.BoolVal(same and rank))
        elif check.kind is CheckKind.CONTIGUOUS and isinstance(subject, TensorArgument):
            own = linked.get(subject.path)
            if own is not None:
                add(check.id, z3.BoolVal(own.type.layout is subject.type.layout))
        elif check.kind in (CheckKind.WRITTEN, CheckKind.LENGTH):
            try:
                if check.rule is not None:
                    goal = translate(check.rule.require, scope)
                else:
                    assert isinstance(subject, TensorArgument)
                    own = linked[subject.path]
                    wanted = translate(check.dim.expr, scope)
                    length = space.shapes[own.path, check.axis]
                    right = length >= wanted if check.dim.at_least else length == wanted
                    goal = z3.Implies(space.given[own.path], right)
                add(check.id, goal)
            except (NotModelledError, KeyError) as missing:
                add(check.id, None, f"not told to the solver: {missing}")
    for tensor in later.tensors:
        if tensor.values is None or tensor.path not in linked:
            continue
        own = linked[tensor.path]
        element = {"it": z3.Int("it")}
        requires = f"{later.stem}.{tensor.path}: {shown(tensor.values.expr)}"
        try:
            domain = Scope(
                names={**scope.names, **element}, present=scope.present, length=scope.length,
                stride=scope.stride, is_bool=scope.is_bool, rank=scope.rank,
                itemsize=scope.itemsize, address=scope.address, count=scope.count,
                choices=scope.choices,
            )  # fmt: skip
            goal = translate(tensor.values.expr, domain)
            promised = list(_promised(first, own, space, element))
            add(requires, goal, "", *promised)
        except NotModelledError as missing:
            add(requires, None, f"not told to the solver: {missing}")
    return results


def _linked(first: Kernel, later: Kernel) -> dict[str, TensorArgument]:
    """By a later kernel's path, the tensor that the launcher passes: that of the same name."""
    own = {tensor.identifier: tensor for tensor in first.tensors}
    return {t.path: own[t.identifier] for t in later.tensors if t.identifier in own}


def _scope(space: Space, first: Kernel, later: Kernel, linked: dict[str, TensorArgument]) -> Scope:
    """What names of the later kernel mean in a call of the first."""
    names: dict[str, Z3] = {}
    for scalar in later.scalars:
        if scalar.name in space.scalars:
            names[scalar.name] = space.scalars[scalar.name]
    for size, (tensor, axis) in later.binders().items():
        own = linked.get(tensor.path)
        if own is not None:
            shape = space.shapes[own.path, axis]
            names[size] = z3.If(space.given[own.path], shape, z3.IntVal(0))

    def tensor_of(path: str) -> str:
        own = linked.get(path)
        if own is None:
            raise NotModelledError(path)
        return own.path

    outer = space.scope()
    scope = Scope(
        names=names,
        present=lambda path: (
            outer.present(tensor_of(path)) if path in linked else z3.BoolVal(False)
        ),
        length=lambda path, axis: outer.length(tensor_of(path), axis),
        stride=lambda path, axis: outer.stride(tensor_of(path), axis),
        is_bool=lambda flag: z3.BoolVal(True),
        rank=lambda path: outer.rank(tensor_of(path)),
        itemsize=lambda path: outer.itemsize(tensor_of(path)),
        address=lambda path: outer.address(tensor_of(path)),
        count=outer.count,
        choices={s.name: s.choices for s in later.scalars},
    )
    for derived in later.derived:
        names[derived.name] = translate(derived.expr, scope)
    return scope


def _promised(
    first: Kernel, tensor: TensorArgument, space: Space, element: dict[str, Z3]
) -> list[Z3]:
    """What is known of an element of a tensor when the later kernel runs."""
    outer = space.scope()
    scope = Scope(
        names={**space.names, **element}, present=outer.present, length=outer.length,
        stride=outer.stride, is_bool=outer.is_bool, rank=outer.rank, itemsize=outer.itemsize,
        address=outer.address, count=outer.count, choices=outer.choices,
    )  # fmt: skip
    if not tensor.access.writes:
        # Nobody looked at it; its caller was asked for this.
        return [] if tensor.values is None else [translate(tensor.values.expr, scope)]
    return [
        fact
        for ensure in first.ensures
        if ensure.tensor == tensor.path
        for fact in _ensured(ensure, tensor, scope)
    ]


def _ensured(ensure: Ensure, tensor: TensorArgument, scope: Scope) -> list[Z3]:
    """What a postcondition says of every element of a tensor."""
    it = scope.names["it"]
    if ensure.kind is EnsureKind.WITHIN:
        low, high = (translate(operand, scope) for operand in ensure.operands)
        return [it >= low, it <= high]
    if ensure.kind is EnsureKind.EQUALS and _one_element(tensor):
        return [it == translate(ensure.operands[1], scope)]
    return []


def _one_element(tensor: TensorArgument) -> bool:
    return all(
        isinstance(dim.expr, language.Integer) and dim.expr.value == 1 for dim in tensor.type.dims
    )
