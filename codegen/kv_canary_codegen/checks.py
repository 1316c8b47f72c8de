"""Every check of a kernel, implied and written, in the one order in which all launchers check.

(a) the arguments are what they claim to be, the launcher's own rules, (b) contiguity, (c) dtype,
(d) rules on sizes, (e) rank and length, (f) relations between sizes, (g) devices. A kernel may
state another order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from kv_canary_codegen import expr as language
from kv_canary_codegen.expr import Compare, Expr, Length, Name
from kv_canary_codegen.model import (
    Dim,
    Dtype,
    Kernel,
    Layout,
    ListArgument,
    Rule,
    ScalarArgument,
    ScalarKind,
    Stage,
    StructArgument,
    TensorArgument,
)


class CheckKind(Enum):
    """What a check looks at."""

    REQUIRED = "required"
    TYPE = "type"
    SIZE_TYPE = "size_type"
    INT64 = "int64"
    NON_NEGATIVE = "non_negative"
    CONTIGUOUS = "contiguous"
    DTYPE = "dtype"
    RANK = "rank"
    LENGTH = "length"
    DEVICE = "device"
    WRITTEN = "written"
    ITEMS = "items"


Subject = TensorArgument | ScalarArgument | StructArgument | ListArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One rule of a kernel, in its place."""

    id: str
    kind: CheckKind
    stage: Stage
    subject: Subject | None = None
    """The argument, for an implied check."""
    size: str | None = None
    """For SIZE_TYPE: the size that a caller of the validator may give."""
    axis: int = 0
    """For LENGTH."""
    rule: Rule | None = None
    """For WRITTEN."""

    @property
    def argument(self) -> str:
        """The argument as the caller passes it."""
        if self.rule is not None:
            return self.rule.argument
        if self.size is not None:
            return self.size
        if isinstance(self.subject, StructArgument):
            return self.subject.name
        assert self.subject is not None
        return self.subject.path

    @property
    def called(self) -> str:
        """The argument's name in messages."""
        if self.size is not None:
            return self.size
        if isinstance(self.subject, StructArgument):
            return self.subject.name
        assert self.subject is not None
        return self.subject.called

    @property
    def dim(self) -> Dim:
        """For LENGTH: the dimension that is checked."""
        assert isinstance(self.subject, TensorArgument)
        return self.subject.type.dims[self.axis]


def explicit_sizes(kernel: Kernel) -> tuple[str, ...]:
    """Sizes and flags that a caller of the validator may give: bound ones, then derived ones."""
    bound = (name for name, (tensor, _) in kernel.binders().items() if tensor.item is None)
    return (*bound, *(d.name for d in kernel.derived))


def item_sizes(kernel: Kernel) -> tuple[str, ...]:
    """Sizes and integers of the items of lists: known where the item is there, else 0."""
    bound = (name for name, (tensor, _) in kernel.binders().items() if tensor.item is not None)
    return (*bound, *(s.name for whole in kernel.lists for s in whole.scalars))


def message_of(kernel: Kernel, tensor: TensorArgument, kind: CheckKind) -> str:
    """The text of an implied rule that the kernel or the argument words itself, or nothing."""
    own = {**dict(kernel.messages), **dict(tensor.messages)}
    return own.get(kind.value, "")


def checks_of(kernel: Kernel) -> tuple[Check, ...]:
    """All checks of a kernel, in checking order."""
    shape = _shape_checks(kernel)
    stages = {
        Stage.ARGUMENTS: _argument_checks(kernel),
        Stage.LAUNCHER: _written(kernel, Stage.LAUNCHER),
        Stage.CONTIGUITY: _tensor_checks(kernel, CheckKind.CONTIGUOUS, Stage.CONTIGUITY),
        Stage.DTYPE: _tensor_checks(kernel, CheckKind.DTYPE, Stage.DTYPE),
        Stage.SIZES: _written(kernel, Stage.SIZES),
        Stage.SHAPE: shape,
        Stage.RANK: [replace(c, stage=Stage.RANK) for c in shape if c.kind is CheckKind.RANK],
        Stage.LENGTH: [replace(c, stage=Stage.LENGTH) for c in shape if c.kind is CheckKind.LENGTH],
        Stage.RELATIONS: _written(kernel, Stage.RELATIONS),
        Stage.DEVICE: _device_checks(kernel),
    }
    return tuple(check for stage in kernel.order for check in stages[stage])


def _argument_checks(kernel: Kernel) -> list[Check]:
    found: list[Check] = []
    integers: list[ScalarArgument] = []

    def add(subject: Subject, path: str, required: bool) -> None:
        kinds = (CheckKind.REQUIRED, CheckKind.TYPE) if required else (CheckKind.TYPE,)
        found.extend(
            Check(
                id=f"{kernel.stem}.{path}.{kind.value}",
                kind=kind,
                stage=Stage.ARGUMENTS,
                subject=subject,
            )
            for kind in kinds
        )

    for argument in kernel.arguments:
        if isinstance(argument, StructArgument):
            add(argument, argument.name, required=True)
            for tensor in argument.fields:
                add(tensor, tensor.path, required=not tensor.optional)
            for scalar in argument.scalars:
                add(scalar, scalar.path, required=True)
                if scalar.kind is ScalarKind.INT:
                    integers.append(scalar)
            for whole in argument.lists:
                add(whole, whole.path, required=True)
                found.append(
                    Check(
                        id=f"{kernel.stem}.{whole.path}.items",
                        kind=CheckKind.ITEMS,
                        stage=Stage.ARGUMENTS,
                        subject=whole,
                    )
                )
        elif isinstance(argument, TensorArgument):
            add(argument, argument.path, required=not argument.optional)
        else:
            add(argument, argument.name, required=True)
            if argument.kind is ScalarKind.INT:
                integers.append(argument)
    flags = {d.name for d in kernel.derived if d.truth}
    for size in explicit_sizes(kernel):
        if size not in flags:
            found.append(
                Check(
                    id=f"{kernel.stem}.{size}.type",
                    kind=CheckKind.SIZE_TYPE,
                    stage=Stage.ARGUMENTS,
                    size=size,
                )
            )
    for scalar in integers:
        found.append(
            Check(
                id=f"{kernel.stem}.{scalar.path}.int64",
                kind=CheckKind.INT64,
                stage=Stage.ARGUMENTS,
                subject=scalar,
            )
        )
    return found


def _written(kernel: Kernel, stage: Stage) -> list[Check]:
    return [
        Check(id=rule.id, kind=CheckKind.WRITTEN, stage=stage, rule=rule)
        for rule in kernel.rules
        if rule.stage is stage
    ]


def _tensor_checks(kernel: Kernel, kind: CheckKind, stage: Stage) -> list[Check]:
    return [
        Check(
            id=f"{kernel.stem}.{tensor.path}.{kind.value}", kind=kind, stage=stage, subject=tensor
        )
        for tensor in kernel.checked
        if tensor.item is None
        and (kind is not CheckKind.CONTIGUOUS or tensor.type.layout is Layout.CONTIGUOUS)
        and (kind is not CheckKind.DTYPE or tensor.type.dtype is not Dtype.BYTES)
    ]


def _shape_checks(kernel: Kernel) -> list[Check]:
    said = {_equality(rule.require) for rule in kernel.rules if rule.stage is Stage.LAUNCHER}
    found = []
    for tensor in kernel.checked:
        if tensor.item is not None:
            continue  # An item's shape is the written rules' to judge.
        found.append(
            Check(
                id=f"{kernel.stem}.{tensor.path}.rank",
                kind=CheckKind.RANK,
                stage=Stage.SHAPE,
                subject=tensor,
            )
        )
        for axis, dim in enumerate(tensor.type.dims):
            # A rule that an earlier one states word for word is not made twice: it could not fire.
            if dim.binds and (dim.binds, tensor.path, axis) in said:
                continue
            name = "length" if tensor.type.rank == 1 else f"{tensor.type.axes[axis]}_length"
            found.append(
                Check(
                    id=f"{kernel.stem}.{tensor.path}.{name}",
                    kind=CheckKind.LENGTH,
                    stage=Stage.SHAPE,
                    subject=tensor,
                    axis=axis,
                )
            )
    return found


def _equality(require: Expr) -> tuple[str, str, int] | None:
    """Size, tensor and axis of a rule that is `size == length(tensor, axis)`."""
    if isinstance(require, Compare) and len(require.rest) == 1 and require.rest[0][0] == "==":
        sides = (require.first, require.rest[0][1])
        for size, length in (sides, sides[::-1]):
            if isinstance(size, Name) and isinstance(length, Length):
                return size.name, length.tensor, length.axis
    return None


def _device_checks(kernel: Kernel) -> list[Check]:
    return [
        Check(
            id=f"{kernel.stem}.{_of_any_item(tensor.path)}.device",
            kind=CheckKind.DEVICE,
            stage=Stage.DEVICE,
            subject=tensor,
        )
        for tensor in kernel.checked
        if tensor.path != kernel.device_of
    ]


def _of_any_item(path: str) -> str:
    """A path without the place in a list: one rule for all its items."""
    return re.sub(r"\[\d+\]", "", path)


def names_needed(expr: Expr, kernel: Kernel) -> tuple[str, ...]:
    """Names whose values may be unknown when a rule is to be checked: the rule then waits."""
    known = {s.name for s in kernel.scalars} | {*explicit_sizes(kernel), *item_sizes(kernel)}
    return tuple(name for name in language.names_in(expr) if name in known)
