"""From the model to what a template prints: every decision is made here, under a name."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from kv_canary_codegen import expr as language
from kv_canary_codegen import layout
from kv_canary_codegen.checks import (
    Check,
    CheckKind,
    checks_of,
    explicit_sizes,
    item_sizes,
    message_of,
)
from kv_canary_codegen.expr import Compare, Expr, Integer, IsBool, Kind, Name, PythonPrinter
from kv_canary_codegen.model import (
    Described,
    Dtype,
    Ensure,
    EnsureKind,
    FieldDef,
    Kernel,
    Layout,
    ListArgument,
    ListDef,
    MemoryAccess,
    Piece,
    Rule,
    ScalarArgument,
    ScalarKind,
    Spec,
    Stage,
    StructArgument,
    StructDef,
    TensorArgument,
    TensorType,
    TypeName,
    enum_name,
)
from kv_canary_codegen.search import Call, Search, TensorValue, Wrong, example_calls
from kv_canary_codegen.standard import (
    KIND_TEXTS,
    RuleText,
    expected_of,
    implied_text,
    kind_text,
    message_pattern,
    own_message,
    wanted_type,
)

STAGE_WORDS = {
    Stage.ARGUMENTS: "The arguments are what they claim to be.",
    Stage.LAUNCHER: "The launcher's own rules.",
    Stage.CONTIGUITY: "Contiguity.",
    Stage.DTYPE: "Dtypes.",
    Stage.SIZES: "Rules on sizes.",
    Stage.SHAPE: "Ranks and lengths.",
    Stage.RELATIONS: "Relations between sizes.",
    Stage.DEVICE: "Devices.",
    Stage.RANK: "Ranks.",
    Stage.LENGTH: "Lengths.",
}


Made = TypeVar("Made")


def _once(make: Callable[[Kernel, Spec], Made]) -> Callable[[Kernel, Spec], Made]:
    """Make something of a kernel once, however often it is asked for."""
    made: dict[tuple[int, int], tuple[Kernel, Spec, Made]] = {}

    @wraps(make)
    def asked(kernel: Kernel, spec: Spec) -> Made:
        key = (id(kernel), id(spec))
        if key not in made:
            if len(made) == _MOST_KERNELS:
                made.clear()
            made[key] = (kernel, spec, make(kernel, spec))  # Held, so that no other has the ids.
        return made[key][2]

    return asked


_MOST_KERNELS = 256


class CodePrinter(PythonPrinter):
    """Shows Python as a linter wants it: each `and` in an `or` in parentheses."""

    def _child(self, expr: Expr, needed: int) -> str:
        return super()._child(expr, _TIGHTER_THAN_AND if needed == _TIGHTER_THAN_OR else needed)


_TIGHTER_THAN_OR, _TIGHTER_THAN_AND = 11, 21


# Kernels: parameters, guards, memory accesses.


class TritonPrinter(PythonPrinter):
    """Shows a condition over blocks: no chains, no `and`, each comparison in parentheses."""

    def constant(self, name: str, value: int) -> str:
        """Show a constant by its name, and a member of an enum by its value."""
        return str(value) if "." in name else name

    def compare(self, first: str, rest: list[tuple[str, str]]) -> str:
        """Show a chain as comparisons joined by `&`."""
        parts = []
        left = first
        for operator, item in rest:
            if left.lstrip("-").isdigit():
                turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
                parts.append(f"({item} {turned} {left})")
            else:
                parts.append(f"({left} {operator} {item})")
            left = item
        return " & ".join(parts)

    def every(self, items: list[str]) -> str:
        """Show `&`."""
        return " & ".join(f"({item})" for item in items)

    def either(self, items: list[str]) -> str:
        """Show `|`."""
        return " | ".join(f"({item})" for item in items)

    def negation(self, item: str) -> str:
        """Show a comparison with false."""
        return f"(({item}) == 0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardView:
    """One index of one access, compared with its own dimension."""

    name: str
    statement: str
    argument: str
    index: str
    extent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessView:
    """One load, store or atomic add, ready to print."""

    guards: tuple[GuardView, ...]
    target: str | None
    statement: str
    domain: str | None
    indent: str
    first_line: int
    """In the body's text, from 0."""


def _operand(text: str) -> str:
    """Parentheses around what would bind more loosely than `&` or a method call."""
    if re.fullmatch(r"[\w.]+(\([^()]*\))?|-?\d+", text):
        return text
    return f"({text})"


def _index64(text: str) -> str:
    plain = re.fullmatch(r"\d+|[A-Z][A-Z0-9_]*", text)  # A number, or a constant's name.
    return text if plain else f"{_operand(text)}.to(tl.int64)"


def _block_address(access: MemoryAccess, address: str, wide: frozenset[str]) -> str:
    """The addresses of a block, or of one more dimension, from those of its first elements."""
    tensor = access.tensor
    alignment = str(tensor.type.aligned) if tensor.type.aligned else ""
    if tensor.path in wide:
        alignment = WIDE_ALIGNMENT
    if alignment:
        address = f"tl.multiple_of({address}, {alignment})"
    if access.columns is not None:
        address = address if alignment else f"({address})"
        return f"{address}[:, None] + tl.arange(0, {access.columns})[None, :]"
    return f"{address} + tl.arange(0, {access.span})"


WIDE_ALIGNMENT = "WIDE_ALIGNMENT"
"""Compile-time name of the bytes that wide tensors begin at a multiple of."""


@_once
def _access_views(kernel: Kernel, spec: Spec) -> tuple[AccessView, ...]:
    """The memory accesses of a kernel, in the order in which they stand."""
    wide = frozenset(kernel.wide)
    accesses = sorted(kernel.body.accesses, key=lambda access: access.first_line)
    return tuple(access_view(access, wide) for access in accesses)


def access_view(access: MemoryAccess, wide: frozenset[str]) -> AccessView:
    """A memory access as Triton: 64-bit address, a guard for each index, the cast."""
    tensor = access.tensor
    printer = TritonPrinter()
    guards = []
    masks = [_operand(access.mask)] if access.mask is not None else []
    width = access.span or access.columns
    for axis, guard in enumerate(access.guards):
        if not guard:
            continue
        index = access.indices[axis]
        extent = printer.show(tensor.extent(axis))
        reached = width is not None and axis == tensor.type.rank - 1
        # From the extent the width is taken, which no number of a caller's can make wrap.
        end = f"<= {extent} - {width}" if reached else f"< {extent}"
        guards.append(
            GuardView(
                name=guard,
                statement=layout.statement(
                    f"{guard} = ({index} >= 0) & ({index} {end})", len(access.indent)
                ),
                argument=tensor.path,
                index=index,
                extent=extent,
            )
        )
        masks.append(guard)
    address = _address(access)
    if width is not None:
        address = _block_address(access, address, wide)
    arguments = [address]
    if access.value is not None:
        arguments.append(access.value)
    if masks:
        joined = " & ".join(masks)
        # Triton's interpreter takes a block `&` a scalar condition for an integer, and refuses it
        # as a mask; compared with 0 it is a condition again, and the compiler folds it away.
        if access.span is not None:
            # Nor does it take a scalar for the mask of a block.
            joined = f"tl.full([{access.span}], 1, tl.int1) & {joined}"
        is_joined = len(masks) > 1 or access.span is not None
        mask = f"({joined}) != 0" if is_joined else joined
        if access.columns is not None:
            mask = f"({mask})[:, None]" if is_joined else f"{mask}[:, None]"
        arguments.append(f"mask={mask}")
    if access.operation == "load" and masks:
        arguments.append(f"other={access.other}")
    if access.cache is not None:
        arguments.append(f'eviction_policy="{access.cache}"')
    element = tensor.type.element
    widens = access.target is not None and element.integral
    tail = ").to(tl.int64)" if widens and element.value != "int64" else ")"
    head = f"{access.target} = " if access.target is not None else ""
    statement = layout.call(
        f"{head}tl.{access.operation}(",
        arguments,
        tail,
        indent=len(access.indent),
    )
    domain = None
    if access.operation == "load" and tensor.values is not None and access.checks_domain:
        condition = TritonPrinter(identifiers={"it": access.target or ""}).show(tensor.values.expr)
        domain = layout.statement(f"{access.target}_in_domain = {condition}", len(access.indent))
    return AccessView(
        guards=tuple(guards),
        target=access.target,
        statement=statement,
        domain=domain,
        indent=access.indent,
        first_line=access.first_line,
    )


def _address(access: MemoryAccess) -> str:
    tensor = access.tensor
    pointer = f"{tensor.identifier}_ptr"
    if all(index == "0" for index in access.indices):
        return pointer  # Of a block too: its first element.
    printer = TritonPrinter()
    if tensor.type.layout is Layout.ROWS:
        *rows, column = access.indices
        steps = [
            f"{_index64(index)} * {tensor.identifier}_stride_{axis}"
            for index, axis in zip(rows, tensor.type.axes, strict=False)
        ]
        return " + ".join([pointer, *steps, *([] if access.begins else [_index64(column)])])
    if tensor.type.layout is Layout.STRIDED:
        steps = [
            f"{_index64(index)} * {tensor.identifier}_stride_{axis}"
            for index, axis in zip(access.indices, tensor.type.axes, strict=True)
        ]
        return " + ".join([pointer, *steps])
    offset = _index64(access.indices[0])
    for axis in range(1, tensor.type.rank):
        extent = _operand(printer.show(tensor.extent(axis)))
        offset = f"({offset})" if " + " in offset else offset
        offset = f"{offset} * {extent}"
        if not (access.begins and axis == tensor.type.rank - 1):
            offset += f" + {_index64(access.indices[axis])}"
    return f"{pointer} + {offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterView:
    """One parameter of a kernel and what a launch passes for it."""

    name: str
    declared: str
    """As it stands in the signature."""
    value: str
    """Over the launcher's variables."""
    passed: str
    """What a launch passes: the value, or the tensor as other elements."""
    pointer: bool
    constexpr: bool
    signature: str
    """Triton's type, for compiling without a tensor."""
    optional: bool = False


@_once
def parameters_of(kernel: Kernel, spec: Spec) -> tuple[ParameterView, ...]:
    """A kernel's parameters: pointers, strides, integers, then what is compiled in."""
    words = set(kernel.body.words)
    for view in _access_views(kernel, spec):
        for guard in view.guards:
            words.update(re.findall(r"\w+", guard.statement))
    for access in kernel.body.accesses:
        words.update(re.findall(r"\w+", _address(access)))
        if access.tensor.values is not None:
            words.update(language.names_in(access.tensor.values.expr))
    used = {access.tensor.path for access in kernel.body.accesses}
    found = [
        ParameterView(
            name=f"{tensor.identifier}_ptr",
            declared=f"{tensor.identifier}_ptr",
            value=tensor.identifier,
            passed=tensor.identifier
            if tensor.type.reached is None
            else f"as_elements({tensor.identifier}, torch.{tensor.type.reached.value})",
            pointer=True,
            constexpr=False,
            signature=f"*{tensor.type.element.signature}",
            optional=tensor.optional,
        )
        for tensor in kernel.tensors
        if tensor.path in used or tensor.identifier in kernel.body.words
    ]
    for tensor in kernel.tensors:
        for axis, name in enumerate(tensor.type.axes):
            stride = f"{tensor.identifier}_stride_{name}"
            if stride in words:
                value = f"{tensor.identifier}.stride({axis})"
                if tensor.type.dtype is Dtype.BYTES:
                    itemsize = tensor.type.element.itemsize
                    value = f"{value} * {tensor.identifier}.itemsize // {itemsize}"
                elif tensor.type.packing > 1:
                    value = f"{value} // {tensor.type.packing}"
                if tensor.optional:
                    value = f"0 if {tensor.identifier} is None else {value}"
                found.append(_integer(stride, value))
    binders = kernel.binders()
    for size, (tensor, axis) in binders.items():
        if size in words:
            value = extent_text(tensor, axis)
            if tensor.optional:
                value = f"0 if {tensor.identifier} is None else {value}"
            found.append(_integer(size, value))
    for whole in kernel.lists:
        found += [_integer(s.name, s.name) for s in whole.scalars if s.name in words]
    for derived in kernel.derived:
        if derived.name in words:
            value = f"int({derived.name})" if derived.truth else derived.name
            found.append(_integer(derived.name, value))
    for scalar in kernel.scalars:
        if scalar.name in kernel.variants:
            found.append(
                ParameterView(
                    name=scalar.name.upper(),
                    declared=f"{scalar.name.upper()}: tl.constexpr",
                    value=_variant_value(scalar),
                    passed=_variant_value(scalar),
                    pointer=False,
                    constexpr=True,
                    signature="constexpr",
                )
            )
        elif scalar.name in words:
            plain = scalar.kind is ScalarKind.INT and scalar.enum is None
            value = scalar.name if plain else _variant_value(scalar)
            found.append(_integer(scalar.name, value))
    for each in kernel.classes:
        found += [
            _compiled_in(name, f"{values}[{each.variable}]")
            for name, values in each.values
            if name in kernel.body.words
        ]
    if kernel.wide and any(a.span and a.tensor.path in kernel.wide for a in kernel.body.accesses):
        tensors = ", ".join(kernel.tensor(path).identifier for path in kernel.wide)
        found.append(_compiled_in(WIDE_ALIGNMENT, f"alignment_of({tensors})"))
    return tuple(sorted(found, key=lambda p: (p.constexpr, not p.pointer, p.optional)))


def _compiled_in(name: str, value: str) -> ParameterView:
    return ParameterView(
        name=name,
        declared=f"{name}: tl.constexpr",
        value=value,
        passed=value,
        pointer=False,
        constexpr=True,
        signature="constexpr",
    )


def combinations(kernel: Kernel, spec: Spec) -> tuple[tuple[int, ...], ...]:
    """Every combination of what is compiled in, in the order of the parameters.

    Values that follow from one size change together.
    """
    return tuple(tuple(named.values()) for named, _ in _variants(kernel, spec))


@_once
def _variants(kernel: Kernel, spec: Spec) -> list[tuple[dict[str, int], int]]:
    """Each combination of what is compiled in, by name, and its warps."""
    names = [p.name for p in parameters_of(kernel, spec) if p.constexpr]
    own: dict[str, tuple[int, ...]] = {}
    for name in names:
        if name == WIDE_ALIGNMENT:
            own[name] = ALIGNMENTS
        elif not any(name in dict(each.values) for each in kernel.classes):
            own[name] = _numbers_of(kernel, name.lower(), spec)
    found: dict[tuple[int, ...], tuple[dict[str, int], int]] = {}
    for places in itertools.product(*(range(len(each.up_to)) for each in kernel.classes)):
        classed: dict[str, int] = {}
        warps = kernel.num_warps
        for each, place in zip(kernel.classes, places, strict=True):
            classed |= {name: values[place] for name, values in each.values}
            warps = each.num_warps[place] if each.num_warps else warps
        for values in itertools.product(*own.values()):
            known = {**classed, **dict(zip(own, values, strict=True))}
            named = {name: known[name] for name in names}
            found.setdefault((*named.values(), warps), (named, warps))
    return list(found.values())


ALIGNMENTS = (16, 8)
"""Bytes that wide tensors begin at a multiple of: the usual ones first."""


def _integer(name: str, value: str) -> ParameterView:
    return ParameterView(
        name=name,
        declared=f"{name}: tl.int64",
        value=value,
        passed=value,
        pointer=False,
        constexpr=False,
        signature="i64",
    )


def extent_text(tensor: TensorArgument, axis: int, shape: str = "") -> str:
    """A dimension of a tensor as a launcher reads it: of bytes, the last is counted in bytes."""
    text = f"{shape or tensor.identifier + '.shape'}[{axis}]"
    if tensor.type.dtype is Dtype.BYTES and axis == tensor.type.rank - 1:
        return f"{text} * {tensor.identifier}.itemsize"
    return text


def struct_locals(kernel: Kernel, words: set[str]) -> tuple[tuple[str, str], ...]:
    """Variables that stand for the fields of struct arguments, and what each one is.

    Args:
        kernel: The kernel.
        words: Names that are wanted; of a list, its items come with what is wanted of them.
    """
    found: list[tuple[str, str]] = []
    for struct in kernel.structs:
        found += [(t.identifier, t.path) for t in struct.fields if t.identifier in words]
        found += [(s.name, s.path) for s in struct.scalars if s.name in words]
        for whole in struct.lists:
            fields = [(t.identifier, t.item, t.path.rpartition(".")[2]) for t in whole.tensors]
            fields += [(s.name, s.item, s.field) for s in whole.scalars]
            wanted = [f for f in fields if f[0] in words]
            if whole.name in words or wanted:
                found.append((whole.name, whole.path))
            for item in range(whole.at_most):
                own = [f for f in wanted if f[1] == item]
                name = f"{whole.item}_{item}"
                if own or name in words:
                    some = f"{whole.name}[{item}] if len({whole.name}) > {item} else None"
                    found.append((name, some))
                tensors = {t.identifier for t in whole.tensors}
                for identifier, _, field in own:
                    absent = None if identifier in tensors else 0
                    found.append((identifier, f"{absent} if {name} is None else {name}.{field}"))
    return tuple(found)


def _variant_value(scalar: ScalarArgument) -> str:
    if scalar.kind is ScalarKind.CHOICE:
        names = ", ".join(layout.literal(choice) for choice in scalar.choices)
        return f"({names}).index({scalar.name})"
    return f"int({scalar.name})"


def launch_printer(kernel: Kernel) -> PythonPrinter:
    """Shows an expression over the launcher's own variables."""
    identifiers = _identifiers(kernel)
    optional = frozenset(t.path for t in kernel.tensors if t.optional)
    for size, (tensor, axis) in kernel.binders().items():
        shape = extent_text(tensor, axis)
        identifiers[size] = (
            f"(0 if {tensor.identifier} is None else {shape})" if tensor.optional else shape
        )
    return CodePrinter(identifiers=identifiers, optional=optional)


def launch_sizes(kernel: Kernel, words: set[str]) -> tuple[tuple[str, str], ...]:
    """Derived sizes that a launch reads, in order, each over those before it."""
    printer = launch_printer(kernel)
    needed = set(words)
    for derived in reversed(kernel.derived):
        if derived.name in needed:
            needed |= set(language.names_in(derived.expr))
    return tuple((d.name, printer.show(d.expr)) for d in kernel.derived if d.name in needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelView:
    """A kernel module."""

    stem: str
    function: str
    summary: str
    details: str
    constants: tuple[str, ...]
    blocks: tuple[tuple[str, int], ...]
    choices: tuple[tuple[str, int], ...]
    """Names for the values of compiled-in choices."""
    helpers: str
    parameters: tuple[ParameterView, ...]
    unspecialized: str
    lines: tuple[str | AccessView, ...]
    guards: tuple[GuardView, ...]


@_once
def kernel_view(kernel: Kernel, spec: Spec) -> KernelView:
    """What the kernel template prints."""
    views = _access_views(kernel, spec)
    lines: list[str | AccessView] = []
    begin = 0
    for view in views:
        lines += layout.block(kernel.body.lines[begin : view.first_line])
        lines.append(view)
        begin = view.first_line + 1
    lines += layout.block(kernel.body.lines[begin:])
    while lines and lines[-1] == "":
        lines.pop()
    parameters = parameters_of(kernel, spec)
    words = set(kernel.body.words)
    accessed = {access.tensor.path: access.tensor for access in kernel.body.accesses}
    for tensor in accessed.values():
        exprs: list[Expr] = [dim.expr for dim in tensor.type.dims]
        exprs += [tensor.values.expr] if tensor.values is not None else []
        for expr in exprs:
            words.update(re.findall(r"\w+", TritonPrinter().show(expr)))
    names = [layout.literal(p.name) for p in parameters if not p.constexpr]
    choices = [
        (f"{scalar.name}_{choice}".upper(), number)
        for scalar in kernel.scalars
        if scalar.kind is ScalarKind.CHOICE
        for number, choice in enumerate(scalar.choices)
    ]
    choices += [
        (enum_name(enum.name, member), value)
        for enum in spec.enums
        for member, value, _ in enum.members
    ]
    guards: dict[str, GuardView] = {}
    for view in views:
        for guard in view.guards:
            guards.setdefault(guard.name, guard)
    return KernelView(
        stem=kernel.stem,
        function=f"_{kernel.stem}_kernel",
        summary=kernel.summary,
        details=layout.wrapped(kernel.details) if kernel.details else "",
        constants=tuple(c.name for c in spec.constants if c.name in words),
        blocks=tuple(b for b in kernel.blocks if b[0] in words),
        choices=tuple(c for c in choices if c[0] in words),
        helpers="\n".join(layout.block(kernel.body.helpers.split("\n"))),
        parameters=parameters,
        unspecialized=layout.call("UNSPECIALIZED = [", names, "]", indent=0),
        lines=tuple(lines),
        guards=tuple(guards.values()),
    )


# Validators.


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureItem:
    """One keyword of a launcher or validator."""

    name: str
    annotation: str
    default: str | None
    doc: str
    """With shape and dtype."""


def signature_of(kernel: Kernel) -> tuple[SignatureItem, ...]:
    """A launcher's keywords in calling order."""
    found = []
    for argument in kernel.arguments:
        if isinstance(argument, TensorArgument):
            found.append(
                SignatureItem(
                    name=argument.path,
                    annotation="Tensor | None" if argument.optional else "Tensor",
                    default="None" if argument.defaults_to_none else None,
                    doc=f"{shape_text(argument)}. {argument.doc}"
                    + (" Optional." if argument.optional else ""),
                )
            )
        elif isinstance(argument, StructArgument):
            found.append(
                SignatureItem(
                    name=argument.name,
                    annotation=argument.struct,
                    default=None,
                    doc=f"{argument.struct}. {argument.doc}",
                )
            )
        else:
            found.append(
                SignatureItem(
                    name=argument.name,
                    annotation=_annotation(argument),
                    default=argument.default,
                    doc=f"{wanted_type(argument)}. {argument.doc}",
                )
            )
    return tuple(found)


def shape_text(tensor: TensorArgument) -> str:
    """`int64 [bs]`, for docstrings and pages."""
    printer = language.SourcePrinter()
    dims = ", ".join(
        (">= " if dim.at_least else "") + printer.show(dim.expr) for dim in tensor.type.dims
    )
    return f"{tensor.type.dtype.value} [{dims}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorView:
    """A validator module."""

    stem: str
    launcher: str
    signature: tuple[SignatureItem, ...]
    sizes: tuple[tuple[str, str], ...]
    """Explicit sizes: name, annotation."""
    no_sizes: str
    fields: tuple[tuple[str, str], ...]
    """Local variable and struct field that it stands for."""
    first_terms: str
    field_terms: str
    """Over the scalars and lists of struct arguments."""
    tensor_terms: str
    bindings: tuple[str, ...]
    last_terms: str
    certain: str
    inspection: tuple[str, ...]
    """Statements of the second function, one check each, with stage comments."""
    structs: tuple[str, ...]
    enums: tuple[str, ...]
    constants: tuple[str, ...]
    torch_names: tuple[str, ...]
    """What is imported out of torch."""
    errors: tuple[str, ...]
    """Rules that raise a TypeError as well."""


def structs_of(kernel: Kernel) -> tuple[str, ...]:
    """Names of the structs that a kernel's callers pass."""
    return tuple(
        sorted({s.struct for s in kernel.structs} | {whole.struct for whole in kernel.lists})
    )


def _errors(kernel: Kernel, checks: tuple[Check, ...]) -> tuple[str, ...]:
    kinds = {kind for kind, _ in kernel.also}
    return tuple(check.id for check in checks if check.kind.value in kinds)


def validator_view(kernel: Kernel, spec: Spec) -> ValidatorView:
    """What the validator template prints."""
    checks = checks_of(kernel)
    sizes = explicit_sizes(kernel)
    flags = {d.name for d in kernel.derived if d.truth}
    fast = _Fast(kernel, spec, checks)
    inspection = _Inspection(kernel, spec, checks).statements()
    text = "\n".join((*inspection, fast.last, fast.tensors, fast.fields, *fast.bindings))
    words = set(re.findall(r"\w+", text))
    constants = [c.name for c in spec.constants if c.name in words]
    owners = set(re.findall(r"(\w+)\.", text))
    enums = {s.enum for s in kernel.scalars if s.enum} | {
        e.name for e in spec.enums if e.name in owners
    }
    signature = signature_of(kernel)
    fields = struct_locals(
        kernel,
        {t.identifier for t in kernel.tensors}
        | {s.name for s in kernel.scalars}
        | {whole.name for whole in kernel.lists}
        | set(re.findall(r"\w+", fast.last)),
    )
    has_tensor = bool(fields) or any(item.annotation in _TENSORS for item in signature)
    return ValidatorView(
        stem=kernel.stem,
        launcher=kernel.launcher,
        signature=signature,
        sizes=tuple((s, "bool | None" if s in flags else "int | None") for s in sizes),
        no_sizes=_no_sizes(sizes),
        fields=fields,
        first_terms=fast.first,
        field_terms=fast.fields,
        tensor_terms=fast.tensors,
        bindings=fast.bindings,
        last_terms=fast.last,
        certain=fast.certain,
        inspection=inspection,
        structs=structs_of(kernel),
        enums=tuple(sorted(enums)),
        constants=tuple(constants),
        errors=_errors(kernel, checks),
        torch_names=(
            *(["Tensor"] if has_tensor else []),
            *sorted(
                "bool as torch_bool" if t is Dtype.BOOL else t.value
                for t in {tensor.type.dtype for tensor in kernel.tensors}
                if t is not Dtype.BYTES
            ),
        ),
    )


_TENSORS = ("Tensor", "Tensor | None")
"""Annotations of tensors that a caller passes."""


def _no_sizes(sizes: tuple[str, ...]) -> str:
    """A chain of `is`: None only where no size is given; one load and one test a size."""
    if not sizes:
        return ""
    return layout.statement(f"derived = {' is '.join([*sizes, 'None'])}", 4)


def _dtype_name(tensor: TensorArgument) -> str:
    """A dtype's name in a validator, where Python's own bool is needed too."""
    return "torch_bool" if tensor.type.dtype is Dtype.BOOL else tensor.type.dtype.value


class _Fast:
    """The fast conjunction: types and tensors, then sizes, then lengths and rules."""

    def __init__(self, kernel: Kernel, spec: Spec, checks: tuple[Check, ...]) -> None:
        self.kernel = kernel
        self.spec = spec
        self.shaped: dict[tuple[Expr, ...], str] = {}
        self.shapes: dict[str, str] = {}
        """Of each tensor, by its path, where its shape is read."""
        self.pending: list[Check] = []
        binders = kernel.binders()
        self.first = self._condition(self._first_terms())
        self.fields = self._condition(self._field_terms())
        reference = kernel.reference_tensor
        terms: list[str] = []
        ordered = [reference, *(t for t in kernel.checked if t.path != reference.path)]
        lengths = {(c.argument, c.axis): c for c in checks if c.kind is CheckKind.LENGTH}
        for tensor in ordered:
            terms.extend(self._tensor_terms(tensor, lengths, binders))
        self.bindings = tuple(self._bindings(binders))
        last = [self._length(check, binders) for check in self.pending]
        skipped = []
        for check in checks:
            if check.rule is None:
                continue
            if _certain(check.rule.require, kernel):
                skipped.append(check.id)
                continue
            term = self._rule(check.rule)
            same = next((i for i, other in enumerate(last) if other.endswith(f"\n{term}")), None)
            if same is None:
                last.append(f"# {check.id}\n{term}")
            else:
                last[same] = f"# {check.id}\n{last[same]}"
        words = Counter(re.findall(r"\w+", "\n".join([*self.bindings, *last, *terms])))
        terms = [self._read_once(term, words) for term in terms]
        # Where nothing else is asked, the answer is what is asked of the tensors.
        self.tensors = self._condition(terms) if last else ""
        self.last = layout.chain("and", last or terms, indent=8, head="return (", tail=")")
        self.certain = (
            layout.commented(
                "Certain where no size is given: " + ", ".join(skipped) + ".", indent=8
            )
            if skipped
            else ""
        )

    def _read_once(self, term: str, words: Counter[str]) -> str:
        """A rank without keeping the shape, where nothing reads the shape again."""

        def rank(match: re.Match[str]) -> str:
            name = match.group(1)
            kept = words[f"{name}_shape"] > 1
            return match.group() if kept else f"{name}.dim() == {match.group(2)}"

        return re.sub(r"len\((\w+)_shape := \w+\.shape\) == (\d+)", rank, term)

    def _condition(self, terms: list[str]) -> str:
        if not terms:
            return ""
        return layout.chain("and", terms, indent=8, head="if not (", tail="):")

    def _first_terms(self) -> list[str]:
        terms = [f"isinstance({s.name}, {s.struct})" for s in self.kernel.structs]
        for scalar in self.kernel.scalars:
            if not scalar.owner:
                terms += self._scalar_terms(scalar)
        return terms

    def _field_terms(self) -> list[str]:
        terms: list[str] = []
        for scalar in self.kernel.scalars:
            if scalar.owner:
                terms += self._scalar_terms(scalar)
        for whole in self.kernel.lists:
            terms.append(f"{whole.name}.__class__ in (tuple, list)")
            for item in range(whole.at_most):
                name = f"{whole.item}_{item}"
                there = f"len({whole.name}) <= {item}"
                terms.append(f"({there} or {name}.__class__ is {whole.struct})")
        return terms

    def _scalar_terms(self, scalar: ScalarArgument) -> list[str]:
        extents = {dim.binds for t in self.kernel.tensors if not t.optional for dim in t.type.dims}
        name = scalar.name
        match scalar.kind:
            case ScalarKind.INT:
                exact = f"{name}.__class__ is int"
                terms = [
                    f"({exact} or isinstance({name}, {scalar.enum}))" if scalar.enum else exact
                ]
                if name not in extents:  # An extent that it must equal is in range.
                    terms.append(f"{-(2**63)} <= {name} <= {2**63 - 1}")
                return terms
            case ScalarKind.BOOL:
                return [f"{name}.__class__ is bool"]
            case ScalarKind.CHOICE:
                choices = ", ".join(layout.literal(choice) for choice in scalar.choices)
                return [f"{name}.__class__ is str", f"{name} in ({choices})"]
            case _:
                if self.spec.enum(scalar.enum or "").flags:
                    return [f"isinstance({name}, {scalar.enum})"]
                members = self.spec.enum(scalar.enum or "").members
                values = ", ".join(str(value) for _, value, _ in members)
                plain = f"{name}.__class__ is int and {name} in ({values})"
                return [f"(isinstance({name}, {scalar.enum}) or ({plain}))"]

    def _tensor_terms(
        self,
        tensor: TensorArgument,
        lengths: dict[tuple[str, int], Check],
        binders: dict[str, tuple[TensorArgument, int]],
    ) -> list[str]:
        name = tensor.identifier
        contiguous = tensor.type.layout is Layout.CONTIGUOUS
        terms = [f"is_contiguous({name})" if contiguous else f"isinstance({name}, Tensor)"]
        if tensor.type.dtype is not Dtype.BYTES:
            terms.append(f"{name}.dtype is {_dtype_name(tensor)}")
        if len(self.kernel.tensors) == 1:
            pass  # There is no other device to differ from.
        elif tensor.path == self.kernel.device_of:
            terms.append(f"(device := {name}.device) is not None")
        else:
            terms.append(f"{name}.device == device")
        if tensor.item is not None:
            return [self._if_given(tensor, terms[1:])]  # A tensor since its struct was made.
        dims = tuple(dim.expr for dim in tensor.type.dims)
        exact = not any(dim.at_least for dim in tensor.type.dims)
        own = [lengths.get((tensor.path, axis)) for axis in range(tensor.type.rank)]
        self.shapes[tensor.path] = f"{name}.shape"
        if exact and all(isinstance(dim, Integer) for dim in dims):
            shape = ", ".join(str(dim.value) for dim in dims if isinstance(dim, Integer))
            terms.append(f"{name}.shape == ({shape}{',' if len(dims) == 1 else ''})")
        elif exact and dims in self.shaped:
            terms.append(f"{name}.shape == {self.shaped[dims]}")
            if not tensor.optional:
                self.shapes[tensor.path] = self.shaped[dims]
        else:
            self.shapes[tensor.path] = f"{name}_shape"
            terms.append(f"len({name}_shape := {name}.shape) == {tensor.type.rank}")
            bound = [binders.get(dim.binds or "", (None, 0)) for dim in tensor.type.dims]
            if not tensor.optional and exact and all(dim.binds for dim in tensor.type.dims):
                self.shaped[dims] = f"{name}_shape"  # Its own lengths are checked below.
            for axis, check in enumerate(own):
                if check is not None and bound[axis] != (tensor, axis):
                    self.pending.append(check)
        if not tensor.optional:
            return terms
        return [self._if_given(tensor, terms)]

    def _if_given(self, tensor: TensorArgument, terms: list[str]) -> str:
        name = tensor.identifier
        if not terms:
            return ""
        if len(terms) == 1:
            return f"({name} is None or {terms[0]})"
        return f"({name} is None or ({' and '.join(terms)}))"

    def _bindings(self, binders: dict[str, tuple[TensorArgument, int]]) -> list[str]:
        text = " ".join(
            [language.SourcePrinter().show(c.dim.expr) for c in self.pending]
            + [
                language.SourcePrinter().show(r.require)
                for r in self.kernel.rules
                if not _certain(r.require, self.kernel)
            ]
        )
        needed = set(re.findall(r"\w+", text))
        for derived in reversed(self.kernel.derived):
            if derived.name in needed:
                needed |= set(language.names_in(derived.expr))
        found = []
        for size, (tensor, axis) in binders.items():
            if size in needed:
                if tensor.item is None:
                    shape = f"{self.shapes[tensor.path]}[{axis}]"
                else:
                    shape = extent_text(tensor, axis)
                if tensor.optional:
                    shape = f"0 if {tensor.identifier} is None else {shape}"
                found.append(f"{size} = {shape}")
        for derived in self.kernel.derived:
            if derived.name in needed:
                found.append(f"{derived.name} = {self._printer().show(derived.expr)}")
        return [layout.statement(binding, 8) for binding in found]

    def _printer(self, given: tuple[str, ...] = ()) -> PythonPrinter:
        shaped = {
            t.path: self.shapes[t.path] if t.item is None else f"{t.identifier}.shape"
            for t in self.kernel.tensors
        }
        return CodePrinter(
            identifiers=_identifiers(self.kernel),
            optional=frozenset(
                t.path for t in self.kernel.tensors if t.optional and t.path not in given
            ),
            shape=lambda path: shaped[path],
        )

    def _length(self, check: Check, binders: dict[str, tuple[TensorArgument, int]]) -> str:
        tensor = check.subject
        assert isinstance(tensor, TensorArgument)
        operator = ">=" if check.dim.at_least else "=="
        wanted = self._printer().show(check.dim.expr)
        term = f"{tensor.identifier}_shape[{check.axis}] {operator} {wanted}"
        return f"({tensor.identifier} is None or {term})" if tensor.optional else term

    def _rule(self, rule: Rule) -> str:
        printer = self._printer(promised(rule.require))
        require = _without_certain_bound(rule.require, self.kernel)
        if isinstance(require, language.Implies):
            require = language.Either((language.denied(require.left), require.right))
        return _in_chain(require, printer)


def _identifiers(kernel: Kernel) -> dict[str, str]:
    """What validators and launchers call a tensor or list that a caller passes by a path."""
    return {t.path: t.identifier for t in kernel.tensors} | {w.path: w.name for w in kernel.lists}


def promised(require: Expr) -> tuple[str, ...]:
    """Tensors that are given wherever the last part of a rule is read."""
    if not isinstance(require, language.Implies):
        return ()
    items = language.conjuncts(require.left)
    return tuple(item.tensor for item in items if isinstance(item, language.Present))


def _without_certain_bound(require: Expr, kernel: Kernel) -> Expr:
    """`0 <= extent <= high` without its lower half, which an extent cannot break."""
    match require:
        case Compare(Integer(low), (("<=", Name(name, _) as extent), *rest)):
            if low <= 0 and rest and name in kernel.binders():
                return Compare(extent, tuple(rest))
    return require


def _certain(require: Expr, kernel: Kernel) -> bool:
    """Whether a rule cannot break where no size is given and all lengths are right."""
    derived = {d.name: d.expr for d in kernel.derived}
    extents = {dim.binds for t in kernel.tensors if not t.optional for dim in t.type.dims}
    match require:
        case IsBool():
            return True
        case Compare(Name(name, _), (("==", right),)):
            return derived.get(name) == right
        case Compare(Name(name, _), ((">=", Integer(low)),)):
            return low <= 0 and (name in kernel.binders() or name in extents)
        case language.Implies(
            language.Not(Name(flag, _)), Compare(Name(size, _), (("==", Integer(0)),))
        ):
            # Without the optional tensor that binds it, a size is 0.
            tensor = kernel.binders().get(size, (None, 0))[0]
            return tensor is not None and derived.get(flag) == language.Present(tensor.path)
    return False


class _Inspection:
    """The second function: each check in order, one statement, its rule's id in it."""

    def __init__(self, kernel: Kernel, spec: Spec, checks: tuple[Check, ...]) -> None:
        self.kernel = kernel
        self.spec = spec
        self.checks = checks
        self.unknown = (
            {s.name for s in kernel.scalars} | set(explicit_sizes(kernel)) | set(item_sizes(kernel))
        )

    def statements(self) -> tuple[str, ...]:
        """All statements, stages told apart by comments."""
        found: list[str] = []
        stage = None
        lettered = [stage for stage in self.kernel.order if stage is not Stage.LAUNCHER]
        letters = dict(zip(lettered, "abcdefghi", strict=False))
        read_fields: set[str] = set()
        sizes_done = False
        for check in self.checks:
            if check.stage is not stage:
                if not sizes_done and check.stage is not Stage.ARGUMENTS:
                    found.extend(self._sizes())
                    sizes_done = True
                stage = check.stage
                letter = f"({letters[stage]}) " if stage in letters else ""
                found.append(f"# {letter}{STAGE_WORDS[stage]}")
            subject = check.subject
            owned = isinstance(subject, TensorArgument | ScalarArgument | ListArgument)
            if owned and "." in check.argument and check.argument not in read_fields:
                assert isinstance(subject, TensorArgument | ScalarArgument | ListArgument)
                read_fields.add(check.argument)
                if not (isinstance(subject, TensorArgument) and subject.item is not None):
                    owner, _, name = check.argument.partition(".")
                    found.append(
                        layout.call(
                            f"{self._variable(subject)} = inspection.field(",
                            [layout.literal(owner), owner, layout.literal(name)],
                            ")",
                            indent=4,
                        )
                    )
            found.append(self._statement(check))
            if check.kind is CheckKind.ITEMS:
                assert isinstance(subject, ListArgument)
                found.extend(self._items(subject))
        return tuple(found)

    def _items(self, whole: ListArgument) -> list[str]:
        """What is read of each item of a list, None where there is no such item."""
        found = []
        for tensor in whole.tensors:
            arguments = [whole.name, str(tensor.item)]
            arguments += [layout.literal(tensor.path.rpartition(".")[2])]
            arguments += [layout.literal(tensor.called)]
            found.append(self._call("item_tensor", *arguments, target=f"{tensor.identifier} = "))
        for scalar in whole.scalars:
            arguments = [whole.name, str(scalar.item), layout.literal(scalar.field)]
            found.append(self._call("item_integer", *arguments, target=f"{scalar.name} = "))
        return found

    def _call(self, method: str, *arguments: str, target: str = "") -> str:
        return layout.call(f"{target}inspection.{method}(", arguments, ")", indent=4)

    def _statement(self, check: Check) -> str:
        rule = layout.literal(check.id)
        if check.kind is CheckKind.WRITTEN:
            return self._written(check)
        name = layout.literal(check.called)
        subject = check.subject
        text = []
        if isinstance(subject, TensorArgument):
            own = message_of(self.kernel, subject, check.kind)
            text = [f"text={layout.literal(own)}"] if own else []
        match check.kind:
            case CheckKind.SIZE_TYPE:
                size = check.argument
                return self._call("size_type", rule, name, size, target=f"{size} = ")
            case CheckKind.REQUIRED:
                return self._call("required", rule, name, self._variable(subject))
            case CheckKind.TYPE:
                return self._type(check, rule, name)
            case CheckKind.INT64:
                value = self._variable(subject)
                return self._call("int64", rule, name, value, target=f"{value} = ")
            case CheckKind.DEVICE:
                reference = layout.literal(self.kernel.reference_tensor.called)
                return self._call("device", rule, name, reference, *text)
            case CheckKind.ITEMS:
                assert isinstance(subject, ListArgument)
                target = f"{subject.name} = "
                return self._call("items", rule, name, subject.name, subject.struct, target=target)
        assert isinstance(subject, TensorArgument)
        match check.kind:
            case CheckKind.CONTIGUOUS:
                return self._call("contiguous", rule, name, *text)
            case CheckKind.DTYPE:
                return self._call("dtype", rule, name, _dtype_name(subject), *text)
            case CheckKind.RANK:
                return self._call("rank", rule, name, str(subject.type.rank), *text)
            case _:
                method = "at_least" if check.dim.at_least else "length"
                wanted = self._guarded(check.dim.expr)
                rank = str(subject.type.rank)
                arguments = [rule, name, rank, str(check.axis), wanted]
                if check.dim.binds is not None:
                    arguments.append(layout.literal(check.dim.binds))
                return self._call(method, *arguments, *text)

    def _variable(self, subject: object) -> str:
        if isinstance(subject, TensorArgument):
            return subject.identifier
        assert isinstance(subject, ScalarArgument | StructArgument | ListArgument)
        return subject.name

    def _type(self, check: Check, rule: str, name: str) -> str:
        subject = check.subject
        if isinstance(subject, TensorArgument):
            return self._call("tensor", rule, name, subject.identifier)
        if isinstance(subject, StructArgument):
            return self._call("instance", rule, name, subject.name, subject.struct)
        if isinstance(subject, ListArgument):
            target = f"{subject.name} = "
            return self._call("listed", rule, name, subject.name, subject.struct, target=target)
        assert isinstance(subject, ScalarArgument)
        target = f"{subject.name} = "
        match subject.kind:
            case ScalarKind.INT:
                enum = [subject.enum] if subject.enum else []
                return self._call("integer", rule, name, subject.name, *enum, target=target)
            case ScalarKind.BOOL:
                return self._call("boolean", rule, name, subject.name, target=target)
            case ScalarKind.CHOICE:
                choices = ", ".join(layout.literal(choice) for choice in subject.choices)
                return self._call("choice", rule, name, subject.name, f"({choices})", target=target)
            case _:
                return self._call(
                    "member", rule, name, subject.name, subject.enum or "", target=target
                )

    def _guarded(self, expr: Expr) -> str:
        """An expression, or None while something in it is unknown."""
        names = [n for n in language.names_in(expr) if n in self.unknown]
        shown = self._printer().show(expr)
        if not names or shown in names:
            return shown
        condition = " or ".join(f"{name} is None" for name in names)
        return f"None if {condition} else {shown}"

    def _printer(self, given: tuple[str, ...] = ()) -> PythonPrinter:
        return CodePrinter(
            identifiers=_identifiers(self.kernel),
            optional=frozenset(
                t.path for t in self.kernel.tensors if t.optional and t.path not in given
            ),
        )

    def _sizes(self) -> list[str]:
        found = ["# Sizes: as given, else from the first argument that has them."]
        for size, (tensor, axis) in self.kernel.binders().items():
            if tensor.item is not None:
                bytes_of = ", in_bytes=True" if tensor.type.dtype is Dtype.BYTES else ""
                last = bytes_of if axis == tensor.type.rank - 1 else ""
                found.append(f"{size} = inspection.item_extent({tensor.identifier}, {axis}{last})")
                continue
            arguments = [
                layout.literal(size),
                size,
                layout.literal(tensor.called),
                layout.literal(tensor.path),
                str(tensor.type.rank),
                str(axis),
            ]
            if tensor.optional:
                arguments.append(f"absent={tensor.identifier} is None")
            found.append(self._call("size", *arguments, target=f"{size} = "))
        for derived in self.kernel.derived:
            ranked = language.tensors_in(derived.expr)
            conditions = [f"{derived.name} is None"]
            conditions += [f"{n} is not None" for n in language.names_in(derived.expr)]
            for path in ranked:
                tensor = self.kernel.tensor(path)
                term = f"inspection.ranked({layout.literal(tensor.called)}, {tensor.type.rank})"
                conditions.append(
                    f"({tensor.identifier} is None or {term})" if tensor.optional else term
                )
            head = _if(conditions)
            value = self._printer().show(derived.expr)
            body = layout.statement(f"{derived.name} = {value}", 8)
            found.append(f"{head}\n{layout.placed(body, 4)}")
        return found

    def _written(self, check: Check) -> str:
        rule = check.rule
        assert rule is not None
        names = language.names_in(rule.require)
        flags = {d.name for d in self.kernel.derived if d.truth}
        asks_type = any(isinstance(n, IsBool) for n in language.walk(rule.require))
        needs = []
        for name in names:
            if name not in self.unknown:
                continue
            needs.append(
                f"isinstance({name}, bool)"
                if name in flags and not asks_type
                else f"{name} is not None"
            )
        given = promised(rule.require)
        for path in language.tensors_in(rule.require):
            tensor = self.kernel.tensor(path)
            called = layout.literal(tensor.called)
            term = f"inspection.ranked({called}, {tensor.type.rank})"
            if tensor.item is not None:
                axes = language.axes_read(rule.require, path)
                term = f"inspection.has_axes({called}, {axes})"
            known = path in given or not tensor.optional
            needs.append(term if known else f"({tensor.identifier} is None or {term})")
        denied = language.denied(rule.require)
        items = denied.items if isinstance(denied, language.Every) else (denied,)
        printer = self._printer(given)
        printed = [_in_chain(item, printer) for item in items]
        if rule.item is not None:  # First of all, whether there is such an item.
            printed, needs = printed[1:], [printed[0], *needs]
        condition = _if([*needs, *printed])
        message = layout.string(
            _f_string(rule.message, printer, self.kernel), indent=12, tail=",", prefix="f"
        )
        found = [f"{name}={{{name}}}" for name in names if name in self.unknown]
        for node in language.walk(rule.require):
            if isinstance(node, language.Length | language.Stride | language.Rank):
                shown = printer.show(node)
                identifier = self.kernel.tensor(node.tensor).identifier
                found.append(f"{shown.replace(identifier, node.tensor)}={{{shown}}}")
            elif isinstance(node, language.Count):
                found.append(f"len({node.list})={{{printer.show(node)}}}")
            elif isinstance(node, language.Present) and rule.item is None:
                identifier = self.kernel.tensor(node.tensor).identifier
                found.append(f"{node.tensor} given: {{{identifier} is not None}}")
        actual = ", ".join(dict.fromkeys(found))
        arguments = [layout.literal(rule.id), layout.literal(rule.argument), message]
        arguments.append(_keyword("expected", language.WordsPrinter().show(rule.require)))
        if actual:
            arguments.append(_keyword("actual", actual, prefix="f"))
        lines = ["inspection.broken("] + [
            layout.placed(argument, 4) + "," for argument in arguments
        ] + [")"]  # fmt: skip
        return condition + "\n" + layout.placed("\n".join(lines), 4)


def _in_chain(item: Expr, printer: PythonPrinter) -> str:
    shown = printer.show(item)
    return f"({shown})" if isinstance(item, language.Either | language.Implies) else shown


def _if(terms: list[str], indent: int = 4) -> str:
    """An `if` that asks for all of its terms."""
    return layout.statement(f"if {' and '.join(terms)}:", indent)


def _keyword(name: str, text: str, *, indent: int = 8, prefix: str = "") -> str:
    """A string that a keyword passes, in a call at an indentation, broken where it is long."""
    one = layout.string(text, indent=indent + 5 + len(name), tail=",", prefix=prefix)
    if "\n" not in one and indent + 5 + len(name) + len(one) <= layout.WIDTH:
        return f"{name}={one}"
    pieces = layout.string(text, indent=indent + 8, prefix=prefix)
    return f"{name}=(\n{layout.placed(pieces, 4)}\n)"


def _f_string(
    pieces: tuple[Piece, ...], printer: PythonPrinter, kernel: Kernel | None = None
) -> str:
    shown = []
    for piece in pieces:
        if isinstance(piece, Described):
            variable = piece.tensor if kernel is None else kernel.tensor(piece.tensor).identifier
            shown.append("{" + _DESCRIPTIONS[piece.what].format(variable) + "}")
            continue
        if isinstance(piece, str):
            shown.append(piece.replace("{", "{{").replace("}", "}}"))
        elif isinstance(piece, TypeName):
            shown.append(f"{{type({piece.name}).__name__}}")
        else:
            shown.append("{" + printer.show(piece) + "}")
    return "".join(shown)


_DESCRIPTIONS = {
    "shape": "tuple({}.shape)",
    "strides": "tuple({}.stride())",
    "dtype": "{}.dtype",
}


# Launchers.


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpView:
    """A kernel that a launcher runs before or after its own."""

    stem: str
    comes_first: bool
    condition: str
    """Empty: always."""
    arguments: tuple[str, ...]
    optional: tuple[str, ...]
    """Its optional tensors that both kernels know, for warming up."""
    absent: str
    """Tensor without which it is never launched, for warming up; or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherView:
    """A launcher module."""

    stem: str
    name: str
    summary: str
    details: str
    signature: tuple[SignatureItem, ...]
    arguments_doc: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    reference: str
    device_of: str
    kernel: str
    grid: str
    values: tuple[str, ...]
    variant: str
    pointers: tuple[str, ...]
    """Element type, and what says whether the tensor is given."""
    optional: tuple[str, ...]
    """Names of the optional tensors that the kernel uses."""
    integers: int
    constants: tuple[tuple[str, str], ...]
    """Name in the kernel, and value."""
    variants: tuple[tuple[tuple[tuple[str, int], ...], int], ...]
    """Each combination of what is compiled in, by name, and its warps."""
    derived: tuple[tuple[str, str], ...]
    """Sizes that are worked out first: name and value."""
    size_classes: tuple[tuple[str, str], ...]
    """Which class of sizes a launch belongs to, for each list of classes."""
    num_warps: str
    then: tuple[FollowUpView, ...]
    presences: tuple[str, ...]
    """What of the optional tensors may be given together: `+-` for the first alone."""
    structs: tuple[str, ...]
    enums: tuple[str, ...]
    project_constants: tuple[str, ...]
    """Constants that the grid reads."""


def launcher_view(kernel: Kernel, spec: Spec) -> LauncherView:
    """What the launcher template prints."""
    parameters = parameters_of(kernel, spec)
    printer = launch_printer(kernel)
    blocks = {name: str(value) for name, value in kernel.blocks}
    for each in kernel.classes:
        blocks |= {name: f"{values}[{each.variable}]" for name, values in each.values}
    grid = [_with_blocks(printer.show(dimension), blocks) for dimension in kernel.grid]
    signature = signature_of(kernel)
    follow_ups = _follow_ups(kernel, spec, printer)
    text = " ".join(
        [
            *grid,
            *(p.value for p in parameters),
            kernel.reference_tensor.identifier,
            *(f.condition for f in follow_ups),
            *(name for f in follow_ups for name in f.arguments),
        ]
    )
    size_classes = _size_classes(kernel, printer)
    words = set(re.findall(r"\w+", " ".join([text, *(value for _, value in size_classes)])))
    sizes = launch_sizes(kernel, words)
    words |= set(re.findall(r"\w+", " ".join(value for _, value in sizes)))
    return LauncherView(
        stem=kernel.stem,
        name=kernel.launcher,
        summary=kernel.summary,
        details=layout.wrapped(kernel.details, indent=4) if kernel.details else "",
        signature=signature,
        arguments_doc=tuple(
            layout.wrapped(f"{item.name}: {item.doc}", indent=8, hang=4) for item in signature
        ),
        fields=struct_locals(kernel, words),
        reference=kernel.reference,
        device_of=kernel.reference_tensor.identifier,
        kernel=f"_{kernel.stem}_kernel",
        grid=_tuple("grid=(", grid),
        values=tuple(p.passed for p in parameters if not p.constexpr),
        presences=presences(kernel, spec),
        variant=_tuple(
            "variant=(",
            [f"int({p.value} is not None)" for p in parameters if p.optional]
            + [p.value for p in parameters if p.constexpr],
        ),
        pointers=tuple(
            f"(torch.{_dtype_of(p, kernel)}, {p.value if p.optional else True})"
            for p in parameters
            if p.pointer
        ),
        optional=tuple(p.value for p in parameters if p.optional),
        integers=len([p for p in parameters if not p.pointer and not p.constexpr]),
        constants=tuple((p.name, p.passed) for p in parameters if p.constexpr),
        variants=tuple((tuple(named.items()), warps) for named, warps in _variants(kernel, spec)),
        derived=sizes,
        size_classes=size_classes,
        num_warps=_warps(kernel),
        then=follow_ups,
        structs=tuple(sorted({s.struct for s in kernel.structs})),
        enums=tuple(sorted({s.enum for s in kernel.scalars if s.enum and not s.owner})),
        project_constants=tuple(c.name for c in spec.constants if c.name in words),
    )


def _follow_ups(kernel: Kernel, spec: Spec, printer: PythonPrinter) -> tuple[FollowUpView, ...]:
    stems = {other.stem: other for other in spec.kernels}
    own = {p.value for p in parameters_of(kernel, spec) if p.optional}
    found = []
    for follow_up in kernel.then:
        other = stems[follow_up.stem]
        promised = language.conjuncts(follow_up.when) if follow_up.when is not None else ()
        needed = [
            kernel.tensor(item.tensor).identifier
            for item in promised
            if isinstance(item, language.Present)
        ]
        found.append(
            FollowUpView(
                stem=other.stem,
                comes_first=follow_up.comes_first,
                condition="" if follow_up.when is None else printer.show(follow_up.when),
                arguments=tuple(item.name for item in signature_of(other)),
                optional=tuple(
                    p.value for p in parameters_of(other, spec) if p.optional and p.value in own
                ),
                absent=next((name for name in needed if name in own), ""),
            )
        )
    return tuple(found)


def _size_classes(kernel: Kernel, printer: PythonPrinter) -> tuple[tuple[str, str], ...]:
    return tuple(
        (each.variable, f"class_of({_numbers(each.up_to)}, {printer.show(each.of)})")
        for each in kernel.classes
    )


def _numbers(values: tuple[int, ...]) -> str:
    return f"({', '.join(str(v) for v in values)}{',' if len(values) == 1 else ''})"


def _warps(kernel: Kernel) -> str:
    for each in kernel.classes:
        if each.num_warps:
            return f"{each.num_warps}[{each.variable}]"
    return str(kernel.num_warps)


def _tuple(head: str, items: list[str]) -> str:
    return layout.item(f"({', '.join(items)}{',' if len(items) == 1 else ''})", 8, lead=head[:-1])


def _dtype_of(parameter: ParameterView, kernel: Kernel) -> str:
    identifier = parameter.name.removesuffix("_ptr")
    return next(t.type.element.value for t in kernel.tensors if t.identifier == identifier)


@_once
def presences(kernel: Kernel, spec: Spec) -> tuple[str, ...]:
    """What of the optional tensors that the kernel uses may be given together.

    Judged by the written rules that read nothing but presence, truth values and choices, and by
    lists' having no gaps.
    """
    optional = [p.value for p in parameters_of(kernel, spec) if p.optional]
    tensors = {t.identifier: t for t in kernel.tensors}
    finite = [s for s in kernel.scalars if s.kind in (ScalarKind.BOOL, ScalarKind.CHOICE)]
    names = {s.name for s in finite}
    rules = [
        rule.require
        for rule in kernel.rules
        if not language.tensors_in(rule.require)
        and language.present_in(rule.require)
        and set(language.names_in(rule.require)) <= names
    ]
    asked = sorted({name for rule in rules for name in language.names_in(rule)})
    others = sorted(
        {path for rule in rules for path in language.present_in(rule)}
        - {tensors[name].path for name in optional}
    )
    choices: list[list[int | str]] = [
        [False, True] if s.kind is ScalarKind.BOOL else list(s.choices)
        for s in sorted(finite, key=lambda s: s.name)
        if s.name in asked
    ]
    found = []
    for given in itertools.product((False, True), repeat=len(optional)):
        present = {tensors[name].path for name, on in zip(optional, given, strict=True) if on}
        if any(
            earlier.path not in present and earlier.identifier in optional
            for path in present
            for earlier in kernel.earlier_items(kernel.tensor(path))
        ):
            continue
        ways = itertools.product(
            itertools.product(*choices), itertools.product((False, True), repeat=len(others))
        )
        for values, more in ways:
            there = present | {path for path, on in zip(others, more, strict=True) if on}
            world = language.Values(
                names=dict(zip(asked, values, strict=True)),
                shapes={t.path: () if t.path in there else None for t in kernel.tensors},
                strides={},
            )
            if all(language.evaluate(rule, world) for rule in rules):
                found.append("".join("+" if on else "-" for on in given))
                break
    return tuple(found)


def _numbers_of(kernel: Kernel, name: str, spec: Spec) -> tuple[int, ...]:
    """The numbers that a compiled-in argument is passed as."""
    scalar = next(s for s in kernel.scalars if s.name == name)
    if scalar.kind is ScalarKind.ENUM:
        return tuple(value for _, value, _ in spec.enum(scalar.enum or "").members)
    return tuple(range(len(_variant_values(kernel, name, spec))))


def _with_blocks(text: str, blocks: dict[str, str]) -> str:
    for name, value in blocks.items():
        text = re.sub(rf"\b{name}\b", value, text)
    return text


# Structs.


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One field of a struct."""

    name: str
    annotation: str
    doc: str
    """Its line of the class's docstring, which is where `help` shows it."""
    made: str
    """Expression that allocates it."""
    bytes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StructView:
    """One struct."""

    name: str
    made: bool
    """By its fields, not by sizes."""
    keywords_only: bool
    summary: str
    sizes: tuple[tuple[str, str, str], ...]
    """Name, default text, docstring line."""
    fields: tuple[FieldView, ...]
    inspection: tuple[str, ...]
    total: str

    @property
    def arguments(self) -> str:
        """What the class's docstring says of its fields."""
        return "\n".join(["Args:", *(layout.placed(field.doc, 4) for field in self.fields)])


def struct_view(struct: StructDef, spec: Spec) -> StructView:
    """What the structs template prints of one struct."""
    if not struct.sizes:
        return _made_struct_view(struct)
    required = _required_sizes(struct)
    sizes = [
        (name, "" if name in required else " = 0",
         layout.wrapped(f"{name}: int. {doc}" + ("" if name in required else
                        " 0 leaves its tensors None."), indent=12, hang=4))
        for name, doc in struct.sizes
    ]  # fmt: skip
    fields = []
    terms = []
    for field in struct.tensors:
        printer = CodePrinter()
        dims = [_operand_sum(printer.show(dim.expr)) for dim in field.type.dims]
        shape = f"({', '.join(printer.show(d.expr) for d in field.type.dims)}"
        shape += ",)" if len(dims) == 1 else ")"
        dtype = f"torch.{field.type.dtype.value}"
        arguments = [shape, f"dtype={dtype}", "device=device"]
        head = "torch.empty("
        if field.initial is not None:
            head = "torch.full("
            arguments.insert(1, str(field.initial))
        own_sizes = [n for d in field.type.dims for n in language.names_in(d.expr)]
        made = layout.call(f"{field.name}={head}", arguments, ")", indent=13)
        if field.optional:
            inner = layout.call(head, arguments, ")", indent=16)
            made = f"{field.name}=(\n    {inner} if {' and '.join(own_sizes)} else None\n)"
        size = " * ".join([str(field.type.dtype.itemsize), *dims])
        terms.append(size)
        doc = f"{field.name}: {field.type.dtype.value} {shape_dims(field.type)}. {field.doc}"
        fields.append(
            FieldView(
                name=field.name,
                annotation="torch.Tensor | None = None" if field.optional else "torch.Tensor",
                doc=layout.wrapped(doc, indent=8, hang=4),
                made=made,
                bytes=size,
            )
        )
    inspection = []
    for name, _ in struct.sizes:
        rule_name, shown = f"{struct.name}.{name}", layout.literal(name)
        arguments = [layout.literal(f"{rule_name}.required"), shown, name]
        inspection.append(layout.call("inspection.required(", arguments, ")", indent=8))
        arguments = [layout.literal(f"{rule_name}.type"), shown, name]
        inspection.append(
            layout.call(f"{name}_int = inspection.integer(", arguments, ")", indent=8)
        )
        arguments = [layout.literal(f"{rule_name}.int64"), shown, f"{name}_int"]
        head = f"{name}_int = inspection.int64("
        inspection.append(layout.call(head, arguments, ")", indent=8))
    for rule in struct.rules:
        names = language.names_in(rule.require)
        needs = [f"{name}_int is not None" for name in names]
        printer = CodePrinter(identifiers={name: f"{name}_int" for name in names})
        printed = _in_chain(language.denied(rule.require), printer)
        message = layout.string(
            _f_string(rule.message, CodePrinter()), indent=12, tail=",", prefix="f"
        )
        arguments = [
            layout.literal(rule.id),
            layout.literal(rule.argument),
            message,
            _keyword("expected", language.WordsPrinter().show(rule.require), indent=12),
            _keyword("actual", ", ".join(f"{n}={{{n}}}" for n in names), indent=12, prefix="f"),
        ]
        body = "\n".join(
            ["inspection.broken(", *(layout.placed(a, 4) + "," for a in arguments), ")"]
        )
        inspection.append(f"{_if([*needs, printed], indent=8)}\n{layout.placed(body, 4)}")
    for name, _ in struct.sizes:
        if name not in required:
            rule_id = layout.literal(f"{struct.name}.{name}.non_negative")
            arguments = [rule_id, layout.literal(name), f"{name}_int"]
            inspection.append(layout.call("inspection.non_negative(", arguments, ")", indent=8))
    total = layout.statement(f"return {' + '.join(terms)}", 8)
    return StructView(
        name=struct.name,
        made=False,
        keywords_only=not struct.positional,
        summary=struct.summary,
        sizes=tuple(sizes),
        fields=tuple(fields),
        inspection=tuple(inspection),
        total=total,
    )


def _made_struct_view(struct: StructDef) -> StructView:
    """A struct that is made by its fields, and checked then where it has rules."""
    fields = []
    inspection = []
    for item in struct.fields:
        called = layout.literal(f"{struct.name}.{item.name}")
        value = f"self.{item.name}"
        checks = [
            ("required", [layout.literal(f"{struct.name}.{item.name}.required"), called, value], "")
        ]
        type_rule = layout.literal(f"{struct.name}.{item.name}.type")
        if isinstance(item, FieldDef):
            annotation = "torch.Tensor | None = None" if item.optional else "torch.Tensor"
            kind = f"{item.type.dtype.value} {shape_dims(item.type)}"
            checks = [] if item.optional else checks
            checks.append(("tensor", [type_rule, called, value], ""))
        elif isinstance(item, ListDef):
            annotation = f"Sequence[{item.struct}]"
            kind = f"{item.at_most} {item.struct} at most"
            checks.append(("listed", [type_rule, called, value, item.struct], ""))
        else:
            annotation = _annotation(item)
            kind = wanted_type(item)
            if item.default is not None:
                annotation += f" = {item.default}"
            local = f"{item.name} = "
            match item.kind:
                case ScalarKind.INT:
                    enum = [item.enum] if item.enum else []
                    checks.append(("integer", [type_rule, called, value, *enum], local))
                    rule = layout.literal(f"{struct.name}.{item.name}.int64")
                    checks.append(("int64", [rule, called, item.name], local))
                case ScalarKind.BOOL:
                    checks.append(("boolean", [type_rule, called, value], local))
                case ScalarKind.CHOICE:
                    choices = ", ".join(layout.literal(choice) for choice in item.choices)
                    checks.append(("choice", [type_rule, called, value, f"({choices})"], local))
                case _:
                    checks.append(("member", [type_rule, called, value, item.enum or ""], local))
        fields.append(
            FieldView(
                name=item.name,
                annotation=annotation,
                doc=layout.wrapped(f"{item.name}: {kind}. {item.doc}", indent=8, hang=4),
                made="",
                bytes="",
            )
        )
        inspection += [
            layout.call(f"{target}inspection.{method}(", arguments, ")", indent=8)
            for method, arguments, target in checks
        ]
    inspection += [_made_rule(rule, struct) for rule in struct.rules]
    return StructView(
        name=struct.name,
        made=True,
        keywords_only=not struct.positional,
        summary=struct.summary,
        sizes=(),
        fields=tuple(fields),
        inspection=tuple(inspection if struct.rules else ()),
        total="",
    )


def _made_rule(rule: Rule, struct: StructDef) -> str:
    """One rule of a struct that is made by its fields, as a statement."""
    tensors = {item.name for item in struct.tensors}
    printer = CodePrinter(identifiers={name: f"self.{name}" for name in tensors})
    names = language.names_in(rule.require)
    needs = [f"{name} is not None" for name in names]
    for tensor in language.tensors_in(rule.require):
        called = layout.literal(f"{struct.name}.{tensor}")
        axes = language.axes_read(rule.require, tensor)
        needs.append(f"inspection.has_axes({called}, {axes})")
    denied = language.denied(rule.require)
    items = denied.items if isinstance(denied, language.Every) else (denied,)
    head = _if([*needs, *(_in_chain(item, printer) for item in items)], indent=8)
    pieces = tuple(
        Described(piece.what, f"self.{piece.tensor}") if isinstance(piece, Described) else piece
        for piece in rule.message
    )
    message = layout.string(_f_string(pieces, printer), indent=16, tail=",", prefix="f")
    arguments = [layout.literal(rule.id), layout.literal(rule.argument), message]
    arguments.append(_keyword("expected", language.WordsPrinter().show(rule.require), indent=12))
    if names:
        actual = ", ".join(f"{name}={{{name}}}" for name in names)
        arguments.append(_keyword("actual", actual, indent=12, prefix="f"))
    body = ["inspection.broken(", *(layout.placed(a, 4) + "," for a in arguments), ")"]
    return head + "\n" + layout.placed("\n".join(body), 4)


def _annotation(scalar: ScalarArgument) -> str:
    """A scalar's type, as Python writes it."""
    if scalar.kind is ScalarKind.ENUM:
        return scalar.enum or ""
    return {ScalarKind.INT: "int", ScalarKind.BOOL: "bool"}.get(scalar.kind, "str")


def shape_dims(tensor_type: TensorType) -> str:
    """`[verify_capacity]`, for docstrings."""
    printer = language.SourcePrinter()
    dims = tensor_type.dims
    return "[" + ", ".join((">= " if d.at_least else "") + printer.show(d.expr) for d in dims) + "]"


def _operand_sum(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


# Rules and pages.


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpliedView:
    """One implied rule in the catalogue."""

    id: str
    kind: str
    owner: str
    argument: str
    name: str
    expected: str
    message: str
    """Words of its own; or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindView:
    """One kind of implied rule in the catalogue: its text with fields still to be filled."""

    kind: str
    text: str
    fix: str


def implied_views(spec: Spec) -> tuple[ImpliedView, ...]:
    """Every implied rule of every struct and kernel."""
    structs = tuple(
        ImpliedView(
            id=f"{struct.name}.{size}.{name}",
            kind=kind.value,
            owner=f"{struct.name}.allocate",
            argument=size,
            name=size,
            expected={
                CheckKind.INT64: "an int in [-2**63, 2**63 - 1]",
                CheckKind.NON_NEGATIVE: "0 or more",
            }.get(kind, "int"),
            message="",
        )
        for struct in spec.structs
        for size, _ in struct.sizes
        for name, kind in (
            ("required", CheckKind.REQUIRED),
            ("type", CheckKind.TYPE),
            ("int64", CheckKind.INT64),
            *(
                []
                if size in _required_sizes(struct)
                else [("non_negative", CheckKind.NON_NEGATIVE)]
            ),
        )
    )
    structs += tuple(
        ImpliedView(
            id=f"{struct.name}.{item.name}.{kind.value}",
            kind=kind.value,
            owner=struct.name,
            argument=item.name,
            name=f"{struct.name}.{item.name}",
            expected=_field_type(item)
            if kind is not CheckKind.INT64
            else "an int in [-2**63, 2**63 - 1]",
            message="",
        )
        for struct in spec.structs
        if struct.rules and not struct.sizes
        for item in struct.fields
        for kind in (CheckKind.REQUIRED, CheckKind.TYPE, CheckKind.INT64)
        if (kind is not CheckKind.REQUIRED or not getattr(item, "optional", False))
        and (kind is not CheckKind.INT64 or _is_integer(item))
    )
    return structs + tuple(
        ImpliedView(
            id=check.id,
            kind=check.kind.value,
            owner=kernel.launcher,
            argument=check.argument,
            name=check.called,
            expected=expected_of(check, kernel),
            message=own_message(check, kernel),
        )
        for kernel in spec.kernels
        for check in checks_of(kernel)
        if check.rule is None and not _of_later_item(check)
    )


def _field_type(item: FieldDef | ScalarArgument | ListDef) -> str:
    if isinstance(item, FieldDef):
        return "a torch.Tensor"
    return f"a tuple or list of {item.struct}" if isinstance(item, ListDef) else wanted_type(item)


def _is_integer(item: FieldDef | ScalarArgument | ListDef) -> bool:
    return isinstance(item, ScalarArgument) and item.kind is ScalarKind.INT


def kind_views(spec: Spec) -> tuple[KindView, ...]:
    """Texts of the kinds, fields in braces."""
    found = []
    for kind in KIND_TEXTS:
        text = kind_text(
            kind,
            prefix=spec.project.message_prefix,
            rule="{rule}",
            owner="{owner}",
            argument="{argument}",
            name="{name}",
            expected="{expected}",
        )
        found.append(KindView(kind=kind.value, text=text.show(), fix=text.fix[0]))
    return tuple(found)


def written_texts(spec: Spec, searches: dict[str, Search]) -> tuple[RuleText, ...]:
    """The text of every written rule, structs' first."""
    found = []
    for struct in spec.structs:
        owner = f"{struct.name}.allocate" if struct.sizes else struct.name
        for rule in struct.rules:
            wrong, right = "", ""
            if rule.example is not None:
                wrong = _allocate_call(struct, rule.example.wrong)
                right = _allocate_call(struct, rule.example.right)
            found.append(_rule_text(rule, spec, owner, wrong, right))
    for kernel in spec.kernels:
        search = searches[kernel.stem]
        for check in search.checks:
            if check.rule is None or not check.id.startswith(f"{kernel.stem}."):
                continue
            if check.rule.item:
                continue  # Said of the first item, and so of all.
            calls = example_calls(search, check)
            wrong, right = ("", "")
            if calls is not None:
                wrong, right = shown_calls(kernel, check.rule.require, *calls)
            found.append(_rule_text(check.rule, spec, kernel.launcher, wrong, right))
    return tuple(found)


def _allocate_call(struct: StructDef, changes: tuple[tuple[str, str], ...]) -> str:
    arguments = [f"{name}={value}" for name, value in changes]
    if not struct.sizes:
        return f"{struct.name}({', '.join(arguments)}, ...)"
    return f"{struct.name}.allocate({', '.join(arguments)}, device=device)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StructTestView:
    """A struct's part of the generated test of structs."""

    name: str
    made: bool
    """By its fields, not by sizes."""
    smallest: str
    fields: tuple[str, ...]
    examples: tuple[str, ...]
    tensors: tuple[str, ...]
    """Tensors that must be given."""


def struct_test_view(struct: StructDef, spec: Spec) -> StructTestView:
    """What the test of structs prints of one struct."""
    required = _required_sizes(struct)
    sizes = {name: 1 for name, _ in struct.sizes if name in required}
    values = language.Values(
        names={name: sizes.get(name, 0) for name, _ in struct.sizes}, shapes={}, strides={}
    )
    fields = []
    for field in struct.tensors if struct.sizes else ():
        extents = [str(language.evaluate(dim.expr, values)) for dim in field.type.dims]
        shape = f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"
        arguments = [
            layout.literal(struct.name),
            layout.literal(field.name),
            "None" if field.optional else shape,
            layout.literal(field.type.dtype.value),
            str(field.initial),
            f"id={layout.literal(f'{struct.name}.{field.name}')}",
        ]
        fields.append(layout.call("pytest.param(", arguments, "),", indent=4))
    examples = []
    for rule in struct.rules:
        if rule.example is None:
            continue
        wrong, right = dict(rule.example.wrong), dict(rule.example.right)
        if not struct.sizes:
            sizes = {s.name: s.sample or 0 for s in struct.scalars}
        numbers = {**sizes, **{name: int(value) for name, value in wrong.items()}}
        broken = language.Values(names=numbers, shapes={}, strides={})
        message = "".join(
            piece if isinstance(piece, str) else str(language.evaluate(piece, broken))
            for piece in rule.message
            if not isinstance(piece, TypeName | Described)
        )
        examples.append(
            layout.call(
                "pytest.param(",
                [
                    layout.literal(rule.id),
                    layout.literal(struct.name),
                    _sizes_literal({**sizes, **wrong}),
                    _sizes_literal({**sizes, **right}),
                    layout.string(spec.project.message_prefix + message, indent=8, tail=","),
                    f"id={layout.literal(rule.id)}",
                ],
                "),",
                indent=4,
            )
        )
    return StructTestView(
        name=struct.name,
        made=not struct.sizes,
        smallest=_sizes_literal(sizes),
        fields=tuple(fields),
        examples=tuple(examples),
        tensors=tuple(field.name for field in struct.tensors if not field.optional),
    )


def _required_sizes(struct: StructDef) -> set[str]:
    return {
        name
        for field in struct.tensors
        if not field.optional
        for dim in field.type.dims
        for name in language.names_in(dim.expr)
    }


def _sizes_literal(sizes: Mapping[str, int | str]) -> str:
    items = [f"{layout.literal(name)}: {value}" for name, value in sizes.items()]
    return "{" + ", ".join(items) + "}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StructPageView:
    """A struct's part of the page of structs."""

    name: str
    summary: str
    rows: tuple[tuple[str, str, str, str], ...]
    """Name, type, initial value, meaning."""
    signature: str
    sizes: tuple[tuple[str, str], ...]
    rules: tuple[RuleText, ...]
    made: bool
    """By its fields, not by sizes."""


def struct_page_view(struct: StructDef, texts: Iterable[RuleText]) -> StructPageView:
    """What the page of structs prints of one struct."""
    rows = []
    for field in struct.fields:
        if not isinstance(field, FieldDef):
            default = getattr(field, "default", None)
            initial = f"default {default}" if default is not None else ""
            kind = _field_type(field)
            rows.append((field.name, kind.removeprefix("a "), initial, field.doc))
            continue
        kind = f"{field.type.dtype.value} {shape_dims(field.type)}"
        initial = "anything" if field.initial is None else str(field.initial)
        if field.optional:
            initial = "None, unless its size is given" if struct.sizes else "default None"
        elif not struct.sizes:
            initial = ""
        rows.append((field.name, kind, initial, field.doc))
    return StructPageView(
        name=struct.name,
        summary=struct.summary,
        rows=tuple(rows),
        signature=", ".join(f"{name}=..." for name, _ in struct.sizes),
        sizes=struct.sizes,
        rules=tuple(t for t in texts if t.id.startswith(f"{struct.name}.")),
        made=not struct.sizes,
    )


def _rule_text(rule: Rule, spec: Spec, owner: str, wrong: str, right: str) -> RuleText:
    require = rule.require
    if rule.item is not None and isinstance(require, language.Implies):
        require = require.right  # Of an item that is there.

    def of_any(text: str) -> str:
        """A text about one item of a list, said of any."""
        if rule.item is None:
            return text
        return re.sub(rf"(\w)_{rule.item}_", r"\1_", text.replace(f"[{rule.item}]", "[i]"))

    return RuleText(
        id=rule.id,
        owner=owner,
        argument=of_any(rule.argument),
        message=spec.project.message_prefix + of_any(message_pattern(rule.message)),
        condition=of_any(language.WordsPrinter().show(require)),
        meaning=rule.meaning,
        causes=rule.causes,
        fix=rule.fix,
        wrong=wrong,
        right=right,
        related=rule.related,
    )


def shown_calls(kernel: Kernel, require: Expr, wrong: Call, right: Call) -> tuple[str, str]:
    """Two calls as code: the arguments in which they differ, and those that the rule reads."""
    names = set(language.names_in(require))
    for derived in kernel.derived:
        if derived.name in names:
            names |= {*language.names_in(derived.expr), *language.present_in(derived.expr)}
    names |= {*language.tensors_in(require), *language.present_in(require)}
    names |= {kernel.binders()[name][0].path for name in names if name in kernel.binders()}
    return _shown_call(kernel, names, wrong, right), _shown_call(kernel, names, right, wrong)


def _shown_call(kernel: Kernel, names: set[str], call: Call, other: Call) -> str:
    parts: list[str] = []
    fields: dict[str, list[str]] = {}
    for tensor in kernel.tensors:
        value = call.tensors[tensor.path]
        if value == other.tensors[tensor.path] and tensor.path not in names:
            continue
        shown = "None" if value is None else ""
        if isinstance(value, TensorValue):
            shape = ", ".join(str(extent) for extent in value.shape)
            shown = f"torch.empty({shape}, dtype=torch.{value.dtype}, device=device)"
        elif isinstance(value, Wrong):
            shown = value.text
        owner, _, field = tensor.path.partition(".")
        if not field:
            parts.append(f"{tensor.path}={shown}")
            continue
        if owner not in fields:
            parts.append(owner)
        fields.setdefault(owner, []).append(f"{field}={shown}")
    structs = {s.name: s.struct for s in kernel.structs}
    parts = [
        f"{part}={structs[part]}({', '.join([*fields[part], '...'])})" if part in fields else part
        for part in parts
    ]
    owners = {s.name: s.owner for s in kernel.scalars}
    for name, number in call.scalars.items():
        if owners.get(name, "item"):
            continue  # A struct's: its fields stand with it.
        if number != other.scalars[name] or name in names:
            parts.append(f"{name}={number.text if isinstance(number, Wrong) else repr(number)}")
    for name, number in call.sizes.items():
        parts.append(f"{name}={number.text if isinstance(number, Wrong) else repr(number)}")
    explicit = bool(call.sizes or other.sizes)
    function = f"validate_{kernel.stem}" if explicit else kernel.launcher
    return f"{function}({', '.join([*parts, '...'])})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """A kernel's reference page."""

    stem: str
    launcher: str
    summary: str
    details: str
    arguments: tuple[tuple[str, str, str, str], ...]
    """Name, type, access, meaning."""
    sizes: tuple[tuple[str, str], ...]
    written: tuple[RuleText, ...]
    shared: tuple[tuple[str, str], ...]
    """Rules of other kernels that apply here: id, stem."""
    implied: tuple[tuple[str, str, str], ...]
    """Rule id, message, argument."""
    guards: tuple[GuardView, ...]
    domains: tuple[tuple[str, str, str], ...]
    variants: tuple[str, ...]
    ensures: tuple[str, ...]


def page_view(kernel: Kernel, spec: Spec, texts: Iterable[RuleText]) -> PageView:
    """What the page template prints."""
    own = [t for t in texts if t.id.startswith(f"{kernel.stem}.")]
    arguments: list[tuple[str, str, str, str]] = []
    for argument in kernel.arguments:
        if isinstance(argument, TensorArgument):
            arguments.append(_argument_row(argument))
        elif isinstance(argument, StructArgument):
            arguments.append((argument.name, argument.struct, "", argument.doc))
            arguments.extend(_argument_row(tensor) for tensor in argument.fields)
            arguments.extend((s.path, wanted_type(s), "read", s.doc) for s in argument.scalars)
            arguments.extend(
                (w.path, wanted_type(w), "read", f"{w.at_most} at most.") for w in argument.lists
            )
        else:
            arguments.append((argument.name, wanted_type(argument), "read", argument.doc))
    sizes = []
    printer = language.WordsPrinter()
    for size, (tensor, axis) in kernel.binders().items():
        note = "; 0 when it is absent" if tensor.optional else ""
        sizes.append((size, f"`{tensor.path}.shape[{axis}]`{note}"))
    for derived in kernel.derived:
        sizes.append((derived.name, f"{derived.doc} ({printer.show(derived.expr)})"))
    for name, value in kernel.blocks:
        sizes.append((name, f"{value}, compiled in"))
    variants = [f"{t.path} given or not" for t in kernel.optional_tensors()]
    variants += [
        f"{name}: {', '.join(_variant_values(kernel, name, spec))}" for name in kernel.variants
    ]
    for each in kernel.classes:
        bounds = ", ".join(str(bound) for bound in each.up_to)
        variants.append(f"{language.SourcePrinter().show(each.of)}: up to {bounds}")
    if kernel.wide:
        variants.append(f"{', '.join(kernel.wide)}: all at multiples of 16 bytes, or not")
    implied = [
        (
            check.id,
            implied_text(check, kernel, spec.project.message_prefix).message,
            check.argument,
        )
        for check in checks_of(kernel)
        if check.rule is None
    ]
    return PageView(
        stem=kernel.stem,
        launcher=kernel.launcher,
        summary=kernel.summary,
        details=layout.wrapped(kernel.details),
        arguments=tuple(arguments),
        sizes=tuple(sizes),
        written=tuple(own),
        shared=tuple(
            (rule.id, rule.id.partition(".")[0])
            for rule in kernel.rules
            if not rule.id.startswith(f"{kernel.stem}.")
        ),
        implied=tuple(implied),
        guards=kernel_view(kernel, spec).guards,
        domains=tuple(
            (t.path, language.SourcePrinter().show(t.values.expr), t.values.on_violation.value)
            for t in kernel.tensors
            if t.values is not None
        ),
        variants=tuple(variants),
        ensures=tuple(e.text for e in kernel.ensures),
    )


def _variant_values(kernel: Kernel, name: str, spec: Spec) -> tuple[str, ...]:
    scalar = next(s for s in kernel.scalars if s.name == name)
    if scalar.kind is ScalarKind.BOOL:
        return ("False", "True")
    if scalar.kind is ScalarKind.CHOICE:
        return scalar.choices
    return tuple(member for member, _, _ in spec.enum(scalar.enum or "").members)


def variants_count(kernel: Kernel, spec: Spec) -> int:
    """How many compilations a kernel may come to."""
    return len(presences(kernel, spec)) * len(combinations(kernel, spec))


def _argument_row(tensor: TensorArgument) -> tuple[str, str, str, str]:
    kind = shape_text(tensor) + (", optional" if tensor.optional else "")
    return tensor.path, kind, tensor.access.value, tensor.doc


# Tests.


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakingView:
    """One rule and the smallest call that breaks it."""

    rule: str
    test_id: str
    changes: tuple[str, ...]
    message: str
    overlap: str
    explicit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleView:
    """One rule's wrong and right call."""

    rule: str
    wrong: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeView:
    """Arguments of one comparison with the reference."""

    name: str
    arguments: tuple[str, ...]
    programs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentsView:
    """What a tensor is filled with in tests: bounds of its domain, or a formula."""

    path: str
    low: str
    high: str
    sample: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestView:
    """A generated test module."""

    stem: str
    launcher: str
    structs: tuple[tuple[object, ...], ...]
    """Argument, struct, its fields with their paths, and its lists: field, path, struct of the
    items, most items, and the items' tensors and integers."""
    valid: tuple[str, ...]
    breaking: tuple[BreakingView, ...]
    examples: tuple[ExampleView, ...]
    never_first: tuple[str, ...]
    shapes: tuple[ShapeView, ...]
    contents: tuple[ContentsView, ...]
    outputs: tuple[str, ...]
    ensures: tuple[tuple[str, str], ...]
    """Text, and the assertion over `values` and `before`."""
    sizes: tuple[tuple[str, str], ...]
    content_names: frozenset[str]
    """What the contents' bounds and formulas read."""
    ensure_names: frozenset[str]
    """What the postconditions read."""
    signature: tuple[tuple[str, str], ...]
    """Triton's compilation signature, without presence."""
    variants: int
    optional: tuple[str, ...]
    constexprs: tuple[str, ...]
    """Names of what is compiled in."""
    combinations: tuple[tuple[int, ...], ...]
    """Their values, together."""
    constants: tuple[str, ...]
    sampled: tuple[tuple[str, str], ...]
    """Scalars that contents and postconditions read, and their paths."""
    unordered: tuple[tuple[str, str], ...]
    """Tensors whose rows come in any order, and what counts them."""
    presences: tuple[str, ...]


def test_view(kernel: Kernel, spec: Spec, search: Search) -> TestView:
    """What the test template prints."""
    base = search.call(search.base)
    breaking = []
    never_first = []
    examples = []
    for check in search.checks:
        if _of_later_item(check):
            continue
        calls = example_calls(search, check)
        if calls is not None:
            examples.append(
                ExampleView(
                    rule=check.id,
                    wrong=_changes(kernel, calls[0], base),
                    right=_changes(kernel, calls[1], base),
                )
            )
        found = search.breaking(check)
        if found is None:
            never_first.append(check.id)
            continue
        call, broken = found
        overlap = [b.check.id for b in broken[1:]]
        name = check.id if not overlap else f"{check.id}-also-{'-'.join(overlap)}"
        breaking.append(
            BreakingView(
                rule=check.id,
                test_id=name if len(name) <= 200 else f"{check.id}-also-{len(overlap)}-later",
                changes=_changes(kernel, call, base),
                message=broken[0].message,
                overlap=", ".join(layout.literal(rule) for rule in overlap),
                explicit=bool(call.sizes),
            )
        )
    paths = {tensor.path: tensor for tensor in kernel.tensors}
    printer = _TestPrinter(paths)
    shapes = []
    for name, plan in search.shapes():
        call = search.call(plan)
        shapes.append(
            ShapeView(
                name=name, arguments=_all_arguments(kernel, call), programs=_programs(search, call)
            )
        )
    parameters = parameters_of(kernel, spec)
    contents = []
    for tensor in kernel.tensors:
        low, high = _bounds(tensor, printer)
        sample = printer.show(tensor.sample) if tensor.sample is not None else ""
        if tensor.access.reads and (low or sample):
            contents.append(ContentsView(path=tensor.path, low=low, high=high, sample=sample))
    sizes = [
        (size, f"shape({layout.literal(tensor.path)}, {axis})")
        for size, (tensor, axis) in kernel.binders().items()
    ]
    ensures = tuple((e.text, _assertion(e, kernel, printer)) for e in kernel.ensures)
    ensure_names = _names_read([assertion for _, assertion in ensures], kernel)
    content_names = _names_read([f"{c.low} {c.high} {c.sample}" for c in contents], kernel)
    needed = ensure_names | content_names
    sizes += [(d.name, printer.show(d.expr)) for d in kernel.derived]
    return TestView(
        stem=kernel.stem,
        launcher=kernel.launcher,
        structs=tuple(
            (
                s.name,
                s.struct,
                tuple(
                    (path.partition(".")[2], path)
                    for path in (*(f.path for f in s.fields), *(f.path for f in s.scalars))
                ),
                tuple(
                    (
                        w.path.partition(".")[2],
                        w.path,
                        w.struct,
                        str(w.at_most),
                        _names(t.path.rpartition(".")[2] for t in w.tensors if t.item == 0),
                        _names(i.field for i in w.scalars if i.item == 0),
                    )
                    for w in s.lists
                ),
            )
            for s in kernel.structs
        ),
        valid=_all_arguments(kernel, base),
        breaking=tuple(breaking),
        examples=tuple(examples),
        never_first=tuple(never_first),
        shapes=tuple(shapes),
        contents=tuple(contents),
        outputs=tuple(t.path for t in kernel.tensors if t.access.writes),
        ensures=ensures,
        sizes=tuple(s for s in sizes if s[0] in needed),
        content_names=content_names,
        ensure_names=ensure_names,
        signature=tuple((p.name, p.signature) for p in parameters),
        variants=variants_count(kernel, spec),
        optional=tuple(p.name for p in parameters if p.optional),
        constexprs=tuple(p.name for p in parameters if p.constexpr),
        combinations=combinations(kernel, spec),
        constants=tuple(c.name for c in spec.constants if c.name in needed),
        sampled=tuple((s.name, s.path) for s in kernel.scalars if s.name in needed),
        unordered=tuple(
            (t.path, t.unordered_by) for t in kernel.tensors if t.unordered_by is not None
        ),
        presences=presences(kernel, spec),
    )


def _names(names: Iterable[str]) -> str:
    """A tuple of strings, as Python writes it."""
    found = [layout.literal(name) for name in names]
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


def _of_later_item(check: Check) -> bool:
    """Whether a check is the first item's, said again of a later one."""
    subject = check.subject
    if check.rule is not None:
        return bool(check.rule.item)
    return isinstance(subject, TensorArgument) and bool(subject.item)


def _names_read(texts: list[str], kernel: Kernel) -> frozenset[str]:
    """Names in a text, and what the derived sizes among them read."""
    names = set(re.findall(r"\w+", " ".join(texts)))
    for derived in reversed(kernel.derived):
        if derived.name in names:
            shown = language.SourcePrinter().show(derived.expr)
            names.update(re.findall(r"\w+", shown))
    return frozenset(names)


class _TestPrinter(CodePrinter):
    """Shows an expression over the descriptions that a generated test makes its tensors from."""

    def __init__(self, tensors: Mapping[str, TensorArgument]) -> None:
        super().__init__()
        self._tensors = tensors

    def constant(self, name: str, value: int) -> str:
        """Show a constant by its name, and a member of an enum by its value."""
        return str(value) if "." in name else name

    def present(self, tensor: str) -> tuple[str, int]:
        """Show whether a description is there."""
        return f"arguments[{layout.literal(tensor)}] is not None", 40

    def absent(self, tensor: str) -> tuple[str, int]:
        """Show that a description is not there."""
        return f"arguments[{layout.literal(tensor)}] is None", 40

    def length(self, tensor: str, axis: int) -> str:
        """Show an extent; of an absent tensor it is 0."""
        return f"shape({layout.literal(tensor)}, {axis})"

    def stride(self, tensor: str, axis: int) -> str:
        """Show the stride of a contiguous tensor."""
        later = range(axis + 1, self._tensors[tensor].type.rank)
        return f"({' * '.join(self.length(tensor, i) for i in later) or '1'})"


def _programs(search: Search, call: Call) -> int:
    """Programs of a launch: the interpreter runs them one after another."""
    values = search.values(call)
    count = 1
    for dimension in search.kernel.grid:
        count *= max(1, language.evaluate(dimension, values))
    return count


def _bounds(tensor: TensorArgument, printer: PythonPrinter) -> tuple[str, str]:
    """Lowest and highest element of a domain that is a range, as text."""
    if tensor.values is None:
        return "", ""
    match tensor.values.expr:
        case Compare(low, ((low_op, Name(_, Kind.ELEMENT)), (high_op, high))):
            low_text = printer.show(low) + (" + 1" if low_op == "<" else "")
            return low_text, printer.show(high) + (" - 1" if high_op == "<" else "")
        case _:
            return "", ""


def _assertion(ensure: Ensure, kernel: Kernel, printer: PythonPrinter) -> str:
    tensor = layout.literal(ensure.tensor)
    shown = [printer.show(operand) for operand in ensure.operands]
    match ensure.kind:
        case EnsureKind.EQUALS:
            text = f"after[{tensor}][{shown[0]}] == {shown[1]}"
        case EnsureKind.WITHIN:
            text = f"all({shown[0]} <= value <= {shown[1]} for value in after[{tensor}])"
        case EnsureKind.NONDECREASING:
            values = f"after[{tensor}]" + (f"[: {shown[0]}]" if shown else "")
            text = f"nondecreasing({values})"
        case _:
            text = f"unchanged(before, after, {tensor}, {shown[0]})"
    optional = kernel.tensor(ensure.tensor).optional
    return f"{tensor} not in after or {text}" if optional else text


def _argument_text(value: object, dtype: str = "") -> str:
    if isinstance(value, TensorValue):
        shape = ", ".join(str(extent) for extent in value.shape)
        comma = "," if len(value.shape) == 1 else ""
        text = f"T(({shape}{comma}), {layout.literal(value.dtype)}"
        if value.strided:
            text += ", strided=True"
        if value.offset:
            text += f", offset={value.offset}"
        if value.device != "cpu":
            text += f", device={layout.literal(value.device)}"
        return text + ")"
    if isinstance(value, Wrong):
        return value.text
    if isinstance(value, str):
        return layout.literal(value)
    return repr(value)


def _all_arguments(kernel: Kernel, call: Call) -> tuple[str, ...]:
    found = [
        f"{layout.literal(tensor.path)}: {_argument_text(call.tensors[tensor.path])}"
        for tensor in kernel.tensors
    ]
    paths = _scalar_paths(kernel)
    found += [
        f"{layout.literal(paths[name])}: {_argument_text(_scalar_value(kernel, name, value))}"
        for name, value in call.scalars.items()
    ]
    return tuple(found)


def _scalar_paths(kernel: Kernel) -> dict[str, str]:
    """How a test names a scalar: by its path, a field of an item by the list's and its place."""
    paths = {s.name: s.path for s in kernel.scalars}
    for whole in kernel.lists:
        paths |= {s.name: f"{whole.path}[{s.item}].{s.field}" for s in whole.scalars}
    return paths


def _scalar_value(kernel: Kernel, name: str, value: object) -> object:
    scalar = next((s for s in kernel.scalars if s.name == name), None)
    if scalar is not None and scalar.kind is ScalarKind.ENUM and isinstance(value, int):
        return Wrong(text=f"constants.{scalar.enum}({value})", type_name="")
    return value


def _changes(kernel: Kernel, call: Call, base: Call) -> tuple[str, ...]:
    found = []
    paths = _scalar_paths(kernel)
    for tensor in kernel.tensors:
        value = call.tensors[tensor.path]
        if value != base.tensors[tensor.path]:
            found.append(f"{layout.literal(tensor.path)}: {_argument_text(value)}")
    for name, number in call.scalars.items():
        if number != base.scalars[name]:
            shown = _argument_text(_scalar_value(kernel, name, number))
            found.append(f"{layout.literal(paths[name])}: {shown}")
    for path, items in call.lists.items():
        found.append(f"{layout.literal(path)}: {items.text if isinstance(items, Wrong) else items}")
    for name, wrong in call.structs.items():
        found.append(f"{layout.literal(name)}: {wrong.text}")
    for name, number in call.sizes.items():
        found.append(f"{layout.literal(name)}: {_argument_text(number)}")
    return tuple(found)
