# Generated from spec/project.yaml by `kv-canary generate`; do not edit.
# Template: contract.py.jinja.
"""The error that a broken contract raises, and the checks that find out which rules broke."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Flag, IntEnum
from typing import Any

import torch

MESSAGE_PREFIX = "kv-canary: "
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSize:
    """A size that a call fixed, and what fixed it."""

    name: str
    value: int
    binder: str
    """As in `req_pool_indices.shape[0]`."""

    def __str__(self) -> str:
        return f"{self.name} = {self.value} (from {self.binder})"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRule:
    """One rule that a call breaks."""

    rule_id: str
    kernel: str
    """Stem of the kernel, or name of the struct."""
    argument: str
    """The argument at fault, as the caller passes it."""
    message: str
    """The whole message."""
    actual: str
    """What was found."""
    expected: str
    """What was wanted."""
    sizes: tuple[BoundSize, ...] = ()
    """Sizes known when the rule was checked."""


class ContractError(ValueError):
    """A call breaks its kernel's contract: `str()` is the first broken rule's message, exactly.

    Notes name the rule, the sizes and what bound them, and the way out. Survives pickle.
    """

    def __init__(self, broken_rules: Sequence[BrokenRule]) -> None:
        self.broken_rules = tuple(broken_rules)
        super().__init__(self.broken_rules[0].message)
        for note in _notes(self.broken_rules):
            self.add_note(note)

    def __reduce__(self) -> tuple[Any, ...]:
        # With the notes that a caller added.
        return type(self), (self.broken_rules,), {"__notes__": list(self.__notes__)}


class ContractTypeError(ContractError, TypeError):
    """A broken contract that is a TypeError as well, where a spec says so."""


def _notes(broken_rules: tuple[BrokenRule, ...]) -> Iterator[str]:
    from kv_canary_kernels import rules

    first = broken_rules[0]
    yield f"rule: {first.rule_id} (argument {first.argument})"
    if first.actual:
        yield f"found: {first.actual}"
    if first.expected:
        yield f"wanted: {first.expected}"
    words = set(re.findall(r"\w+", f"{first.message} {first.expected}"))
    for size in first.sizes:
        if size.name in words:
            yield f"size: {size}"
    fix = rules.fix_of(first.rule_id)
    if fix:
        yield f"fix: {fix}"
    if len(broken_rules) > 1:
        yield "also broken: " + ", ".join(rule.rule_id for rule in broken_rules[1:])
    yield f"more: kv-canary explain {first.rule_id}"


class _Unknown:
    """Stands for a field of something that is no struct."""


UNKNOWN = _Unknown()


def described(value: Any) -> str:
    """An argument in a few words, without what is in it."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        shape = ", ".join(str(extent) for extent in value.shape)
        return f"{dtype}[{shape}] on {value.device}"
    return "None" if value is None else type(value).__name__


def _not_dense(tensor: torch.Tensor) -> str:
    """What a tensor is instead of dense memory with a shape and strides; empty if it is dense."""
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return str(tensor.layout)
    try:
        tuple(tensor.shape)
    except (RuntimeError, ValueError):
        return type(tensor).__name__
    return ""


def _worded(text: str, standard: str, name: str, wanted: str, found: str) -> str:
    """A kernel's own words for an implied rule, or the standard ones where it has none."""
    if not text:
        return standard
    short = wanted.removeprefix("torch.")
    return text.format(name=name, wanted=wanted, dtype=short, found=found)


def _digits(value: int) -> str:
    """A number, unless it is longer than Python is willing to print."""
    bits = value.bit_length()
    return str(value) if bits < 10_000 else f"a number of {bits} bits"


@dataclass(slots=True)
class Inspection:
    """Checks one call, rule by rule; a check whose subject is not known to be sound waits."""

    kernel: str
    _broken: list[BrokenRule] = field(default_factory=list)
    _tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    _unsound: set[str] = field(default_factory=set)
    _sizes: dict[str, BoundSize] = field(default_factory=dict)

    def found(self) -> tuple[BrokenRule, ...]:
        """The broken rules so far."""
        return tuple(self._broken)

    def broken(
        self, rule_id: str, argument: str, message: str, expected: str, actual: str = ""
    ) -> None:
        """Record a broken rule."""
        self._broken.append(
            BrokenRule(
                rule_id=rule_id,
                kernel=self.kernel,
                argument=argument,
                message=MESSAGE_PREFIX + message,
                actual=actual,
                expected=expected,
                sizes=tuple(self._sizes.values()),
            )
        )

    def _implied(self, rule_id: str, message: str, expected: str, actual: str) -> None:
        argument = rule_id.removeprefix(f"{self.kernel}.").rpartition(".")[0]
        self.broken(rule_id, argument, message, expected, actual)

    def field(self, owner: str, struct: Any, name: str) -> Any:
        """A field of a struct, or UNKNOWN where there is no such struct."""
        return UNKNOWN if owner in self._unsound else getattr(struct, name, None)

    def required(self, rule_id: str, name: str, value: Any) -> None:
        """An argument that is not optional is there."""
        if value is None:
            self._unsound.add(name)
            self._implied(rule_id, f"{name} is required", "not None", "None")

    def tensor(self, rule_id: str, name: str, value: Any) -> None:
        """An argument that is there is a dense tensor."""
        if value is None or value is UNKNOWN:
            return
        if not isinstance(value, torch.Tensor):
            found = type(value).__name__
            self._implied(
                rule_id, f"{name} must be a torch.Tensor, got {found}", "a torch.Tensor", found
            )
        elif found := _not_dense(value):
            self._implied(
                rule_id, f"{name} must be a dense torch.Tensor, got {found}", "torch.strided", found
            )
        else:
            self._tensors[name] = value

    def instance(self, rule_id: str, name: str, value: Any, wanted: type) -> None:
        """An argument is a struct."""
        if value is not None and not isinstance(value, wanted):
            self._unsound.add(name)
            found = type(value).__name__
            expected = f"a {wanted.__name__}"
            self._implied(rule_id, f"{name} must be {expected}, got {found}", expected, found)

    def integer(self, rule_id: str, name: str, value: Any, enum: type | None = None) -> int | None:
        """An argument is an int itself, or a member of the enum: a bool is neither."""
        if value is UNKNOWN:
            return None
        if enum is not None and isinstance(value, enum):
            return value  # type: ignore[return-value]
        return self._exactly(rule_id, name, value, int)

    def boolean(self, rule_id: str, name: str, value: Any) -> bool | None:
        """An argument is a bool."""
        return self._exactly(rule_id, name, value, bool)

    def _exactly(self, rule_id: str, name: str, value: Any, wanted: type) -> Any:
        if value is None or value is UNKNOWN:
            return None
        if type(value) is wanted:
            return value
        found = type(value).__name__
        expected = wanted.__name__
        self._implied(rule_id, f"{name} must be {expected}, got {found}", expected, found)
        return None

    def choice(self, rule_id: str, name: str, value: Any, choices: tuple[str, ...]) -> str | None:
        """An argument is one of a closed set of words."""
        if value is None or value is UNKNOWN:
            return None
        if isinstance(value, str) and value in choices:
            return value
        expected = "one of " + "/".join(choices)
        found = repr(value) if isinstance(value, str) else type(value).__name__
        self._implied(rule_id, f"{name} must be {expected}, got {found}", expected, found)
        return None

    def member(self, rule_id: str, name: str, value: Any, wanted: type[IntEnum]) -> Any:
        """An argument is a member of an enum, or the number of one."""
        if value is None or value is UNKNOWN:
            return None
        if isinstance(value, wanted):
            return value
        found = type(value).__name__
        expected = f"a {wanted.__name__}"
        if type(value) is int and not issubclass(wanted, Flag):
            if value in [member.value for member in wanted]:
                return wanted(value)
            found = str(value)
            names = "/".join(member.name for member in wanted)
            numbers = "/".join(str(member.value) for member in wanted)
            expected = f"one of {names} ({numbers})"
        self._implied(rule_id, f"{name} must be {expected}, got {found}", expected, found)
        return None

    def listed(self, rule_id: str, name: str, value: Any, wanted: type) -> Any:
        """An argument is a tuple or a list; anything else is taken for an empty one."""
        if value is None or value is UNKNOWN:
            return ()
        if type(value) in (tuple, list):
            return value
        found = type(value).__name__
        expected = f"a tuple or list of {wanted.__name__}"
        self._implied(rule_id, f"{name} must be {expected}, got {found}", expected, found)
        return ()

    def items(self, rule_id: str, name: str, value: Any, wanted: type) -> Any:
        """The items of a list are structs; those from the first that is none on are left out."""
        for index, item in enumerate(value):
            if type(item) is not wanted:
                found = type(item).__name__
                expected = f"a {wanted.__name__}"
                message = f"{name}[{index}] must be {expected}, got {found}"
                self._implied(rule_id, message, expected, found)
                return value[:index]
        return value

    def item_tensor(self, value: Any, index: int, field: str, name: str) -> Any:
        """A tensor of an item of a list, or None where there is no such item."""
        if index >= len(value):
            return None
        self._tensors[name] = getattr(value[index], field)
        return self._tensors[name]

    def item_integer(self, value: Any, index: int, field: str) -> int:
        """An integer of an item of a list, or 0 where there is no such item."""
        return getattr(value[index], field) if index < len(value) else 0

    def item_extent(self, tensor: Any, axis: int, *, in_bytes: bool = False) -> int | None:
        """A dimension of an item's tensor; None where it has no such dimension."""
        if tensor is None:
            return 0
        if axis >= tensor.dim():
            return None
        return int(tensor.shape[axis]) * (tensor.itemsize if in_bytes else 1)

    def has_axes(self, name: str, count: int) -> bool:
        """Whether a tensor is known to have so many dimensions or more."""
        return name in self._tensors and self._tensors[name].dim() >= count

    def size_type(self, rule_id: str, name: str, value: Any) -> int | None:
        """A size that was given is an int."""
        before = len(self._broken)
        size = self.int64(rule_id, name, self.integer(rule_id, name, value))
        if len(self._broken) > before:
            self._unsound.add(name)
        return size

    def int64(self, rule_id: str, name: str, value: int | None) -> int | None:
        """An int fits in 64 bits; one that does not is unknown to the rules that follow."""
        if value is None or INT64_MIN <= value <= INT64_MAX:
            return value
        found = _digits(value)
        message = f"{name} must fit in int64, got {found}"
        self._implied(rule_id, message, "an int in [-2**63, 2**63 - 1]", found)
        return None

    def non_negative(self, rule_id: str, name: str, value: int | None) -> None:
        """An int counts something."""
        if value is not None and value < 0:
            message = f"{name} must be non-negative, got {value}"
            self._implied(rule_id, message, "0 or more", str(value))

    def size(
        self,
        name: str,
        given: Any,
        tensor: str,
        path: str,
        rank: int,
        axis: int,
        *,
        absent: bool = False,
    ) -> int | None:
        """A size as given, else as its binder has it; None while neither is known.

        `tensor` is the binder's name in messages, `path` how the caller passes it.
        """
        if name in self._unsound:
            return None
        if given is not None:
            value, binder = int(given), "the caller"
        elif absent:
            value, binder = 0, f"{path}, which is not given"
        elif self.ranked(tensor, rank):
            value, binder = int(self._tensors[tensor].shape[axis]), f"{path}.shape[{axis}]"
        else:
            return None
        self._sizes[name] = BoundSize(name=name, value=value, binder=binder)
        return value

    def ranked(self, name: str, rank: int) -> bool:
        """Whether a tensor is known to have this rank, so that its dimensions may be read."""
        return name in self._tensors and self._tensors[name].dim() == rank

    def contiguous(self, rule_id: str, name: str, *, text: str = "") -> None:
        """A tensor's elements follow each other in memory."""
        tensor = self._tensors.get(name)
        if tensor is not None and not tensor.is_contiguous():
            actual = f"strides {tuple(tensor.stride())} for shape {tuple(tensor.shape)}"
            message = _worded(text, f"{name} must be contiguous", name, "contiguous", actual)
            self._implied(rule_id, message, "contiguous", actual)

    def dtype(self, rule_id: str, name: str, wanted: torch.dtype, *, text: str = "") -> None:
        """A tensor's elements have this type."""
        tensor = self._tensors.get(name)
        if tensor is not None and tensor.dtype is not wanted:
            message = f"{name} must have dtype {wanted}, got {tensor.dtype}"
            message = _worded(text, message, name, str(wanted), str(tensor.dtype))
            self._implied(rule_id, message, str(wanted), str(tensor.dtype))

    def rank(self, rule_id: str, name: str, wanted: int, *, text: str = "") -> None:
        """A tensor has this many dimensions."""
        tensor = self._tensors.get(name)
        if tensor is not None and tensor.dim() != wanted:
            shape = tuple(tensor.shape)
            message = f"{name} must be {wanted}-D, got shape {shape}"
            message = _worded(text, message, name, f"{wanted}-D", str(shape))
            self._implied(rule_id, message, f"{wanted}-D", str(shape))

    def length(
        self,
        rule_id: str,
        name: str,
        rank: int,
        axis: int,
        wanted: int | None,
        size: str = "",
        *,
        text: str = "",
    ) -> None:
        """A dimension has exactly this extent; `size` is its name, where it has one."""
        found = self._extent(name, rank, axis, wanted)
        if found is not None and found != wanted:
            self._extent_broken(rule_id, name, rank, axis, str(wanted), found, size, text)

    def at_least(
        self,
        rule_id: str,
        name: str,
        rank: int,
        axis: int,
        wanted: int | None,
        size: str = "",
        *,
        text: str = "",
    ) -> None:
        """A dimension has this extent or more."""
        found = self._extent(name, rank, axis, wanted)
        if found is not None and wanted is not None and found < wanted:
            self._extent_broken(rule_id, name, rank, axis, f">= {wanted}", found, size, text)

    def _extent(self, name: str, rank: int, axis: int, wanted: int | None) -> int | None:
        if wanted is None or not self.ranked(name, rank):
            return None
        return int(self._tensors[name].shape[axis])

    def _extent_broken(
        self,
        rule_id: str,
        name: str,
        rank: int,
        axis: int,
        wanted: str,
        found: int,
        size: str,
        text: str,
    ) -> None:
        what = "length" if rank == 1 else f"shape[{axis}]"
        bound = self._sizes.get(size)
        expected = f"{wanted}, which is {size} (from {bound.binder})" if bound else wanted
        message = f"{name} {what} must be {wanted}, got {found}"
        message = _worded(text, message, name, wanted, str(found))
        self._implied(rule_id, message, expected, str(found))

    def device(self, rule_id: str, name: str, reference: str, *, text: str = "") -> None:
        """A tensor is where the reference tensor is."""
        tensor, wanted = self._tensors.get(name), self._tensors.get(reference)
        if tensor is not None and wanted is not None and tensor.device != wanted.device:
            message = f"{name} must be on {reference}'s device {wanted.device}, got {tensor.device}"
            message = _worded(text, message, name, str(wanted.device), str(tensor.device))
            self._implied(rule_id, message, str(wanted.device), str(tensor.device))
