"""Whether each access of a kernel stays inside its tensor, for all sizes and all contents.

For one lane of one program: where the lane is active (mask, branches, loops), the address lies
inside the tensor, and none of the operations that make the address out of indices wraps. An index
is a number that the mask keeps within a dimension; operations before that may wrap, as the hardware
does and as is reckoned with here, and what they give is compared all the same. The address in a
tensor of several dimensions is a sum of products of unknowns; it is matched against the tensor's
own dimensions, one after the other, so that each step is linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import z3

from kv_canary_codegen.prove.arguments import Arguments, Extents
from kv_canary_codegen.prove.solver import Answer, Solver, is_small
from kv_canary_codegen.prove.values import Index, Opaque, Pointer, Term, bounds
from kv_canary_codegen.prove.walk import MemoryUse, Walk

Z3 = Any
HALVES = ((8, 55), (16, 47), (24, 39), (31, 31), (39, 24), (47, 16), (55, 8))
"""Powers of two that two factors are tried to be below, so that their product fits."""


class Status(Enum):
    """What is known of an access."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNPROVED = "unproved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One tensor that an access may reach, and under which condition."""

    hypotheses: tuple[Z3, ...]
    argument: str
    offset: Term
    outside: Z3
    """That the index is outside the tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One access and what is known of it."""

    use: MemoryUse
    status: Status
    arguments: tuple[str, ...]
    reason: str
    """Why it is not proved; empty otherwise."""
    remark: str = ""
    """Of one that is proved: what may wrap before it is compared."""
    ways: tuple[Way, ...] = ()


@dataclass(slots=True)
class Judge:
    """Judges the accesses of a walk."""

    walk: Walk
    arguments: Arguments
    solver: Solver
    _proofs: list[Z3] = field(default_factory=list)

    def all(self) -> tuple[Judged, ...]:
        """Every access, in the order of the text."""
        return tuple(self.judged(use) for use in self.walk.uses)

    def judged(self, use: MemoryUse) -> Judged:
        """One access."""
        if use.pointer is None:
            return Judged(use=use, status=Status.UNPROVED, arguments=(), reason=use.reason, ways=())
        index, lanes = self._lane(use)
        pointer = use.pointer.at(index)
        if not isinstance(pointer, Pointer):
            why = pointer.reason if isinstance(pointer, Opaque) else "its address is a number"
            return Judged(use=use, status=Status.UNPROVED, arguments=(), reason=why, ways=())
        active = [*lanes, *use.path]
        if use.mask is not None:
            mask = use.mask.at(() if use.mask.kind.shape is None else index)
            if not isinstance(mask, Term):
                return Judged(
                    use=use, status=Status.UNPROVED, arguments=(), reason="unknown mask", ways=()
                )
            active.append(mask.z)
        reasons: list[str] = []
        remarks: list[str] = []
        ways: list[Way] = []
        for condition, argument, offset in pointer.ways:
            extents = self.arguments.extents.get(argument)
            if extents is None:
                reasons.append(f"nothing is known of {argument}")
                continue
            here = [*active, condition]
            way, reason = self._shown(here, extents, offset, pointer.element)
            ways.append(way)
            if reason:
                reasons.append(reason)
            else:
                remarks += self._remarks(use, argument, here, offset)
        return Judged(
            use=use,
            status=Status.UNPROVED if reasons else Status.PROVED,
            arguments=tuple(dict.fromkeys(argument for _, argument, _ in pointer.ways)),
            reason="; ".join(dict.fromkeys(reasons)),
            remark="" if reasons else "; ".join(dict.fromkeys(remarks)),
            ways=tuple(ways),
        )

    def _shown(
        self, active: Sequence[Z3], extents: Extents, offset: Term, element: str
    ) -> tuple[Way, str]:
        """One way to a tensor, and why it is not shown to be safe.

        Asked first with indices taken as they are, then with all that is known.

        Note [Indices taken as they are]
        An index that the mask keeps within a dimension is any number within it, however it came
        about. Put in as an unknown of its own, with the conditions that name only such unknowns and
        sizes, the question is small, and the same for most variants. What follows from fewer
        conditions follows.
        """
        simple, place = _taken(active, offset, extents)
        if self._known(simple, extents, place, element) or self._ask(
            simple, extents, place, element
        ):
            way = Way(
                hypotheses=tuple(active),
                argument=extents.identifier,
                offset=offset,
                outside=z3.BoolVal(False),
            )
            return way, ""
        return self._way(active, extents, offset, element, near=False)

    def _known(self, active: Sequence[Z3], extents: Extents, offset: Term, element: str) -> bool:
        """Whether the same was shown before, in whatever variant."""
        return self._key(active, extents, offset, element) in self.solver.answers

    def _ask(self, active: Sequence[Z3], extents: Extents, offset: Term, element: str) -> bool:
        """Whether it can be shown; if so, it is remembered."""
        _, reason = self._way(active, extents, offset, element, near=True)
        if not reason:
            self.solver.answers[self._key(active, extents, offset, element)] = ""
        return not reason

    def _lane(self, use: MemoryUse) -> tuple[Index, list[Z3]]:
        """Any lane of an access."""
        assert use.pointer is not None
        index: list[Z3] = []
        inside: list[Z3] = []
        for axis, extent in enumerate(use.pointer.kind.shape or ()):
            lane = z3.Int(f"lane!{axis}")
            index.append(lane)
            inside += [lane >= 0, lane < extent]
        return tuple(index), inside

    def _key(self, active: Sequence[Z3], extents: Extents, offset: Term, element: str) -> str:
        """What all conclusions about one way to a tensor are drawn from, as a digest.

        An access of another variant with the same is as safe, as long as no fact from further away
        was needed.
        """
        numbers = [
            offset.z,
            extents.end,
            *extents.dims,
            *extents.sizes,
            *extents.spans,
            *(extents.strides or ()),
            *(z3.Int(name) for name in self.arguments.known_products),
        ]
        said = [number == place for place, number in enumerate(numbers)]
        operations = [
            z3.And(*conditions, term.raw == (term.bits or 0))
            for conditions, term in _may_wrap(offset)
        ]
        nodes, made = _nodes(offset)
        digest = self.solver.digest([*active, extents.empty, *said, *operations, *made])
        layout = (extents.strides is None, extents.itemsize, element, len(extents.dims), nodes)
        return f"access:{layout}:{digest}"

    def _way(
        self,
        active: Sequence[Z3],
        extents: Extents,
        offset: Term,
        element: str,
        *,
        near: bool,
    ) -> tuple[Way, str]:
        """What has to hold where one tensor is reached, and why it is not shown."""
        width = _width(element)
        outside, end = self._outside(extents, offset.z, width)
        way = Way(
            hypotheses=tuple(active), argument=extents.identifier, offset=offset, outside=outside
        )
        if end is None:
            return way, f"elements of {element} in a tensor of {extents.itemsize} bytes each"
        shown = [*active]
        for conditions, term in self._address(active, offset, extents, near=near):
            where = z3.And(True, *conditions)
            self._explain_product(shown, where, term, extents, near=near)
            if term.raw is None:
                continue
            goal = z3.Implies(where, _fits(term))
            answer = self.solver.follows(shown, goal, near=near)
            if answer is Answer.NO:
                return way, f"`{term.label}` of {term.bits} bits may wrap in its address"
            if answer is Answer.UNKNOWN:
                return way, f"`{term.label}` of {term.bits} bits: {self.solver.reason}"
            shown.append(goal)
        answer = self.solver.follows(shown, z3.Not(outside), near=near)
        if answer is Answer.NO:
            return way, f"the index may lie outside {extents.path}"
        if answer is Answer.UNKNOWN:
            return way, self.solver.reason
        return way, ""

    def _address(
        self, active: Sequence[Z3], offset: Term, extents: Extents, *, near: bool
    ) -> list[tuple[tuple[Z3, ...], Term]]:
        """Operations that make the address out of indices, operands first.

        An index is what the mask keeps within a dimension: how it came about, and whether it
        wrapped then, makes no difference, since it is compared as it is.
        """
        found: list[tuple[tuple[Z3, ...], Term]] = []
        seen: set[tuple[int, tuple[int, ...]]] = set()
        kept: list[Z3] = []  # So that what `seen` calls by number is not another term later.
        compared = _compared(active)

        def visit(node: Term, where: tuple[Z3, ...]) -> None:
            key = (id(node), tuple(part.get_id() for part in where))
            if key in seen or node.truth or not node.operands:
                return
            seen.add(key)
            condition = z3.And(True, *where)
            if node.z.get_id() in compared and any(
                self._holds(active, condition, z3.And(node.z >= 0, node.z < dim), near=near)
                for dim in dict.fromkeys(extents.dims)
            ):
                return
            if node.kind == "select":
                chosen, left, right = node.operands
                other = z3.Not(chosen.z)
                kept.append(other)
                visit(left, (*where, chosen.z))
                visit(right, (*where, other))
                return
            for operand in node.operands:
                visit(operand, where)
            if node.raw is not None or node.kind == "product":
                found.append((where, node))

        visit(offset, ())
        return found

    def _remarks(
        self, use: MemoryUse, argument: str, active: Sequence[Z3], offset: Term
    ) -> list[str]:
        """Whether an index may have wrapped before it was compared; asked once for each line."""
        operations = [(z3.And(True, *conditions), term) for conditions, term in _may_wrap(offset)]
        names = dict.fromkeys(f"`{term.label}` of {term.bits} bits" for _, term in operations)
        said = f"{' or '.join(names)} may wrap before the index is compared"
        key = f"access:remark:{use.operation.place}:{use.kind}:{argument}:{said}"
        if use.operation.place is None or key not in self.solver.answers:
            goal = z3.And(True, *(z3.Implies(where, _fits(term)) for where, term in operations))
            fits = self._holds(active, z3.BoolVal(True), goal)
            self.solver.answers[key] = "" if fits else said
        return [self.solver.answers[key]] if self.solver.answers[key] else []

    def _outside(self, extents: Extents, offset: Z3, width: int) -> tuple[Z3, Z3 | None]:
        """That an index is outside, and the end that it is compared with; elements may be wider."""
        end = extents.end
        if width > extents.itemsize and width % extents.itemsize == 0:
            # So many of the tensor's elements make one that is reached.
            end = end / (width // extents.itemsize)
        elif width != extents.itemsize:
            return z3.BoolVal(True), None
        outside = z3.Or(offset < 0, offset >= end, extents.empty)
        return outside, end

    def _explain_product(
        self, shown: list[Z3], where: Z3, term: Term, extents: Extents, *, near: bool
    ) -> None:
        """Add what follows for a product when one factor is an index and the other an extent.

        With `0 <= row < rows`, `row * columns` lies between 0 and `rows * columns - columns`.
        """
        if term.kind != "product":
            return
        raw = term.z if term.raw is None else term.raw
        left, right = term.operands
        for index, extent in ((left, right), (right, left)):
            for axis in range(1, len(extents.dims)):
                before, after = extents.sizes[axis - 1], extents.sizes[axis]
                if extents.strides is None and extent.z.eq(extents.dims[axis]):
                    below = z3.And(index.z >= 0, index.z < before)
                    if self._holds(shown, where, below, near=near):
                        step = extents.dims[axis]
                        lemma = z3.And(raw >= 0, raw + step <= after)
                        shown.append(z3.Implies(z3.And(where, step >= 0), lemma))
                        return
            for axis, stride in enumerate(extents.strides or ()):
                if extent.z.eq(stride) and not z3.is_int_value(stride):
                    below = z3.And(index.z >= 0, index.z < extents.dims[axis])
                    if self._holds(shown, where, below, near=near):
                        lemma = z3.And(raw >= 0, raw <= extents.spans[axis])
                        shown.append(z3.Implies(where, lemma))
                        if len(extents.strides or ()) > 1:
                            for span in extents.spans:
                                shown.append(z3.Implies(z3.Not(extents.empty), span >= 0))
                        return
        if term.raw is None or z3.is_int_value(left.z) or z3.is_int_value(right.z):
            return
        if self._below_another(shown, where, raw, left, right, near=near):
            return
        if not self._holds(shown, where, z3.And(left.z >= 0, right.z >= 0), near=near):
            return
        for left_bits, right_bits in HALVES:
            small = z3.And(
                left.z >= 0, left.z <= 1 << left_bits, right.z >= 0, right.z <= 1 << right_bits
            )
            if self._holds(shown, where, small, near=near):
                lemma = z3.And(raw >= 0, raw <= 1 << (left_bits + right_bits))
                shown.append(z3.Implies(where, lemma))
                return

    def _below_another(
        self, shown: list[Z3], where: Z3, raw: Z3, left: Term, right: Term, *, near: bool
    ) -> bool:
        """Add that a product is below a known one, when a factor is below and the other no larger.

        With `0 <= a < m` and `0 <= b <= c`, `a * b` is at least 0 and at most `m * c - c`. Asked
        only of an `a` that is a remainder by `m`.
        """
        for a, b in ((left, right), (right, left)):
            name = a.z.decl().name() if z3.is_const(a.z) else ""
            divisor = self.arguments.arithmetic.remainders.get(name)
            if divisor is None:
                continue
            for product, factors in self.arguments.known_products.items():
                for m, c in (factors, factors[::-1]):
                    if not m.z.eq(divisor.z):
                        continue
                    below = z3.And(a.z >= 0, a.z < m.z, b.z >= 0, b.z <= c.z)
                    if self._holds(shown, where, below, near=near):
                        lemma = z3.And(raw >= 0, raw + c.z <= z3.Int(product))
                        shown.append(z3.Implies(where, lemma))
                        return True
        return False

    def _holds(self, shown: Sequence[Z3], where: Z3, goal: Z3, *, near: bool = False) -> bool:
        return self.solver.follows(shown, z3.Implies(where, goal), near=near) is Answer.YES


def _taken(active: Sequence[Z3], offset: Term, extents: Extents) -> tuple[tuple[Z3, ...], Term]:
    """Conditions and a place in which indices that conditions keep are unknowns of their own.

    See Note [Indices taken as they are].
    """
    atoms = tuple(dict.fromkeys(atom for term in active for atom in _conjuncts(term)))
    kept = _Kept.of(atoms, extents)
    place = kept.place(offset)
    named = {
        name
        for term in (place.z, *(index for _, index in kept.pairs), *extents.dims)
        for name in _names(term)
    }
    simple = [
        atom
        for atom in (z3.substitute(atom, *kept.pairs) if kept.pairs else atom for atom in atoms)
        if is_small(atom) and named & set(_names(atom))
    ]
    return (*simple, *kept.bounds), place


@dataclass(slots=True)
class _Kept:
    """Indices that conditions keep within a dimension, each with an unknown in its place."""

    below: frozenset[int]
    """Numbers that are below a dimension, by their identity."""
    not_negative: frozenset[int]
    pairs: list[tuple[Z3, Z3]] = field(default_factory=list)
    bounds: list[Z3] = field(default_factory=list)
    _terms: dict[int, tuple[Term, Term]] = field(default_factory=dict)

    @classmethod
    def of(cls, atoms: Sequence[Z3], extents: Extents) -> _Kept:
        """What conditions keep."""
        dims = {dim.get_id() for dim in extents.dims}
        below: set[int] = set()
        not_negative: set[int] = set()
        for atom in atoms:
            if not z3.is_app(atom) or atom.num_args() != 2:
                continue
            left, right = atom.children()
            if z3.is_gt(atom) or z3.is_ge(atom):
                left, right = right, left
            strictly = z3.is_lt(atom) or z3.is_gt(atom)
            if strictly and right.get_id() in dims:
                below.add(left.get_id())
            if (strictly or z3.is_le(atom) or z3.is_ge(atom)) and _is_shorter(right, dims):
                below.add(left.get_id())
            if z3.is_int_value(left) and z3.is_le(atom) | z3.is_ge(atom) and left.as_long() == 0:
                not_negative.add(right.get_id())
        return cls(below=frozenset(below), not_negative=frozenset(not_negative))

    def place(self, term: Term) -> Term:
        """A place with unknowns where its indices were."""
        if id(term) in self._terms:
            return self._terms[id(term)][1]
        made = self._made(term)
        self._terms[id(term)] = (term, made)
        return made

    def _made(self, term: Term) -> Term:
        number = term.z.get_id()
        least = term.low is not None and term.low >= 0
        if number in self.below and (number in self.not_negative or least):
            if z3.is_const(term.z):
                self.bounds.append(term.z >= 0)
                return Term(term.z, bits=term.bits, low=term.low, high=term.high)
            index = z3.Int(f"index!{len(self.pairs)}")
            self.pairs.append((term.z, index))
            if least:
                self.bounds.append(index >= term.low)
            return Term(index, bits=term.bits, low=term.low, high=term.high)
        if not term.operands or term.kind == "select":
            return term
        operands = tuple(self.place(operand) for operand in term.operands)
        if all(new is old for new, old in zip(operands, term.operands, strict=True)):
            return term
        pairs = [
            (old.z, new.z)
            for old, new in zip(term.operands, operands, strict=True)
            if not old.z.eq(new.z)
        ]
        return Term(
            z3.substitute(term.z, *pairs) if pairs else term.z,
            bits=term.bits,
            low=term.low,
            high=term.high,
            kind=term.kind,
            operands=operands,
            raw=z3.substitute(term.raw, *pairs) if pairs and term.raw is not None else term.raw,
            label=term.label,
        )


def _is_shorter(term: Z3, dims: set[int]) -> bool:
    """Whether a term is a dimension less a number."""
    if not (z3.is_sub(term) or z3.is_add(term)) or term.num_args() != 2:
        return False
    dim, number = term.children()
    if dim.get_id() not in dims or not z3.is_int_value(number):
        return False
    return bool((number.as_long() > 0) == z3.is_sub(term) and number.as_long() != 0)


def _names(term: Z3) -> tuple[str, ...]:
    """Unknowns in a term, in the order in which they stand."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[node.decl().name()] = None
        else:
            stack.extend(reversed(node.children()))
    return tuple(found)


def _conjuncts(term: Z3) -> Iterator[Z3]:
    """The conditions of which a condition is made, all of which hold."""
    stack = [term]
    while stack:
        node = stack.pop()
        if z3.is_and(node):
            stack.extend(reversed(node.children()))
        elif not z3.is_true(node):
            yield node


def _compared(conditions: Sequence[Z3]) -> frozenset[int]:
    """What conditions compare with something: only those can be indices that they keep."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = list(conditions)
    while stack:
        node = stack.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if any(is_kind(node) for is_kind in (z3.is_le, z3.is_lt, z3.is_ge, z3.is_gt, z3.is_eq)):
            for child in node.children():
                found.add(child.get_id())
                if z3.is_app_of(child, z3.Z3_OP_ITE):
                    # A number read without its sign.
                    found.update(part.get_id() for part in child.children())
        elif z3.is_bool(node) and not z3.is_const(node):
            stack.extend(node.children())
    return frozenset(found)


def _fits(term: Term) -> Z3:
    assert term.bits is not None
    least, greatest = bounds(term.bits)
    return z3.And(term.raw >= least, term.raw <= greatest)


def _may_wrap(term: Term) -> Iterator[tuple[tuple[Z3, ...], Term]]:
    """The operations that a number is made by and that may wrap, operands first, each with where.

    Of a choice, each side matters only where it is chosen; what the condition is made by does not:
    it is whatever it is.
    """
    seen: set[tuple[int, tuple[int, ...]]] = set()
    kept: list[Z3] = []  # So that what `seen` calls by number is not another term later.

    def visit(node: Term, where: tuple[Z3, ...]) -> Iterator[tuple[tuple[Z3, ...], Term]]:
        key = (id(node), tuple(part.get_id() for part in where))
        if key in seen or node.truth:
            return
        seen.add(key)
        if node.kind == "select":
            condition, left, right = node.operands
            other = z3.Not(condition.z)
            kept.append(other)
            yield from visit(left, (*where, condition.z))
            yield from visit(right, (*where, other))
            return
        for operand in node.operands:
            yield from visit(operand, where)
        if node.raw is not None:
            yield where, node

    yield from visit(term, ())


def _width(element: str) -> int:
    """Bytes of an element, as the IR calls it."""
    digits = "".join(c for c in element if c.isdigit())
    if element.startswith("f8"):
        return 1
    return max(1, int(digits) // 8) if digits else 0


def _nodes(term: Term) -> tuple[tuple[object, ...], list[Z3]]:
    """How a number is made: the kind and operands of each part."""
    place: dict[int, int] = {}
    shape: list[object] = []
    made: list[Z3] = []

    def visit(node: Term) -> int:
        if id(node) in place:
            return place[id(node)]
        parts = () if node.truth else tuple(visit(part) for part in node.operands)
        place[id(node)] = len(place)
        shape.append((node.kind, node.bits, node.truth, node.raw is None, parts))
        made.append(node.z if node.truth else node.z == place[id(node)])
        return place[id(node)]

    visit(term)
    return tuple(shape), made
