"""From the operations of a kernel to tiles and memory accesses, one generic program of a launch.

Note [One program, one iteration]
Program ids are unknowns below the grid's extents. A loop's body is walked once: its variable is an
unknown of the range, and what it carries is unknown at the start of every iteration. What holds in
a branch or a loop stands in the path of what is inside. Loaded values are unknowns of their type,
whatever any kernel wrote before. An operation that is not known here has unknown results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from kv_canary_codegen.prove.arguments import MOST_PROGRAMS, Arguments
from kv_canary_codegen.prove.ir import (
    Block,
    Function,
    Module,
    Operation,
    Region,
    Type,
    parse_type,
    result_types,
    split_top,
)
from kv_canary_codegen.prove.solver import Answer, Solver
from kv_canary_codegen.prove.values import (
    Index,
    Opaque,
    Pointer,
    Term,
    Tile,
    Value,
    bounds,
    compare,
    constant,
    truth_term,
)

Z3 = Any
Path = tuple[Z3, ...]
FEW_LANES = 4
"""Of a sum, so many are spelled out in the search for counterexamples."""
SUM_BOUNDS = (1, 8, 16, 31, 40, 46, 50)
"""Powers of two under which the lanes of a sum are tried to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """One operation that touches memory, where it stands."""

    number: int
    """Its place among them in the text, from 0."""
    operation: Operation
    pointer: Tile | None
    mask: Tile | None
    path: Path
    reason: str = ""
    """Why it is not modelled, if it is not."""

    @property
    def kind(self) -> str:
        """load, store, atomic_add, ..."""
        name = self.operation.name.partition(".")[2]
        if name == "atomic_rmw":
            return f"atomic_{self.operation.text.partition(',')[0]}"
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A number that a load gave at one index: where it came from, for counterexamples."""

    use: MemoryUse
    index: Index
    value: Z3


@dataclass(slots=True)
class Walk:
    """Walks one function of one variant."""

    arguments: Arguments
    solver: Solver
    uses: list[MemoryUse] = field(default_factory=list)
    loaded: list[Loaded] = field(default_factory=list)
    not_modelled: dict[str, int] = field(default_factory=dict)
    """Operations that are unknown here, and how often they stand in the text."""
    tiles: dict[str, Tile] = field(default_factory=dict)
    choices: list[tuple[Z3, Z3, Z3]] = field(default_factory=list)
    """Each loop's variable, start and step, for counterexamples."""
    sums: dict[str, Callable[[], Z3]] = field(default_factory=dict)
    """By the name of a sum's unknown, what it is where only the first lanes count."""
    programs: list[tuple[Term, Term]] = field(default_factory=list)
    _number: int = 0

    def module(self, module: Module) -> None:
        """Walk the kernel; a function that it calls is walked with unknown arguments."""
        for function in module.functions:
            self._function(function)

    # Functions, regions, blocks.

    def _function(self, function: Function) -> None:
        for name, kind in function.arguments:
            self.tiles[name] = self._argument(name, kind) if function.public else self._any(kind)
        self._region(function.body, ())

    def _argument(self, name: str, kind: Type) -> Tile:
        plain = name.lstrip("%")
        if plain in self.arguments.pointers:
            identifier = self.arguments.pointers[plain]
            if identifier in self.arguments.extents and kind.pointer:
                way = (z3.BoolVal(True), identifier, constant(0, 64))
                pointer = Pointer((way,), kind.pointee)
                return Tile(kind, lambda index: pointer)
        elif plain in self.arguments.integers and kind.bits is not None:
            term = self.arguments.integers[plain]
            return Tile(kind, lambda index: term)
        return self._any(kind, f"argument {name} is not known")

    def _region(self, region: Region, path: Path) -> list[Operation]:
        """Walk a region's blocks; return the operations that end them."""
        ends: list[Operation] = []
        paths = {region.blocks[0].label: path}
        entries = _entries(region.blocks)
        for number, block in enumerate(region.blocks):
            if number:
                for name, kind in block.arguments:
                    self.tiles[name] = self._any(kind)
                self._branch_into(block, entries, paths, path)
            for operation in block.operations:
                self._operation(operation, paths[block.label])
            if block.operations:
                ends.append(block.operations[-1])
        return ends

    def _branch_into(
        self, block: Block, entries: dict[str, list[tuple[str, Operation]]],
        paths: dict[str, Path], outer: Path,
    ) -> None:  # fmt: skip
        """The path of a block: known where one branch alone leads to it, else the region's."""
        paths[block.label] = outer
        sources = entries.get(block.label, [])
        if len(sources) != 1 or sources[0][0] not in paths:
            return
        label, branch = sources[0]
        paths[block.label] = paths[label]
        if branch.name == "cf.cond_br":
            targets = re.findall(r"\^(\w+)", branch.text)
            condition = self._scalar(branch.operands[0])
            if len(targets) == 2 and targets[0] != targets[1] and condition is not None:
                holds = condition.z if targets[0] == block.label else z3.Not(condition.z)
                paths[block.label] = (*paths[label], holds)

    # Values.

    def _any(self, kind: Type, reason: str = "") -> Tile:
        """A tile of unknowns."""
        if kind.pointer:
            opaque = Opaque(reason or "the address comes from memory or a loop")
            return Tile(kind, lambda index: opaque)
        if kind.bits is None:
            other = Opaque(reason or f"a value of type {kind.element}")
            return Tile(kind, lambda index: other)
        bits = kind.bits
        return Tile(kind, lambda index: self.arguments.arithmetic.unknown(bits))

    def _tile(self, name: str) -> Tile:
        tile = self.tiles.get(name)
        if tile is None:
            # A value that no operation here gives.
            tile = Tile(Type("?"), lambda index: Opaque(f"{name} is not known"))
        return tile

    def _term(self, value: Value, bits: int | None) -> Term:
        """A value as a number of a width, unknown if it is none."""
        if isinstance(value, Term) and (value.bits is not None or value.truth):
            return value
        return self.arguments.arithmetic.unknown(bits)

    def _scalar(self, name: str) -> Term | None:
        value = self._tile(name).at(())
        return value if isinstance(value, Term) else None

    # Operations.

    def _operation(self, operation: Operation, path: Path) -> None:
        if operation.touches_memory:
            self._memory(operation, path)
            return
        handler = _HANDLERS.get(operation.name)
        if handler is not None:
            made = handler(self, operation, path)
        elif operation.name in _QUIET:
            made = []
        else:
            made = None
        if made is None:
            self._unknown(operation, path, walk_regions=handler is None)
        else:
            for name, tile in zip(operation.results, made, strict=True):
                self.tiles[name] = tile

    def _unknown(self, operation: Operation, path: Path, *, walk_regions: bool) -> None:
        self.not_modelled[operation.name] = self.not_modelled.get(operation.name, 0) + 1
        if walk_regions:
            for region in operation.regions:
                for block in region.blocks:
                    for name, kind in block.arguments:
                        self.tiles[name] = self._any(kind)
                # Whether and how often it runs is unknown.
                self._region(region, path)
        kinds = _kinds(operation)
        if len(kinds) < len(operation.results):
            kinds = []
        for number, name in enumerate(operation.results):
            kind = kinds[number] if kinds else Type("?")
            self.tiles[name] = self._any(kind, f"{operation.name} is not modelled")

    def _memory(self, operation: Operation, path: Path) -> None:
        number = self._number
        self._number += 1
        operands = [self._tile(name) for name in operation.operands]
        reason = ""
        pointer = mask = None
        if operation.name not in ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"):
            reason = f"{operation.name} is not modelled"
        elif not operands or not operands[0].kind.pointer:
            reason = "its address is no pointer"
        else:
            pointer = operands[0]
            places = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}
            place = places.get(operation.name, len(operands))
            mask = operands[place] if len(operands) > place else None
            if mask is not None and mask.kind.bits != 1:
                reason, mask = "its mask is no truth value", None
        use = MemoryUse(
            number=number, operation=operation, pointer=pointer, mask=mask, path=path, reason=reason
        )
        self.uses.append(use)
        if not operation.results:
            return
        if pointer is None:
            self._unknown(operation, path, walk_regions=False)
            return
        kind = Type(pointer.kind.pointee, pointer.kind.shape)
        if kind.pointer or kind.bits is None or operation.name != "tt.load":
            self.tiles[operation.results[0]] = self._any(kind)
            return
        bits = kind.bits
        other = operands[2] if len(operands) > 2 else None

        def at(index: Index) -> Value:
            value = self.arguments.arithmetic.unknown(bits, label="loaded")
            self.loaded.append(Loaded(use=use, index=index, value=value.z))
            if mask is None or other is None:
                return value
            active = self._term(mask.at(index), 1)
            left_out = self._term(other.at(index), bits)
            return self.arguments.arithmetic.select(active, value, left_out)

        self.tiles[operation.results[0]] = Tile(kind, at)

    # Elementwise.

    def _pointwise(
        self,
        operation: Operation,
        make: Callable[[list[Term], int], Term],
        kind: Type | None = None,
    ) -> list[Tile] | None:
        """A result that depends on its operands at the same index alone."""
        kinds = _kinds(operation)
        result = kind or (kinds[-1] if kinds else None)
        if result is None or result.bits is None:
            return None
        operands = [self._tile(name) for name in operation.operands]
        bits = result.bits

        def at(index: Index) -> Value:
            terms = [self._term(tile.at(index), tile.kind.bits or bits) for tile in operands]
            return make(terms, bits)

        return [Tile(result, at)]

    def constant(self, operation: Operation, path: Path) -> list[Tile] | None:
        """`dense<-2>`, `4`, `true`."""
        kind = parse_type(operation.types)
        text = operation.text.strip()
        found = re.fullmatch(r"(?:dense<)?(-?\d+|true|false)>?", text)
        if found is None or kind.bits is None:
            return None
        number = {"true": 1, "false": 0}.get(found[1])
        value = number if number is not None else int(found[1])
        term = constant(value, kind.bits)
        return [Tile(kind, lambda index: term)]

    def arithmetic(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Sums, differences, products, extremes."""
        known = self.arguments.arithmetic
        makers: dict[str, Callable[[Term, Term, int], Term]] = {
            "arith.addi": known.add,
            "arith.subi": known.subtract,
            "arith.muli": known.multiply,
            "arith.maxsi": lambda a, b, bits: known.extreme(a, b, greatest=True),
            "arith.minsi": lambda a, b, bits: known.extreme(a, b, greatest=False),
            "arith.divsi": lambda a, b, bits: known.divide(a, b, bits, remainder=False),
            "arith.remsi": lambda a, b, bits: known.divide(a, b, bits, remainder=True),
        }
        kinds = _kinds(operation)
        if not kinds or kinds[-1].bits in (None, 1):
            return None
        make = makers[operation.name]
        return self._pointwise(operation, lambda terms, bits: make(terms[0], terms[1], bits))

    def logic(self, operation: Operation, path: Path) -> list[Tile] | None:
        """And, or, exclusive or: exact for truth values, by their range for numbers."""
        makers: dict[str, Callable[[Z3, Z3], Z3]] = {
            "arith.andi": lambda a, b: z3.And(a, b),
            "arith.ori": lambda a, b: z3.Or(a, b),
            "arith.xori": lambda a, b: z3.Xor(a, b),
        }

        def make(terms: list[Term], bits: int) -> Term:
            left, right = terms
            if bits == 1:
                return _logic(operation.name, left, right, makers[operation.name])
            if operation.name == "arith.andi":
                for a in (left, right):
                    if a.low is not None and a.low >= 0:
                        return self.arguments.arithmetic.unknown(bits, 0, a.high)
            if (
                left.low is not None and left.low >= 0 and right.low is not None and right.low >= 0
                and left.high is not None and right.high is not None
            ):  # fmt: skip
                high = (1 << max(left.high, right.high).bit_length()) - 1
                return self.arguments.arithmetic.unknown(bits, 0, high)
            return self.arguments.arithmetic.unknown(bits)

        return self._pointwise(operation, make)

    def shift(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Shifts by a number that is known."""
        known = self.arguments.arithmetic

        def make(terms: list[Term], bits: int) -> Term:
            value, count = terms
            if count.low is None or count.low != count.high or not 0 <= count.low < bits:
                return known.unknown(bits)
            factor = constant(1 << count.low, 64)
            if operation.name == "arith.shli":
                return known.multiply(value, factor, bits)
            if value.low is not None and value.low >= 0:
                return known.divide(value, factor, bits, remainder=False)
            if operation.name == "arith.shrui" and count.low > 0:
                return known.unknown(bits, 0, (1 << (bits - count.low)) - 1)
            least, greatest = bounds(bits)
            return known.unknown(bits, least >> count.low, greatest >> count.low)

        return self._pointwise(operation, make)

    def comparison(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Comparisons of integers, signed or not."""
        predicate = operation.text.partition(",")[0].strip()
        operand = parse_type(operation.types)
        known = self.arguments.arithmetic

        def make(terms: list[Term], bits: int) -> Term:
            left, right = terms
            name = predicate
            if left.truth != right.truth or (left.truth and name not in ("eq", "ne")):
                return known.unknown(1)
            if name.startswith("u"):
                left = known.unsigned(left, operand.bits or 64)
                right = known.unsigned(right, operand.bits or 64)
            return compare(name.removeprefix("s").removeprefix("u"), left, right)

        return self._pointwise(operation, make, Type("i1", operand.shape))

    def float_comparison(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Of numbers that are not modelled: either."""
        return [self._any(Type("i1", parse_type(operation.types).shape))]

    def select(self, operation: Operation, path: Path) -> list[Tile] | None:
        """One of two tiles; the condition may be one for all lanes."""
        kind = _kinds(operation)[-1]
        condition, left, right = (self._tile(name) for name in operation.operands)
        known = self.arguments.arithmetic

        def at(index: Index) -> Value:
            chosen = self._term(condition.at(() if condition.kind.shape is None else index), 1)
            a, b = left.at(index), right.at(index)
            if isinstance(a, Pointer) and isinstance(b, Pointer):
                return _either_pointer(chosen.z, a, b)
            if kind.bits is None:
                return Opaque(f"a choice between values of type {kind.element}")
            return known.select(chosen, self._term(a, kind.bits), self._term(b, kind.bits))

        return [Tile(kind, at)]

    def extension(self, operation: Operation, path: Path) -> list[Tile] | None:
        """To a wider type, with a sign or without; or the same."""
        known = self.arguments.arithmetic
        source = self._tile(operation.operands[0]).kind

        def make(terms: list[Term], bits: int) -> Term:
            (term,) = terms
            signed = operation.name != "arith.extui"
            if term.truth:
                return term if bits == 1 else known.number(term, bits, signed=signed)
            if not signed:
                term = known.unsigned(term, source.bits or 64)
            return Term(
                term.z, bits=bits, low=term.low, high=term.high, kind="both", operands=(term,)
            )

        return self._pointwise(operation, make)

    def truncation(self, operation: Operation, path: Path) -> list[Tile] | None:
        """To a narrower type: the low bits."""
        known = self.arguments.arithmetic

        def make(terms: list[Term], bits: int) -> Term:
            (term,) = terms
            if bits == 1 or term.truth:
                return known.unknown(bits)
            return known.wrapped(
                term.z, bits, term.low, term.high, kind="both", operands=(term,), label="narrowed"
            )

        return self._pointwise(operation, make)

    # Shapes.

    def splat(self, operation: Operation, path: Path) -> list[Tile] | None:
        """One value in every lane."""
        source = self._tile(operation.operands[0])
        return [Tile(_kinds(operation)[-1], lambda index: source.at(()))]

    def make_range(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Consecutive numbers."""
        start, end = operation.integer("start"), operation.integer("end")
        if start is None or end is None:
            return None

        def at(index: Index) -> Value:
            z = index[0] + start if start else index[0]
            return Term(z, bits=32, low=start, high=end - 1, kind="range")

        return [Tile(_kinds(operation)[-1], at)]

    def expand_dims(self, operation: Operation, path: Path) -> list[Tile] | None:
        """One more axis, of extent 1."""
        axis = operation.integer("axis")
        source = self._tile(operation.operands[0])
        if axis is None:
            return None
        return [
            Tile(_kinds(operation)[-1], lambda index: source.at(index[:axis] + index[axis + 1 :]))
        ]

    def broadcast(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Axes of extent 1 repeated."""
        source = self._tile(operation.operands[0])
        shape = source.kind.shape or ()
        zero = z3.IntVal(0)

        def at(index: Index) -> Value:
            return source.at(
                tuple(zero if extent == 1 else i for extent, i in zip(shape, index, strict=True))
            )

        return [Tile(_kinds(operation)[-1], at)]

    def transposition(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Axes in another order."""
        source = self._tile(operation.operands[0])
        found = re.search(r"order = array<i32: ([\d, ]+)>", operation.text)
        if found is None:
            return None
        order = [int(axis) for axis in found[1].split(",")]

        def at(index: Index) -> Value:
            place = dict(zip(order, index, strict=True))
            return source.at(tuple(place[axis] for axis in range(len(order))))

        return [Tile(_kinds(operation)[-1], at)]

    def reshape(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Lanes in another shape; in any order at all if that is allowed."""
        source = self._tile(operation.operands[0])
        kind = _kinds(operation)[-1]
        old, new = source.kind.shape, kind.shape
        if old is None or new is None:
            return None
        if "allow_reorder" in operation.text:
            return [Tile(kind, lambda index: self._some(source, kind), source=source)]

        def at(index: Index) -> Value:
            place: Z3 = z3.IntVal(0)
            for extent, i in zip(new, index, strict=True):
                place = place * extent + i
            found: list[Z3] = []
            for extent in reversed(old):
                found.insert(0, place % extent)
                place = place / extent
            return source.at(tuple(z3.simplify(part) for part in found))

        return [Tile(kind, at)]

    def _some(self, source: Tile, kind: Type) -> Value:
        """The value of a lane that nobody knows."""
        if kind.bits is None:
            return Opaque(f"a value of type {kind.element}")
        return source.at(self._lanes(source.kind.shape or ()))

    def _lanes(self, shape: Sequence[int]) -> Index:
        """Any index of a shape."""
        return tuple(self.arguments.arithmetic.unknown(32, 0, extent - 1).z for extent in shape)

    # Pointers.

    def addptr(self, operation: Operation, path: Path) -> list[Tile] | None:
        """An address some elements further on."""
        kind = _kinds(operation)[0]
        base, offset = (self._tile(name) for name in operation.operands)
        bits = offset.kind.bits

        def at(index: Index) -> Value:
            pointer = base.at(index)
            if not isinstance(pointer, Pointer):
                return pointer if isinstance(pointer, Opaque) else Opaque("no address")
            step = self._term(offset.at(index), bits)
            # Addresses wrap at 64 bits, so that only where the last of them lands matters.
            ways = tuple(
                (condition, argument, _moved(start, step))
                for condition, argument, start in pointer.ways
            )
            return Pointer(ways, pointer.element)

        return [Tile(kind, at)]

    def bitcast(self, operation: Operation, path: Path) -> list[Tile] | None:
        """The same bits as another type: of an address, elements of another width."""
        source = self._tile(operation.operands[0])
        kind = _kinds(operation)[-1]
        if not kind.pointer:
            if kind.bits is not None and kind.bits == source.kind.bits:
                return [Tile(kind, source.at)]
            return [self._any(kind)]

        def at(index: Index) -> Value:
            pointer = source.at(index)
            if not isinstance(pointer, Pointer):
                return Opaque("an address made from something else")
            if any(not z3.is_int_value(z3.simplify(way[2].z)) for way in pointer.ways):
                return Opaque("an address of other elements, made from one inside a tensor")
            if any(z3.simplify(way[2].z).as_long() != 0 for way in pointer.ways):
                return Opaque("an address of other elements, made from one inside a tensor")
            return Pointer(pointer.ways, kind.pointee)

        return [Tile(kind, at)]

    # Reductions and scans.

    def reduction(self, operation: Operation, path: Path) -> list[Tile] | None:
        """A sum, a least or a greatest over an axis."""
        axis = operation.integer("axis")
        kinds = result_types(operation.types)
        combiner = _combiner(operation)
        source = self._tile(operation.operands[0])
        shape = source.kind.shape
        if axis is None or shape is None or len(kinds) != 1 or kinds[0].bits in (None, 1):
            return None
        kind = kinds[0]
        tile, free = source, [axis]
        if source.source is not None and len(shape) == 1:
            # Over all lanes, their order does not matter.
            tile = source.source
            shape = tile.kind.shape or ()
            free = list(range(len(shape)))
        lanes = 1
        for number in free:
            lanes *= shape[number]

        def at(index: Index) -> Value:
            inner = list(index)
            for number in free:
                inner.insert(number, self._lanes((shape[number],))[0])
            term = self._term(tile.at(tuple(inner)), kind.bits)
            if combiner == "arith.addi":
                one = self._only_lane(tile, tuple(inner), free, shape, term)
                if one is not None:
                    return one
                total = self._sum(term, lanes, kind.bits or 64)
                self._remember_sum(total, tile, index, free, shape)
                return total
            if combiner in ("arith.maxsi", "arith.minsi"):
                return self.arguments.arithmetic.unknown(kind.bits, term.low, term.high)
            return self.arguments.arithmetic.unknown(kind.bits)

        return [Tile(kind, at)]

    def _remember_sum(
        self, total: Term, tile: Tile, index: Index, free: list[int], shape: Sequence[int]
    ) -> None:
        """A small call fills the first lanes only: with those, a counterexample gets contents."""
        if len(free) != 1:
            return
        (axis,) = free

        def few() -> Z3:
            terms = []
            for lane in range(min(FEW_LANES, shape[axis])):
                at = (*index[:axis], z3.IntVal(lane), *index[axis:])
                terms.append(self._term(tile.at(at), tile.kind.bits).z)
            return total.z == sum(terms[1:], terms[0])

        self.sums[total.z.decl().name()] = few

    def _sum(self, term: Term, lanes: int, bits: int) -> Term:
        """A sum of so many lanes, one of which is given, any of them."""
        known = self.arguments.arithmetic
        low, high = term.low, term.high
        least, greatest = bounds(bits)
        if low is None or high is None or low * lanes < least or high * lanes > greatest:
            # Closer bounds than those of the type, by asking.
            if self.solver.follows((), term.z >= 0) is not Answer.YES:
                return known.unknown(bits)
            low = 0
            for power in SUM_BOUNDS:
                if lanes << power > greatest:
                    return known.unknown(bits)
                if self.solver.follows((), term.z <= 1 << power) is Answer.YES:
                    high = 1 << power
                    break
            else:
                return known.unknown(bits)
        return known.unknown(bits, min(low, low * lanes), max(high, high * lanes))

    def _only_lane(
        self, tile: Tile, index: Index, free: list[int], shape: Sequence[int], term: Term
    ) -> Term | None:
        """A sum in which one lane counts, `lane == number`, and all others are 0: that lane."""
        if len(free) != 1 or term.kind != "select":
            return None
        condition, _, otherwise = term.operands
        if not (otherwise.low == otherwise.high == 0):
            return None
        lane = index[free[0]]
        elsewhere = list(index)
        elsewhere[free[0]] = self._lanes((shape[free[0]],))[0]
        twin = self._term(tile.at(tuple(elsewhere)), term.bits)
        if twin.kind != "select":
            return None
        common = [
            n.z for p in _conjuncts(twin.operands[0]) if p.kind == "compare_eq" for n in p.operands
        ]
        for part in _conjuncts(condition):
            if part.kind != "compare_eq":
                continue
            for here, number in (part.operands, part.operands[::-1]):
                if here.z.eq(lane) and any(number.z.eq(n) for n in common):
                    extent = shape[free[0]]
                    inside = z3.And(number.z >= 0, number.z < extent)
                    at = list(index)
                    at[free[0]] = self._lanes((extent,))[0]
                    self.arguments.arithmetic.know(
                        at[free[0]], z3.Implies(inside, at[free[0]] == number.z)
                    )
                    value = self._term(tile.at(tuple(at)), term.bits)
                    # Outside, no lane is the one.
                    zero = constant(0, term.bits or 64)
                    return self.arguments.arithmetic.select(truth_term(inside), value, zero)
        return None

    def scan(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Running sums, at most the sum of all lanes."""
        kinds = result_types(operation.types)
        source = self._tile(operation.operands[0])
        shape = source.kind.shape
        axis = operation.integer("axis")
        if len(kinds) != 1 or kinds[0].bits in (None, 1) or shape is None or axis is None:
            return None
        kind = kinds[0]
        combiner = _combiner(operation)
        known = self.arguments.arithmetic

        def at(index: Index) -> Value:
            inner = (*index[:axis], self._lanes((shape[axis],))[0], *index[axis + 1 :])
            term = self._term(source.at(inner), kind.bits)
            if combiner == "arith.addi":
                return self._sum(term, shape[axis], kind.bits or 64)
            if combiner in ("arith.maxsi", "arith.minsi"):
                return known.unknown(kind.bits, term.low, term.high)
            return known.unknown(kind.bits)

        return [Tile(kind, at)]

    # Programs and control flow.

    def program_id(self, operation: Operation, path: Path) -> list[Tile] | None:
        """Below the number of programs."""
        axis = "xyz".find(operation.text.strip()[:1])
        if axis < 0:
            return None
        program, _ = self._programs(axis)
        return [Tile(Type("i32"), lambda index: program)]

    def num_programs(self, operation: Operation, path: Path) -> list[Tile] | None:
        """As many as the launcher says."""
        axis = "xyz".find(operation.text.strip()[:1])
        if axis < 0:
            return None
        _, programs = self._programs(axis)
        return [Tile(Type("i32"), lambda index: programs)]

    def _programs(self, axis: int) -> tuple[Term, Term]:
        while len(self.programs) <= axis:
            known = self.arguments.arithmetic
            count = self.arguments.grid[len(self.programs)]
            program = known.unknown(32, 0, MOST_PROGRAMS - 1, label="program")
            programs = known.unknown(32, 1, MOST_PROGRAMS, label="programs")
            known.know(programs.z, programs.z == count)
            known.know(program.z, program.z < programs.z)
            self.programs.append((program, programs))
        return self.programs[axis]

    def branch(self, operation: Operation, path: Path) -> list[Tile] | None:
        """`scf.if`: each side under its condition, results chosen between the two."""
        condition = self._term(self._tile(operation.operands[0]).at(()), 1)
        yielded: list[tuple[Tile, ...]] = []
        for number, region in enumerate(operation.regions):
            holds = condition.z if number == 0 else z3.Not(condition.z)
            ends = self._region(region, (*path, holds))
            # Now: the other region may use the same names for its own.
            yielded.append(tuple(map(self._tile, ends[-1].operands)) if ends else ())
        kinds = result_types(operation.types) if operation.results else []
        if not operation.results:
            return []
        if len(yielded) != 2 or len(kinds) != len(operation.results):
            return None
        return [
            self._chosen(condition, kind, left, right)
            for kind, left, right in zip(kinds, *yielded, strict=True)
        ]

    def _chosen(self, condition: Term, kind: Type, left: Tile, right: Tile) -> Tile:
        known = self.arguments.arithmetic

        def at(index: Index) -> Value:
            a, b = left.at(index), right.at(index)
            if isinstance(a, Pointer) and isinstance(b, Pointer):
                return _either_pointer(condition.z, a, b)
            if kind.bits is None:
                return Opaque(f"a choice between values of type {kind.element}")
            return known.select(condition, self._term(a, kind.bits), self._term(b, kind.bits))

        return Tile(kind, at)

    def loop(self, operation: Operation, path: Path) -> list[Tile] | None:
        """`scf.for`: any iteration."""
        head = re.match(r"(unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+)", operation.text)
        (region,) = operation.regions
        kinds = result_types(operation.types) if "->" in operation.types else []
        carried = re.search(r"iter_args\((.*?)\)", operation.text)
        names = [
            part.partition("=")[0].strip() for part in split_top(carried[1])
        ] if carried else []  # fmt: skip
        if head is None or len(names) != len(operation.results) or len(kinds) != len(names):
            # Walked all the same, with nothing known.
            for name in re.findall(r"(%[\w.$-]+) =", operation.text):
                self.tiles[name] = Tile(Type("?"), lambda index: Opaque("a loop's variable"))
            self._region(region, path)
            return None
        variable, lower, upper, step = (self._tile(head[n]) for n in (2, 3, 4, 5))
        bits = lower.kind.bits or upper.kind.bits or 32
        low, high, by = (self._term(t.at(()), bits) for t in (lower, upper, step))
        known = self.arguments.arithmetic
        value = known.unknown(bits, label="iteration")
        del variable
        inside = [value.z < high.z]
        greatest = bounds(bits)[1]
        advances = self.solver.follows(path, by.z > 0) is Answer.YES
        hypotheses = (*path, value.z >= low.z, value.z < high.z)
        if head[1]:
            inside = []
        elif advances and self.solver.follows(
            hypotheses, value.z + by.z <= greatest
        ) is Answer.YES:  # fmt: skip
            # It counts up and never wraps, so that no iteration lies below the first.
            inside.append(value.z >= low.z)
            low_bound = low.low
            value = Term(value.z, bits=bits, low=low_bound, high=high.high, label="iteration")
            self.choices.append((value.z, low.z, by.z))
        self.tiles[head[2]] = Tile(Type(f"i{bits}"), lambda index: value)
        for name, kind in zip(names, kinds, strict=True):
            self.tiles[name] = self._any(kind)
        self._region(region, (*path, *inside))
        return [self._any(kind) for kind in kinds]

    def while_loop(self, operation: Operation, path: Path) -> list[Tile] | None:
        """`scf.while`: any iteration, its body where the condition holds."""
        before, after = operation.regions
        names = re.findall(r"(%[\w.$-]+) =", operation.text)
        kinds = result_types(operation.types) if operation.types else []
        arguments = operation.types.partition("->")[0].strip().strip("()")
        before_kinds = [parse_type(part) for part in split_top(arguments)] if arguments else []
        for number, name in enumerate(names):
            kind = before_kinds[number] if number < len(before_kinds) else Type("?")
            self.tiles[name] = self._any(kind)
        ends = self._region(before, path)
        inside = path
        passed: tuple[str, ...] = ()
        if ends and ends[-1].name == "scf.condition":
            condition = self._scalar(ends[-1].operands[0])
            passed = ends[-1].operands[1:]
            if condition is not None and condition.truth:
                inside = (*path, condition.z)
        entry = after.blocks[0]
        for number, (name, kind) in enumerate(entry.arguments):
            given = self._tile(passed[number]) if number < len(passed) else None
            self.tiles[name] = given if given is not None else self._any(kind)
        self._region(after, inside)
        if len(kinds) < len(operation.results):
            return None
        return [self._any(kind) for kind in kinds[: len(operation.results)]]


def _logic(name: str, left: Term, right: Term, make: Callable[[Z3, Z3], Z3]) -> Term:
    for a, b in ((left, right), (right, left)):
        if name == "arith.andi" and z3.is_true(a.z):
            return b
        if name == "arith.andi" and z3.is_false(a.z):
            return a
    z = make(left.z, right.z)
    kind = "and" if name == "arith.andi" else "both"
    if name == "arith.xori" and z3.is_true(right.z):
        z = z3.Not(left.z)
    return truth_term(z, (left, right), kind)


def _conjuncts(term: Term) -> Iterator[Term]:
    if term.kind == "and":
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term


def _mentions(term: Z3, name: Z3) -> bool:
    stack = [term]
    while stack:
        node = stack.pop()
        if node.eq(name):
            return True
        stack.extend(node.children())
    return False


def _moved(start: Term, step: Term) -> Term:
    """An index some elements further on, as a number without a width."""
    if start.low == start.high == 0:
        return step
    low = None if start.low is None or step.low is None else start.low + step.low
    high = None if start.high is None or step.high is None else start.high + step.high
    return Term(
        start.z + step.z, bits=64, low=low, high=high, kind="sum", operands=(start, step), label="+"
    )


def _either_pointer(condition: Z3, left: Pointer, right: Pointer) -> Value:
    if left.element != right.element:
        return Opaque("a choice between addresses of different elements")
    ways = [(z3.And(condition, c), a, i) for c, a, i in left.ways]
    ways += [(z3.And(z3.Not(condition), c), a, i) for c, a, i in right.ways]
    return Pointer(tuple(ways), left.element)


def _combiner(operation: Operation) -> str:
    """The one operation that a reduction or scan combines two lanes by, or nothing."""
    if len(operation.regions) != 1 or len(operation.regions[0].blocks) != 1:
        return ""
    block = operation.regions[0].blocks[0]
    names = {name for name, _ in block.arguments}
    if len(block.operations) != 2 or len(names) != 2:
        return ""
    first, last = block.operations
    if set(first.operands) != names or last.operands != first.results:
        return ""
    return first.name


def _kinds(operation: Operation) -> list[Type]:
    """Types of the results, or those that stand for them."""
    types = operation.types
    if "->" in types or " to " in types:
        return result_types(types)
    return [parse_type(part) for part in split_top(types)]


def _entries(blocks: Sequence[Block]) -> dict[str, list[tuple[str, Operation]]]:
    """From where each block is entered."""
    found: dict[str, list[tuple[str, Operation]]] = {}
    for block in blocks:
        for operation in block.operations[-1:]:
            for label in re.findall(r"\^(\w+)", operation.text):
                found.setdefault(label, []).append((block.label, operation))
    return found


Handler = Callable[[Walk, Operation, Path], "list[Tile] | None"]
_HANDLERS: dict[str, Handler] = {
    "arith.constant": Walk.constant,
    **dict.fromkeys(
        ("arith.addi", "arith.subi", "arith.muli", "arith.maxsi", "arith.minsi", "arith.divsi",
         "arith.remsi"),
        Walk.arithmetic,
    ),
    **dict.fromkeys(("arith.andi", "arith.ori", "arith.xori"), Walk.logic),
    **dict.fromkeys(("arith.shli", "arith.shrsi", "arith.shrui"), Walk.shift),
    "arith.cmpi": Walk.comparison,
    "arith.cmpf": Walk.float_comparison,
    "arith.select": Walk.select,
    **dict.fromkeys(("arith.extsi", "arith.extui", "arith.index_cast"), Walk.extension),
    "arith.trunci": Walk.truncation,
    "tt.splat": Walk.splat,
    "tt.make_range": Walk.make_range,
    "tt.expand_dims": Walk.expand_dims,
    "tt.broadcast": Walk.broadcast,
    "tt.trans": Walk.transposition,
    "tt.reshape": Walk.reshape,
    "tt.addptr": Walk.addptr,
    "tt.bitcast": Walk.bitcast,
    "tt.reduce": Walk.reduction,
    "tt.scan": Walk.scan,
    "tt.get_program_id": Walk.program_id,
    "tt.get_num_programs": Walk.num_programs,
    "scf.if": Walk.branch,
    "scf.for": Walk.loop,
    "scf.while": Walk.while_loop,
}  # fmt: skip
_QUIET = frozenset(
    ("tt.return", "scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "cf.br",
     "cf.cond_br", "tt.assert", "tt.print", "ub.unreachable", "llvm.intr.assume")
)  # fmt: skip
"""Operations without results that lead nowhere but where a region's own walk goes."""
