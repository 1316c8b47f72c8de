"""The small language of rules: parsed once into a typed tree, printed as Python, as words, or else.

    rule       := either [ "implies" rule ]
    either     := every { "or" every }
    every      := negation { "and" negation }
    negation   := "not" negation | comparison
    comparison := sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum }        (chains, as in Python)
    sum        := product { ("+" | "-") product }
    product    := unit { ("*" | "//" | "%") unit }
    unit       := integer | name | "-" unit | "(" rule ")" | call
    call       := "min" | "max" (two or more) · "present" (an optional argument)
                | "length" (tensor [, axis]) · "stride" (tensor, axis) · "is_bool" (a flag)
                | "rank", "itemsize", "address" (a tensor) · "count" (a list)

There are two types, integer and truth value; every tree is one or the other. Division is by a
positive constant only, so that no rule can fail to have a value.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import NoReturn

from kv_canary_codegen.source import listed, nearest


class Type(Enum):
    """What an expression yields."""

    INTEGER = "an integer"
    TRUTH = "a truth value"


class Kind(Enum):
    """What a name stands for."""

    SIZE = "size"
    SCALAR = "scalar"
    FLAG = "flag"
    CONSTANT = "constant"
    TENSOR = "tensor"
    CHOICE = "choice"
    ELEMENT = "element"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A name that an expression may use."""

    name: str
    kind: Kind
    optional: bool = False
    """For a tensor: may be absent."""
    rank: int = 0
    """For a tensor."""
    value: int = 0
    """For a constant."""
    members: tuple[str, ...] = ()
    """For a choice."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the project, by name."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """A size, an integer scalar, a flag, or `it`."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Present:
    """Whether an optional argument is given."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Length:
    """Extent of a tensor along an axis; 0 when an optional tensor is absent."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Stride:
    """Elements from one index to the next along an axis; 0 when an optional tensor is absent."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Rank:
    """Number of a tensor's dimensions; 0 when an optional tensor is absent."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Itemsize:
    """Bytes of a tensor's element; 0 when an optional tensor is absent."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where a tensor begins in memory, in bytes; 0 when an optional tensor is absent."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Count:
    """Items of a list argument."""

    list: str


@dataclass(frozen=True, slots=True)
class IsBool:
    """Whether a flag that a caller gave is a bool at all."""

    flag: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whether a choice argument has this value."""

    choice: str
    member: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`+ - * // %` of two integers."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Extreme:
    """`min` or `max` of two or more integers."""

    function: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain of comparisons: first op item op item ..."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    item: Expr


@dataclass(frozen=True, slots=True)
class Every:
    """Conjunction."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Disjunction."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """If left, then right."""

    left: Expr
    right: Expr


Expr = (
    Integer | Constant | Name | Present | Length | Stride | Rank | Itemsize | Address | Count
    | IsBool | Chosen
    | Arithmetic | Extreme | Compare | Not | Every | Either | Implies
)  # fmt: skip

FUNCTIONS = (
    "present", "length", "stride", "is_bool", "min", "max", "rank", "itemsize", "address", "count"
)  # fmt: skip
KEYWORDS = ("and", "or", "not", "implies")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_TOKEN = re.compile(
    r"\s*(?:(?P<integer>0[xX][0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<operator><=|>=|==|!=|//|[-+*%<>(),\[\]])"
    r"|(?P<other>\S))"
)


class ExprError(Exception):
    """A mistake in an expression, by offset into its text."""

    def __init__(
        self,
        message: str,
        *,
        start: int,
        length: int = 1,
        allowed: str | None = None,
        near: str | None = None,
        unknown: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.length = max(1, length)
        self.allowed = allowed
        self.near = near
        self.unknown = unknown
        """The name at `start` is none that the scope knows."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the language and where it stands."""

    kind: str
    text: str
    start: int


def tokenize(text: str) -> list[Token]:
    """Split an expression into tokens, the last of them `end`."""
    tokens = []
    at = 0
    while match := _TOKEN.match(text, at):
        kind = str(match.lastgroup)
        start = match.start(kind)
        word = match.group(kind)
        if kind == "other":
            if text[start : start + 2] in ("&&", "||"):
                word = text[start : start + 2]
            raise ExprError(
                f"`{word}` has no meaning in an expression",
                start=start,
                length=len(word),
                allowed=_INSTEAD.get(word[0])
                or "integers, names, + - * // %, comparisons, and, or, not, implies",
            )
        if kind == "integer":
            _refuse_number(word, start)
        tokens.append(Token(kind, word, start))
        at = match.end()
        if len(tokens) > MAX_TOKENS:
            raise ExprError(
                "this is too long an expression",
                start=start,
                length=len(word),
                allowed=f"at most {MAX_TOKENS} names, numbers and signs",
            )
    tokens.append(Token("end", "", len(text.rstrip())))
    return tokens


_INSTEAD = {
    "&": "`and`",
    "|": "`or`",
    "!": "`not`, `!=`",
    "=": "`==`, which compares",
    "/": "`//`, which divides",
    "^": "+ - * // %",
}


def _refuse_number(word: str, start: int) -> None:
    hexadecimal = word[:2] in ("0x", "0X")
    if not hexadecimal and len(word) > 1 and word[0] == "0":
        raise ExprError(
            f"`{word}` begins with a zero",
            start=start,
            length=len(word),
            allowed="decimal numbers without leading zeros, or 0x hexadecimal",
        )
    if len(word) > 20 or int(word, 0) >= 1 << 64:
        raise ExprError(
            "this number does not fit in 64 bits",
            start=start,
            length=len(word),
            allowed="0 to 2**64 - 1",
        )


_OF_A_TENSOR: Mapping[str, Callable[[str], Expr]] = {
    "rank": Rank,
    "itemsize": Itemsize,
    "address": Address,
}
"""Functions of a tensor alone."""

Scope = Mapping[str, Symbol]
MAX_DEPTH = 40
MAX_TOKENS = 250
"""A tree of so many tokens is still walked by plain recursion."""


class Parser:
    """One expression: tokens in, a typed tree out; raises ExprError at the first mistake."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self.tokens = tokenize(text)
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Read a token."""
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, *words: str) -> str | None:
        """Read a token if it is one of these."""
        if self.token.kind != "integer" and self.token.text in words and self.token.text:
            return self.take().text
        return None

    def expect(self, word: str) -> None:
        """Read this token or fail."""
        if not self.accept(word):
            self.fail_here(f"`{word}` is missing", allowed=f"`{word}`")

    def fail_here(self, message: str, allowed: str | None = None) -> NoReturn:
        """Raise at the token to be read next."""
        raise ExprError(
            message, start=self.token.start, length=len(self.token.text), allowed=allowed
        )

    def finish(self) -> None:
        """Fail unless everything was read."""
        if self.token.kind != "end":
            self.fail_here(
                f"`{self.token.text}` is left over", allowed="one expression, joined by operators"
            )

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail_here("this is nested too deeply", allowed=f"at most {MAX_DEPTH} levels")

    def rule(self) -> Expr:
        """Read the loosest binding: implies."""
        self._deeper()
        start = self.at
        left = self.either()
        end = self.at
        if self.accept("implies"):
            self.need(left, Type.TRUTH, start, end)
            right_start = self.at
            right = self.rule()
            self.need(right, Type.TRUTH, right_start)
            left = Implies(left, right)
        self.depth -= 1
        return left

    def either(self) -> Expr:
        """Read a disjunction."""
        items = self._joined("or", self.every)
        return items[0] if len(items) == 1 else Either(tuple(items))

    def every(self) -> Expr:
        """Read a conjunction."""
        items = self._joined("and", self.negation)
        return items[0] if len(items) == 1 else Every(tuple(items))

    def _joined(self, word: str, read: Callable[[], Expr]) -> list[Expr]:
        start = self.at
        items = [read()]
        end = self.at
        while self.accept(word):
            self.need(items[-1], Type.TRUTH, start, end)
            start = self.at
            items.append(read())
            end = self.at
            self.need(items[-1], Type.TRUTH, start)
        return items

    def negation(self) -> Expr:
        """Read `not` or a comparison."""
        if self.accept("not"):
            self._deeper()
            start = self.at
            item = self.negation()
            self.need(item, Type.TRUTH, start)
            self.depth -= 1
            return Not(item)
        return self.comparison()

    def comparison(self) -> Expr:
        """Read a chain of comparisons."""
        start = self.at
        chosen = self._chosen()
        if chosen is not None:
            return chosen
        first = self.sum()
        end = self.at
        rest: list[tuple[str, Expr]] = []
        while operator := self.accept(*_COMPARISONS):
            self.need(first if not rest else rest[-1][1], Type.INTEGER, start, end)
            start = self.at
            item = self.sum()
            end = self.at
            self.need(item, Type.INTEGER, start)
            rest.append((operator, item))
        return Compare(first, tuple(rest)) if rest else first

    def _chosen(self) -> Expr | None:
        symbol = self.scope.get(self.token.text)
        if symbol is None or symbol.kind is not Kind.CHOICE:
            return None
        choice = self.take()
        operator = self.accept("==", "!=")
        if operator is None:
            raise ExprError(
                f"`{symbol.name}` is a choice: compare it with one of its values",
                start=choice.start,
                length=len(choice.text),
                allowed=" · ".join(f"{symbol.name} == {member}" for member in symbol.members),
            )
        member = self.take()
        if member.text not in symbol.members:
            raise ExprError(
                f"`{symbol.name}` is never `{member.text}`",
                start=member.start,
                length=len(member.text),
                allowed=", ".join(symbol.members),
                near=nearest(member.text, symbol.members),
                unknown=True,
            )
        chosen = Chosen(symbol.name, member.text)
        return chosen if operator == "==" else Not(chosen)

    def sum(self) -> Expr:
        """Read `+` and `-`."""
        return self._arithmetic(("+", "-"), self.product)

    def product(self) -> Expr:
        """Read `*`, `//` and `%`."""
        return self._arithmetic(("*", "//", "%"), self.unit)

    def _arithmetic(self, operators: tuple[str, ...], read: Callable[[], Expr]) -> Expr:
        start = self.at
        left = read()
        end = self.at
        while operator := self.accept(*operators):
            self.need(left, Type.INTEGER, start, end)
            right_start = self.at
            right = read()
            end = self.at
            self.need(right, Type.INTEGER, right_start)
            if operator in ("//", "%") and not _positive_constant(right):
                place, length = self._stretch(right_start, end)
                raise ExprError(
                    "division by something that could be zero or negative",
                    start=place,
                    length=length,
                    allowed="division by a positive integer or constant",
                )
            left = Arithmetic(operator, left, right)
        return left

    def unit(self) -> Expr:
        """Read an integer, a name, a call, a sign or parentheses."""
        token = self.token
        if self.accept("-"):
            self._deeper()
            start = self.at
            item = self.unit()
            self.need(item, Type.INTEGER, start)
            self.depth -= 1
            return (
                Integer(-item.value)
                if isinstance(item, Integer)
                else Arithmetic("-", Integer(0), item)
            )
        if self.accept("("):
            inner = self.rule()
            self.expect(")")
            return inner
        if token.kind == "integer":
            self.take()
            return Integer(int(token.text, 0))
        if token.kind == "name" and token.text not in KEYWORDS:
            self.take()
            if self.token.text == "(" and token.text not in self.scope:
                self._deeper()
                call = self._call(token)
                self.depth -= 1
                return call
            return self._name(token)
        what = f"`{token.text}` stands" if token.text else "the expression ends"
        raise ExprError(
            f"{what} where a value is wanted",
            start=token.start,
            length=len(token.text),
            allowed="an integer, a name, ( or a call",
        )

    def _call(self, function: Token) -> Expr:
        self.expect("(")
        name = function.text
        if name in ("min", "max"):
            items = [self._integer_item()]
            while self.accept(","):
                items.append(self._integer_item())
            self.expect(")")
            if len(items) < 2:
                raise ExprError(
                    f"`{name}` of one thing",
                    start=function.start,
                    length=len(name),
                    allowed="two or more integers",
                )
            return Extreme(name, tuple(items))
        if name not in FUNCTIONS:
            raise ExprError(
                f"unknown function `{name}`",
                start=function.start,
                length=len(name),
                allowed=", ".join(FUNCTIONS),
                near=nearest(name, FUNCTIONS),
            )
        argument = self.take()
        symbol = self._symbol(argument)
        if name == "is_bool":
            self._need_kind(argument, symbol, Kind.FLAG)
            self.expect(")")
            return IsBool(symbol.name)
        if name == "count":
            self._need_kind(argument, symbol, Kind.LIST)
            self.expect(")")
            return Count(symbol.name)
        self._need_kind(argument, symbol, Kind.TENSOR)
        if name in _OF_A_TENSOR:
            self.expect(")")
            return _OF_A_TENSOR[name](symbol.name)
        if name == "present":
            if not symbol.optional:
                raise ExprError(
                    f"`{symbol.name}` is always present",
                    start=argument.start,
                    length=len(argument.text),
                    allowed="an argument with `optional: true`",
                )
            self.expect(")")
            return Present(symbol.name)
        axis = 0
        if self.accept(","):
            last = name == "stride" and self.accept("-")
            token = self.take()
            if last and token.text == "1":
                self.expect(")")
                return Stride(symbol.name, -1)
            if token.kind != "integer" or int(token.text, 0) >= symbol.rank:
                raise ExprError(
                    f"`{symbol.name}` has no axis `{token.text}`",
                    start=token.start,
                    length=len(token.text),
                    allowed=", ".join(str(i) for i in range(symbol.rank)),
                )
            axis = int(token.text, 0)
        self.expect(")")
        return Length(symbol.name, axis) if name == "length" else Stride(symbol.name, axis)

    def _integer_item(self) -> Expr:
        start = self.at
        item = self.sum()
        self.need(item, Type.INTEGER, start)
        return item

    def _symbol(self, token: Token) -> Symbol:
        symbol = self.scope.get(token.text)
        if symbol is None:
            if token.kind != "name" or token.text in KEYWORDS:
                what = f"`{token.text}` stands" if token.text else "the expression ends"
                raise ExprError(
                    f"{what} where a name is wanted",
                    start=token.start,
                    length=len(token.text),
                    allowed="the name of an argument",
                )
            raise ExprError(
                f"unknown name `{token.text}`",
                start=token.start,
                length=len(token.text),
                allowed=listed(token.text, self.scope),
                near=nearest(token.text, self.scope),
                unknown=True,
            )
        return symbol

    def _need_kind(self, token: Token, symbol: Symbol, kind: Kind) -> None:
        if symbol.kind is not kind:
            raise ExprError(
                f"`{symbol.name}` is a {symbol.kind.value}, not a {kind.value}",
                start=token.start,
                length=len(token.text),
                allowed=listed(token.text, (n for n, s in self.scope.items() if s.kind is kind)),
            )

    def _name(self, token: Token) -> Expr:
        symbol = self._symbol(token)
        if symbol.kind is Kind.CONSTANT:
            return Constant(symbol.name, symbol.value)
        if symbol.kind is Kind.TENSOR:
            raise ExprError(
                f"`{symbol.name}` is a tensor, and a rule never reads what is in one",
                start=token.start,
                length=len(token.text),
                allowed=f"length({symbol.name}), stride({symbol.name}, 0)"
                + (f", present({symbol.name})" if symbol.optional else ""),
            )
        if symbol.kind is Kind.CHOICE:
            raise ExprError(
                f"`{symbol.name}` is a choice: compare it with one of its values",
                start=token.start,
                length=len(token.text),
                allowed=" · ".join(f"{symbol.name} == {member}" for member in symbol.members),
            )
        if symbol.kind is Kind.LIST:
            raise ExprError(
                f"`{symbol.name}` is a list, and no number",
                start=token.start,
                length=len(token.text),
                allowed=f"count({symbol.name})",
            )
        return Name(symbol.name, symbol.kind)

    def _stretch(self, start: int, end: int) -> tuple[int, int]:
        """Offset and length of the text from one token up to another."""
        last = self.tokens[max(start, end - 1)]
        first = self.tokens[start]
        return first.start, last.start + len(last.text) - first.start

    def need(self, expr: Expr, wanted: Type, start: int, end: int | None = None) -> None:
        """Fail unless an expression, of the tokens from `start` up to `end`, has this type."""
        found = type_of(expr)
        if found is not wanted:
            place, length = self._stretch(start, self.at if end is None else end)
            raise ExprError(
                f"this is {found.value}, and {wanted.value} is wanted",
                start=place,
                length=length,
                allowed="a comparison, present(), and, or, not, implies"
                if wanted is Type.TRUTH
                else "integers, sizes, constants, + - * // %, min, max, length, stride",
            )


def _positive_constant(expr: Expr) -> bool:
    return isinstance(expr, Integer | Constant) and expr.value > 0


def parse(text: str, scope: Scope, wanted: Type) -> Expr:
    """Parse one expression of a type; raise ExprError at its first mistake."""
    if not text.strip():
        raise ExprError("this is empty", start=0, allowed=f"an expression that is {wanted.value}")
    parser = Parser(text, scope)
    expr = parser.rule()
    parser.finish()
    parser.need(expr, wanted, 0)
    return expr


def type_of(expr: Expr) -> Type:
    """The type of a tree."""
    match expr:
        case Integer() | Constant() | Length() | Stride() | Arithmetic() | Extreme():
            return Type.INTEGER
        case Rank() | Itemsize() | Address() | Count():
            return Type.INTEGER
        case Name(_, kind):
            return Type.TRUTH if kind is Kind.FLAG else Type.INTEGER
        case _:
            return Type.TRUTH


@cache
def walk(expr: Expr) -> tuple[Expr, ...]:
    """The tree's nodes, a parent before its children."""
    match expr:
        case Arithmetic(_, left, right) | Implies(left, right):
            children: tuple[Expr, ...] = (left, right)
        case Extreme(_, items) | Every(items) | Either(items):
            children = items
        case Compare(first, rest):
            children = (first, *(item for _, item in rest))
        case Not(item):
            children = (item,)
        case _:
            children = ()
    return (expr, *(node for child in children for node in walk(child)))


@cache
def names_in(expr: Expr) -> tuple[str, ...]:
    """Sizes, scalars, flags and choices that a tree reads, in order, each once."""
    names: dict[str, None] = {}
    for node in walk(expr):
        match node:
            case Name(name, _) | IsBool(name) | Chosen(name, _):
                names[name] = None
    return tuple(names)


@cache
def tensors_in(expr: Expr) -> tuple[str, ...]:
    """Tensors whose shape or place in memory a tree reads, in order, each once."""
    return tuple(dict.fromkeys(n.tensor for n in walk(expr) if isinstance(n, OfTensor)))


OfTensor = Length | Stride | Rank | Itemsize | Address
"""What a tree reads of a tensor that is there."""


def axes_read(expr: Expr, tensor: str) -> int:
    """Dimensions that a tensor must have for a tree to be read."""
    needed = 0
    for node in walk(expr):
        if isinstance(node, Length | Stride) and node.tensor == tensor:
            needed = max(needed, node.axis + 1 if node.axis >= 0 else 1)
    return needed


def renamed(expr: Expr, names: Mapping[str, str | int]) -> Expr:
    """A tree with other names in it; a name that stands for a number becomes that number."""

    def new(name: str) -> str:
        return str(names.get(name, name))

    match expr:
        case Name(name, kind):
            value = names.get(name, name)
            return Integer(value) if isinstance(value, int) else Name(value, kind)
        case Constant(name, _):
            value = names.get(name, name)
            return Integer(value) if isinstance(value, int) else expr
        case Present(tensor):
            return Present(new(tensor))
        case Length(tensor, axis):
            return Length(new(tensor), axis)
        case Stride(tensor, axis):
            return Stride(new(tensor), axis)
        case Rank(tensor):
            return Rank(new(tensor))
        case Itemsize(tensor):
            return Itemsize(new(tensor))
        case Address(tensor):
            return Address(new(tensor))
        case Chosen(choice, member):
            return Chosen(new(choice), member)
        case Arithmetic(operator, left, right):
            return Arithmetic(operator, renamed(left, names), renamed(right, names))
        case Extreme(function, items):
            return Extreme(function, tuple(renamed(item, names) for item in items))
        case Compare(first, rest):
            pairs = tuple((operator, renamed(item, names)) for operator, item in rest)
            return Compare(renamed(first, names), pairs)
        case Not(item):
            return Not(renamed(item, names))
        case Every(items):
            return Every(tuple(renamed(item, names) for item in items))
        case Either(items):
            return Either(tuple(renamed(item, names) for item in items))
        case Implies(left, right):
            return Implies(renamed(left, names), renamed(right, names))
        case _:
            return expr


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """What a condition promises, one by one."""
    return expr.items if isinstance(expr, Every) else (expr,)


@cache
def present_in(expr: Expr) -> tuple[str, ...]:
    """Tensors whose presence a tree asks for, in order, each once."""
    return tuple(dict.fromkeys(n.tensor for n in walk(expr) if isinstance(n, Present)))


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def denied(expr: Expr) -> Expr:
    """The tree that holds where this one does not, with `not` pushed as far in as it goes."""
    match expr:
        case Not(item):
            return item
        case Compare(first, ((operator, item),)):
            return Compare(first, ((_OPPOSITE[operator], item),))
        case Every(items):
            return Either(tuple(denied(item) for item in items))
        case Either(items):
            return Every(tuple(denied(item) for item in items))
        case Implies(left, right):
            return Every((left, denied(right)))
        case _:
            return Not(expr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What an abstract call gives a rule to read."""

    names: Mapping[str, int | bool | str]
    shapes: Mapping[str, tuple[int, ...] | None]
    """None: an optional tensor that is absent."""
    strides: Mapping[str, tuple[int, ...] | None]
    itemsizes: Mapping[str, int] = field(default_factory=dict)
    addresses: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def evaluate(expr: Expr, values: Values) -> int:
    """The value of a tree; a truth value is 0 or 1."""
    match expr:
        case Integer(value) | Constant(_, value):
            return value
        case Name(name, _):
            return int(values.names[name])
        case Present(tensor):
            return int(values.shapes[tensor] is not None)
        case Length(tensor, axis):
            shape = values.shapes[tensor]
            return 0 if shape is None else shape[axis]
        case Stride(tensor, axis):
            stride = values.strides[tensor]
            return 0 if stride is None else stride[axis]
        case Rank(tensor):
            return len(values.shapes[tensor] or ())
        case Itemsize(tensor):
            return values.itemsizes.get(tensor, 0)
        case Address(tensor):
            return values.addresses.get(tensor, 0)
        case Count(name):
            return values.counts[name]
        case IsBool(flag):
            return int(isinstance(values.names[flag], bool))
        case Chosen(choice, member):
            return int(values.names[choice] == member)
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, evaluate(left, values), evaluate(right, values))
        case Extreme(function, items):
            numbers = [evaluate(item, values) for item in items]
            return min(numbers) if function == "min" else max(numbers)
        case Compare(first, rest):
            left_value = evaluate(first, values)
            for operator, item in rest:
                right_value = evaluate(item, values)
                if not _compare(operator, left_value, right_value):
                    return 0
                left_value = right_value
            return 1
        case Not(item):
            return int(not evaluate(item, values))
        case Every(items):
            return int(all(evaluate(item, values) for item in items))
        case Either(items):
            return int(any(evaluate(item, values) for item in items))
        case Implies(left, right):
            return int(not evaluate(left, values) or bool(evaluate(right, values)))


def _arithmetic(operator: str, left: int, right: int) -> int:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // right
        case _:
            return left % right


def _compare(operator: str, left: int, right: int) -> bool:
    match operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "==":
            return left == right
        case _:
            return left != right


class Printer(ABC):
    """Shows a tree in some notation: one method a node, children already shown.

    A method returns its text and how tightly that binds (higher binds tighter); `show` wraps a
    child in `group` where it binds more loosely than its place needs.
    """

    ATOM = 100

    def show(self, expr: Expr) -> str:
        """Show a whole tree."""
        return self._shown(expr)[0]

    def _shown(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Integer(value):
                return self.integer(value), self.ATOM
            case Constant(name, value):
                return self.constant(name, value), self.ATOM
            case Name(name, kind):
                return self.name(name, kind), self.ATOM
            case Present(tensor):
                return self.present(tensor)
            case Length(tensor, axis):
                return self.length(tensor, axis), self.ATOM
            case Stride(tensor, axis):
                return self.stride(tensor, axis), self.ATOM
            case Rank(tensor):
                return self.rank(tensor), self.ATOM
            case Itemsize(tensor):
                return self.itemsize(tensor), self.ATOM
            case Address(tensor):
                return self.address(tensor), self.ATOM
            case Count(name):
                return self.count(name), self.ATOM
            case IsBool(flag):
                return self.is_bool(flag), self.ATOM
            case Chosen(choice, member):
                return self.chosen(choice, member)
            case Arithmetic(operator, left, right):
                level = 50 if operator in "+-" else 60
                return self.arithmetic(
                    operator, self._child(left, level), self._child(right, level + 1)
                ), level
            case Extreme(function, items):
                return self.extreme(function, [self.show(item) for item in items]), self.ATOM
            case Compare(first, rest):
                pairs = [(operator, self._child(item, 41)) for operator, item in rest]
                return self.compare(self._child(first, 41), pairs), 40
            case Not(Present(tensor)):
                return self.absent(tensor)
            case Not(Chosen(choice, member)):
                return self.not_chosen(choice, member)
            case Not(item):
                return self.negation(self._child(item, 30)), 30
            case Every(items):
                return self.every([self._child(item, 21) for item in items]), 20
            case Either(items):
                return self.either([self._child(item, 11) for item in items]), 10
            case Implies(left, right):
                return self.implies(left, right)

    def _child(self, expr: Expr, needed: int) -> str:
        text, level = self._shown(expr)
        return text if level >= needed else self.group(text)

    def group(self, text: str) -> str:
        """Wrap what binds too loosely."""
        return f"({text})"

    @abstractmethod
    def integer(self, value: int) -> str:
        """Show a literal."""

    @abstractmethod
    def constant(self, name: str, value: int) -> str:
        """Show a constant."""

    @abstractmethod
    def name(self, name: str, kind: Kind) -> str:
        """Show a size, scalar, flag or `it`."""

    @abstractmethod
    def present(self, tensor: str) -> tuple[str, int]:
        """Show whether an optional argument is given."""

    def absent(self, tensor: str) -> tuple[str, int]:
        """Show that an optional argument is not given."""
        text, level = self.present(tensor)
        return self.negation(text if level >= 30 else self.group(text)), 30

    @abstractmethod
    def length(self, tensor: str, axis: int) -> str:
        """Show an extent."""

    @abstractmethod
    def stride(self, tensor: str, axis: int) -> str:
        """Show a stride."""

    @abstractmethod
    def rank(self, tensor: str) -> str:
        """Show a number of dimensions."""

    @abstractmethod
    def itemsize(self, tensor: str) -> str:
        """Show the bytes of an element."""

    @abstractmethod
    def address(self, tensor: str) -> str:
        """Show where a tensor begins."""

    @abstractmethod
    def count(self, name: str) -> str:
        """Show the length of a list."""

    @abstractmethod
    def is_bool(self, flag: str) -> str:
        """Show whether a flag is a bool."""

    @abstractmethod
    def chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Show a comparison of a choice with a value."""

    def not_chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Show that a choice differs from a value."""
        text, level = self.chosen(choice, member)
        return self.negation(text if level >= 30 else self.group(text)), 30

    @abstractmethod
    def arithmetic(self, operator: str, left: str, right: str) -> str:
        """Show `+ - * // %`."""

    @abstractmethod
    def extreme(self, function: str, items: list[str]) -> str:
        """Show `min` or `max`."""

    @abstractmethod
    def compare(self, first: str, rest: list[tuple[str, str]]) -> str:
        """Show a chain of comparisons."""

    @abstractmethod
    def negation(self, item: str) -> str:
        """Show `not`."""

    @abstractmethod
    def every(self, items: list[str]) -> str:
        """Show a conjunction."""

    @abstractmethod
    def either(self, items: list[str]) -> str:
        """Show a disjunction."""

    @abstractmethod
    def implies(self, left: Expr, right: Expr) -> tuple[str, int]:
        """Show an implication, its sides still trees: a notation may have to turn it around."""


class PythonPrinter(Printer):
    """Shows a tree as Python over local variables; `shapes` says what holds a tensor's shape."""

    def __init__(
        self,
        *,
        identifiers: Mapping[str, str] | None = None,
        optional: frozenset[str] = frozenset(),
        shape: Callable[[str], str] | None = None,
    ) -> None:
        self._identifiers = identifiers or {}
        self._optional = optional
        self._shape = shape

    def _identifier(self, name: str) -> str:
        return self._identifiers.get(name, name)

    def integer(self, value: int) -> str:
        """Show a literal."""
        return str(value)

    def constant(self, name: str, value: int) -> str:
        """Show a constant by its name."""
        return name

    def name(self, name: str, kind: Kind) -> str:
        """Show a variable."""
        return self._identifier(name)

    def present(self, tensor: str) -> tuple[str, int]:
        """Show a test against None."""
        return f"{self._identifier(tensor)} is not None", 40

    def absent(self, tensor: str) -> tuple[str, int]:
        """Show a test against None."""
        return f"{self._identifier(tensor)} is None", 40

    def length(self, tensor: str, axis: int) -> str:
        """Show an entry of the shape."""
        variable = self._identifier(tensor)
        shape = self._shape(tensor) if self._shape else f"{variable}.shape"
        if tensor in self._optional:
            return f"(0 if {variable} is None else {shape}[{axis}])"
        return f"{shape}[{axis}]"

    def stride(self, tensor: str, axis: int) -> str:
        """Show a stride."""
        variable = self._identifier(tensor)
        if tensor in self._optional:
            return f"(0 if {variable} is None else {variable}.stride()[{axis}])"
        return f"{variable}.stride()[{axis}]"

    def _of_tensor(self, tensor: str, attribute: str) -> str:
        variable = self._identifier(tensor)
        shown = f"{variable}.{attribute}"
        return f"(0 if {variable} is None else {shown})" if tensor in self._optional else shown

    def rank(self, tensor: str) -> str:
        """Show the method."""
        return self._of_tensor(tensor, "dim()")

    def itemsize(self, tensor: str) -> str:
        """Show the attribute."""
        return self._of_tensor(tensor, "itemsize")

    def address(self, tensor: str) -> str:
        """Show the method."""
        return self._of_tensor(tensor, "data_ptr()")

    def count(self, name: str) -> str:
        """Show the call."""
        return f"len({self._identifier(name)})"

    def is_bool(self, flag: str) -> str:
        """Show an isinstance test."""
        return f"isinstance({self._identifier(flag)}, bool)"

    def chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Show a comparison of strings."""
        return f'{self._identifier(choice)} == "{member}"', 40

    def not_chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Show a comparison of strings."""
        return f'{self._identifier(choice)} != "{member}"', 40

    def arithmetic(self, operator: str, left: str, right: str) -> str:
        """Show an operation."""
        return f"{left} {operator} {right}"

    def extreme(self, function: str, items: list[str]) -> str:
        """Show a call."""
        return f"{function}({', '.join(items)})"

    def compare(self, first: str, rest: list[tuple[str, str]]) -> str:
        """Show a chain."""
        return first + "".join(f" {operator} {item}" for operator, item in rest)

    def negation(self, item: str) -> str:
        """Show `not`."""
        return f"not {item}"

    def every(self, items: list[str]) -> str:
        """Show `and`."""
        return " and ".join(items)

    def either(self, items: list[str]) -> str:
        """Show `or`."""
        return " or ".join(items)

    def implies(self, left: Expr, right: Expr) -> tuple[str, int]:
        """Show `not left or right`."""
        return f"{self._child(denied(left), 11)} or {self._child(right, 11)}", 10


class SourcePrinter(PythonPrinter):
    """Shows a tree in the rule language itself."""

    def present(self, tensor: str) -> tuple[str, int]:
        """Show the call."""
        return f"present({tensor})", self.ATOM

    def absent(self, tensor: str) -> tuple[str, int]:
        """Show the denied call."""
        return f"not present({tensor})", 30

    def length(self, tensor: str, axis: int) -> str:
        """Show the call."""
        return f"length({tensor}{f', {axis}' if axis else ''})"

    def stride(self, tensor: str, axis: int) -> str:
        """Show the call."""
        return f"stride({tensor}, {axis})"

    def rank(self, tensor: str) -> str:
        """Show the call."""
        return f"rank({tensor})"

    def itemsize(self, tensor: str) -> str:
        """Show the call."""
        return f"itemsize({tensor})"

    def address(self, tensor: str) -> str:
        """Show the call."""
        return f"address({tensor})"

    def count(self, name: str) -> str:
        """Show the call."""
        return f"count({name})"

    def is_bool(self, flag: str) -> str:
        """Show the call."""
        return f"is_bool({flag})"

    def chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Show the comparison."""
        return f"{choice} == {member}", 40

    def not_chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Show the comparison."""
        return f"{choice} != {member}", 40

    def implies(self, left: Expr, right: Expr) -> tuple[str, int]:
        """Show `left implies right`."""
        return f"{self._child(left, 6)} implies {self._child(right, 5)}", 5


_COMPARISON_WORDS = {
    "<": "is less than",
    "<=": "is at most",
    ">": "is greater than",
    ">=": "is at least",
    "==": "equals",
    "!=": "differs from",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class WordsPrinter(Printer):
    """Shows a tree as an English clause, for pages and explanations."""

    def _shown(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Not(Compare(_, (_,)) | Every() | Either() | Implies() | Not() as item):
                return self._shown(denied(item))
            case _:
                return super()._shown(expr)

    def group(self, text: str) -> str:
        """Wrap in parentheses."""
        return f"({text})"

    def integer(self, value: int) -> str:
        """Show a number."""
        return str(value)

    def constant(self, name: str, value: int) -> str:
        """Show name and value."""
        return f"{name} ({value})"

    def name(self, name: str, kind: Kind) -> str:
        """Show a name; a flag is a sentence by itself."""
        return f"{name} is true" if kind is Kind.FLAG else name

    def present(self, tensor: str) -> tuple[str, int]:
        """Say that an argument is given."""
        return f"{tensor} is given", self.ATOM

    def length(self, tensor: str, axis: int) -> str:
        """Say an extent."""
        return f"{tensor}.shape[{axis}]"

    def stride(self, tensor: str, axis: int) -> str:
        """Say a stride."""
        return f"{tensor}.stride({axis})"

    def rank(self, tensor: str) -> str:
        """Say a number of dimensions."""
        return f"{tensor}.dim()"

    def itemsize(self, tensor: str) -> str:
        """Say the bytes of an element."""
        return f"{tensor}.itemsize"

    def address(self, tensor: str) -> str:
        """Say where a tensor begins."""
        return f"{tensor}.data_ptr()"

    def count(self, name: str) -> str:
        """Say how many items a list has."""
        return f"the length of {name}"

    def is_bool(self, flag: str) -> str:
        """Say that a flag is a bool."""
        return f"{flag} is a bool"

    def chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Say a choice."""
        return f'{choice} is "{member}"', 40

    def not_chosen(self, choice: str, member: str) -> tuple[str, int]:
        """Say what a choice is not."""
        return f'{choice} is not "{member}"', 40

    def arithmetic(self, operator: str, left: str, right: str) -> str:
        """Show an operation."""
        return f"{left} {operator} {right}"

    def extreme(self, function: str, items: list[str]) -> str:
        """Say which is taken."""
        if len(items) == 2:
            word = "smaller" if function == "min" else "larger"
        else:
            word = "smallest" if function == "min" else "largest"
        return f"the {word} of {', '.join(items[:-1])} and {items[-1]}"

    def compare(self, first: str, rest: list[tuple[str, str]]) -> str:
        """Say a comparison; `low <= x < high` is told from the middle."""
        if len(rest) == 2:
            (left_op, middle), (right_op, last) = rest
            left_word = _COMPARISON_WORDS[_TURNED[left_op]]
            right_word = _COMPARISON_WORDS[right_op].removeprefix("is ")
            return f"{middle} {left_word} {first} and {right_word} {last}"
        parts = []
        left = first
        for operator, item in rest:
            parts.append(f"{left} {_COMPARISON_WORDS[operator]} {item}")
            left = item
        return " and ".join(parts)

    def negation(self, item: str) -> str:
        """Say a denial."""
        for said, denied in (
            (" is given", " is not given"),
            (" is true", " is false"),
            (" is a bool", " is not a bool"),
        ):
            if item.count(said) == 1 and " and " not in item and " or " not in item:
                return item.replace(said, denied)
        return f"it is not so that {item}"

    def every(self, items: list[str]) -> str:
        """Join by and."""
        return ", and ".join(items)

    def either(self, items: list[str]) -> str:
        """Join by or."""
        return ", or ".join(items)

    def implies(self, left: Expr, right: Expr) -> tuple[str, int]:
        """Say a condition."""
        return f"if {self._child(left, 11)}, then {self._child(right, 11)}", 5
