"""What a value of the IR is at one lane: an integer term, its bounds, and how it came about.

Note [Wrapping]
A term is a mathematical integer. An operation whose exact result may leave its width gives what the
hardware gives: exactly, for sums, differences and products by a constant; for a product of two
unknowns a number of which is only known that it equals the exact result where that fits. The exact
result stays in `raw`, so that "did not wrap" can be asked for by itself.

Note [Facts]
What is known of an unknown (the range of its type, how it relates to others) is a fact, kept under
the unknown's name and true in every execution. What holds on a path only is no fact: it stands in
the path's condition. `linear` facts are what proofs use. `exact` ones, which may be nonlinear, are
added in the search for a counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

from kv_canary_codegen.prove.ir import Type

Z3 = Any
"""z3 has no types of its own."""


class Term:
    """One value at one lane."""

    __slots__ = ("bits", "exact", "high", "kind", "label", "low", "operands", "raw", "z")

    def __init__(
        self,
        z: Z3,
        *,
        bits: int | None,
        low: int | None = None,
        high: int | None = None,
        kind: str = "leaf",
        operands: tuple[Term, ...] = (),
        raw: Z3 = None,
        label: str = "",
    ) -> None:
        self.z = z
        self.bits = bits
        """Width; 1 for a truth value, None where nothing is known."""
        self.low = low
        self.high = high
        self.kind = kind
        """leaf, sum, product, select (condition, then, else), both (all operands matter)."""
        self.operands = operands
        self.raw = raw
        """The exact result, where it may differ from the value."""
        self.label = label

    @property
    def truth(self) -> bool:
        """Whether it is a truth value."""
        return bool(z3.is_bool(self.z))


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where an address may point: for each way to get it, a condition, an argument, an index."""

    ways: tuple[tuple[Z3, str, Term], ...]
    """Condition, argument's name, index in elements."""
    element: str
    """Type of an element, as the IR calls it."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of which nothing is known, not even its type."""

    reason: str


SMALL_TURNS = (0, 1, 2, 3, -1, -2)
"""Quotients and factors that counterexamples have, so that all is linear."""

Value = Term | Pointer | Opaque
Index = tuple[Z3, ...]


def bounds(bits: int) -> tuple[int, int]:
    """Least and greatest number of a signed width."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


class Tile:
    """A scalar or a tile: its type, and its value at an index."""

    __slots__ = ("_at", "_known", "kind", "source")

    def __init__(
        self, kind: Type, at: Callable[[Index], Value], source: Tile | None = None
    ) -> None:
        self.kind = kind
        self._at = at
        self._known: dict[tuple[int, ...], tuple[Index, Value]] = {}
        self.source = source
        """The tile of which this one is a rearrangement in an order that nobody knows."""

    def at(self, index: Index) -> Value:
        """The value at an index, the same object each time."""
        key = tuple(part.get_id() for part in index)
        if key not in self._known:
            self._known[key] = (index, self._at(index))
        return self._known[key][1]


def truth_term(z: Z3, operands: tuple[Term, ...] = (), kind: str = "both") -> Term:
    """A truth value."""
    return Term(z, bits=1, kind=kind, operands=operands)


def constant(value: int, bits: int) -> Term:
    """A number."""
    if bits == 1:
        return truth_term(z3.BoolVal(bool(value)))
    return Term(z3.IntVal(value), bits=bits, low=value, high=value)


@dataclass(slots=True)
class Arithmetic:
    """Makes terms, and keeps what is known of the unknowns among them."""

    linear: dict[str, list[Z3]] = field(default_factory=dict)
    """Facts by the name of the unknown that they are about."""
    exact: dict[str, list[Z3]] = field(default_factory=dict)
    products: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    """Factors of each product of two unknowns, by its name."""
    remainders: dict[str, Term] = field(default_factory=dict)
    """Divisor of each remainder by an unknown, by the remainder's name."""
    quotients: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    """Dividend and divisor of each quotient by an unknown, by the quotient's name."""
    count: int = 0
    _made: dict[tuple[int, int], tuple[Z3, Z3, Z3]] = field(default_factory=dict)

    def unknown(
        self, bits: int | None, low: int | None = None, high: int | None = None, label: str = ""
    ) -> Term:
        """A number of which only the range is known."""
        self.count += 1
        name = f"u!{self.count}"
        if bits == 1:
            return truth_term(z3.Bool(name))
        z = z3.Int(name)
        if bits is not None:
            least, greatest = bounds(bits)
            low = least if low is None else max(low, least)
            high = greatest if high is None else min(high, greatest)
        if low is not None:
            self.know(z, z >= low)
        if high is not None:
            self.know(z, z <= high)
        return Term(z, bits=bits, low=low, high=high, label=label)

    def know(self, z: Z3, fact: Z3) -> None:
        """Note a fact about an unknown."""
        self.linear.setdefault(z.decl().name(), []).append(fact)

    def know_exactly(self, z: Z3, fact: Z3) -> None:
        """Note a fact that only the search for counterexamples uses."""
        self.exact.setdefault(z.decl().name(), []).append(fact)

    def fitted(self, raw: Z3, bits: int, low: int | None, high: int | None, **about: Any) -> Term:
        """An exact result, wrapped into a width as the hardware does. Off by one width at most."""
        least, greatest = bounds(bits)
        if low is not None and high is not None and least <= low and high <= greatest:
            return Term(raw, bits=bits, low=low, high=high, **about)
        span = 1 << bits
        z = raw
        if high is None or high > greatest:
            z = z3.If(raw > greatest, raw - span, z)
        if low is None or low < least:
            z = z3.If(raw < least, raw + span, z)
        return Term(z, bits=bits, low=least, high=greatest, raw=raw, **about)

    def wrapped(self, raw: Z3, bits: int, low: int | None, high: int | None, **about: Any) -> Term:
        """The same for a result that may be many widths off."""
        least, greatest = bounds(bits)
        if low is not None and high is not None and least <= low and high <= greatest:
            return Term(raw, bits=bits, low=low, high=high, **about)
        value = self.unknown(bits)
        span = 1 << bits
        self.know(value.z, z3.Implies(z3.And(raw >= least, raw <= greatest), value.z == raw))
        self.know_exactly(value.z, value.z == (raw - least) % span + least)
        return Term(value.z, bits=bits, low=least, high=greatest, raw=raw, **about)

    def add(self, left: Term, right: Term, bits: int) -> Term:
        """A sum."""
        return self.fitted(
            left.z + right.z,
            bits,
            _sum(left.low, right.low),
            _sum(left.high, right.high),
            kind="sum",
            operands=(left, right),
            label="+",
        )

    def subtract(self, left: Term, right: Term, bits: int) -> Term:
        """A difference."""
        return self.fitted(
            left.z - right.z,
            bits,
            _sum(left.low, None if right.high is None else -right.high),
            _sum(left.high, None if right.low is None else -right.low),
            kind="sum",
            operands=(left, right),
            label="-",
        )

    def multiply(self, left: Term, right: Term, bits: int) -> Term:
        """A product; of two unknowns it is an unknown itself, with what can be said linearly."""
        low, high = _product_bounds(left, right)
        if z3.is_int_value(left.z) or z3.is_int_value(right.z):
            raw = left.z * right.z
        else:
            raw = self.product(left, right)
            self._share(raw, left, right)
        return self.wrapped(raw, bits, low, high, kind="product", operands=(left, right), label="*")

    def _share(self, raw: Z3, left: Term, right: Term) -> None:
        """Know that a share times its number, of as many as there are, is no more than the whole.

        With `q = n / d`, rounded towards 0, and `0 <= a < d`, `a * q` is no further from 0 than
        `n - q`.
        """
        for number, share in ((left, right), (right, left)):
            name = share.z.decl().name() if z3.is_const(share.z) else ""
            if name in self.quotients:
                whole, shares = self.quotients[name]
                one_of = z3.And(number.z >= 0, number.z < shares.z)
                above = z3.And(raw >= 0, raw + share.z <= whole.z)
                below = z3.And(raw <= 0, raw + share.z >= whole.z)
                self.know(raw, z3.Implies(z3.And(one_of, whole.z >= 0), above))
                self.know(raw, z3.Implies(z3.And(one_of, whole.z <= 0), below))

    def product(self, left: Term, right: Term) -> Z3:
        """The exact product of two numbers."""
        if z3.is_int_value(left.z) or z3.is_int_value(right.z):
            return left.z * right.z
        pair = sorted((left.z, right.z), key=lambda factor: int(factor.get_id()))
        key = (pair[0].get_id(), pair[1].get_id())
        if key in self._made:
            # The same factors give the same product, wherever they meet.
            return self._made[key][0]
        self.count += 1
        z = z3.Int(f"u!{self.count}")
        self._made[key] = (z, left.z, right.z)
        self.products[f"u!{self.count}"] = (left, right)
        a, b = left.z, right.z
        for fact in (
            z3.Implies(z3.Or(a == 0, b == 0), z == 0),
            z3.Implies(a == 1, z == b),
            z3.Implies(b == 1, z == a),
            z3.Implies(z3.And(a >= 1, b >= 1), z3.And(z >= a, z >= b)),
            z3.Implies(z3.And(a <= -1, b >= 1), z3.And(z <= a, z <= -b)),
            z3.Implies(z3.And(a >= 1, b <= -1), z3.And(z <= -a, z <= b)),
        ):
            self.know(z, fact)
        self.know(z, z3.Implies(z3.And(a >= 0, b >= 0), z >= 0))
        low, high = _product_bounds(left, right)
        if low is not None:
            self.know(z, z >= low)
        if high is not None:
            self.know(z, z <= high)
        self.know_exactly(z, _product_cases(z, a, b))
        return z

    def select(self, condition: Term, left: Term, right: Term) -> Term:
        """One of two values."""
        if z3.is_true(condition.z):
            return left
        if z3.is_false(condition.z):
            return right
        if left.truth:
            return truth_term(
                z3.If(condition.z, left.z, right.z), (condition, left, right), "select"
            )
        return Term(
            z3.If(condition.z, left.z, right.z),
            bits=left.bits if left.bits == right.bits else None,
            low=_least(left.low, right.low),
            high=_greatest(left.high, right.high),
            kind="select",
            operands=(condition, left, right),
        )

    def extreme(self, left: Term, right: Term, *, greatest: bool) -> Term:
        """The greater or the lesser of two."""
        if greatest:
            z = z3.If(left.z >= right.z, left.z, right.z)
            low = _greatest_known(left.low, right.low)
            high = _greatest(left.high, right.high)
        else:
            z = z3.If(left.z <= right.z, left.z, right.z)
            low = _least(left.low, right.low)
            high = _least_known(left.high, right.high)
        return Term(z, bits=left.bits, low=low, high=high, kind="both", operands=(left, right))

    def unsigned(self, term: Term, bits: int) -> Term:
        """The same bits read without a sign."""
        if term.low is not None and term.low >= 0:
            return term
        return Term(
            z3.If(term.z < 0, term.z + (1 << bits), term.z),
            bits=None,
            low=0,
            high=(1 << bits) - 1,
            kind="both",
            operands=(term,),
        )

    def number(self, term: Term, bits: int, *, signed: bool) -> Term:
        """A truth value as a number."""
        one = -1 if signed else 1
        return Term(
            z3.If(term.z, z3.IntVal(one), z3.IntVal(0)),
            bits=bits,
            low=min(one, 0),
            high=max(one, 0),
            kind="both",
            operands=(term,),
        )

    def divide(self, left: Term, right: Term, bits: int, *, remainder: bool) -> Term:
        """A quotient that rounds towards 0, or the remainder that goes with it."""
        if right.low is not None and right.low == right.high and right.low > 0:
            divisor = right.low
            if left.low is not None and left.low >= 0:
                z = left.z % divisor if remainder else left.z / divisor
            elif remainder:
                z = z3.If(left.z >= 0, left.z % divisor, -((-left.z) % divisor))
            else:
                z = z3.If(left.z >= 0, left.z / divisor, -((-left.z) / divisor))
            least, greatest = bounds(bits)
            low = left.low if left.low is not None else least
            high = left.high if left.high is not None else greatest
            if remainder:
                low, high = max(low, -divisor + 1, -(1 << bits)), min(high, divisor - 1)
                low, high = min(low, 0), max(high, 0)
            else:
                low, high = _toward_zero(low, divisor), _toward_zero(high, divisor)
            return Term(z, bits=bits, low=low, high=high, kind="both", operands=(left, right))
        value = self.unknown(bits)
        z, a, b = value.z, left.z, right.z
        if remainder:
            self.remainders[z.decl().name()] = right
            self.know(z, z3.Implies(b > 0, z3.And(z < b, z > -b)))
            self.know(z, z3.Implies(b < 0, z3.And(z < -b, z > b)))
            self.know(z, z3.Implies(z3.And(a >= 0, b != 0), z3.And(z >= 0, z <= a)))
            self.know(z, z3.Implies(z3.And(a <= 0, b != 0), z3.And(z <= 0, z >= a)))
            self.know(z, z3.Implies(z3.And(b > 0, a >= 0, a < b), z == a))
            self.know_exactly(z, z3.Or(b <= 0, *(a == turn * b + z for turn in SMALL_TURNS)))
        else:
            self.quotients[z.decl().name()] = (left, right)
            self.know(z, z3.Implies(z3.And(a >= 0, b > 0), z3.And(z >= 0, z <= a)))
            self.know(z, z3.Implies(z3.And(a <= 0, b > 0), z3.And(z <= 0, z >= a)))
            cases = [
                z3.And(z == turn, z3.If(a >= 0, a - turn * b < b, turn * b - a < b))
                for turn in SMALL_TURNS
            ]
            self.know_exactly(z, z3.Or(b <= 0, *cases))
        return Term(
            z, bits=bits, low=value.low, high=value.high, kind="both", operands=(left, right)
        )


def _product_cases(z: Z3, a: Z3, b: Z3) -> Z3:
    """A product as cases of a small factor: enough to find small counterexamples, and linear."""
    cases = []
    for number in SMALL_TURNS:
        cases.append(z3.And(a == number, z == number * b))
        cases.append(z3.And(b == number, z == number * a))
    return z3.Or(*cases)


def compare(predicate: str, left: Term, right: Term) -> Term:
    """A signed comparison, decided at once where the bounds do."""
    if left.truth:
        z = left.z == right.z if predicate == "eq" else left.z != right.z
        return truth_term(z3.simplify(z), (left, right))
    decided = _decided(predicate, left, right)
    if decided is not None:
        return truth_term(z3.BoolVal(decided), (left, right))
    operators: dict[str, Callable[[Z3, Z3], Z3]] = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    # `number != 0` of a truth value turned into a number is the truth value.
    if predicate in ("ne", "eq") and right.low == right.high == 0 and left.kind == "both":
        (only, *more) = left.operands or (left,)
        if not more and only.truth and z3.is_app(left.z) and left.z.num_args() == 3:
            return only if predicate == "ne" else truth_term(z3.Not(only.z), (only,))
    kind = f"compare_{predicate}"
    return truth_term(operators[predicate](left.z, right.z), (left, right), kind)


def _decided(predicate: str, left: Term, right: Term) -> bool | None:
    if predicate in ("gt", "ge"):
        left, right = right, left
        predicate = {"gt": "lt", "ge": "le"}[predicate]
    if predicate == "lt":
        if left.high is not None and right.low is not None and left.high < right.low:
            return True
        if left.low is not None and right.high is not None and left.low >= right.high:
            return False
    if predicate == "le":
        if left.high is not None and right.low is not None and left.high <= right.low:
            return True
        if left.low is not None and right.high is not None and left.low > right.high:
            return False
    return None


def conjunction(terms: Iterable[Z3]) -> Z3:
    """All of them, without those that are true anyway."""
    kept = [term for term in terms if not z3.is_true(term)]
    if not kept:
        return z3.BoolVal(True)
    return kept[0] if len(kept) == 1 else z3.And(*kept)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _least(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else min(left, right)


def _greatest(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else max(left, right)


def _least_known(left: int | None, right: int | None) -> int | None:
    known = [number for number in (left, right) if number is not None]
    return min(known) if known else None


def _greatest_known(left: int | None, right: int | None) -> int | None:
    known = [number for number in (left, right) if number is not None]
    return max(known) if known else None


def _product_bounds(left: Term, right: Term) -> tuple[int | None, int | None]:
    ends = (left.low, left.high, right.low, right.high)
    if any(end is None for end in ends):
        return None, None
    a, b, c, d = (end for end in ends if end is not None)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _toward_zero(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)
