"""Expressions of the rule language, and the texts of a launch, as terms for the solver."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import z3

from kv_canary_codegen import expr as language
from kv_canary_codegen.expr import (
    Address,
    Arithmetic,
    Chosen,
    Compare,
    Constant,
    Count,
    Either,
    Every,
    Expr,
    Extreme,
    Implies,
    Integer,
    IsBool,
    Itemsize,
    Length,
    Name,
    Not,
    Present,
    Rank,
    Stride,
)

Z3 = Any


class NotModelledError(Exception):
    """An expression that the solver is not told about; what it says is left unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What names mean: terms for sizes, scalars and flags, and functions for what tensors have."""

    names: Mapping[str, Z3]
    present: Callable[[str], Z3]
    length: Callable[[str, int], Z3]
    stride: Callable[[str, int], Z3]
    is_bool: Callable[[str], Z3]
    rank: Callable[[str], Z3]
    itemsize: Callable[[str], Z3]
    address: Callable[[str], Z3]
    count: Callable[[str], Z3]
    multiply: Callable[[Z3, Z3], Z3] = field(default=lambda left, right: left * right)
    """The product of two unknowns."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def translate(expr: Expr, scope: Scope) -> Z3:
    """An expression as a term.

    Raises:
        NotModelledError: Something in it has no meaning here.
    """
    match expr:
        case Integer(value) | Constant(_, value):
            return z3.IntVal(value)
        case Name(name, _):
            if name not in scope.names:
                raise NotModelledError(name)
            return scope.names[name]
        case Present(tensor):
            return scope.present(tensor)
        case Length(tensor, axis):
            return scope.length(tensor, axis)
        case Stride(tensor, axis):
            return scope.stride(tensor, axis)
        case Rank(tensor):
            return scope.rank(tensor)
        case Itemsize(tensor):
            return scope.itemsize(tensor)
        case Address(tensor):
            return scope.address(tensor)
        case Count(items):
            return scope.count(items)
        case IsBool(flag):
            return scope.is_bool(flag)
        case Chosen(choice, member):
            if choice not in scope.names or choice not in scope.choices:
                raise NotModelledError(choice)
            return scope.names[choice] == scope.choices[choice].index(member)
        case Arithmetic(operator, left, right):
            return _arithmetic(
                operator, translate(left, scope), translate(right, scope), scope.multiply
            )
        case Extreme(function, items):
            return _extreme(function, [translate(item, scope) for item in items])
        case Compare(first, rest):
            parts = []
            left_term = translate(first, scope)
            for operator, item in rest:
                right_term = translate(item, scope)
                parts.append(_compare(operator, left_term, right_term))
                left_term = right_term
            return z3.And(*parts) if len(parts) > 1 else parts[0]
        case Not(item):
            return z3.Not(translate(item, scope))
        case Every(items):
            return z3.And(*(translate(item, scope) for item in items))
        case Either(items):
            return z3.Or(*(translate(item, scope) for item in items))
        case Implies(left, right):
            return z3.Implies(translate(left, scope), translate(right, scope))
        case _:
            # The language may have grown.
            raise NotModelledError(type(expr).__name__)


def _arithmetic(operator: str, left: Z3, right: Z3, multiply: Callable[[Z3, Z3], Z3]) -> Z3:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            known = z3.is_int_value(left) or z3.is_int_value(right)
            return left * right if known else multiply(left, right)
        case "//":
            # Rounds down, as in Python, for the positive divisors that the language allows.
            return left / right
        case "%":
            return left % right
        case _:
            raise NotModelledError(operator)


def _extreme(function: str, items: list[Z3]) -> Z3:
    result = items[0]
    for item in items[1:]:
        better = item < result if function == "min" else item > result
        result = z3.If(better, item, result)
    return result


def _compare(operator: str, left: Z3, right: Z3) -> Z3:
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
        case "!=":
            return left != right
        case _:
            raise NotModelledError(operator)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchScope:
    """What the variables of a launcher mean: what a launch passes is read from its own text."""

    numbers: Mapping[str, Z3]
    """Scalars, by identifier."""
    present: Callable[[str], bool | None]
    """Whether a tensor is given, by identifier; None for what is no tensor."""
    length: Callable[[str, int], Z3]
    stride: Callable[[str, int], Z3]
    itemsize: Callable[[str], Z3]
    multiply: Callable[[Z3, Z3], Z3]


def launched(text: str, scope: LaunchScope) -> Z3:
    """What a launcher's expression comes to.

    Raises:
        NotModelledError: It has a form that is not read.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise NotModelledError(text) from error
    return _launched(tree, scope)


def _launched(node: ast.expr, scope: LaunchScope) -> Z3:
    match node:
        case ast.Constant(value=bool() as value):
            return z3.BoolVal(value)
        case ast.Constant(value=int() as value):
            return z3.IntVal(value)
        case ast.Name(id=name) if name in scope.numbers:
            return scope.numbers[name]
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=tensor), attr="shape"),
            slice=ast.Constant(value=int() as axis),
        ):
            return scope.length(tensor, axis)
        case (
            ast.Call(
                func=ast.Attribute(value=ast.Name(id=tensor), attr="stride"),
                args=[ast.Constant(value=int() as axis)],
            )
            | ast.Subscript(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=tensor), attr="stride"), args=[]
                ),
                slice=ast.Constant(value=int() as axis),
            )
        ):
            return scope.stride(tensor, axis)
        case ast.Attribute(value=ast.Name(id=tensor), attr="itemsize"):
            return scope.itemsize(tensor)
        case ast.Call(
            func=ast.Attribute(value=ast.Tuple(elts=items), attr="index"),
            args=[ast.Name(id=name)],
        ) if name in scope.numbers and all(isinstance(item, ast.Constant) for item in items):
            # A choice is told by the place of its value.
            return scope.numbers[name]
        case ast.Call(func=ast.Name(id="int"), args=[item]):
            term = _launched(item, scope)
            return z3.If(term, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(term) else term
        case ast.Call(func=ast.Name(id="min" | "max" as function), args=items):
            return _extreme(function, [_launched(item, scope) for item in items])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            condition = z3.simplify(_launched(test, scope))
            if z3.is_true(condition):
                return _launched(body, scope)
            if z3.is_false(condition):
                return _launched(orelse, scope)
            return z3.If(condition, _launched(body, scope), _launched(orelse, scope))
        case ast.Compare(
            left=ast.Name(id=tensor),
            ops=[ast.Is() | ast.IsNot() as operator],
            comparators=[ast.Constant(value=None)],
        ):
            given = scope.present(tensor)
            if given is None:
                raise NotModelledError(ast.unparse(node))
            return z3.BoolVal(given if isinstance(operator, ast.IsNot) else not given)
        case ast.Compare(left=left, ops=operators, comparators=items):
            parts = []
            left_term = _launched(left, scope)
            for operator_node, item in zip(operators, items, strict=True):
                right_term = _launched(item, scope)
                parts.append(_compare(_sign(operator_node), left_term, right_term))
                left_term = right_term
            return z3.And(*parts)
        case ast.BoolOp(op=ast.And(), values=items):
            return z3.And(*(_launched(item, scope) for item in items))
        case ast.BoolOp(op=ast.Or(), values=items):
            return z3.Or(*(_launched(item, scope) for item in items))
        case ast.UnaryOp(op=ast.Not(), operand=item):
            return z3.Not(_launched(item, scope))
        case ast.UnaryOp(op=ast.USub(), operand=item):
            return -_launched(item, scope)
        case ast.BinOp(left=left, op=operator_node, right=right):
            sign = _sign(operator_node)
            right_term = _launched(right, scope)
            if sign in ("//", "%") and not (
                z3.is_int_value(right_term) and right_term.as_long() > 0
            ):
                raise NotModelledError(ast.unparse(node))
            return _arithmetic(sign, _launched(left, scope), right_term, scope.multiply)
        case _:
            raise NotModelledError(ast.unparse(node))


def _sign(operator: ast.operator | ast.cmpop) -> str:
    signs: dict[type, str] = {
        ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
        ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    }  # fmt: skip
    sign = signs.get(type(operator))
    if sign is None:
        raise NotModelledError(type(operator).__name__)
    return sign


def shown(expr: Expr) -> str:
    """An expression as a spec writes it."""
    return language.SourcePrinter().show(expr)
