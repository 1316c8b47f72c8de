"""The rules of a kernel, for the solver: none contradicts, none is idle, tests are smallest.

Note [Two spaces of calls]
"No call does this" is asked over all calls that torch can make: any extents, any sizes given to the
validator by hand, any strides where torch leaves them open. "This call is the smallest" is asked
over the calls that the search for tests may choose from. Smaller is what breaks fewer rules; else
what is less unlike the smallest valid call (100 for a size given by hand, 50 for a dimension that
differs from what its size says, 10 for an optional tensor); else what has numbers nearer to that
call's, and sizes that are no larger in sum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import z3

from kv_canary_codegen import expr as language
from kv_canary_codegen.checks import Check, CheckKind, explicit_sizes
from kv_canary_codegen.expr import Expr
from kv_canary_codegen.model import Dtype, Kernel, Layout, ScalarKind, Spec, TensorArgument
from kv_canary_codegen.prove.arguments import derived_in_order
from kv_canary_codegen.prove.logic import NotModelledError, Scope, shown, translate
from kv_canary_codegen.prove.values import bounds
from kv_canary_codegen.search import Call, Search, TensorValue

Z3 = Any
SECONDS = 20
WIDTHS = ("int32", "int64", "more")


class Verdict(Enum):
    """What was found out about a rule."""

    FINE = "fine"
    KEPT = "kept"
    """Idle, or said by the others, and the spec says why it stays."""
    LARGER = "larger"
    """Fine, but its test has a larger call than it needs."""
    REFUTED = "refuted"
    UNPROVED = "unproved"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """One rule of one kernel."""

    rule: str
    kernel: str
    verdict: Verdict
    never_first: bool
    """No call breaks it before any other rule."""
    implied: bool
    """The other rules together say as much."""
    breaking: str
    """The smallest call that breaks it first, as changes to the smallest valid call."""
    also_breaks: tuple[str, ...]
    """Later rules that this call breaks as well."""
    smallest: str
    """`yes`, or why that is not known."""
    reason: str
    """What is wrong; or, of a rule that is kept, why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberResult:
    """One sum or product that a spec works out."""

    kernel: str
    where: str
    text: str
    fits: str
    """int32, int64, or `more` where some valid call passes int64."""
    verdict: Verdict
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractResult:
    """All about one kernel's rules."""

    kernel: str
    witness: str
    """A valid call, or nothing: then the rules contradict each other."""
    rules: tuple[RuleResult, ...]
    numbers: tuple[NumberResult, ...]


@dataclass(slots=True)
class Space:
    """All calls of a kernel, as symbols; tensors have their dtype, rank and device."""

    kernel: Kernel
    spec: Spec
    searched: Search | None = None
    """Given: only the calls that this search chooses from."""
    conditions: list[Z3] = field(default_factory=list)
    shapes: dict[tuple[str, int], Z3] = field(default_factory=dict)
    given: dict[str, Z3] = field(default_factory=dict)
    scalars: dict[str, Z3] = field(default_factory=dict)
    explicit: dict[str, tuple[Z3, Z3]] = field(default_factory=dict)
    """Of each size that a caller may give by hand, whether he does, and its value."""
    not_bool: dict[str, Z3] = field(default_factory=dict)
    """Of each flag given by hand, whether what is given is no bool."""
    names: dict[str, Z3] = field(default_factory=dict)
    structure: Z3 = None
    """How much of another kind a call is than the smallest valid one."""
    distance: Z3 = None
    """How far its numbers are from that one's."""
    total: Z3 = None
    """The sum of its sizes."""
    sizes: dict[str, Z3] = field(default_factory=dict)
    differs: dict[tuple[str, int], Z3] = field(default_factory=dict)
    _made: dict[str, Z3] = field(default_factory=dict)
    _tensors: dict[str, TensorArgument] = field(default_factory=dict)
    _items: frozenset[str] = frozenset()
    """Integers of the items of lists."""

    def __post_init__(self) -> None:
        self._tensors = {t.path: t for t in self.kernel.tensors}
        self._items = frozenset(s.name for whole in self.kernel.lists for s in whole.scalars)
        least, greatest = bounds(64)
        for tensor in self.kernel.tensors:
            self.given[tensor.path] = (
                z3.Bool(f"given:{tensor.path}") if tensor.optional else z3.BoolVal(True)
            )
            for axis in range(tensor.type.rank):
                self.shapes[tensor.path, axis] = self._integer(
                    f"{tensor.path}.shape[{axis}]", 0, greatest
                )
            for earlier in self.kernel.earlier_items(tensor):
                self.conditions.append(
                    z3.Implies(self.given[tensor.path], self.given[earlier.path])
                )
        for scalar in self.kernel.scalars:
            if scalar.kind is ScalarKind.BOOL:
                self.scalars[scalar.name] = z3.Bool(scalar.name)
            elif scalar.kind is ScalarKind.INT:
                self.scalars[scalar.name] = self._integer(scalar.name, least, greatest)
            elif scalar.kind is ScalarKind.CHOICE:
                self.scalars[scalar.name] = self._integer(scalar.name, 0, len(scalar.choices) - 1)
            else:
                members = [v for _, v, _ in self.spec.enum(scalar.enum or "").members]
                value = self._integer(scalar.name, min(members), max(members))
                self.conditions.append(z3.Or(*(value == member for member in members)))
                self.scalars[scalar.name] = value
        for whole in self.kernel.lists:
            for item in whole.scalars:
                value = self._integer(item.name, least, greatest)
                there = z3.Or(*(self.given[t.path] for t in whole.tensors if t.item == item.item))
                self.scalars[item.name] = z3.If(there, value, z3.IntVal(0))
        self.names.update(self.scalars)
        self._name_sizes()
        if self.searched is not None:
            self._only_searched(self.searched)

    def _integer(self, name: str, low: int | None = None, high: int | None = None) -> Z3:
        z = z3.Int(name)
        if low is not None:
            self.conditions.append(z >= low)
        if high is not None:
            self.conditions.append(z <= high)
        return z

    def _name_sizes(self) -> None:
        by_hand = explicit_sizes(self.kernel)
        flags = {d.name for d in self.kernel.derived if d.truth}
        for size, (tensor, axis) in self.kernel.binders().items():
            own: Z3 = self.shapes[tensor.path, axis]
            if tensor.type.dtype is Dtype.BYTES and axis == tensor.type.rank - 1:
                own = self._product(own, self._itemsize(tensor.path))
            own = z3.If(self.given[tensor.path], own, z3.IntVal(0))
            self.names[size] = self._or_given(size, own) if size in by_hand else own
        for derived in derived_in_order(self.kernel):
            own = translate(derived.expr, self.scope())
            if derived.name in flags:
                is_given, value = z3.Bool(f"by hand:{derived.name}"), z3.Bool(f"as:{derived.name}")
                self.explicit[derived.name] = (is_given, value)
                self.not_bool[derived.name] = z3.Bool(f"no bool:{derived.name}")
                self.conditions.append(z3.Implies(self.not_bool[derived.name], is_given))
                self.names[derived.name] = z3.If(is_given, value, own)
            else:
                self.names[derived.name] = self._or_given(derived.name, own)

    def _or_given(self, size: str, own: Z3) -> Z3:
        is_given, value = z3.Bool(f"by hand:{size}"), z3.Int(f"as:{size}")
        self.explicit[size] = (is_given, value)
        return z3.If(is_given, value, own)

    def scope(self) -> Scope:
        """What names mean in rules."""
        return Scope(
            names=self.names,
            present=lambda path: self.given[path],
            length=self._length,
            stride=self._stride,
            is_bool=lambda flag: z3.Not(self.not_bool.get(flag, z3.BoolVal(False))),
            rank=self._rank,
            itemsize=self._itemsize,
            address=lambda path: self._of_given(path, f"{path}.address"),
            count=self._count,
            multiply=self._product,
            choices={s.name: s.choices for s in self.kernel.scalars},
        )

    def _product(self, left: Z3, right: Z3) -> Z3:
        if z3.is_int_value(left) or z3.is_int_value(right):
            return left * right
        return left * right

    def _of_given(self, path: str, name: str) -> Z3:
        if name not in self._made:
            self._made[name] = self._integer(name, 0)
        return z3.If(self.given[path], self._made[name], z3.IntVal(0))

    def _length(self, path: str, axis: int) -> Z3:
        axis %= self._tensors[path].type.rank
        return z3.If(self.given[path], self.shapes[path, axis], z3.IntVal(0))

    def _rank(self, path: str) -> Z3:
        tensor = self._tensors[path]
        if tensor.item is not None:
            return self._of_given(path, f"{path}.rank")
        return z3.If(self.given[path], z3.IntVal(tensor.type.rank), z3.IntVal(0))

    def _itemsize(self, path: str) -> Z3:
        dtype = self._tensors[path].type.dtype
        if dtype is Dtype.BYTES:
            return self._of_given(path, f"{path}.itemsize")
        return z3.If(self.given[path], z3.IntVal(dtype.itemsize), z3.IntVal(0))

    def _count(self, path: str) -> Z3:
        whole = next(item for item in self.kernel.lists if item.path == path)
        one = [z3.If(self.given[t.path], 1, 0) for t in whole.tensors]
        more = f"{path}.more"
        if more not in self._made:
            self._made[more] = self._integer(more, 0)
        return sum(one[1:], one[0]) + self._made[more]

    def _stride(self, path: str, axis: int) -> Z3:
        tensor = self._tensors[path]
        axis %= tensor.type.rank
        name = f"{path}.stride({axis})"
        if name not in self._made:
            stride = self._integer(name, 0, bounds(64)[1])
            self._made[name] = stride
            if tensor.type.layout is Layout.CONTIGUOUS:
                dims = [self.shapes[path, i] for i in range(tensor.type.rank)]
                step: Z3 = z3.IntVal(1)
                for dim in dims[axis + 1 :]:
                    step = self._product(step, z3.If(dim >= 1, dim, 1))
                settled = z3.And(dims[axis] > 1, *(dim >= 1 for dim in dims))
                # As the search has it: what torch leaves open is as if it were settled.
                always = z3.BoolVal(self.searched is not None)
                self.conditions.append(z3.Implies(z3.Or(always, settled), stride == step))
        return z3.If(self.given[path], self._made[name], z3.IntVal(0))

    # Rules.

    def holds(self, check: Check) -> Z3 | None:
        """That a check passes; None for one that is not about numbers and presence.

        Raises:
            NotModelledError: It reads what the solver is not told.
        """
        if check.kind is CheckKind.WRITTEN and check.rule is not None:
            return self._where_known(check.rule.require)
        if check.kind is CheckKind.LENGTH:
            tensor = check.subject
            assert isinstance(tensor, TensorArgument)
            length = self.shapes[tensor.path, check.axis]
            wanted = translate(check.dim.expr, self.scope())
            right = length >= wanted if check.dim.at_least else length == wanted
            return z3.Implies(self.given[tensor.path], right)
        return None

    def _where_known(self, require: Expr) -> Z3:
        """A rule; one that reads a flag which is no bool waits, unless it asks just that."""
        held = translate(require, self.scope())
        if any(isinstance(node, language.IsBool) for node in language.walk(require)):
            return held
        wrong = [self.not_bool[n] for n in language.names_in(require) if n in self.not_bool]
        return z3.Or(held, *wrong) if wrong else held

    # The calls that the search for tests chooses from.

    def _only_searched(self, search: Search) -> None:
        plain: dict[str, Z3] = {}
        for name in search.base.sizes:
            self.sizes[name] = self._integer(f"size:{name}", 0)
            plain[name] = self.sizes[name]
        for name, value in self.scalars.items():
            plain.setdefault(name, value)
        terms: list[Z3] = []
        numbers: list[Z3] = [z3.IntVal(0)]
        for (path, axis), shape in self.shapes.items():
            tensor = self._tensors[path]
            scope = Scope(
                names=plain,
                present=lambda path: self.given[path],
                length=self._length,
                stride=self._stride,
                is_bool=lambda flag: z3.BoolVal(True),
                rank=self._rank,
                itemsize=self._itemsize,
                address=lambda path: z3.IntVal(0),
                count=self._count,
                choices={s.name: s.choices for s in self.kernel.scalars},
            )
            wanted = translate(tensor.type.dims[axis].expr, scope)
            differs = z3.Bool(f"differs:{path}[{axis}]")
            self.differs[path, axis] = differs
            usual = shape == z3.If(wanted > 0, wanted, z3.IntVal(0))
            self.conditions.append(z3.Implies(self.given[path], z3.Or(differs, usual)))
            self.conditions.append(z3.Implies(differs, self.given[path]))
            terms.append(z3.If(differs, 50, 0))
        base = search.base
        values = search.values(search.call(base)).names
        terms += [
            z3.If(self.given[t.path] == (t.path in base.given), 0, 10)
            for t in self.kernel.tensors
            if t.optional
        ]
        for name, (is_given, value) in self.explicit.items():
            change = _distance(value, values.get(name, 0))
            if name in self.not_bool:
                change = z3.If(self.not_bool[name], 1, change)
            terms.append(z3.If(is_given, 100, 0))
            numbers.append(z3.If(is_given, change, 0))
        numbers += [_distance(size, base.sizes[name]) for name, size in self.sizes.items()]
        for scalar in self.kernel.scalars:
            if scalar.name not in search.shared:
                value = self.scalars[scalar.name]
                start = base.scalars[scalar.name]
                if isinstance(start, str):
                    start = scalar.choices.index(start)
                numbers.append(_distance(value, start))
        for name, item in search.items.items():
            self.conditions.append(z3.Int(name) == item.sample)
        self.structure = sum(terms, z3.IntVal(0))
        self.distance = sum(numbers[1:], numbers[0])
        self.total = sum(self.sizes.values(), z3.IntVal(0))

    def only(self, call: Call) -> list[Z3]:
        """That a call is this one.

        Raises:
            NotModelledError: Something in it is no tensor or number, or lies otherwise in memory.
        """
        found: list[Z3] = []
        if call.structs or call.lists:
            raise NotModelledError("an argument that is none")
        for path, tensor in call.tensors.items():
            if tensor is None:
                found.append(z3.Not(self.given[path]))
                continue
            usual = isinstance(tensor, TensorValue) and not tensor.strided
            if not isinstance(tensor, TensorValue) or not usual or tensor.offset:
                raise NotModelledError(f"{path} lies otherwise in memory")
            found.append(self.given[path])
            if len(tensor.shape) != self._tensors[path].type.rank:
                raise NotModelledError(f"{path} has another rank")
            for axis, extent in enumerate(tensor.shape):
                found.append(self.shapes[path, axis] == extent)
        for name, number in call.scalars.items():
            if name not in self.scalars or name in self._items:
                continue
            if not isinstance(number, int | str):
                raise NotModelledError(f"{name} is no number")
            found.append(self._same(name, self.scalars[name], number))
        for name, (is_given, value) in self.explicit.items():
            if name not in call.sizes:
                found.append(z3.Not(is_given))
                continue
            by_hand = call.sizes[name]
            found.append(is_given)
            if name in self.not_bool:
                found.append(self.not_bool[name] == (not isinstance(by_hand, bool)))
                if isinstance(by_hand, bool):
                    found.append(value == by_hand)
            elif isinstance(by_hand, int):
                found.append(value == int(by_hand))
            else:
                raise NotModelledError(f"{name} is no number")
        return found

    def _same(self, name: str, term: Z3, number: int | str) -> Z3:
        if isinstance(number, str):
            scalar = next(s for s in self.kernel.scalars if s.name == name)
            if number not in scalar.choices:
                raise NotModelledError(f"{name} is no choice")
            return term == scalar.choices.index(number)
        return term == bool(number) if z3.is_bool(term) else term == int(number)

    def described(self, model: Z3) -> str:
        """The sizes and scalars of a model, in words."""
        found = []
        for tensor in self.kernel.tensors:
            if not _true(model, self.given[tensor.path]):
                found.append(f"{tensor.path}=None")
                continue
            dims = [
                str(model.eval(self.shapes[tensor.path, axis], model_completion=True))
                for axis in range(tensor.type.rank)
            ]
            found.append(f"{tensor.path}[{', '.join(dims)}]")
        for name, value in self.scalars.items():
            found.append(f"{name}={model.eval(value, model_completion=True)}")
        for name, (is_given, value) in self.explicit.items():
            if _true(model, is_given):
                wrong = name in self.not_bool and _true(model, self.not_bool[name])
                shown_value = "1" if wrong else model.eval(value, model_completion=True)
                found.append(f"{name}={shown_value} by hand")
        return ", ".join(found)


def _distance(value: Z3, start: Any) -> Z3:
    """How far a value is from another; 1 for another truth value."""
    if z3.is_bool(value):
        return z3.If(value == bool(start), 0, 1)
    return z3.If(value >= int(start), value - int(start), int(start) - value)


def _true(model: Z3, term: Z3) -> bool:
    return bool(z3.is_true(model.eval(term, model_completion=True)))


def ask(space: Space, *terms: Z3) -> Z3 | None:
    """A call of a space of which terms hold, or None where there is none.

    Raises:
        NotModelledError: The solver gave up.
    """
    return _Question(space).model(*terms)


@dataclass(slots=True)
class _Question:
    """A solver over one space."""

    space: Space

    def model(self, *terms: Z3) -> Z3 | None:
        """A call, or None where there is none.

        Raises:
            NotModelledError: The solver gave up.
        """
        solver = z3.Solver()
        solver.set("timeout", SECONDS * 1000)
        solver.set("random_seed", 0)
        solver.add(*self.space.conditions, *terms)
        result = solver.check()
        if result == z3.unknown:
            raise NotModelledError(f"the solver gave up: {solver.reason_unknown()}")
        return solver.model() if result == z3.sat else None

    def least(self, cost: Z3, *terms: Z3) -> int | None:
        """The least cost."""
        solver = z3.Optimize()
        solver.set("timeout", SECONDS * 1000)
        solver.add(*self.space.conditions, *terms)
        solver.minimize(cost)
        if solver.check() != z3.sat:
            return None
        return int(solver.model().eval(cost, model_completion=True).as_long())


def checked_rules(
    spec: Spec, kernel: Kernel, search: Search, kept: Mapping[str, str]
) -> ContractResult:
    """Everything about one kernel's rules.

    Args:
        spec: The whole spec.
        kernel: One of its kernels.
        search: The search for its tests.
        kept: By rule, why it stays although it is idle or said by the others.
    """
    anyone = Space(kernel, spec)
    checks = search.checks
    held: list[tuple[Check, Z3 | None, str]] = []
    for check in checks:
        try:
            held.append((check, anyone.holds(check), ""))
        except NotModelledError as untold:
            held.append((check, None, f"not told to the solver: {untold}"))
    known = [(check, term) for check, term, _ in held if term is not None]
    question = _Question(anyone)
    witness = _witness(spec, kernel, search, question, [term for _, term in known])
    results = []
    for place, (check, term, missing) in enumerate(held):
        if check.kind not in (CheckKind.WRITTEN, CheckKind.LENGTH):
            continue
        if check.rule is not None and check.rule.item:
            continue  # It is the rule of a list's first item, said of another.
        earlier = [other for _, other, _ in held[:place] if other is not None]
        others = [other for o, other in known if o is not check]
        results.append(
            _rule_result(kernel, search, check, question, term, missing, earlier, others, kept)
        )
    return ContractResult(
        kernel=kernel.stem,
        witness=witness,
        rules=tuple(results),
        numbers=tuple(_numbers(kernel, anyone, question, [term for _, term in known])),
    )


def idle_reasons(contracts: Iterable[ContractResult], kept: Mapping[str, str]) -> list[str]:
    """Reasons to keep rules that need none in any kernel, or that are not there."""
    needed = {
        rule.rule
        for contract in contracts
        for rule in contract.rules
        if rule.verdict is Verdict.KEPT
        or (rule.rule in kept and (rule.implied or rule.never_first))
    }
    return [
        f"`{rule}` is said to be kept for a reason, and it is neither idle nor said twice"
        for rule in kept
        if rule not in needed
    ]


def _witness(
    spec: Spec, kernel: Kernel, search: Search, question: _Question, rules: list[Z3]
) -> str:
    """A valid call: the search's, which its own reading of the rules accepts, and the solver's."""
    base = search.call(search.base)
    model = question.model(*rules)
    if model is None:
        return ""
    if search.broken(base):
        return question.space.described(model)
    with contextlib.suppress(NotModelledError):
        model = question.model(*question.space.only(base), *rules) or model
    return question.space.described(model)


def _rule_result(
    kernel: Kernel, search: Search, check: Check, question: _Question, term: Z3 | None,
    missing: str, earlier: list[Z3], others: list[Z3], kept: Mapping[str, str],
) -> RuleResult:  # fmt: skip
    found = search.breaking(check)
    wrong: list[str] = []
    unproved: list[str] = []
    implied = never_first = False
    smallest, smaller = missing, ""
    if term is None:
        never_first = found is None
        if found is None:
            unproved.append(missing or "the search found no call that breaks it")
    else:
        try:
            implied = question.model(*others, z3.Not(term)) is None
            first = question.model(*earlier, z3.Not(term))
            never_first = first is None
            if found is None and first is not None:
                wrong.append(
                    "the search found no call that breaks it first, and there is one: "
                    + question.space.described(first)
                )
            if found is not None and first is None:
                unproved.append("the search breaks it first, and the solver says that none does")
            if found is not None:
                smallest, smaller = _smallest(search, check, *found)
            else:
                smallest = "none exists" if first is None else ""
        except NotModelledError as gave_up:
            unproved.append(str(gave_up))
    why = kept.get(check.id, "")
    said_twice = implied and check.kind is CheckKind.WRITTEN
    idle = never_first and check.kind is CheckKind.WRITTEN
    if (said_twice or idle) and not why:
        wrong.append(
            "no call breaks it first, and nothing says why it is kept" if idle
            else "the other rules say as much, and nothing says why it is kept"
        )  # fmt: skip
    verdict = Verdict.FINE if not smaller else Verdict.LARGER
    if wrong:
        verdict = Verdict.REFUTED
    elif unproved:
        verdict = Verdict.UNPROVED
    elif said_twice or idle:
        verdict = Verdict.KEPT
    return RuleResult(
        rule=check.id,
        kernel=kernel.stem,
        verdict=verdict,
        never_first=never_first,
        implied=implied,
        breaking="" if found is None else _changed(search, found[0]),
        also_breaks=() if found is None else tuple(b.check.id for b in found[1][1:]),
        smallest=smallest,
        reason="; ".join([*wrong, *unproved]) or (why if verdict is Verdict.KEPT else smaller),
    )


def _smallest(search: Search, check: Check, call: Call, broken: list[Any]) -> tuple[str, str]:
    """`yes` or why that is not known, and a smaller call if there is one."""
    space = Space(search.kernel, search.spec, search)
    question = _Question(space)
    terms: list[tuple[Check, Z3]] = []
    for other in search.checks:
        try:
            held = space.holds(other)
        except NotModelledError as missing:
            if other is check:
                return f"not told to the solver: {missing}", ""
            continue
        if held is not None:
            terms.append((other, held))
    try:
        itself = space.only(call)
        structure = question.least(space.structure, *itself)
        if structure is None:
            return "it is none that the search's own space holds", ""
        itself.append(space.structure == structure)
        distance = question.least(space.distance, *itself)
        itself.append(space.distance == distance)
        total = question.least(space.total, *itself)
        place = next(i for i, (other, _) in enumerate(terms) if other is check)
        first = [term for _, term in terms[:place]] + [z3.Not(terms[place][1])]
        flags = [z3.If(term, 0, 1) for _, term in terms]
        count = sum(flags[1:], flags[0])
        number = len(broken)
        nearer = z3.And(space.distance < distance, space.total <= total)
        simpler = z3.Or(space.structure < structure, z3.And(space.structure == structure, nearer))
        better = z3.Or(count < number, z3.And(count == number, simpler))
        model = question.model(*first, better)
    except NotModelledError as missing:
        return f"not asked: {missing}", ""
    if model is None:
        return "yes", ""
    return "no", f"a smaller call breaks it first: {space.described(model)}"


def _changed(search: Search, call: Call) -> str:
    """A call as changes to the smallest valid one."""
    base = search.call(search.base)
    found = []
    for path, tensor in call.tensors.items():
        if tensor == base.tensors[path]:
            continue
        if isinstance(tensor, TensorValue):
            extras = " strided" if tensor.strided else ""
            found.append(f"{path}{list(tensor.shape)}{extras}")
        else:
            found.append(f"{path}={tensor.text if tensor is not None else None}")
    for name, number in call.scalars.items():
        if number != base.scalars[name]:
            found.append(f"{name}={getattr(number, 'text', number)}")
    for name, number in call.sizes.items():
        found.append(f"{name}={getattr(number, 'text', number)} by hand")
    found += [f"{name}={getattr(wrong, 'text', wrong)}" for name, wrong in call.structs.items()]
    return ", ".join(found) or "the smallest valid call"


def _numbers(
    kernel: Kernel, space: Space, question: _Question, rules: list[Z3]
) -> Iterator[NumberResult]:
    """Sums, differences and products of rules, lengths, sizes and grids, in valid calls."""
    by_hand = [z3.Not(is_given) for is_given, _ in space.explicit.values()]
    memory = list(_fits_memory(kernel, space))
    seen: set[tuple[str, str]] = set()
    for where, expr, most in _expressions(kernel):
        for node in language.walk(expr):
            sums = isinstance(node, language.Arithmetic) and node.operator in ("+", "-", "*")
            if not sums and not (node is expr and where == "grid"):
                continue
            text = shown(node)
            if (where, text) in seen or isinstance(node, language.Integer):
                continue
            seen.add((where, text))
            try:
                term = translate(node, space.scope())
                fits, example = _width(question, [*rules, *by_hand, *memory], term)
            except NotModelledError as missing:
                yield NumberResult(
                    kernel=kernel.stem, where=where, text=text, fits="unknown",
                    verdict=Verdict.UNPROVED, example=str(missing),
                )  # fmt: skip
                continue
            # Python's integers do not wrap: only what is launched has a width.
            most_here = most if node is expr else "more"
            good = WIDTHS.index(fits) <= WIDTHS.index(most_here)
            yield NumberResult(
                kernel=kernel.stem,
                where=where,
                text=text,
                fits=fits,
                verdict=Verdict.FINE if good else Verdict.REFUTED,
                example=example,
            )


def _expressions(kernel: Kernel) -> Iterator[tuple[str, Expr, str]]:
    """Where, what, and how wide it may be there."""
    for rule in kernel.rules:
        yield f"rule {rule.id}", rule.require, "more"
    for tensor in kernel.tensors:
        for dim in tensor.type.dims:
            yield f"length of {tensor.path}", dim.expr, "more"
    for derived in kernel.derived:
        yield f"size {derived.name}", derived.expr, "int64"
    for dimension in kernel.grid:
        yield "grid", dimension, "int64"


def _fits_memory(kernel: Kernel, space: Space) -> Iterator[Z3]:
    """That a tensor has fewer than 2**63 bytes."""
    for tensor in kernel.tensors:
        dims = [space.shapes[tensor.path, axis] for axis in range(tensor.type.rank)]
        for axis, dim in enumerate(dims):
            others = [other >= 1 for i, other in enumerate(dims) if i != axis]
            small = dim * tensor.type.dtype.itemsize < 1 << 63
            yield z3.Implies(z3.And(space.given[tensor.path], *others), small)


def _width(question: _Question, valid: list[Z3], term: Z3) -> tuple[str, str]:
    least, greatest = bounds(32)
    if question.model(*valid, z3.Or(term < least, term > greatest)) is None:
        return "int32", ""
    least, greatest = bounds(64)
    model = question.model(*valid, z3.Or(term < least, term > greatest))
    if model is None:
        return "int64", ""
    return "more", question.space.described(model)
