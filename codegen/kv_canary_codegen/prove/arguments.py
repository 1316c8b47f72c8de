"""What a launch passes to one variant of a kernel: sizes as symbols, extents, what holds of them.

Everything is read from the model of the spec: sizes are the symbols that tensors bind, a tensor's
extents are its dimensions over them, and what the validator accepts are facts. Of contents nothing
is known.

Note [What a host guarantees]
A dimension is 0 or more. A tensor takes less than 2**`memory_bits` bytes: 2**63, because torch
counts bytes in an int64, and nothing smaller unless a result says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from kv_canary_codegen import expr as language
from kv_canary_codegen import views
from kv_canary_codegen.checks import CheckKind, checks_of
from kv_canary_codegen.model import (
    DerivedSize,
    Dtype,
    Kernel,
    Layout,
    ListArgument,
    ScalarKind,
    Spec,
    StructDef,
    TensorArgument,
)
from kv_canary_codegen.prove.logic import (
    LaunchScope,
    NotModelledError,
    Scope,
    launched,
    shown,
    translate,
)
from kv_canary_codegen.prove.values import Arithmetic, Term, bounds

Z3 = Any
MOST_PROGRAMS = (1 << 31) - 1
"""Along each dimension of a grid; a launch of more is refused by the driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What is compiled in: which optional tensors are there, and values by parameter."""

    given: tuple[tuple[str, bool], ...]
    """Parameter name of each optional tensor that the kernel takes."""
    values: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """Short and unique among a kernel's variants."""
        parts = [name.removesuffix("_ptr") for name, is_given in self.given if is_given]
        parts += [f"{name}={value}" for name, value in self.values]
        return ", ".join(parts) or "plain"


def variants_of(kernel: Kernel, spec: Spec) -> tuple[Variant, ...]:
    """Every declared variant: what may be given together, times what is compiled in."""
    parameters = views.parameters_of(kernel, spec)
    optional = [p.name for p in parameters if p.optional]
    compiled = [p.name for p in parameters if p.constexpr]
    return tuple(
        Variant(
            given=tuple((name, sign == "+") for name, sign in zip(optional, given, strict=True)),
            values=tuple(zip(compiled, chosen, strict=True)),
        )
        for given in sorted(views.presences(kernel, spec))
        for chosen in views.combinations(kernel, spec)
    )


def classes_of(kernel: Kernel, variant: Variant) -> tuple[tuple[int, ...], ...]:
    """Of each list of classes, those that a variant is compiled for: that compile in the same."""
    values = dict(variant.values)
    return tuple(
        tuple(
            place
            for place in range(len(each.up_to))
            if all(values.get(name, own[place]) == own[place] for name, own in each.values)
        )
        for each in kernel.classes
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extents:
    """Where a tensor's elements lie, in elements from its first."""

    path: str
    identifier: str
    itemsize: int
    dims: tuple[Z3, ...]
    strides: tuple[Z3, ...] | None
    """Of a strided tensor; None: its elements follow each other."""
    sizes: tuple[Z3, ...]
    """Elements of the first dimension, of the first two, and so on."""
    spans: tuple[Z3, ...]
    """Of a strided tensor, along each axis, the distance from the first index to the last."""
    end: Z3
    """One more than the last element's place, where there is an element."""
    empty: Z3
    """Whether there is no element."""


@dataclass(slots=True)
class Arguments:
    """The parameters of one variant."""

    kernel: Kernel
    spec: Spec
    variant: Variant
    memory_bits: int
    arithmetic: Arithmetic = field(default_factory=Arithmetic)
    extents: dict[str, Extents] = field(default_factory=dict)
    """By the tensor's identifier."""
    integers: dict[str, Term] = field(default_factory=dict)
    """Parameters that are numbers, by name."""
    pointers: dict[str, str] = field(default_factory=dict)
    """Identifier of the tensor of each parameter that is a pointer, by name."""
    sizes: dict[str, Z3] = field(default_factory=dict)
    """Sizes and scalars by name."""
    scalars: dict[str, Z3] = field(default_factory=dict)
    grid: tuple[Z3, ...] = ()
    programs: list[Term] = field(default_factory=list)
    known_products: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    """Factors of the products that rules and extents speak of, by the product's name."""
    notes: list[str] = field(default_factory=list)
    """What could not be told to the solver."""
    _strides: dict[tuple[str, int], Z3] = field(default_factory=dict)
    _symbols: dict[str, Z3] = field(default_factory=dict)
    _classes: tuple[tuple[int, ...], ...] = ()
    _absent: frozenset[str] = frozenset()
    _either: frozenset[str] = frozenset()
    """Optional tensors that the kernel does not take: there or not."""
    _tensors: dict[str, TensorArgument] = field(default_factory=dict)
    _by_identifier: dict[str, TensorArgument] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = dict(self.variant.given)
        self._classes = classes_of(self.kernel, self.variant)
        optional = self.kernel.optional_tensors()
        self._absent = frozenset(
            t.path for t in optional if not given.get(f"{t.identifier}_ptr", True)
        )
        self._either = frozenset(t.path for t in optional if f"{t.identifier}_ptr" not in given)
        self._tensors = {t.path: t for t in self.kernel.tensors}
        self._by_identifier = {t.identifier: t for t in self.kernel.tensors}
        self._name_sizes()
        for tensor in self.kernel.tensors:
            if tensor.path not in self._absent:
                self.extents[tensor.identifier] = self._extents(tensor)
        self._accepted()
        self.known_products.update(self.arithmetic.products)
        self._parameters()

    # Sizes, extents and rules.

    def _symbol(self, name: str, low: int | None, high: int | None) -> Z3:
        if name not in self._symbols:
            z = z3.Int(name)
            if low is not None:
                self.arithmetic.know(z, z >= low)
            if high is not None:
                self.arithmetic.know(z, z <= high)
            self._symbols[name] = z
        return self._symbols[name]

    def _know(self, fact: Z3) -> None:
        """Note a fact under every size that it names."""
        fact = z3.simplify(fact)
        if z3.is_true(fact):
            return
        seen: set[str] = set()
        stack = [fact]
        while stack:
            node = stack.pop()
            if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                name = node.decl().name()
                if name not in seen:
                    seen.add(name)
                    self.arithmetic.linear.setdefault(name, []).append(fact)
            else:
                stack.extend(node.children())

    def _name_sizes(self) -> None:
        least, greatest = bounds(64)
        compiled = dict(self.variant.values)
        for scalar in self.kernel.scalars:
            if scalar.name.upper() in compiled:
                term = z3.IntVal(compiled[scalar.name.upper()])
            elif scalar.kind is ScalarKind.INT:
                term = self._symbol(scalar.name, least, greatest)
            elif scalar.kind is ScalarKind.BOOL:
                term = z3.Bool(scalar.name)
            elif scalar.kind is ScalarKind.CHOICE:
                term = self._symbol(scalar.name, 0, len(scalar.choices) - 1)
            else:
                members = [value for _, value, _ in self.spec.enum(scalar.enum or "").members]
                term = self._symbol(scalar.name, min(members), max(members))
            if scalar.kind is ScalarKind.BOOL and not z3.is_bool(term):
                term = z3.BoolVal(bool(term.as_long()))
            self.scalars[scalar.name] = term
        for whole in self.kernel.lists:
            absent = {t.item for t in whole.tensors if t.path in self._absent}
            for item in whole.scalars:
                gone = item.item in absent
                self.scalars[item.name] = (
                    z3.IntVal(0) if gone else self._symbol(item.name, least, greatest)
                )
        self.sizes.update(self.scalars)
        for size, (tensor, axis) in self.kernel.binders().items():
            if tensor.path in self._absent:
                self.sizes[size] = z3.IntVal(0)
                continue
            extent = self._symbol(
                f"{tensor.path}.shape[{axis}]" if _counts_bytes(tensor, axis) else size, 0, greatest
            )
            if _counts_bytes(tensor, axis):
                extent = self._product(extent, self._itemsize(tensor.path))
            self.sizes[size] = extent
        scope = self.scope()
        for derived in derived_in_order(self.kernel):
            try:
                self.sizes[derived.name] = translate(derived.expr, scope)
            except NotModelledError as missing:
                self.notes.append(f"size {derived.name}: {missing}")
                self.sizes[derived.name] = (
                    z3.Bool(derived.name) if derived.truth else z3.Int(derived.name)
                )

    def scope(self) -> Scope:
        """What names mean in rules."""
        return Scope(
            names=self.sizes,
            present=self._present,
            length=self._length,
            stride=self._stride,
            is_bool=lambda flag: z3.BoolVal(True),
            rank=self._rank,
            itemsize=self._itemsize,
            address=self._address,
            count=self._count,
            multiply=self._product,
            choices={s.name: s.choices for s in self.kernel.scalars},
        )

    def _product(self, left: Z3, right: Z3) -> Z3:
        return self.arithmetic.product(_plain(left), _plain(right))

    def _present(self, path: str) -> Z3:
        if path in self._either:
            return z3.Bool(f"given:{path}")
        return z3.BoolVal(path not in self._absent)

    def _count(self, path: str) -> Z3:
        whole = next(item for item in self.kernel.lists if item.path == path)
        items = {t.item: t.path for t in whole.tensors}
        one = [z3.If(self._present(tensor), 1, 0) for tensor in items.values()]
        return sum(one[1:], one[0])

    def _rank(self, path: str) -> Z3:
        tensor = self._tensors[path]
        if path in self._absent:
            return z3.IntVal(0)
        if tensor.item is None and path not in self._either:
            return z3.IntVal(tensor.type.rank)
        return self._symbol(f"{path}.rank", 0, 64)

    def _itemsize(self, path: str) -> Z3:
        if path in self._absent:
            return z3.IntVal(0)
        dtype = self._tensors[path].type.dtype
        if dtype is Dtype.BYTES or path in self._either:
            return self._symbol(f"{path}.itemsize", 1, 16)
        return z3.IntVal(dtype.itemsize)

    def _address(self, path: str) -> Z3:
        if path in self._absent:
            return z3.IntVal(0)
        return self._symbol(f"{path}.address", 0, bounds(64)[1])

    def _length(self, path: str, axis: int) -> Z3:
        """An entry of a tensor's shape, as torch has it."""
        if path in self._absent:
            return z3.IntVal(0)
        tensor = self._tensors[path]
        axis %= tensor.type.rank
        dim = tensor.type.dims[axis]
        checked = tensor.item is None and path not in self._either and not dim.at_least
        if checked and not _counts_bytes(tensor, axis):
            # The validator has compared it.
            return translate(dim.expr, self.scope())
        bound = self.kernel.binders().get(dim.binds or "")
        if bound == (tensor, axis) and not _counts_bytes(tensor, axis):
            return self.sizes.get(dim.binds or "", self._symbol(dim.binds or "", 0, bounds(64)[1]))
        return self._symbol(f"{path}.shape[{axis}]", 0, bounds(64)[1])

    def _stride(self, path: str, axis: int) -> Z3:
        if path in self._absent:
            return z3.IntVal(0)
        tensor = self._tensors[path]
        axis %= tensor.type.rank
        key = (path, axis)
        if key not in self._strides:
            stride = self._symbol(f"{path}.stride({axis})", 0, bounds(64)[1])
            self._strides[key] = stride
            if tensor.type.layout is Layout.CONTIGUOUS and path not in self._either:
                # Of an axis with one index, or a tensor without elements, torch says anything.
                dims = [self._length(path, i) for i in range(tensor.type.rank)]
                step: Z3 = z3.IntVal(1)
                for dim in dims[axis + 1 :]:
                    step = self._product(step, dim)
                elements = z3.And(*(dim >= 1 for dim in dims))
                self._know(z3.Implies(z3.And(elements, dims[axis] > 1), stride == step))
        return self._strides[key]

    def _extents(self, tensor: TensorArgument) -> Extents:
        """Where the elements lie that the kernel reaches: wider ones than the tensor's, perhaps."""
        itemsize = tensor.type.element.itemsize
        dims: list[Z3] = []
        for axis, dim in enumerate(tensor.type.dims):
            last = axis == tensor.type.rank - 1
            extent = self._length(tensor.path, axis)
            if dim.at_least:
                try:
                    self._know(extent >= translate(dim.expr, self.scope()))
                except NotModelledError as missing:
                    self.notes.append(f"{tensor.path}.shape[{axis}]: {missing}")
            if _counts_bytes(tensor, axis):
                extent = self._product(extent, self._itemsize(tensor.path))
            dims.append(
                extent / tensor.type.packing if last and tensor.type.packing > 1 else extent
            )
        most = (1 << self.memory_bits) // itemsize
        # One element may stand in a view over and over: only numbers are bounded there.
        contiguous = tensor.type.layout is Layout.CONTIGUOUS
        count = most if contiguous else 1 << 63
        sizes: list[Z3] = []
        for axis, extent in enumerate(dims):
            self._know(extent >= 0)
            sizes.append(self._product(sizes[-1], extent) if sizes else extent)
            others = [dim >= 1 for i, dim in enumerate(dims) if i != axis]
            self._know(z3.Implies(z3.And(True, *others), extent < count))
        # A first dimension of any length may come before one of none.
        for axis, size in enumerate(sizes):
            later = [dim >= 1 for dim in dims[axis + 1 :]]
            self._know(z3.Implies(z3.And(True, *later), size < count))
            self._know(size >= 0)
        strides: tuple[Z3, ...] | None = None
        spans: list[Z3] = []
        end = sizes[-1]
        empty = z3.Or(*(dim <= 0 for dim in dims))
        if tensor.type.layout is not Layout.CONTIGUOUS:
            strides = tuple(self._step(tensor, axis) for axis in range(tensor.type.rank))
            spans = [
                self._product(dim - 1, stride) for dim, stride in zip(dims, strides, strict=True)
            ]
            if tensor.type.layout is Layout.ROWS:
                # Rows that nobody says are packed may be one element over and over.
                packed = self._stride(tensor.path, tensor.type.rank - 1) >= 1
                spans[-1] = z3.If(packed, spans[-1], 0)
            end = sum(spans[1:], spans[0]) + 1
            self._know(z3.Implies(z3.Not(empty), end <= most))
        return Extents(
            path=tensor.path,
            identifier=tensor.identifier,
            itemsize=itemsize,
            dims=tuple(dims),
            strides=strides,
            sizes=tuple(sizes),
            spans=tuple(spans),
            end=end,
            empty=empty,
        )

    def _step(self, tensor: TensorArgument, axis: int) -> Z3:
        """Elements that the kernel reaches, from one index of an axis to the next."""
        if tensor.type.layout is Layout.ROWS and axis == tensor.type.rank - 1:
            return z3.IntVal(1)
        stride = self._stride(tensor.path, axis)
        if tensor.type.dtype is Dtype.BYTES:
            return self._product(stride, self._itemsize(tensor.path)) / tensor.type.element.itemsize
        return stride / tensor.type.packing if tensor.type.packing > 1 else stride

    def _accepted(self) -> None:
        """What the validator accepts: written rules, and lengths that no symbol says already."""
        for check in checks_of(self.kernel):
            if check.kind is CheckKind.WRITTEN and check.rule is not None:
                try:
                    self._know(translate(check.rule.require, self.scope()))
                except NotModelledError as missing:
                    self.notes.append(f"rule {check.id}: {missing}")
        for each, places in zip(self.kernel.classes, self._classes, strict=True):
            try:
                size = translate(each.of, self.scope())
                self._know(z3.Or(*(_in_class(size, place, each.up_to) for place in places)))
            except NotModelledError as missing:
                self.notes.append(f"classes: {missing}")
        for whole in self.kernel.lists:
            struct = self.spec.struct(whole.struct)
            if struct.sizes:
                continue  # Its rules are those of `allocate` alone: any tensors make one.
            for item in sorted({t.item for t in whole.tensors if t.item is not None}):
                self._made(struct, whole, item)

    def _made(self, struct: StructDef, whole: ListArgument, item: int) -> None:
        """What holds of an item because its struct is frozen and was checked when it was made."""
        tensors = {t.path.rpartition(".")[2]: t.path for t in whole.tensors if t.item == item}
        if any(path in self._absent for path in tensors.values()):
            return
        own = self.scope()
        fields = {s.field: self.sizes[s.name] for s in whole.scalars if s.item == item}
        scope = replace(
            own,
            names={**self.sizes, **fields},
            length=lambda name, axis: own.length(tensors[name], axis),
            stride=lambda name, axis: own.stride(tensors[name], axis),
            rank=lambda name: own.rank(tensors[name]),
            itemsize=lambda name: own.itemsize(tensors[name]),
            address=lambda name: own.address(tensors[name]),
        )
        there = z3.And(True, *(self._present(path) for path in tensors.values()))
        for rule in struct.rules:
            try:
                self._know(z3.Implies(there, translate(rule.require, scope)))
            except (NotModelledError, KeyError) as missing:
                self.notes.append(f"rule {rule.id}: {missing}")

    # Parameters.

    def launch_scope(self) -> LaunchScope:
        """What a launcher's variables mean."""

        def present(identifier: str) -> bool | None:
            tensor = self._by_identifier.get(identifier)
            if tensor is None or tensor.path in self._either:
                return None
            return tensor.path not in self._absent

        def path(identifier: str) -> str:
            if identifier not in self._by_identifier:
                raise NotModelledError(identifier)
            return self._by_identifier[identifier].path

        return LaunchScope(
            # Derived sizes are variables of a launcher, or written out.
            numbers={**{d.name: self.sizes[d.name] for d in self.kernel.derived}, **self.scalars},
            present=present,
            length=lambda name, axis: self._length(path(name), axis),
            stride=lambda name, axis: self._stride(path(name), axis),
            itemsize=lambda name: self._itemsize(path(name)),
            multiply=self._product,
        )

    def _parameters(self) -> None:
        scope = self.launch_scope()
        for parameter in views.parameters_of(self.kernel, self.spec):
            if parameter.constexpr:
                continue
            if parameter.pointer:
                self.pointers[parameter.name] = parameter.value
                continue
            bits = int(parameter.signature[1:]) if parameter.signature[1:].isdigit() else 64
            try:
                z = launched(parameter.value, scope)
            except NotModelledError as missing:
                self.notes.append(f"parameter {parameter.name}: {missing}")
                self.integers[parameter.name] = self.arithmetic.unknown(bits)
                continue
            self.integers[parameter.name] = self._parameter(parameter.name, z, bits)
        printer = views.launch_printer(self.kernel)
        blocks = {constant.name: z3.IntVal(constant.value) for constant in self.spec.constants}
        blocks |= {name: z3.IntVal(value) for name, value in self.kernel.blocks}
        for each, places in zip(self.kernel.classes, self._classes, strict=True):
            for name, values in each.values:
                possible = sorted({values[place] for place in places})
                blocks[name] = z3.IntVal(possible[0])
                if len(possible) > 1:
                    blocks[name] = self._symbol(name, possible[0], possible[-1])
                    self._know(z3.Or(*(blocks[name] == value for value in possible)))
        grid_scope = LaunchScope(
            numbers={**scope.numbers, **blocks},
            present=scope.present,
            length=scope.length,
            stride=scope.stride,
            itemsize=scope.itemsize,
            multiply=scope.multiply,
        )
        grid = []
        for dimension in self.kernel.grid:
            try:
                grid.append(launched(printer.show(dimension), grid_scope))
            except NotModelledError as missing:
                self.notes.append(f"grid {shown(dimension)}: {missing}")
                grid.append(z3.Int(f"grid[{len(grid)}]"))
        while len(grid) < 3:
            grid.append(z3.IntVal(1))
        self.grid = tuple(grid)

    def _parameter(self, name: str, z: Z3, bits: int) -> Term:
        """A number as the kernel gets it: a launch refuses what its type does not hold."""
        if z3.is_bool(z):
            z = z3.If(z, z3.IntVal(1), z3.IntVal(0))
        if z3.is_int_value(z):
            return Term(z, bits=bits, low=z.as_long(), high=z.as_long(), label=name)
        least, greatest = bounds(bits)
        low = 0 if _is_size(z, self) else least
        return Term(z, bits=bits, low=low, high=greatest, label=name)


def _is_size(z: Z3, arguments: Arguments) -> bool:
    """Whether a term is an extent: never negative."""
    return any(z.eq(arguments.sizes[name]) for name in arguments.kernel.binders())


def _in_class(size: Z3, place: int, up_to: tuple[int, ...]) -> Z3:
    """That the launcher chooses a class: the first that is large enough, else the last."""
    above = [] if place == 0 else [size > up_to[place - 1]]
    below = [] if place == len(up_to) - 1 else [size <= up_to[place]]
    return z3.And(True, *above, *below)


def _counts_bytes(tensor: TensorArgument, axis: int) -> bool:
    """Whether a dimension is the length in bytes of elements that may be of any type."""
    return tensor.type.dtype is Dtype.BYTES and axis == tensor.type.rank - 1


def derived_in_order(kernel: Kernel) -> Iterator[DerivedSize]:
    """Derived sizes, those that others read before them."""
    by_name = {d.name: d for d in kernel.derived}
    done: dict[str, None] = {}

    def visit(derived: DerivedSize) -> Iterator[DerivedSize]:
        if derived.name in done:
            return
        done[derived.name] = None
        for name in language.names_in(derived.expr):
            if name in by_name:
                yield from visit(by_name[name])
        yield derived

    for derived in kernel.derived:
        yield from visit(derived)


def _plain(z: Z3) -> Term:
    if z3.is_int_value(z):
        return Term(z, bits=None, low=z.as_long(), high=z.as_long())
    return Term(z, bits=None)
