"""The smallest calls that break one rule: a bounded, deterministic search over the typed rules.

A call is abstract here, shapes and dtypes and numbers without a tensor, and `broken` says which
rules it breaks. It is a second reading of the rules, so that a generated validator is tested
against something other than itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from kv_canary_codegen import expr as language
from kv_canary_codegen.checks import Check, CheckKind, checks_of, explicit_sizes, message_of
from kv_canary_codegen.expr import Expr, Length, Name, Stride, Type, Values
from kv_canary_codegen.model import (
    Described,
    Dtype,
    Kernel,
    ListArgument,
    Piece,
    Rule,
    ScalarArgument,
    ScalarKind,
    Spec,
    StructArgument,
    TensorArgument,
    TypeName,
)

Number = int | bool | str
Source = tuple[str, str]
"""What a check may read: a `tensor`, `list`, `scalar`, given `size`, or `name` of a rule."""
MAX_REPAIRS = 100
UNBOUNDED = 1 << 62
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorValue:
    """A tensor without contents."""

    shape: tuple[int, ...]
    dtype: str
    strided: bool = False
    """Made with a step of 2 along the last dimension, and so not contiguous."""
    device: str = "cpu"
    offset: int = 0
    """Bytes from a 64-byte boundary to its beginning."""

    @property
    def strides(self) -> tuple[int, ...]:
        """As torch would give them."""
        return _strides(self.shape, 2 if self.strided else 1)

    @property
    def contiguous(self) -> bool:
        """Whether torch would call it so: a dimension of one index may have any stride."""
        if not self.strided or 0 in self.shape:
            return True
        return all(extent == 1 for extent in self.shape)


@cache
def _strides(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """An object that is none of what an argument may be."""

    text: str
    """Python text."""
    type_name: str


NONE = Wrong(text="None", type_name="NoneType")
LIST = Wrong(text="[]", type_name="list")
ITEMS = Wrong(text="[1]", type_name="int")
"""A list of one item that is no struct."""
STRING = Wrong(text='"1"', type_name="str")
ONE = Wrong(text="1", type_name="int")
WRONG_CHOICE = Wrong(text='"none of them"', type_name="str")


@dataclass(frozen=True, slots=True)
class Call:
    """What a caller passes, by path; `sizes` are those given to the validator explicitly."""

    tensors: Mapping[str, TensorValue | Wrong | None]
    """None: an optional tensor that is left out."""
    scalars: Mapping[str, Number | Wrong]
    structs: Mapping[str, Wrong]
    """Struct arguments that are no struct."""
    sizes: Mapping[str, Number | Wrong]
    lists: Mapping[str, Wrong | int] = field(default_factory=dict)
    """Lists that are none, or that have more items than there are tensors here, by path."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call is built from."""

    sizes: Mapping[str, int]
    """Extents of the tensors, by size; a scalar that is also a size stands here too."""
    scalars: Mapping[str, Number]
    given: frozenset[str]
    """Optional tensors that are passed."""
    explicit: Mapping[str, Number] = field(default_factory=dict)
    extents: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """Single dimensions that differ from what their size says."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Tensors of another shape altogether."""
    strided: frozenset[str] = frozenset()
    """Tensors with a step of 2 along the last dimension."""
    offsets: Mapping[str, int] = field(default_factory=dict)
    """Tensors that begin some bytes after a boundary."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Lists with more items than a kernel takes."""

    def but(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        scalars: Mapping[str, Number] | None = None,
        given: frozenset[str] | None = None,
    ) -> Plan:
        """The same plan with others of these."""
        return Plan(
            self.sizes if sizes is None else sizes,
            self.scalars if scalars is None else scalars,
            self.given if given is None else given,
            self.explicit,
            self.extents,
            self.shapes,
            self.strided,
            self.offsets,
            self.counts,
        )

    def key(self) -> tuple[object, ...]:
        """Equal for plans that build equal calls; all plans of a kernel have the same sizes."""
        return (
            *self.sizes.values(),
            *self.scalars.values(),
            self.given,
            tuple(self.explicit.items()),
            tuple(self.extents.items()),
            tuple(self.shapes.items()),
            self.strided,
            tuple(self.offsets.items()),
            tuple(self.counts.items()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a written rule reads, worked out once."""

    require: Expr
    names: tuple[str, ...]
    flags: tuple[str, ...]
    """Derived flags whose value, not only their type, is asked for."""
    tensors: tuple[tuple[str, int], ...]
    """And how many dimensions each must have."""
    lists: tuple[str, ...]
    """Lists whose items are counted."""
    integers: tuple[tuple[Expr, tuple[str, ...], tuple[str, ...]], ...]
    """Parts that are integers, and the names and tensors that each reads."""
    sources: frozenset[Source]
    """All that it reads."""
    plain: bool
    """Whether it reads nothing but the values of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that a call breaks, with its whole message."""

    check: Check
    message: str


class Search:
    """Finds calls of one kernel.

    Calls differ little from the smallest valid one, which breaks nothing; so a check is made again
    only where something that it reads differs.
    """

    def __init__(self, spec: Spec, kernel: Kernel) -> None:
        self.spec = spec
        self.kernel = kernel
        self.checks = checks_of(kernel)
        self.tensors = kernel.tensors
        self.by_path = {tensor.path: tensor for tensor in self.tensors}
        self.earlier = {
            tensor.path: tuple(earlier.path for earlier in kernel.earlier_items(tensor))
            for tensor in self.tensors
            if tensor.item
        }
        self.reference = kernel.reference_tensor
        self.lists = kernel.lists
        self._ranks = {t.path: t.type.rank if t.item is None else None for t in self.tensors}
        """Dimensions that a tensor must have for a rule to read it; of an item, as read."""
        self.optional = tuple(t.path for t in self.tensors if t.optional)
        self.dtypes = {t.path: t.type.dtype.sample for t in self.tensors}
        self.scalars = {s.name: s for s in kernel.scalars}
        self.binders = kernel.binders()
        self.explicit = explicit_sizes(kernel)
        self.derived = {d.name: d for d in kernel.derived}
        self.rules = tuple(c for c in self.checks if c.kind is CheckKind.WRITTEN)
        # By the rule itself: a rule about each item of a list has one id for all of them.
        self.reads = {id(c.rule): self._reads(c.rule.require) for c in self.rules if c.rule}
        self._derived_reads = tuple(
            (d, language.names_in(d.expr), language.tensors_in(d.expr)) for d in kernel.derived
        )
        self._bound = tuple((n, tensor.path, axis) for n, (tensor, axis) in self.binders.items())
        exprs = [c.rule.require for c in self.rules if c.rule] + [d.expr for d in kernel.derived]
        self._placed = {
            node.tensor
            for expr in exprs
            for node in language.walk(expr)
            if isinstance(node, language.Itemsize | language.Address)
        }
        """Tensors of which a rule reads the bytes of an element, or the beginning."""
        self._plain = {derived.name for derived in kernel.derived if _is_plain(derived.expr)}
        """Derived sizes that follow from the values of names alone."""
        self._worths: dict[tuple[object, ...], int] = {}
        """What they and such rules come to, by name and values."""
        self._calls: dict[tuple[object, ...], Call] = {}
        """Calls of plans, by the plan."""
        self._known: dict[int, tuple[Call, Values]] = {}
        """What rules may read of them."""
        self._made: dict[tuple[str, tuple[int, ...]], TensorValue] = {}
        self._readers = self._readers_of(self.checks)
        self._rule_readers = self._readers_of(self.rules)
        self._valid: tuple[Call, Values] | None = None
        """The smallest call, if it breaks nothing."""
        scalars: dict[str, Number] = {s.name: _first_value(s, spec) for s in kernel.scalars}
        self.items = {s.name: s for whole in kernel.lists for s in whole.scalars}
        scalars |= {s.name: s.sample for s in self.items.values()}
        shared = {
            name
            for tensor in kernel.tensors
            for dim in tensor.type.dims
            for name in language.names_in(dim.expr)
            if name in scalars
        }
        start = Plan(
            sizes=dict.fromkeys((*self.binders, *shared), 1) | _bytes_of_rows(kernel),
            scalars={**scalars, **dict.fromkeys(shared, 1)},
            given=frozenset(),
        )
        self.shared = frozenset(shared)
        repaired = self.repair(start, frozenset())
        self.base = repaired if repaired is not None else start
        call = self.call(self.base)
        if not self.broken(call):
            self._valid = (call, self.values(call))

    def _tensor(self, path: str) -> TensorArgument:
        return self.by_path[path]

    def _reads(self, require: Expr) -> Reads:
        names = language.names_in(require)
        nodes = language.walk(require)
        asks_type = any(isinstance(node, language.IsBool) for node in nodes)
        flags = [n for n in names if n in self.derived and self.derived[n].truth]
        tensors = language.tensors_in(require)
        lists = tuple(node.list for node in nodes if isinstance(node, language.Count))
        return Reads(
            require=require,
            names=names,
            flags=() if asks_type else tuple(flags),
            tensors=tuple((t, language.axes_read(require, t)) for t in tensors),
            lists=lists,
            integers=tuple(
                (node, language.names_in(node), language.tensors_in(node))
                for node in nodes
                if language.type_of(node) is Type.INTEGER
            ),
            sources=frozenset(
                (
                    *(("name", name) for name in names),
                    *(("tensor", path) for path in (*tensors, *language.present_in(require))),
                    *(("list", path) for path in lists),
                )
            ),
            plain=_is_plain(require),
        )

    def _sources(self, check: Check) -> frozenset[Source]:
        """What a check reads, of a call whose structs and lists are none but of the right type."""
        if check.rule is not None:
            return self.reads[id(check.rule)].sources
        subject = check.subject
        if check.kind is CheckKind.SIZE_TYPE:
            return frozenset({("size", check.argument)})
        if isinstance(subject, TensorArgument):
            found = {("tensor", subject.path)}
            if check.kind is CheckKind.DEVICE:
                found.add(("tensor", self.reference.path))
            elif check.kind is CheckKind.LENGTH:
                found |= {("name", name) for name in language.names_in(check.dim.expr)}
            return frozenset(found)
        if isinstance(subject, ScalarArgument):
            return frozenset({("scalar", subject.name)})
        if isinstance(subject, ListArgument):
            return frozenset({("list", subject.path)})
        return frozenset()

    def _readers_of(self, checks: Iterable[Check]) -> dict[Source, list[int]]:
        """Places of the checks that read each source."""
        found: dict[Source, list[int]] = {}
        for place, check in enumerate(checks):
            for source in self._sources(check):
                found.setdefault(source, []).append(place)
        return found

    def _to_check(
        self, checks: tuple[Check, ...], readers: Mapping[Source, list[int]], call: Call
    ) -> Iterable[tuple[int, Check]]:
        """Checks that a call may break, in order, each with its place."""
        if (
            self._valid is None
            or call.structs
            or any(isinstance(given, Wrong) for given in call.lists.values())
        ):
            return enumerate(checks)
        valid, known = self._valid
        values = self.values(call)
        sources: list[Source] = [("size", size) for size in call.sizes]
        sources += [("tensor", p) for p, v in call.tensors.items() if v is not valid.tensors[p]]
        sources += [("scalar", n) for n in _different(valid.scalars, call.scalars)]
        sources += [("name", n) for n in _different(known.names, values.names)]
        sources += [("list", n) for n in _different(known.counts, values.counts)]
        places = {place for source in sources for place in readers.get(source, ())}
        return [(place, checks[place]) for place in sorted(places)]

    # Building and judging calls.

    def call(self, plan: Plan) -> Call:
        """Build the call that a plan describes."""
        # A flag may be given as a number that equals it.
        key = (*plan.key(), *map(type, plan.explicit.values()))
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = self._call(plan)
            self._known[id(call)] = (call, self._values(call))
        return call

    def _call(self, plan: Plan) -> Call:
        own = {k: v for k, v in plan.scalars.items() if k not in self.shared}
        names: dict[str, Number] = {**plan.sizes, **own}
        given = self._without_gaps(plan.given)
        tensors: dict[str, TensorValue | Wrong | None] = {}
        values = Values(names=names, shapes={}, strides={})
        for tensor in self.tensors:
            if tensor.optional and tensor.path not in given:
                tensors[tensor.path] = None
                continue
            path = tensor.path
            shape = tuple(
                max(
                    0,
                    int(names[dim.expr.name])
                    if isinstance(dim.expr, Name)
                    else language.evaluate(dim.expr, values),
                )
                for dim in tensor.type.dims
            )
            if plan.extents:
                shape = tuple(
                    plan.extents.get((path, axis), extent) for axis, extent in enumerate(shape)
                )
            shape = plan.shapes.get(path, shape)
            value = self._made.get((path, shape))
            if value is None:
                value = TensorValue(shape=shape, dtype=tensor.type.dtype.sample)
                self._made[path, shape] = value
            if path in plan.strided or path in plan.offsets:
                strided, offset = path in plan.strided, plan.offsets.get(path, 0)
                value = replace(value, strided=strided, offset=offset)
            tensors[path] = value
        return Call(
            tensors=tensors,
            scalars=dict(plan.scalars),
            structs={},
            sizes=dict(plan.explicit),
            lists=dict(plan.counts),
        )

    def _can_be_made(self, call: Call) -> bool:
        """Whether the items of lists hold to their structs' own rules, which are checked first."""
        for whole in self.lists:
            struct = self.spec.struct(whole.struct)
            for item in range(whole.at_most):
                tensors = {
                    t.path.rpartition(".")[2]: call.tensors[t.path]
                    for t in whole.tensors
                    if t.item == item
                }
                if not all(isinstance(value, TensorValue) for value in tensors.values()):
                    continue
                found = {k: v for k, v in tensors.items() if isinstance(v, TensorValue)}
                values = Values(
                    names={
                        s.field: int(call.scalars[s.name])  # type: ignore[arg-type]
                        for s in whole.scalars
                        if s.item == item
                    },
                    shapes={name: value.shape for name, value in found.items()},
                    strides={name: value.strides for name, value in found.items()},
                    itemsizes=dict.fromkeys(found, 1),
                )
                if not all(language.evaluate(rule.require, values) for rule in struct.rules):
                    return False
        return True

    def _without_gaps(self, given: frozenset[str]) -> frozenset[str]:
        """What can be given: an item of a list stands after those before it."""
        if not self.earlier:
            return given
        kept = set(given)
        for path, earlier in self.earlier.items():
            if any(other not in kept for other in earlier):
                kept.discard(path)
        return frozenset(kept)

    def _with_items_before(self, given: frozenset[str]) -> frozenset[str]:
        """What is given, and the items of lists that must stand before it."""
        return given | {earlier for path in given for earlier in self.earlier.get(path, ())}

    def _count(self, call: Call, path: str) -> int:
        """Items of a list in a call."""
        count = call.lists.get(path)
        if isinstance(count, int):
            return count
        whole = next(item for item in self.lists if item.path == path)
        present = {t.item for t in whole.tensors if call.tensors[t.path] is not None}
        return len(present)

    def broken(self, call: Call) -> list[Broken]:
        """The rules that a call breaks, in checking order."""
        found: list[Broken] = []
        values = self.values(call)
        for _, check in self._to_check(self.checks, self._readers, call):
            message = self._message(check, call, values)
            if message is not None:
                prefix = self.spec.project.message_prefix
                found.append(Broken(check=check, message=f"{prefix}{message}"))
        return found

    def _sound(self, call: Call, path: str) -> TensorValue | None:
        owner = path.partition(".")[0]
        value = call.tensors.get(path)
        listed = path.partition("[")[0] if "[" in path else ""
        if owner in call.structs or isinstance(call.lists.get(listed), Wrong):
            return None
        return value if isinstance(value, TensorValue) else None

    def _sound_tensors(self, call: Call) -> dict[str, TensorValue]:
        found = {p: v for p, v in call.tensors.items() if isinstance(v, TensorValue)}
        if call.structs or call.lists:
            return {p: v for p, v in found.items() if self._sound(call, p) is not None}
        return found

    def values(self, call: Call) -> Values:
        """What rules may read; a name or tensor that is missing here is unknown."""
        known = self._known.get(id(call))
        return known[1] if known is not None and known[0] is call else self._values(call)

    def _values(self, call: Call) -> Values:
        names: dict[str, Number] = {}
        for scalar in self.scalars.values():
            if scalar.owner in call.structs:
                continue
            number = call.scalars[scalar.name]
            if isinstance(number, Wrong) or (isinstance(number, int) and number not in _INT64):
                continue
            names[scalar.name] = number
        there = {
            tensor.item
            for whole in self.lists
            for tensor in whole.tensors
            if call.tensors[tensor.path] is not None
        }
        for item in self.items.values():
            number = call.scalars[item.name]
            names[item.name] = number if item.item in there and isinstance(number, int) else 0
        shapes: dict[str, tuple[int, ...] | None] = {}
        strides: dict[str, tuple[int, ...] | None] = {}
        sound = self._sound_tensors(call)
        for path, value in call.tensors.items():
            if value is None:
                shapes[path] = strides[path] = None
            elif path in sound and self._ranks[path] in (None, len(sound[path].shape)):
                shapes[path], strides[path] = sound[path].shape, sound[path].strides
            else:
                shapes[path] = ()  # It is there, and that is all that is known.
        for size, path, axis in self._bound:
            if size in call.sizes:
                given = call.sizes[size]
                if not isinstance(given, Wrong):
                    names[size] = given
            elif path in strides:
                shape = shapes[path]
                if shape is None or axis < len(shape):
                    names[size] = 0 if shape is None else shape[axis]
        placed = {path: sound[path] for path in self._placed if path in sound}
        source = Values(
            names=names,
            shapes=shapes,
            strides=strides,
            itemsizes={p: 1 if v.dtype == "uint8" else 8 for p, v in placed.items()},
            addresses={p: v.offset for p, v in placed.items()},
            counts={
                whole.path: self._count(call, whole.path)
                for whole in self.lists
                if whole.owner not in call.structs
            },
        )
        for derived, read, tensors in self._derived_reads:
            if derived.name in call.sizes:
                given = call.sizes[derived.name]
                if not isinstance(given, Wrong) or derived.truth:
                    names[derived.name] = given.text if isinstance(given, Wrong) else given
                continue
            if all(n in names for n in read) and all(t in strides for t in tensors):
                inputs = (derived.name, *[names[name] for name in read])
                worth = self._worths.get(inputs) if derived.name in self._plain else None
                if worth is None:
                    worth = self._worths[inputs] = language.evaluate(derived.expr, source)
                names[derived.name] = bool(worth) if derived.truth else worth
        return source

    def _message(self, check: Check, call: Call, values: Values) -> str | None:
        match check.kind:
            case CheckKind.REQUIRED | CheckKind.TYPE:
                return self._argument_message(check, call)
            case CheckKind.ITEMS:
                assert isinstance(check.subject, ListArgument)
                if call.lists.get(check.subject.path) == ITEMS:
                    return f"{check.called}[0] must be a {check.subject.struct}, got int"
                return None
            case CheckKind.SIZE_TYPE:
                given = call.sizes.get(check.argument)
                if isinstance(given, Wrong | bool):
                    name = given.type_name if isinstance(given, Wrong) else "bool"
                    return f"{check.called} must be int, got {name}"
                return None
            case CheckKind.INT64:
                assert isinstance(check.subject, ScalarArgument)
                value = call.scalars[check.subject.name]
                if isinstance(value, int) and value not in _INT64:
                    return f"{check.called} must fit in int64, got {value}"
                return None
            case CheckKind.WRITTEN:
                return self._written_message(check, values)
            case CheckKind.DEVICE:
                return self._device_message(check, call)
            case _:
                return self._shape_message(check, call, values)

    def _argument_message(self, check: Check, call: Call) -> str | None:
        subject = check.subject
        value: object
        if isinstance(subject, TensorArgument):
            if subject.owner in call.structs:
                return None
            value = call.tensors[subject.path]
            wanted = "a torch.Tensor"
        elif isinstance(subject, StructArgument):
            value = call.structs.get(subject.name)
            if value is None:
                return None
            wanted = f"a {subject.struct}"
        elif isinstance(subject, ListArgument):
            value = call.lists.get(subject.path)
            if subject.owner in call.structs or value in (None, ITEMS):
                return None
            wanted = f"a tuple or list of {subject.struct}"
        else:
            assert isinstance(subject, ScalarArgument)
            if subject.owner in call.structs:
                return None
            value = call.scalars[subject.name]
            wanted = {ScalarKind.INT: "int", ScalarKind.BOOL: "bool"}.get(subject.kind, "")
            if subject.kind is ScalarKind.CHOICE:
                wanted = "one of " + "/".join(subject.choices)
            elif subject.kind is ScalarKind.ENUM:
                wanted = f"a {subject.enum}"
        if value == NONE:
            return f"{check.called} is required" if check.kind is CheckKind.REQUIRED else None
        if isinstance(value, Wrong) and check.kind is CheckKind.TYPE:
            if isinstance(subject, ScalarArgument) and subject.kind is ScalarKind.CHOICE:
                shown = value.text.replace('"', "'")
                return f"{check.called} must be {wanted}, got {shown}"
            return f"{check.called} must be {wanted}, got {value.type_name}"
        return None

    def _written_message(self, check: Check, values: Values) -> str | None:
        if not self._breaks(check, values):
            return None
        assert check.rule is not None
        return "".join(_show(piece, values, self.dtypes) for piece in check.rule.message)

    def _breaks(self, check: Check, values: Values) -> bool:
        """Whether all that a written rule reads is known, and the rule does not hold."""
        reads = self.reads[id(check.rule)]
        for name in reads.names:
            if name not in values.names:
                return False
        for path in reads.lists:
            if path not in values.counts:
                return False
        for flag in reads.flags:
            if not isinstance(values.names[flag], bool):
                return False
        for tensor, axes in reads.tensors:
            if tensor not in values.strides:
                return False
            shape = values.shapes[tensor]
            if shape is not None and len(shape) < axes:
                return False
        if not reads.plain:
            return not language.evaluate(reads.require, values)
        inputs = (id(reads), *[values.names[name] for name in reads.names])
        worth = self._worths.get(inputs)
        if worth is None:
            worth = self._worths[inputs] = language.evaluate(reads.require, values)
        return not worth

    def _shape_message(self, check: Check, call: Call, values: Values) -> str | None:
        tensor = check.subject
        assert isinstance(tensor, TensorArgument)
        value = self._sound(call, tensor.path)
        if value is None:
            return None
        rank = tensor.type.rank
        own = message_of(self.kernel, tensor, check.kind)

        def worded(standard: str, wanted: str, found: object) -> str:
            if not own:
                return standard
            short = wanted.removeprefix("torch.")
            return own.format(name=tensor.called, wanted=wanted, dtype=short, found=found)

        if check.kind is CheckKind.CONTIGUOUS:
            if value.contiguous:
                return None
            actual = f"strides {value.strides} for shape {value.shape}"
            return worded(f"{tensor.called} must be contiguous", "contiguous", actual)
        if check.kind is CheckKind.DTYPE:
            wanted = tensor.type.dtype.value
            if value.dtype == wanted:
                return None
            standard = f"{tensor.called} must have dtype torch.{wanted}, got torch.{value.dtype}"
            return worded(standard, f"torch.{wanted}", f"torch.{value.dtype}")
        if check.kind is CheckKind.RANK:
            if len(value.shape) == rank:
                return None
            standard = f"{tensor.called} must be {rank}-D, got shape {value.shape}"
            return worded(standard, f"{rank}-D", value.shape)
        if len(value.shape) != rank:
            return None
        dim = check.dim
        if any(name not in values.names for name in language.names_in(dim.expr)):
            return None
        wanted_length = language.evaluate(dim.expr, values)
        found = value.shape[check.axis]
        if found == wanted_length or (dim.at_least and found >= wanted_length):
            return None
        sign = ">= " if dim.at_least else ""
        what = "length" if rank == 1 else f"shape[{check.axis}]"
        standard = f"{tensor.called} {what} must be {sign}{wanted_length}, got {found}"
        return worded(standard, f"{sign}{wanted_length}", found)

    def _device_message(self, check: Check, call: Call) -> str | None:
        tensor = check.subject
        assert isinstance(tensor, TensorArgument)
        value = self._sound(call, tensor.path)
        reference = self.reference
        wanted = self._sound(call, reference.path)
        if value is None or wanted is None or value.device == wanted.device:
            return None
        own = message_of(self.kernel, tensor, check.kind)
        if own:
            return own.format(
                name=tensor.called, wanted=wanted.device, dtype=wanted.device, found=value.device
            )
        return (
            f"{tensor.called} must be on {reference.called}'s device {wanted.device}, "
            f"got {value.device}"
        )

    # Repairing a plan, so that rules hold.

    def repair(self, plan: Plan, fixed: frozenset[str]) -> Plan | None:
        """The nearest plan that breaks no written rule and keeps the fixed names as they are."""
        return self._repaired(plan, fixed, frozenset())

    def _repaired(self, plan: Plan, fixed: frozenset[str], left: frozenset[int]) -> Plan | None:
        """Like repair, but for some rules that are left as they are."""
        queue = [plan]
        seen = {plan.key()}
        for current in queue:
            if len(seen) > MAX_REPAIRS:
                return None
            call = self.call(current)
            values = self.values(call)
            broken = next(
                (
                    check
                    for index, check in self._to_check(self.rules, self._rule_readers, call)
                    if index not in left and self._breaks(check, values)
                ),
                None,
            )
            if broken is None:
                return current
            assert broken.rule is not None
            for changed in self._changes(current, broken.rule, fixed, values):
                if changed.key() not in seen:
                    seen.add(changed.key())
                    queue.append(changed)
        return None

    def _changes(
        self, plan: Plan, rule: Rule, fixed: frozenset[str], values: Values
    ) -> Iterator[Plan]:
        """Plans that differ in one thing that a rule reads, likeliest first."""
        reads = self.reads[id(rule)]
        numbers = self._numbers(values, reads)
        for name in reads.names:
            if name in fixed or name in self.items:
                continue
            scalar = self.scalars.get(name)
            if scalar is not None and scalar.kind is not ScalarKind.INT:
                for value in _all_values(scalar, self.spec):
                    yield plan.but(scalars={**plan.scalars, name: value})
                continue
            if name in self.derived:
                continue
            for value in numbers:
                if name in self.shared:
                    if value >= 0:
                        yield plan.but(
                            sizes={**plan.sizes, name: value},
                            scalars={**plan.scalars, name: value},
                        )
                elif scalar is not None:
                    yield plan.but(scalars={**plan.scalars, name: value})
                elif value >= 0:
                    yield plan.but(sizes={**plan.sizes, name: value})
        asked = [*language.present_in(rule.require)]
        for name in reads.names:
            if name in self.derived:
                asked += language.present_in(self.derived[name].expr)
            if name in self.binders and self.binders[name][0].optional:
                asked.append(self.binders[name][0].path)
        for tensor in dict.fromkeys(asked):
            if tensor not in fixed:
                yield plan.but(given=plan.given ^ {tensor})

    def _numbers(self, values: Values, reads: Reads) -> list[int]:
        """Integers worth trying: what a rule's parts amount to, and their neighbours."""
        found: dict[int, None] = {}
        for node, names, tensors in reads.integers:
            if any(n not in values.names for n in names):
                continue
            if any(t not in values.strides or not values.shapes[t] for t in tensors):
                continue
            value = language.evaluate(node, values)
            for number in (value, value + 1, value - 1):
                found.setdefault(number)
        for number in (0, 1, 2, -1):
            found.setdefault(number)
        return list(found)

    # Breaking one rule.

    def breaking(self, check: Check) -> tuple[Call, list[Broken]] | None:
        """The smallest call whose first broken rule is this one, and all that it breaks."""
        best: tuple[tuple[int, int], Call, list[Broken]] | None = None
        if check.kind is CheckKind.WRITTEN:
            candidates = self._written_candidates(check)
        else:
            candidates = ((cost, call, self.broken(call)) for cost, call in self._candidates(check))
        for cost, call, broken in candidates:
            if not broken or broken[0].check is not check:
                continue
            score = (len(broken), cost)
            if best is None or score < best[0]:
                best = (score, call, broken)
            if len(broken) == 1 and check.kind is not CheckKind.WRITTEN:
                break
        return None if best is None else (best[1], best[2])

    def _candidates(self, check: Check) -> Iterator[tuple[int, Call]]:
        base = self._with_subject(check)
        match check.kind:
            case CheckKind.REQUIRED:
                yield 0, self._replaced(self.call(base), check, NONE)
            case CheckKind.TYPE:
                scalar = check.subject if isinstance(check.subject, ScalarArgument) else None
                choice = scalar is not None and scalar.kind is ScalarKind.CHOICE
                wrong = STRING if isinstance(check.subject, ListArgument) else LIST
                yield 0, self._replaced(self.call(base), check, WRONG_CHOICE if choice else wrong)
            case CheckKind.ITEMS:
                yield 0, self._replaced(self.call(base), check, ITEMS)
            case CheckKind.SIZE_TYPE:
                call = self.call(base)
                yield 0, replace(call, sizes={check.argument: STRING})
            case CheckKind.INT64:
                call = self.call(base)
                for value in (2**63, -(2**63) - 1):
                    assert isinstance(check.subject, ScalarArgument)
                    name = check.subject.name
                    yield 0, replace(call, scalars={**call.scalars, name: value})
            case _:
                yield from self._tensor_candidates(check, base)

    def _with_subject(self, check: Check) -> Plan:
        """A valid plan in which the tensor that a check looks at is there."""
        tensor = check.subject
        if isinstance(tensor, TensorArgument) and tensor.optional:
            given = self._with_items_before(self.base.given | {tensor.path})
            plan = replace(self.base, given=given)
            return self.repair(plan, given) or plan
        return self.base

    def _replaced(self, call: Call, check: Check, value: Wrong) -> Call:
        subject = check.subject
        if isinstance(subject, TensorArgument):
            return replace(call, tensors={**call.tensors, subject.path: value})
        if isinstance(subject, StructArgument):
            return replace(call, structs={subject.name: value})
        if isinstance(subject, ListArgument):
            return replace(call, lists={subject.path: value})
        assert isinstance(subject, ScalarArgument)
        return replace(call, scalars={**call.scalars, subject.name: value})

    def _tensor_candidates(self, check: Check, base: Plan) -> Iterator[tuple[int, Call]]:
        tensor = check.subject
        assert isinstance(tensor, TensorArgument)
        call = self.call(base)
        value = call.tensors[tensor.path]
        assert isinstance(value, TensorValue)

        def changed(
            source: Call,
            *,
            shape: tuple[int, ...] | None = None,
            dtype: str | None = None,
            strided: bool = False,
            device: str = "cpu",
        ) -> Call:
            before = source.tensors[tensor.path]
            assert isinstance(before, TensorValue)
            after = TensorValue(
                shape=before.shape if shape is None else shape,
                dtype=before.dtype if dtype is None else dtype,
                strided=strided,
                device=device,
            )
            return replace(source, tensors={**source.tensors, tensor.path: after})

        match check.kind:
            case CheckKind.CONTIGUOUS:
                for plan in self._larger(tensor, base):
                    yield sum(plan.sizes.values()), changed(self.call(plan), strided=True)
                grown = tuple(max(extent, 2) for extent in value.shape)
                yield 1000, changed(call, strided=True, shape=grown)
            case CheckKind.DTYPE:
                other = Dtype.INT32 if tensor.type.dtype is Dtype.INT64 else Dtype.INT64
                yield 0, changed(call, dtype=other.value)
            case CheckKind.RANK:
                yield 0, changed(call, shape=())
                yield 1, changed(call, shape=(*value.shape, 1))
            case CheckKind.LENGTH:
                for step in (-1, 1):
                    extent = value.shape[check.axis] + step
                    if extent >= 0:
                        shape = list(value.shape)
                        shape[check.axis] = extent
                        yield abs(step), changed(call, shape=tuple(shape))
                size = check.dim.binds
                if size is not None and size in self.binders:
                    # The size given by hand as it is, and a tensor that differs by one.
                    known = base.sizes[size]
                    if tensor.optional and known:
                        # The size given by hand as it is where the tensor is absent.
                        yield 8, self.call(replace(base, explicit={size: 0}))
                    for extent in (known - 1, known + 1):
                        by_hand = replace(
                            base,
                            explicit={size: known},
                            extents={(tensor.path, check.axis): extent},
                        )
                        if extent >= 0:
                            yield 9, self.call(by_hand)
                    for number in (2, 3):
                        plan = replace(base, sizes={**base.sizes, size: number})
                        plan = self.repair(plan, frozenset({size, tensor.path})) or plan
                        plan = replace(
                            plan,
                            explicit={size: number},
                            extents={(tensor.path, check.axis): number - 1},
                        )
                        yield 10 + number, self.call(plan)
            case _:
                yield 0, changed(call, device="meta")

    def _larger(self, tensor: TensorArgument, base: Plan) -> Iterator[Plan]:
        """Plans in which a tensor has two elements or more along some dimension."""
        for dim in tensor.type.dims:
            for name in language.names_in(dim.expr):
                sizes = {**base.sizes, name: 2}
                scalars = {**base.scalars, name: 2} if name in self.shared else base.scalars
                plan = replace(base, sizes=sizes, scalars=scalars)
                repaired = self.repair(plan, frozenset({name, tensor.path}))
                if repaired is not None:
                    yield repaired
        yield base

    def _written_candidates(self, check: Check) -> Iterator[tuple[int, Call, list[Broken]]]:
        rule = check.rule
        assert rule is not None
        index = self.rules.index(check)
        ceiling = [UNBOUNDED]
        asked = [*language.present_in(rule.require)]
        for read in language.names_in(rule.require):
            if read in self.binders and self.binders[read][0].optional:
                asked.append(self.binders[read][0].path)
            if read in self.derived:
                asked += language.present_in(self.derived[read].expr)
        presences = tuple(dict.fromkeys(asked))
        names = set(language.names_in(rule.require))
        for derived in reversed(self.kernel.derived):
            if derived.name in names:
                names.update(language.names_in(derived.expr))
        finite = [
            (s.name, _all_values(s, self.spec))
            for s in self.scalars.values()
            if s.kind is not ScalarKind.INT and s.name in names
        ]
        for mask, chosen in itertools.product(
            itertools.product((False, True), repeat=len(presences)),
            itertools.product(*(values for _, values in finite)),
        ):
            given = self.base.given | {t for t, on in zip(presences, mask, strict=True) if on}
            given = self._with_items_before(frozenset(given))
            scalars = dict(zip((name for name, _ in finite), chosen, strict=True))
            plan = replace(
                self.base, given=frozenset(given), scalars={**self.base.scalars, **scalars}
            )
            for name, changed in self._variations(plan, rule):
                fixed = frozenset({*name, *presences, *scalars})
                call = self.call(changed)
                if not self._breaks(check, self.values(call)) or not self._can_be_made(call):
                    continue
                if self._cost(changed) >= ceiling[0]:
                    continue  # A smaller call breaks this rule alone.
                broken = self.broken(call)
                if len(broken) > 1:
                    changed = self._broken_alone(changed, fixed, index, broken) or changed
                    call = self.call(changed)
                    broken = self.broken(call)
                if len(broken) == 1:
                    ceiling[0] = min(ceiling[0], self._cost(changed))
                yield self._cost(changed), call, broken

    def _broken_alone(
        self, plan: Plan, fixed: frozenset[str], index: int, broken: Sequence[Broken]
    ) -> Plan | None:
        """A plan that breaks one rule alone; or, where another says the same, those two."""
        alone = self._repaired(plan, fixed, frozenset({index}))
        if alone is not None or len(broken) < 3:
            return alone
        for other in broken[1:]:
            if other.check in self.rules:
                left = frozenset({index, self.rules.index(other.check)})
                together = self._repaired(plan, fixed, left)
                if together is not None:
                    return together
        return None

    def _variations(self, plan: Plan, rule: Rule) -> Iterator[tuple[tuple[str, ...], Plan]]:
        """Plans that differ in one name or extent that a rule reads, from real ones to explicit."""
        yield (), plan
        yield from (((), changed) for changed in self._other_tensors(plan, rule.require))
        reads = self.reads[id(rule)]
        numbers = self._numbers(self.values(self.call(plan)), reads)
        for name in reads.names:
            if name in self.items:
                continue  # What an item may hold, its struct's own rules say.
            scalar = self.scalars.get(name)
            if scalar is not None and scalar.kind is not ScalarKind.INT:
                for value in _all_values(scalar, self.spec):
                    yield (name,), replace(plan, scalars={**plan.scalars, name: value})
                continue
            if name in self.derived and self.derived[name].truth:
                choices: tuple[Number, ...] = (True, False, 1)
                for value in choices:
                    yield (name,), replace(plan, explicit={**plan.explicit, name: value})
                continue
            whole = name in _bytes_of_rows(self.kernel)
            steps = (plan.sizes[name] - 16, plan.sizes[name] + 16) if whole else ()
            for number in (*numbers, *steps):
                yield from (((name,), p) for p in self._set(plan, name, number))
        for node in language.walk(rule.require):
            if isinstance(node, Length) and self.call(plan).tensors[node.tensor] is not None:
                for number in numbers:
                    if number >= 0:
                        yield (), replace(plan, extents={(node.tensor, node.axis): number})

    def _other_tensors(self, plan: Plan, rule: Expr) -> Iterator[Plan]:
        """Plans in which a tensor that a rule reads lies otherwise in memory, or has other axes."""
        call = self.call(plan)
        for node in language.walk(rule):
            if isinstance(node, language.Count):
                whole = next(item for item in self.lists if item.path == node.list)
                first = {t.path for t in whole.tensors if t.item == 0}
                grown = replace(plan, given=plan.given | first)
                grown = self.repair(grown, frozenset(first)) or grown
                yield replace(grown, counts={node.list: whole.at_most + 1})
                continue
            value = call.tensors[node.tensor] if isinstance(node, language.OfTensor) else None
            if not isinstance(value, TensorValue) or not isinstance(node, language.OfTensor):
                continue
            if isinstance(node, language.Rank):
                yield replace(plan, shapes={node.tensor: (*value.shape, 1)})
            elif isinstance(node, Stride) and node.axis == -1:
                yield replace(plan, strided=frozenset({node.tensor}))
            elif isinstance(node, language.Address):
                itemsize = self._tensor(node.tensor).type.dtype.itemsize
                yield replace(plan, offsets={node.tensor: max(8, itemsize)})

    def _set(self, plan: Plan, name: str, number: int) -> Iterator[Plan]:
        """Plans in which a size or scalar has a value: by real tensors where that can be."""
        if name in plan.scalars:
            yield replace(plan, scalars={**plan.scalars, name: number})
            if name in self.shared and number >= 0:
                yield replace(
                    plan,
                    scalars={**plan.scalars, name: number},
                    sizes={**plan.sizes, name: number},
                )
            return
        if name in self.derived:
            yield replace(plan, explicit={**plan.explicit, name: number})
            return
        tensor, _ = self.binders[name]
        absent = tensor.optional and tensor.path not in plan.given
        if number >= 0 and not absent:
            yield replace(plan, sizes={**plan.sizes, name: number})
        elif tensor.item is None:  # Of an item of a list, nobody can give a size by hand.
            yield replace(plan, explicit={**plan.explicit, name: number})

    def _cost(self, plan: Plan) -> int:
        cost = 100 * len(plan.explicit) + 50 * len(plan.extents) + 10 * len(plan.given)
        cost += 50 * (len(plan.shapes) + len(plan.strided) + len(plan.offsets) + len(plan.counts))
        numbers = [*plan.sizes.values(), *plan.explicit.values()]
        numbers += [v for k, v in plan.scalars.items() if k not in self.shared]
        return cost + sum(abs(v) for v in numbers if isinstance(v, int))

    # Calls for examples and for comparing kernels.

    def example(self, changes: Iterable[tuple[str, str]], breaks: Check | None) -> Call:
        """The smallest valid call with changes made to it, repaired but for the rule it breaks."""
        plan = self.base
        fixed: set[str] = set()
        for name, text in changes:
            fixed.add(name)
            if text in ("given", "none"):
                path = next(t.path for t in self.tensors if name in (t.path, t.identifier))
                given = plan.given | {path} if text == "given" else plan.given - {path}
                plan = replace(plan, given=frozenset(given))
                fixed.add(path)
                continue
        for name, text in changes:
            if text in ("given", "none"):
                continue
            if text in ("true", "false") or (name in self.derived and self.derived[name].truth):
                value: Number = text == "true" if text in ("true", "false") else int(text)
                if name in plan.scalars:
                    plan = replace(plan, scalars={**plan.scalars, name: value})
                else:
                    plan = replace(plan, explicit={**plan.explicit, name: value})
            elif not text.lstrip("-").isdigit():
                plan = replace(plan, scalars={**plan.scalars, name: text})
            else:
                plan = next(self._set(plan, name, int(text)))
        left = frozenset(() if breaks is None else (self.rules.index(breaks),))
        plan = self._repaired(plan, frozenset(fixed), left) or plan
        return self.call(plan)

    def shapes(self) -> list[tuple[str, Plan]]:
        """Valid plans over which a kernel is compared with its reference, each with a name.

        Sizes that only outputs have are also made roomy, so that a launch has where to write.
        """
        everything = frozenset(t.path for t in self.tensors if t.optional)
        inputs = _sizes_of(t for t in self.tensors if t.access.reads)
        outputs = _sizes_of(t for t in self.tensors if t.access.writes)
        room = {size: ROOM for size in outputs if size not in inputs}
        in_grid = {name for dimension in self.kernel.grid for name in language.names_in(dimension)}
        found: dict[str, Plan] = {"smallest": self.base}

        def add(name: str, number: int, given: frozenset[str], own: Mapping[str, int]) -> None:
            sizes = {**dict.fromkeys(self.base.sizes, number), **_bytes_of_rows(self.kernel), **own}
            sizes = {k: v for k, v in sizes.items() if k in self.base.sizes}
            scalars = dict(self.base.scalars) | {k: sizes[k] for k in self.shared}
            plan = replace(self.base, sizes=sizes, scalars=scalars, given=given)
            plan = replace(plan, given=self._with_items_before(given))
            given = plan.given
            repaired = self.repair(plan, given | own.keys())
            repaired = repaired if repaired is not None else self.repair(plan, given)
            if repaired is not None and repaired not in found.values():
                found[name] = repaired

        for given, label in ((frozenset[str](), "no_optional"), (everything, "all_optional")):
            for number, word in ((0, "empty"), (3, "odd"), (17, "seventeen")):
                add(f"{word}_{label}", number, given, {})
                add(f"{word}_roomy_{label}", number, given, room)
        for optional in self.kernel.optional_tensors():
            add(f"only_{optional.identifier}", 5, frozenset({optional.path}), room)
        for scalar in self.scalars.values():
            if scalar.kind is ScalarKind.INT:
                continue
            for value in _all_values(scalar, self.spec):
                if value == self.base.scalars[scalar.name]:
                    continue
                sizes = {**dict.fromkeys(self.base.sizes, 5), **_bytes_of_rows(self.kernel), **room}
                sizes = {k: v for k, v in sizes.items() if k in self.base.sizes}
                shared = {k: sizes[k] for k in self.shared}
                plan = replace(
                    self.base,
                    sizes=sizes,
                    scalars={**self.base.scalars, **shared, scalar.name: value},
                    given=everything,
                )
                repaired = self.repair(plan, everything | {scalar.name})
                repaired = repaired or self.repair(plan, frozenset({scalar.name}))
                if repaired is not None and repaired not in found.values():
                    found[f"{scalar.name}_{value}"] = repaired
        for block, extent in self.kernel.blocks:
            for size in sorted((outputs | in_grid) & self.base.sizes.keys()):
                for extra, word in ((0, ""), (1, "_and_1")):
                    own = {**room, size: extent + extra}
                    add(f"{size}_of_{block}{word}", 3, everything, own)
        return [(name, plan) for name, plan in found.items() if not self.broken(self.call(plan))]


def _is_plain(expr: Expr) -> bool:
    """Whether a tree reads nothing but the values of names."""
    other = language.OfTensor | language.Present | language.Count | language.IsBool
    return not any(isinstance(node, other) for node in language.walk(expr))


def _different(left: Mapping[str, object], right: Mapping[str, object]) -> list[str]:
    """Names whose values differ; one that equals a number may still be no number."""
    found = [
        name
        for name, value in right.items()
        if (other := left.get(name, _MISSING)) is not value
        and (other != value or type(other) is not type(value))
    ]
    return found + [name for name in left if name not in right]


_MISSING = object()

ROOM = 640
"""Entries of an output that has room for all that a small call may write."""


def _bytes_of_rows(kernel: Kernel) -> dict[str, int]:
    """Sizes counted in bytes, at what a kernel's aligned reads make the least useful one."""
    return {
        dim.binds: LEAST_BYTES
        for tensor in kernel.tensors
        if tensor.type.reached is not None
        for dim in tensor.type.dims[-1:]
        if dim.binds is not None
    }


LEAST_BYTES = 32


def _sizes_of(tensors: Iterable[TensorArgument]) -> set[str]:
    return {
        name
        for tensor in tensors
        for dim in tensor.type.dims
        for name in language.names_in(dim.expr)
    }


def _first_value(scalar: ScalarArgument, spec: Spec) -> Number:
    """What a caller gets who says nothing, else the first of all values."""
    values = _all_values(scalar, spec)
    if scalar.default is None:
        return values[0]
    match scalar.kind:
        case ScalarKind.INT:
            return int(scalar.default)
        case ScalarKind.BOOL:
            return scalar.default == "True"
        case ScalarKind.CHOICE:
            return scalar.default.strip('"')
        case _:
            member = scalar.default.partition(".")[2]
            members = spec.enum(scalar.enum or "").members
            return next(value for name, value, _ in members if name == member)


def _all_values(scalar: ScalarArgument, spec: Spec) -> tuple[Number, ...]:
    match scalar.kind:
        case ScalarKind.INT:
            return (0, 1) if scalar.sample is None else (scalar.sample,)
        case ScalarKind.BOOL:
            return (False, True)
        case ScalarKind.CHOICE:
            return scalar.choices
        case _:
            return tuple(value for _, value, _ in spec.enum(scalar.enum or "").members)


def _show(piece: Piece, values: Values, dtypes: Mapping[str, str]) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Described):
        if piece.what == "dtype":
            return f"torch.{dtypes[piece.tensor]}"
        found = values.shapes if piece.what == "shape" else values.strides
        return str(found[piece.tensor])
    if isinstance(piece, TypeName):
        return type(values.names[piece.name]).__name__
    if isinstance(piece, language.Name) and piece.kind is language.Kind.FLAG:
        return str(values.names[piece.name])
    return str(language.evaluate(piece, values))


def example_calls(search: Search, check: Check) -> tuple[Call, Call] | None:
    """The wrong and the right call of a written rule's example."""
    example = check.rule.example if check.rule is not None else None
    if example is None or not check.id.startswith(f"{search.kernel.stem}."):
        return None
    return search.example(example.wrong, check), search.example(example.right, None)
