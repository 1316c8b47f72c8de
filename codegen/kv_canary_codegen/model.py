"""What a spec means: frozen, complete, and able to give its text's meaning back.

Parse, don't validate: `parse.py` is the one way in, and nothing after it re-reads text. A mistake
of the spec's author never gets this far; an assert here would be our own bug.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from kv_canary_codegen.expr import Arithmetic, Expr, Integer, Name
from kv_canary_codegen.source import Span


class Dtype(Enum):
    """Element types that a tensor argument may have; the value is torch's name."""

    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BYTES = "bytes"
    """Any element type, its last dimension and strides counted in bytes."""

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return {"64": 8, "32": 4, "16": 2}.get(self.value[-2:], 1)

    @property
    def sample(self) -> str:
        """Torch's name of a type that stands for it."""
        return "uint8" if self is Dtype.BYTES else self.value

    @property
    def signature(self) -> str:
        """Triton's name for it in a compilation signature."""
        names = {"bfloat16": "bf16", "uint8": "u8", "bytes": "u8", "bool": "i1"}
        return names.get(self.value, self.value.replace("int", "i").replace("float", "fp"))

    @property
    def integral(self) -> bool:
        """Whether a load of it widens to int64."""
        return self in (Dtype.INT64, Dtype.INT32, Dtype.INT16, Dtype.INT8)


class Access(Enum):
    """What a kernel does with a tensor."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"

    @property
    def reads(self) -> bool:
        """Whether the kernel may load from it."""
        return self is not Access.WRITE

    @property
    def writes(self) -> bool:
        """Whether the kernel may store to it."""
        return self is not Access.READ


class Layout(Enum):
    """How a tensor lies in memory."""

    CONTIGUOUS = "contiguous"
    STRIDED = "strided"
    ROWS = "rows"
    """Elements of a row follow each other; rows may stand apart."""


class OnViolation(Enum):
    """What a kernel does about an element outside its domain."""

    REPORT = "report"
    SKIP = "skip"


class Stage(Enum):
    """When a rule is checked."""

    ARGUMENTS = "arguments"
    LAUNCHER = "launcher"
    CONTIGUITY = "contiguity"
    DTYPE = "dtype"
    SIZES = "sizes"
    SHAPE = "shape"
    RELATIONS = "relations"
    DEVICE = "device"
    RANK = "rank"
    LENGTH = "length"


DEFAULT_ORDER = (
    Stage.ARGUMENTS, Stage.LAUNCHER, Stage.CONTIGUITY, Stage.DTYPE, Stage.SIZES, Stage.SHAPE,
    Stage.RELATIONS, Stage.DEVICE,
)  # fmt: skip
"""The order of checking where a kernel states none; `rank` and `length` are halves of `shape`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Names that every generated file shares."""

    name: str
    """For prose."""
    package: str
    """Import name of the generated package."""
    message_prefix: str
    """Every error begins so."""
    environment_prefix: str
    """Every environment variable begins so."""
    command: str
    """What a reader types to run `explain` and `generate`."""
    output: str
    """Folder of the generated files, relative to the spec folder."""
    reference_root: str
    """Import root for references that `new` writes, relative to the spec folder."""
    reference_package: str
    """Package that such a reference goes to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantDef:
    """A number with a name."""

    name: str
    value: int
    hexadecimal: bool
    """Written as 0x in the spec, and so in the output."""
    power_of_two: bool
    """A block size: Triton's ranges are powers of two."""
    doc: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumDef:
    """A closed set of named numbers; an IntEnum, or an IntFlag when its members are bits."""

    name: str
    doc: str
    flags: bool
    members: tuple[tuple[str, int, str], ...]
    """Name, value, meaning."""
    span: Span = field(compare=False)


def enum_name(enum: str, member: str) -> str:
    """What a body calls an enum's member: FAIL_REASON_SLOT_OUT_OF_RANGE."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum)
    return f"{words}_{member}".upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dim:
    """One dimension of a tensor: exactly an expression, or at least one."""

    expr: Expr
    at_least: bool = False

    @property
    def binds(self) -> str | None:
        """The size that this dimension may bind: a bare name."""
        return self.expr.name if isinstance(self.expr, Name) and not self.at_least else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorType:
    """Element type and symbolic shape."""

    dtype: Dtype
    dims: tuple[Dim, ...]
    axes: tuple[str, ...]
    """A name for each axis: guards and strides are called by it."""
    layout: Layout = Layout.CONTIGUOUS
    aligned: int = 0
    """Bytes of which its rows begin at a multiple, by the rules; 0 says nothing."""
    reached: Dtype | None = None
    """Wider elements that the kernel reaches it in; its last dimension is counted in them."""

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)

    @property
    def element(self) -> Dtype:
        """What the kernel loads and stores."""
        return self.reached or self.dtype

    @property
    def packing(self) -> int:
        """Elements of the tensor in one that the kernel reaches."""
        return self.element.itemsize // self.dtype.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What the elements of a tensor should be; the kernel guards and the host never looks."""

    expr: Expr
    """Over `it` and sizes."""
    on_violation: OnViolation


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDef:
    """One tensor of a struct."""

    name: str
    type: TensorType
    optional: bool
    """May be None; `allocate` makes it only when its length is asked for."""
    initial: int | None
    """What `allocate` fills it with; None leaves it unspecified."""
    doc: str
    unordered_by: str | None = None
    """A field that counts its rows: their order within one launch is unspecified."""
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDef:
    """A field that is a list of structs, of a few items at most."""

    name: str
    struct: str
    at_most: int
    item: str
    """What rules and bodies call one item: `source` gives `source_0_page_size`."""
    doc: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructDef:
    """Tensors and scalars that travel together."""

    name: str
    summary: str
    sizes: tuple[tuple[str, str], ...]
    """What `allocate` asks for: name, meaning. Without any, a struct is made by its fields."""
    fields: tuple[FieldDef | ScalarArgument | ListDef, ...]
    rules: tuple[Rule, ...]
    """Checked by `allocate`, or when a struct without sizes is made."""
    positional: bool = False
    """Whether its fields may be given by place, not only by name."""
    span: Span = field(compare=False)

    @property
    def tensors(self) -> tuple[FieldDef, ...]:
        """Its tensors in order."""
        return tuple(f for f in self.fields if isinstance(f, FieldDef))

    @property
    def scalars(self) -> tuple[ScalarArgument, ...]:
        """Its scalars in order."""
        return tuple(f for f in self.fields if isinstance(f, ScalarArgument))

    @property
    def lists(self) -> tuple[ListDef, ...]:
        """Its lists in order."""
        return tuple(f for f in self.fields if isinstance(f, ListDef))


class ScalarKind(Enum):
    """What a scalar argument may be."""

    INT = "int"
    BOOL = "bool"
    CHOICE = "choice"
    ENUM = "enum"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarArgument:
    """A number, a truth value, or one of a closed set: an argument, or a field of a struct."""

    name: str
    """In kernels and validators."""
    called: str
    kind: ScalarKind
    choices: tuple[str, ...]
    """For a choice."""
    enum: str | None
    """For an enum, its name; of an int, an enum whose members are taken too."""
    default: str | None
    """Python text of the default, None when the caller must say."""
    doc: str
    sample: int | None = None
    """Its value in the smallest call, where 0 would not do."""
    owner: str = ""
    """The struct argument that holds it, if one does."""
    span: Span = field(compare=False)

    @property
    def path(self) -> str:
        """As the caller passes it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorArgument:
    """A tensor: an argument itself, or a field of a struct argument."""

    path: str
    """As the caller passes it: `lut`, `plan.write_offsets`."""
    identifier: str
    """In kernels and validators."""
    called: str
    """In messages."""
    type: TensorType
    access: Access
    optional: bool
    values: Domain | None
    sample: Expr | None
    """Contents in generated tests, over the index `i`, where random ones would leave the result
    unspecified."""
    doc: str
    defaults_to_none: bool = False
    unordered_by: str | None = None
    """Path of the tensor that counts its rows: their order within one launch is unspecified."""
    item: int | None = None
    """Place in a list, for a field of one of its items."""
    messages: tuple[tuple[str, str], ...] = ()
    """Texts of its own for implied rules, by kind."""
    span: Span = field(compare=False)

    @property
    def owner(self) -> str:
        """The argument that it is, or that holds it."""
        return self.path.partition(".")[0]

    def extent(self, axis: int) -> Expr:
        """Elements along an axis, in those that the kernel reaches."""
        expr = self.type.dims[axis].expr
        if axis == self.type.rank - 1 and self.type.packing > 1:
            return Arithmetic("//", expr, Integer(self.type.packing))
        return expr


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemScalar:
    """An integer field of one item of a list; 0 where there is no such item."""

    name: str
    """In kernels and rules: `source_0_page_size`."""
    field: str
    item: int
    sample: int
    """Its value in the smallest call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListArgument:
    """A list of structs in a struct argument, its items taken apart."""

    path: str
    name: str
    """In validators."""
    called: str
    struct: str
    at_most: int
    item: str
    tensors: tuple[TensorArgument, ...]
    """Of every item in turn; each optional, since the item may not be there."""
    scalars: tuple[ItemScalar, ...]
    span: Span = field(compare=False)

    @property
    def owner(self) -> str:
        """The argument that holds it."""
        return self.path.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructArgument:
    """A struct whose fields the kernel uses."""

    name: str
    struct: str
    fields: tuple[TensorArgument, ...]
    """Its tensors."""
    doc: str
    scalars: tuple[ScalarArgument, ...] = ()
    lists: tuple[ListArgument, ...] = ()
    span: Span = field(compare=False)

    @property
    def tensors(self) -> tuple[TensorArgument, ...]:
        """Its tensors, and those of the items of its lists."""
        return (*self.fields, *(tensor for item in self.lists for tensor in item.tensors))


Argument = TensorArgument | ScalarArgument | StructArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedSize:
    """A size or flag worked out from the arguments."""

    name: str
    expr: Expr
    truth: bool
    """A flag, not a number."""
    doc: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class TypeName:
    """In a message: the type of what a caller gave for a flag."""

    name: str


@dataclass(frozen=True, slots=True)
class Described:
    """In a message: a tensor's shape, strides or dtype, as Python and torch print them."""

    what: str
    tensor: str


DESCRIBED = ("shape", "strides", "dtype")

Piece = str | Expr | TypeName | Described
"""A message is literal text, values, type names, and what a tensor looks like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call that breaks a rule and one that does not: changes to the smallest valid call."""

    wrong: tuple[tuple[str, str], ...]
    right: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A written rule."""

    id: str
    """With its stem: `plan_offsets.bs_range`."""
    stage: Stage
    require: Expr
    message: tuple[Piece, ...]
    argument: str
    """The argument that is most likely at fault."""
    meaning: str
    causes: tuple[str, ...]
    fix: tuple[str, ...]
    example: Example | None
    related: tuple[str, ...]
    item: int | None = None
    """Place in a list, for a rule about each of its items."""
    span: Span = field(compare=False)


class EnsureKind(Enum):
    """The four forms of a postcondition."""

    EQUALS = "equals"
    WITHIN = "within"
    NONDECREASING = "nondecreasing"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensure:
    """What holds of an output after every launch."""

    kind: EnsureKind
    tensor: str
    """Path of the output."""
    operands: tuple[Expr, ...]
    """equals: index, value · within: low, high · nondecreasing, unchanged: count of entries."""
    text: str
    """As written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccess:
    """One load, store or atomic add of a kernel body."""

    operation: str
    """load, store or atomic_add."""
    tensor: TensorArgument
    indices: tuple[str, ...]
    mask: str | None
    other: str | None
    value: str | None
    """For a store or an atomic add."""
    target: str | None
    """The variable that takes what was loaded."""
    guards: tuple[str, ...]
    """Name of the guard of each index; empty where an index needs none."""
    begins: bool
    """Whether the last index is 0, by whatever name: its rows' beginnings are reached."""
    span: str | None
    """Elements from the last index on, in one: a block where the index is a scalar."""
    columns: str | None
    """Elements from the last index on, as one more dimension of a block."""
    cache: str | None
    """What becomes of the lines in the cache."""
    checks_domain: bool
    """Whether the elements' domain is looked at."""
    first_line: int
    """In the body's text, from 0."""
    last_line: int
    indent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A kernel's body: Triton text with its memory accesses taken out."""

    helpers: str
    """Functions of its own that stand before the kernel."""
    lines: tuple[str, ...]
    """The kernel's statements, indented by four, fragments in place."""
    accesses: tuple[MemoryAccess, ...]
    words: frozenset[str]
    """Every name that the text uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """A kernel that a launcher runs before or after its own, with arguments of the same names."""

    stem: str
    when: Expr | None
    """None: always."""
    comes_first: bool
    """Before the launcher's own kernel."""
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Compile-time values that follow from a size: each class of sizes is a variant."""

    variable: str
    """What a launcher calls the class that a launch belongs to."""
    of: Expr
    up_to: tuple[int, ...]
    """Largest size of each class; what is larger still belongs to the last."""
    values: tuple[tuple[str, tuple[int, ...]], ...]
    """Name, and its value in each class."""
    num_warps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel: its arguments, rules, launch and body."""

    stem: str
    summary: str
    details: str
    launcher: str
    then: tuple[FollowUp, ...]
    reference: str
    """module:function."""
    arguments: tuple[Argument, ...]
    """In calling order."""
    checked: tuple[TensorArgument, ...]
    """Every tensor in checking order."""
    derived: tuple[DerivedSize, ...]
    rules: tuple[Rule, ...]
    """Written ones, in checking order within each stage."""
    device_of: str
    """Path of the tensor whose device all others must share."""
    variants: tuple[str, ...]
    """Bool, choice and enum arguments that are compiled in."""
    blocks: tuple[tuple[str, int], ...]
    """Compile-time sizes of this kernel."""
    grid: tuple[Expr, ...]
    num_warps: int
    ensures: tuple[Ensure, ...]
    body: Body
    classes: tuple[Classes, ...] = ()
    wide: tuple[str, ...] = ()
    """Paths of tensors that are reached 16 bytes at a time where all of them are aligned."""
    order: tuple[Stage, ...] = DEFAULT_ORDER
    """In which its checks run."""
    messages: tuple[tuple[str, str], ...] = ()
    """Texts of its own for implied rules, by kind; an argument's own come before them."""
    also: tuple[tuple[str, str], ...] = ()
    """Builtin error that a broken rule of a kind is as well: kind, error."""
    spec_path: str
    """Relative to the project, for the header."""
    span: Span = field(compare=False)

    @property
    def scalars(self) -> tuple[ScalarArgument, ...]:
        """Every scalar in calling order, a struct's in its place."""
        found: list[ScalarArgument] = []
        for argument in self.arguments:
            if isinstance(argument, ScalarArgument):
                found.append(argument)
            elif isinstance(argument, StructArgument):
                found.extend(argument.scalars)
        return tuple(found)

    @property
    def lists(self) -> tuple[ListArgument, ...]:
        """Lists of structs, in calling order."""
        return tuple(item for struct in self.structs for item in struct.lists)

    @property
    def structs(self) -> tuple[StructArgument, ...]:
        """Struct arguments in calling order."""
        return tuple(a for a in self.arguments if isinstance(a, StructArgument))

    @property
    def tensors(self) -> tuple[TensorArgument, ...]:
        """Every tensor in calling order, a struct's fields in its place."""
        found: list[TensorArgument] = []
        for argument in self.arguments:
            if isinstance(argument, TensorArgument):
                found.append(argument)
            elif isinstance(argument, StructArgument):
                found.extend(argument.tensors)
        return tuple(found)

    def tensor(self, path: str) -> TensorArgument:
        """The tensor that a caller passes by this path."""
        return next(t for t in self.tensors if t.path == path)

    @property
    def reference_tensor(self) -> TensorArgument:
        """The tensor whose device all others must share."""
        return self.tensor(self.device_of)

    def binders(self) -> dict[str, tuple[TensorArgument, int]]:
        """The tensor and axis that bind each size, in checking order; scalars bind before them."""
        scalars = {s.name for s in self.scalars}
        derived = {d.name for d in self.derived}
        found: dict[str, tuple[TensorArgument, int]] = {}
        for tensor in self.checked:
            for axis, dim in enumerate(tensor.type.dims):
                name = dim.binds
                if name is not None and name not in scalars | derived:
                    found.setdefault(name, (tensor, axis))
        # A required tensor binds before an optional one, whose size is 0 when it is absent.
        for tensor in self.checked:
            for axis, dim in enumerate(tensor.type.dims):
                name = dim.binds
                if name in found and found[name][0].optional and not tensor.optional:
                    found[name] = (tensor, axis)
        return found

    def optional_tensors(self) -> tuple[TensorArgument, ...]:
        """Tensors whose presence is compiled in."""
        return tuple(t for t in self.tensors if t.optional)

    def earlier_items(self, tensor: TensorArgument) -> tuple[TensorArgument, ...]:
        """The same field of the items before: a list has no gaps."""
        if tensor.item is None:
            return ()
        whole = next(item for item in self.lists if tensor in item.tensors)
        field_name = tensor.path.rpartition(".")[2]
        return tuple(
            other
            for other in whole.tensors
            if other.item is not None
            and other.item < tensor.item
            and other.path.rpartition(".")[2] == field_name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A whole spec folder."""

    project: Project
    constants: tuple[ConstantDef, ...]
    enums: tuple[EnumDef, ...]
    structs: tuple[StructDef, ...]
    kernels: tuple[Kernel, ...]

    def constant(self, name: str) -> ConstantDef:
        """The constant of this name."""
        return next(c for c in self.constants if c.name == name)

    def enum(self, name: str) -> EnumDef:
        """The enum of this name."""
        return next(e for e in self.enums if e.name == name)

    def struct(self, name: str) -> StructDef:
        """The struct of this name."""
        return next(s for s in self.structs if s.name == name)

    def all_rules(self) -> Iterator[Rule]:
        """Every written rule once, structs' before kernels'."""
        seen: set[str] = set()
        for rules in (*(s.rules for s in self.structs), *(k.rules for k in self.kernels)):
            for rule in rules:
                if rule.id not in seen:
                    seen.add(rule.id)
                    yield rule
