"""From YAML nodes to the model: the one way in. Every mistake is reported; none stops the run."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from kv_canary_codegen import expr as language
from kv_canary_codegen.body import BodyReader
from kv_canary_codegen.expr import Expr, ExprError, Kind, Symbol, Type
from kv_canary_codegen.model import (
    DEFAULT_ORDER,
    DESCRIBED,
    Access,
    Argument,
    Body,
    Classes,
    ConstantDef,
    DerivedSize,
    Described,
    Dim,
    Domain,
    Dtype,
    Ensure,
    EnsureKind,
    EnumDef,
    Example,
    FieldDef,
    FollowUp,
    ItemScalar,
    Kernel,
    Layout,
    ListArgument,
    ListDef,
    OnViolation,
    Piece,
    Project,
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
from kv_canary_codegen.source import (
    MappingNode,
    Node,
    Problems,
    Scalar,
    SequenceNode,
    Span,
    listed,
    load,
    nearest,
)

KEYS: dict[str, dict[str, bool]] = {
    "project.yaml": {
        "project": True,
        "package": True,
        "message_prefix": True,
        "environment_prefix": True,
        "command": True,
        "output": True,
        "reference_root": True,
        "reference_package": True,
    },
    "constants.yaml": {"constants": False, "enums": False},
    "constant": {"value": True, "power_of_two": False, "doc": True},
    "enum": {"doc": True, "flags": False, "members": True},
    "member": {"value": True, "doc": True},
    "structs.yaml": {"structs": True},
    "struct": {
        "summary": True,
        "sizes": False,
        "positional": False,
        "fields": True,
        "rules": False,
    },
    "field": {
        "tensor": True,
        "axes": False,
        "layout": False,
        "as": False,
        "aligned": False,
        "optional": False,
        "initial": False,
        "unordered_by": False,
        "doc": True,
    },
    "scalar field": {"scalar": True, "default": False, "sample": False, "doc": True},
    "list field": {"list": True, "at_most": True, "item": True, "doc": True},
    "kernel": {
        "kernel": True,
        "summary": True,
        "details": False,
        "launcher": True,
        "reference": True,
        "device_of": True,
        "use": False,
        "arguments": True,
        "checking_order": False,
        "stages": False,
        "messages": False,
        "also": False,
        "sizes": False,
        "rules": False,
        "relations": False,
        "functions": False,
        "variants": False,
        "launch": True,
        "blocks": False,
        "classes": False,
        "wide": False,
        "ensures": False,
    },
    "launcher": {"name": True, "rules": False, "before": False, "then": False},
    "before": {"kernel": True, "when": False},
    "then": {"kernel": True, "when": False},
    "tensor argument": {
        "tensor": True,
        "axes": False,
        "access": True,
        "layout": False,
        "as": False,
        "aligned": False,
        "optional": False,
        "default": False,
        "called": False,
        "values": False,
        "sample": False,
        "unordered_by": False,
        "messages": False,
        "doc": True,
    },
    "scalar argument": {"scalar": True, "default": False, "called": False, "doc": True},
    "struct argument": {
        "struct": True,
        "access": True,
        "called": False,
        "fields": False,
        "doc": True,
    },
    "struct argument field": {
        "tensor": False,
        "access": False,
        "called": False,
        "values": False,
        "sample": False,
        "doc": False,
    },
    "values": {"range": True, "on_violation": True},
    "size": {"size": False, "flag": False, "doc": True},
    "rule": {
        "id": True,
        "argument": False,
        "each": False,
        "require": True,
        "message": True,
        "meaning": True,
        "causes": True,
        "fix": True,
        "example": False,
        "related": False,
    },
    "example": {"wrong": True, "right": True},
    "launch": {"grid": True, "num_warps": False},
    "classes": {"of": True, "up_to": True, "values": True},
}
"""Every key of the language, by the mapping that it stands in; True: it must be there.

`like` stands beside an argument's keys. A kernel's rule must have `argument`; a struct's need not.
spec/README.md is held to this table by a test.
"""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_TENSOR = re.compile(r"\s*(?P<dtype>[A-Za-z_0-9]+)\s*\[(?P<dims>.*)\]\s*", re.DOTALL)
_INTEGER = re.compile(r"-?(0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)")
_MAX_RANK = 4
_KINDS = ("tensor", "scalar", "struct")
_WARPS = (1, 2, 4, 8, 16, 32)
_MAX_CLASSES = 4
_MAX_ITEMS = 16
"""Of a list: each is taken apart into arguments of the kernel."""
_MAX_BLOCK = 1 << 20
"""What Triton lets one block hold."""
_NO_NAMES = (*language.KEYWORDS, "present", "length", "stride", "is_bool", "min", "max")
"""Words that name nothing else; the other functions' names are what sizes like to be called."""
_RESERVED = (*_NO_NAMES, "it", "tl", "triton", "torch", "constants")

Entries = dict[str, tuple[Scalar, Node]]
_OWN_MESSAGES = ("contiguous", "dtype", "rank", "length", "device")
"""Implied rules that a kernel or an argument may word itself."""
_MESSAGE_FIELDS = ("name", "wanted", "found", "dtype")
_OR_INT = " or int"
"""After an enum's name: an integer that none of its members has is taken too."""


_TAKEN = frozenset(
    (
        "Any",
        "AttributeError",
        "BrokenRule",
        "ContractError",
        "False",
        "Inspection",
        "Launch",
        "LaunchSequence",
        "None",
        "RuntimeError",
        "Tensor",
        "TritonLaunch",
        "True",
        "TypeError",
        "ValueError",
        "accepts",
        "bool",
        "broken",
        "choose_backend",
        "cls",
        "constants",
        "derived",
        "device",
        "enable_fp_fusion",
        "float",
        "follow_up",
        "grid",
        "inspection",
        "int",
        "isinstance",
        "is_contiguous",
        "kernel",
        "launch",
        "launches",
        "len",
        "max",
        "min",
        "num_warps",
        "reference",
        "reference_launch",
        "require_triton",
        "self",
        "stem",
        "str",
        "sum",
        "tl",
        "torch",
        "torch_bool",
        "triton",
        "tuple",
        "type",
        "variant",
        "warm_up_kernel",
        "warmup",
    )
)
"""Names that generated code has a use of its own for."""
_TAKEN_FORMS = re.compile(
    r"(?:validate|accepts|inspect|prepare|warm_up)_\w+|\w+_(?:ptr|shape)|_\w+_kernel|\w+_stride_\w+"
)


TAKEN_STEMS = ("constants", "rules", "structs")
"""Pages and tests of these names are of the whole project."""


def shadows(name: str) -> bool:
    """Whether a name would hide one that generated code needs."""
    dtypes = {item.value for item in Dtype}
    return bool(
        name in _TAKEN or name in dtypes or keyword.iskeyword(name) or _TAKEN_FORMS.fullmatch(name)
    )


class Reader:
    """Takes values out of nodes, reporting whatever is not what its place wants."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.lost = False
        """Something that may give or read names could not be read: what is missing because of that
        is no mistake of its own."""
        self.mentioned: set[str] = set()
        """Words of expressions that could not be read: they count as read."""
        self.missing: set[str] = set()
        """Names that were reported as unknown: one report of each is enough."""

    def mapping(
        self, node: Node | None, context: str, *, extra: tuple[str, ...] = (), what: str = ""
    ) -> Entries:
        """The entries of a mapping that may hold only the keys of its context.

        A misspelt key that stands for a missing one is reported, and then read as that one.
        """
        keys = KEYS[context]
        named = what or _with_article(context)
        entries = self.any_mapping(node, named)
        for name, (key, value) in list(entries.items()):
            if name in keys or name in extra:
                continue
            missing = [word for word in (*keys, *extra) if word not in entries]
            near = nearest(name, missing) or nearest(name, keys)
            advice = ""
            if not _WORD.fullmatch(name) and isinstance(value, Scalar) and not value.text:
                # The rest of a text that a comma cut in two: what its beginning lacks is here.
                advice = f"; {_COMMA_ADVICE}"
                self._spoil_before(node, key)
            self.problems.report(
                key.span,
                f"unknown key of {named}: `{name}`",
                allowed=", ".join((*keys, *extra)) + advice,
                near=near,
            )
            del entries[name]
            if near in missing:
                entries[near] = (key, value)
            elif not advice:
                self.lost = True
        if isinstance(node, MappingNode):
            absent = [name for name, needed in keys.items() if needed and name not in entries]
            if absent:
                self.lost = True
                self.problems.report(
                    _head(node),
                    f"{named} without {', '.join(f'`{name}`' for name in absent)}",
                    allowed=", ".join(f"`{name}: ...`" for name in absent),
                )
        return entries

    def _spoil_before(self, node: Node | None, key: Scalar) -> None:
        values = [value for _, value in node] if isinstance(node, MappingNode) else []
        keys = [k for k, _ in node] if isinstance(node, MappingNode) else []
        at = keys.index(key)
        if at and isinstance(values[at - 1], Scalar):
            self.problems.spoil(values[at - 1].span)

    def entries_of(self, entries: Entries, key: str) -> Entries:
        """The entries of a mapping under a key, without judging it."""
        node = entries.get(key, (None, None))[1]
        return {k.text: (k, v) for k, v in node} if isinstance(node, MappingNode) else {}

    def any_mapping(self, node: Node | None, what: str) -> Entries:
        """The entries of a mapping whose keys are names."""
        if node is None:
            return {}
        if not isinstance(node, MappingNode):
            self.lost = True
            self.problems.report(
                node.span, f"{what} must be a mapping", allowed="`key: value` entries"
            )
            return {}
        return {key.text: (key, value) for key, value in node}

    def text(self, node: Node | None, what: str) -> str:
        """A line of text."""
        if node is None:
            return ""
        if not isinstance(node, Scalar):
            self.problems.report(node.span, f"{what} must be text", allowed=_ONE_TEXT)
            return ""
        if not node.text.strip():
            self.problems.report(node.span, f"{what} is empty", allowed="text")
        self.printable(node, what)
        return " ".join(node.text.split())

    def printable(self, node: Scalar, what: str) -> None:
        """Report what no page, message or source file could hold as it is."""
        for index, character in enumerate(node.text):
            if not character.isprintable() and character != "\n":
                self.problems.report(
                    node.at(index),
                    f"{what} holds the character U+{ord(character):04X}",
                    allowed="characters that can be printed",
                )
                return

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """A list of lines of text, one at least."""
        if isinstance(node, SequenceNode) and not node.items:
            self.problems.report(node.span, f"{what} is empty", allowed="`- text` lines")
        return tuple(self.text(item, f"an item of {what}") for item in self.items(node, what))

    def items(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """The items of a list."""
        if node is None:
            return ()
        if not isinstance(node, SequenceNode):
            self.lost = True
            self.problems.report(node.span, f"{what} must be a list", allowed="`- item` lines")
            return ()
        return node.items

    def integer(self, node: Node | None, what: str, fallback: int = 0) -> int:
        """A literal integer of at most 64 bits; the fallback where there is none."""
        if node is None:
            return fallback
        text = node.text if isinstance(node, Scalar) else ""
        if not _INTEGER.fullmatch(text):
            self.problems.report(
                node.span, f"{what} must be an integer{_but(text)}", allowed="12, -1 or 0x0C"
            )
            return fallback
        if len(text) > 20 or not -(1 << 63) <= int(text, 0) < 1 << 64:
            self.problems.report(
                node.span, f"{what} does not fit in 64 bits", allowed="-2**63 to 2**64 - 1"
            )
            return fallback
        return int(text, 0)

    def boolean(self, node: Node | None, what: str) -> bool:
        """True or false, and no other spelling; another is taken for what it seems to mean."""
        if node is None:
            return False
        word = node.text if isinstance(node, Scalar) else ""
        if word not in ("true", "false"):
            self.problems.report(
                node.span, f"{what} must be true or false{_but(word)}", allowed="true, false"
            )
        return word.lower() not in ("false", "no", "off", "0")

    def one_of(self, node: Node | None, what: str, allowed: Iterable[str]) -> str | None:
        """One of a closed set of words."""
        if node is None:
            return None
        known = tuple(allowed)
        if not isinstance(node, Scalar):
            self.problems.report(node.span, f"{what} must be one word", allowed=known)
            return None
        if node.text not in known:
            self.problems.report(
                node.span,
                f"unknown {what} `{node.text}`",
                allowed=known,
                near=nearest(node.text, known),
            )
            return None
        return node.text

    def named(self, node: Node | None, what: str, known: Iterable[str]) -> str | None:
        """One of the names that the spec gives."""
        if node is None:
            return None
        if not isinstance(node, Scalar):
            self.problems.report(node.span, f"{what} must be one name", allowed=_ONE_TEXT)
            return None
        names = tuple(known)
        if node.text in names:
            return node.text
        self.unknown(node.span, what, node.text, names)
        return None

    def unknown(self, span: Span, what: str, word: str, known: Iterable[str]) -> None:
        """Report a name that nothing gives, unless what gives it may have been lost."""
        if not self.lost and word not in self.missing:
            self.problems.unknown(span, what, word, known)
        self.missing.add(word)

    def name(self, key: Scalar, what: str) -> bool:
        """Whether a key can be a name in Python."""
        good = bool(_WORD.fullmatch(key.text)) and not keyword.iskeyword(key.text)
        if not good or key.text in _RESERVED or shadows(key.text):
            self.lost = True
            self.problems.report(
                key.span,
                f"`{key.text}` cannot name {what}",
                allowed="letters, digits and _, not beginning with a digit, and no reserved word",
            )
            return False
        return True

    def expression(self, node: Node | None, what: str, scope: language.Scope, wanted: Type) -> Expr:
        """An expression of the rule language."""
        if node is None:
            return _placeholder(wanted)
        if not isinstance(node, Scalar):
            self.problems.report(node.span, f"{what} must be an expression", allowed=_ONE_TEXT)
            return _placeholder(wanted)
        return self.parse(node, node.text, 0, scope, wanted)

    def parse(
        self, scalar: Scalar, text: str, start: int, scope: language.Scope, wanted: Type
    ) -> Expr:
        """An expression that is a part of a scalar, from an offset on."""
        try:
            tree = language.parse(text, scope, wanted)
        except ExprError as error:
            self.refuse(scalar, text, start, error, error.message, error.allowed)
            return _placeholder(wanted)
        for node in language.walk(tree):
            if isinstance(node, language.Name) and node.kind is Kind.LIST:
                written = next(n for n in (node.name, node.name.rpartition(".")[2]) if n in text)
                self.problems.report(
                    scalar.at(start + text.index(written), len(written)),
                    f"`{written}` is a list, and no number",
                    allowed=f"count({written})",
                )
                return _placeholder(wanted)
        return tree

    def refuse(
        self,
        scalar: Scalar,
        text: str,
        start: int,
        error: ExprError,
        message: str,
        allowed: str | None,
    ) -> None:
        """Report what is wrong with an expression."""
        self.mentioned.update(_WORD.findall(text))
        self.lost |= not text.strip()
        word = text[error.start : error.start + error.length]
        if error.unknown and (self.lost or word in self.missing):
            return
        if error.unknown:
            self.missing.add(word)
        self.problems.report(
            scalar.at(start + error.start, error.length), message, allowed=allowed, near=error.near
        )


_COMMA_ADVICE = 'text that holds a comma needs quotes in [ ] and { }: "..."'
_NOTHING = Symbol(name="", kind=Kind.CONSTANT)
_ONE_TEXT = "one text or number"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _but(word: str) -> str:
    return f", not `{word}`" if word else ""


def _with_article(context: str) -> str:
    if "." in context:
        return context
    if context in ("values", "launch", "before", "then", "classes"):
        return f"`{context}`"
    return f"{'an' if context[0] in 'aeiou' else 'a'} {context}"


def _placeholder(wanted: Type) -> Expr:
    """Stands for an expression that was reported, so that reading can go on."""
    zero = language.Integer(0)
    return zero if wanted is Type.INTEGER else language.Compare(zero, (("==", zero),))


def _head(node: MappingNode) -> Span:
    """Where a mapping begins: its first key, which a reader can see."""
    return node.entries[0][0].span if node.entries else node.span


def read_spec(folder: Path, shown: str) -> Spec:
    """Read a spec folder whole; raise SpecError with every mistake in it."""
    problems = Problems()
    spec = _SpecReader(folder, shown, problems).read()
    problems.raise_if_any()
    return spec


@dataclass(slots=True)
class _KernelSource:
    """One kernel's file, before names in it are understood."""

    stem: str
    shown: str
    entries: Entries
    span: Span
    readable: bool
    lost: bool
    """Some of its keys could not be read."""


class _SpecReader(Reader):
    def __init__(self, folder: Path, shown: str, problems: Problems) -> None:
        super().__init__(problems)
        self.folder = folder
        self.shown = shown
        self.constants: dict[str, ConstantDef] = {}
        self.enums: dict[str, EnumDef] = {}
        self.structs: dict[str, StructDef] = {}
        self.rule_ids: dict[str, Span] = {}
        self.related: list[tuple[Scalar, str]] = []
        self.rules_lost = False
        """Some rule has no id that could be read."""
        self.circles: set[frozenset[str]] = set()
        """Circles of `like` that were reported: each is met from all its arguments."""
        self.shared_lost = False
        """Some constant or struct could not be read."""
        self.struct_names: tuple[str, ...] = ()
        """Of all structs, also those that were not read yet."""
        self.each_of: dict[str, str] = {}
        """The list whose every item a rule is about, by rule."""

    def read(self) -> Spec:
        if not self.folder.is_dir():
            missing = not self.folder.exists()
            self.problems.report(
                Span(file=self.shown, line=0, column=0),
                "there is no such spec folder" if missing else "this is a file",
                allowed="a folder with a project.yaml",
            )
            self.problems.raise_if_any()
        project = self._project()
        self.lost = False
        self._read_constants()
        self._read_structs()
        self.shared_lost = self.lost
        sources = self._kernel_sources()
        self.rules_lost |= any(not s.readable or s.lost for s in sources.values())
        kernels = []
        for source in sources.values():
            if not source.readable:
                continue
            self.lost = self.shared_lost or source.lost
            self.mentioned.clear()
            self.missing.clear()
            kernel = self.read_kernel(source, sources)
            if kernel is not None:
                kernels.append(kernel)
        self._check_launchers(sources)
        self._check_follow_ups(kernels)
        self._check_related()
        return Spec(
            project=project,
            constants=tuple(self.constants.values()),
            enums=tuple(self.enums.values()),
            structs=tuple(self.structs.values()),
            kernels=tuple(kernels),
        )

    def load(self, path: Path, shown: str) -> MappingNode | None:
        """The nodes of one file."""
        return load(path, shown, self.problems)

    def read_kernel(
        self, source: _KernelSource, sources: Mapping[str, _KernelSource]
    ) -> Kernel | None:
        """One kernel, or None after reporting what is wrong with it."""
        return _KernelReader(self, source, sources).read()

    def read_body(self, reader: BodyReader, stem: str, span: Span) -> Body | None:
        """One kernel's body."""
        return reader.read(stem, span)

    def _file(self, name: str, context: str) -> Entries:
        node = self.load(self.folder / name, f"{self.shown}/{name}")
        if node is None:
            self.lost = True
        return self.mapping(node, context, what=name)

    def _project(self) -> Project:
        entries = self._file("project.yaml", "project.yaml")

        def text(key: str) -> str:
            node = entries.get(key, (None, None))[1]
            value = node.text if isinstance(node, Scalar) else self.text(node, f"`{key}`")
            if isinstance(node, Scalar) and not value.strip():
                self.problems.report(node.span, f"`{key}` is empty", allowed="text")
            return value

        for key in ("package", "reference_package"):
            node = entries.get(key, (None, None))[1]
            if isinstance(node, Scalar) and not all(
                _WORD.fullmatch(part) and not keyword.iskeyword(part)
                for part in node.text.split(".")
            ):
                self.problems.report(
                    node.span, f"`{node.text}` is no package name", allowed="letters, digits and _"
                )
        prefix = entries.get("environment_prefix", (None, None))[1]
        if isinstance(prefix, Scalar) and not re.fullmatch(r"[A-Z][A-Z0-9_]*", prefix.text):
            self.problems.report(
                prefix.span,
                f"`{prefix.text}` cannot begin an environment variable",
                allowed="capitals, digits and _",
            )
        return Project(
            name=text("project"),
            package=text("package"),
            message_prefix=text("message_prefix"),
            environment_prefix=text("environment_prefix"),
            command=text("command"),
            output=text("output"),
            reference_root=text("reference_root"),
            reference_package=text("reference_package"),
        )

    def _read_constants(self) -> None:
        entries = self._file("constants.yaml", "constants.yaml")
        for name, (key, node) in self.any_mapping(
            entries.get("constants", (None, None))[1], "`constants`"
        ).items():
            if not self.name(key, "a constant"):
                continue
            fields = self.mapping(node, "constant")
            value_node = fields.get("value", (None, None))[1]
            value = self.integer(value_node, f"the value of `{name}`", fallback=1)
            power = self.boolean(fields.get("power_of_two", (None, None))[1], "`power_of_two`")
            if power and (value < 1 or value & (value - 1)) and value_node is not None:
                near = 1 << max(0, value.bit_length() - 1) if value > 0 else 1
                self.problems.report(
                    value_node.span,
                    f"`{name}` is a block size, and {value} is no power of two",
                    allowed="1, 2, 4, 8, ...",
                    near=str(near),
                )
            self.constants[name] = ConstantDef(
                name=name,
                value=value,
                hexadecimal=isinstance(value_node, Scalar) and "x" in value_node.text.lower(),
                power_of_two=power,
                doc=self.text(fields.get("doc", (None, None))[1], "`doc`"),
                span=key.span,
            )
        for name, (key, node) in self.any_mapping(
            entries.get("enums", (None, None))[1], "`enums`"
        ).items():
            if self.name(key, "an enum"):
                self.enums[name] = self._enum(name, key, node)

    def _enum(self, name: str, key: Scalar, node: Node) -> EnumDef:
        fields = self.mapping(node, "enum")
        flags = self.boolean(fields.get("flags", (None, None))[1], "`flags`")
        members: list[tuple[str, int, str]] = []
        values: dict[int, str] = {}
        for member, (member_key, member_node) in self.any_mapping(
            fields.get("members", (None, None))[1], "`members`"
        ).items():
            self.name(member_key, "a member")
            parts = self.mapping(member_node, "member")
            value_node = parts.get("value", (None, None))[1]
            value = self.integer(value_node, f"the value of `{member}`", fallback=-1)
            if value_node is not None and value in values:
                self.problems.report(
                    value_node.span,
                    f"{value} is already `{values[value]}`",
                    allowed="a number of its own for each member",
                )
            elif value_node is not None and flags and (value < 1 or value & (value - 1)):
                self.problems.report(
                    value_node.span,
                    f"`{member}` is a flag, and {value} is no single bit",
                    allowed="1, 2, 4, 8, ...",
                )
            values[value] = member
            doc = self.text(parts.get("doc", (None, None))[1], "`doc`")
            members.append((member, value, doc))
        return EnumDef(
            name=name,
            doc=self.text(fields.get("doc", (None, None))[1], "`doc`"),
            flags=flags,
            members=tuple(members),
            span=key.span,
        )

    def constant_scope(self) -> dict[str, Symbol]:
        """Constants and enum members, for any expression."""
        scope = {
            c.name: Symbol(name=c.name, kind=Kind.CONSTANT, value=c.value)
            for c in self.constants.values()
        }
        for enum in self.enums.values():
            for member, value, _ in enum.members:
                name = f"{enum.name}.{member}"
                scope[name] = Symbol(name=name, kind=Kind.CONSTANT, value=value)
        return scope

    def item_names(self, whole: ListDef) -> Iterator[tuple[str, Kind]]:
        """Scalars and sizes of every item of a list, as rules and bodies call them."""
        struct = self.structs[whole.struct]
        for item in range(whole.at_most):
            prefix = f"{whole.item}_{item}_"
            for scalar in struct.scalars:
                yield f"{prefix}{scalar.name}", Kind.SCALAR
            for tensor in struct.tensors:
                for dim in tensor.type.dims:
                    for size in language.names_in(dim.expr):
                        yield f"{prefix}{size}", Kind.SIZE

    def _read_structs(self) -> None:
        if not (self.folder / "structs.yaml").exists():
            return
        entries = self._file("structs.yaml", "structs.yaml")
        written = self.any_mapping(entries.get("structs", (None, None))[1], "`structs`")
        self.struct_names = tuple(written)
        for name, (key, node) in written.items():
            if self.name(key, "a struct"):
                self.structs[name] = self._struct(name, key, node)

    def _struct(self, name: str, key: Scalar, node: Node) -> StructDef:
        parts = self.mapping(node, "struct")
        size_entries = self.any_mapping(parts.get("sizes", (None, None))[1], "`sizes`")
        sizes = {
            size: self.text(doc, f"the meaning of `{size}`")
            for size, (size_key, doc) in size_entries.items()
            if self.name(size_key, "a size")
        }
        scope = self.constant_scope() | {size: Symbol(name=size, kind=Kind.SIZE) for size in sizes}
        made_by_size = "sizes" in parts
        fields: list[FieldDef | ScalarArgument | ListDef] = []
        read: set[str] = set()
        self.missing.clear()
        for field_name, (field_key, field_node) in self.any_mapping(
            parts.get("fields", (None, None))[1], "`fields`"
        ).items():
            if not self.name(field_key, "a field"):
                continue
            keys = {k.text for k, _ in field_node} if isinstance(field_node, MappingNode) else set()
            if made_by_size and keys & {"scalar", "list"}:
                self.lost = True
                self.problems.report(
                    field_key.span,
                    f"`{field_name}` is no tensor, and `allocate` makes nothing else",
                    allowed="a struct without `sizes`, which is made by its fields",
                )
                continue
            if "scalar" in keys:
                entries = self.mapping(field_node, "scalar field")
                fields.append(self.scalar(field_name, field_key, entries))
                continue
            if "list" in keys:
                listed_field = self._list_field(field_name, field_key, field_node)
                if listed_field is not None:
                    fields.append(listed_field)
                continue
            entries = self.mapping(field_node, "field")
            if not made_by_size:
                # Its dimensions name its sizes, as an argument's do.
                for word in dimension_names(entries.get("tensor", (None, None))[1]):
                    scope.setdefault(word, Symbol(name=word, kind=Kind.SIZE))
            tensor_type = self.tensor_type(entries, scope, "size of the struct")
            initial = entries.get("initial", (None, None))[1]
            if initial is not None and not made_by_size:
                self.problems.report(
                    entries["initial"][0].span,
                    f"contents of `{field_name}`, which nothing allocates",
                    allowed="`sizes:` in the struct, or no `initial`",
                )
            for dim in tensor_type.dims:
                read.update(language.names_in(dim.expr))
            fields.append(
                FieldDef(
                    name=field_name,
                    type=tensor_type,
                    optional=self.boolean(entries.get("optional", (None, None))[1], "`optional`"),
                    initial=None if initial is None else self.integer(initial, "`initial`"),
                    doc=self.text(entries.get("doc", (None, None))[1], "`doc`"),
                    unordered_by=self._counter(entries, parts),
                    span=field_key.span,
                )
            )
        arguments = {size: size for size in sizes}
        for field in fields:
            if field.name in read and not isinstance(field, ScalarArgument):
                self.lost = True
                self.problems.report(
                    field.span,
                    f"`{field.name}` is a size already",
                    allowed="a name of its own for each field and each size",
                )
        if not made_by_size:
            scope |= {
                f.name: scalar_symbol(f.name, f) for f in fields if isinstance(f, ScalarArgument)
            }
            tensors = [f for f in fields if isinstance(f, FieldDef)]
            scope |= {
                f.name: Symbol(name=f.name, kind=Kind.TENSOR, rank=f.type.rank, optional=f.optional)
                for f in tensors
            }
            arguments = {f.name: f.name for f in fields}
            self._check_defaults(fields)
        rules = self.rules(
            parts.get("rules", (None, None))[1],
            stem=name,
            stage=Stage.SIZES,
            scope=scope,
            arguments=arguments,
            flags=(),
            argument_key=False,
        )
        for size, (size_key, _) in size_entries.items():
            if size not in read | self.mentioned and not self.lost and not self.missing:
                self.problems.report(
                    size_key.span,
                    f"no field of `{name}` has the size `{size}`",
                    allowed="a size that a field's shape reads",
                )
        return StructDef(
            name=name,
            summary=self.text(parts.get("summary", (None, None))[1], "`summary`"),
            sizes=tuple(sizes.items()),
            fields=tuple(fields),
            rules=rules,
            positional=self.boolean(parts.get("positional", (None, None))[1], "`positional`"),
            span=key.span,
        )

    def _check_defaults(self, fields: list[FieldDef | ScalarArgument | ListDef]) -> None:
        """Fields that may be left out stand last, as Python wants them."""
        seen = False
        for item in fields:
            left_out = (isinstance(item, FieldDef) and item.optional) or (
                isinstance(item, ScalarArgument) and item.default is not None
            )
            if seen and not left_out:
                self.problems.report(
                    item.span,
                    f"`{item.name}` must be given, and stands after one that need not be",
                    allowed="fields with `default:` or `optional: true` last",
                )
            seen |= left_out

    def _counter(self, entries: Entries, parts: Entries) -> str | None:
        """The field that counts a tensor's rows."""
        node = entries.get("unordered_by", (None, None))[1]
        others = [
            name for name, (_, field) in self.entries_of(parts, "fields").items() if _counts(field)
        ]
        return self.named(node, "counter", others)

    def _list_field(self, name: str, key: Scalar, node: Node) -> ListDef | None:
        entries = self.mapping(node, "list field")
        list_node = entries.get("list", (None, None))[1]
        below = [word for word in self.struct_names if word not in self.structs]
        struct = None
        if isinstance(list_node, Scalar) and list_node.text in below:
            self.problems.report(
                list_node.span,
                f"struct `{list_node.text}` does not stand above",
                allowed="a struct that stands above this one",
            )
        else:
            struct = self.named(list_node, "struct", self.structs)
        before = self.problems.count()
        at_most = self.expression(
            entries.get("at_most", (None, None))[1],
            "`at_most`",
            self.constant_scope(),
            Type.INTEGER,
        )
        counted = "at_most" in entries and self.problems.count() == before
        item_node = entries.get("item", (None, None))[1]
        item = self.text(item_node, "`item`")
        if item_node is not None and not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", item):
            self.lost = True
            self.problems.report(
                item_node.span, f"`{item}` cannot name an item", allowed="small letters, digits, _"
            )
        doc = self.text(entries.get("doc", (None, None))[1], "`doc`")
        if struct is None:
            self.lost = True
            return None
        if not _can_be_an_item(self.structs[struct]):
            self.lost = True
            self.problems.report(
                entries["list"][1].span,
                f"`{struct}` cannot be an item of a list",
                allowed="a struct without `sizes`, of integers and one required tensor that is "
                "`bytes` with `layout: rows`",
            )
            return None
        value = language.evaluate(at_most, language.Values(names={}, shapes={}, strides={}))
        if not 1 <= value <= _MAX_ITEMS:
            self.lost = True
            if counted:
                self.problems.report(
                    entries["at_most"][1].span,
                    f"a list of at most {_count(value, 'item')}",
                    allowed=f"1 to {_MAX_ITEMS} items",
                )
            return None
        return ListDef(name=name, struct=struct, at_most=value, item=item, doc=doc, span=key.span)

    def scalar(self, name: str, key: Scalar, entries: Entries) -> ScalarArgument:
        """A scalar argument, or a struct's scalar field."""
        kind_node = entries["scalar"][1]
        text = self.text(kind_node, "`scalar`")
        kind: ScalarKind | None = None
        choices: tuple[str, ...] = ()
        enum = None
        if text in ("int", "bool"):
            kind = ScalarKind(text)
        elif text.startswith("one of "):
            kind = ScalarKind.CHOICE
            choices = _choices(text)
            if len(set(choices)) < max(2, len(choices)) or not all(
                _WORD.fullmatch(c) and c not in _RESERVED for c in choices
            ):
                self.lost = True
                self.problems.report(
                    kind_node.span, "no choice", allowed="one of a, b, ...: two different words"
                )
        elif text.removesuffix(_OR_INT) in self.enums:
            kind = ScalarKind.INT if text.endswith(_OR_INT) else ScalarKind.ENUM
            enum = text.removesuffix(_OR_INT)
        elif text:
            self.unknown(
                kind_node.span,
                "scalar type",
                text,
                ("int", "bool", "one of a, b, ...", *self.enums),
            )
        default_node = entries.get("default", (None, None))[1]
        default = None
        if default_node is not None and kind is not None:
            if kind is ScalarKind.INT:
                default = str(self.integer(default_node, "`default`"))
            elif kind is ScalarKind.BOOL:
                default = str(self.boolean(default_node, "`default`"))
            else:
                members = choices or tuple(m for m, _, _ in self.enums[enum or ""].members)
                word = self.one_of(default_node, "default", members) or ""
                default = f'"{word}"' if kind is ScalarKind.CHOICE else f"{enum}.{word}"
        called = entries.get("called", (None, None))[1]
        sample = entries.get("sample", (None, None))[1]
        return ScalarArgument(
            name=name,
            called=self.text(called, "`called`") if called else name,
            kind=kind or ScalarKind.INT,
            choices=choices,
            enum=enum,
            default=default,
            doc=self.text(entries.get("doc", (None, None))[1], "`doc`"),
            sample=None if sample is None else self.integer(sample, "`sample`"),
            span=key.span,
        )

    def tensor_type(
        self, entries: Entries, scope: language.Scope, unknown: str, *, override: bool = False
    ) -> TensorType:
        """A `tensor:` and its `axes:` and `layout:`; an override has its dimensions alone."""
        node = entries.get("tensor", (None, None))[1]
        axes_node = entries.get("axes", (None, None))[1]
        layout = self.one_of(
            entries.get("layout", (None, None))[1], "layout", [item.value for item in Layout]
        )
        fallback = TensorType(dtype=Dtype.INT64, dims=(), axes=())
        if node is None:
            return fallback
        match = _TENSOR.fullmatch(node.text) if isinstance(node, Scalar) else None
        if not isinstance(node, Scalar) or match is None:
            self.lost = True
            self.problems.report(
                node.span, "this is no tensor type", allowed="dtype[size, ...], as in int64[bs]"
            )
            return fallback
        known = {item.value: item for item in Dtype}
        word = match.group("dtype")
        if word not in known:
            self.problems.report(
                node.at(match.start("dtype"), len(word)),
                f"unknown dtype `{word}`",
                allowed=known,
                near=nearest(word, known),
            )
        dims = tuple(
            self._dim(node, text, start, scope, unknown)
            for text, start in _split(match.group("dims"), match.start("dims"))
        )
        if not 1 <= len(dims) <= _MAX_RANK:
            self.lost = True
            self.problems.report(
                node.span,
                f"a tensor of {len(dims)} dimensions",
                allowed=f"1 to {_MAX_RANK} dimensions",
            )
            return fallback
        dtype = known.get(word, Dtype.INT64)
        return TensorType(
            dtype=dtype,
            dims=dims,
            axes=self._axes(axes_node, len(dims)),
            layout=Layout(layout or "contiguous"),
            reached=None if override else self._reached(entries, dtype),
            aligned=self._alignment(entries),
        )

    def _alignment(self, entries: Entries) -> int:
        """Bytes of which a tensor's rows begin at a multiple."""
        node = entries.get("aligned", (None, None))[1]
        value = self.integer(node, "`aligned`")
        if node is not None and value not in (8, 16, 32, 64, 128):
            self.problems.report(
                node.span, f"rows at multiples of {value} bytes", allowed="8, 16, 32, 64, 128"
            )
        return value

    def _reached(self, entries: Entries, dtype: Dtype) -> Dtype | None:
        """The wider elements that a kernel reaches a tensor in."""
        node = entries.get("as", (None, None))[1]
        wider = [item.value for item in Dtype if item.itemsize > dtype.itemsize]
        if node is None:
            if dtype is Dtype.BYTES:
                self.problems.report(
                    entries["tensor"][1].span,
                    "`bytes` are of any dtype, and a kernel reaches them as one",
                    allowed="`as: int64`, or another dtype",
                )
            return None
        layout = entries.get("layout", (None, None))[1]
        if isinstance(layout, Scalar) and layout.text == Layout.STRIDED.value:
            self.problems.report(
                entries["as"][0].span,
                "elements that stand apart, reached as wider ones",
                allowed="`layout: contiguous` or `layout: rows`, whose rows are packed",
            )
        word = self.one_of(node, "dtype", wider)
        return Dtype(word) if word is not None else None

    def _axes(self, node: Node | None, rank: int) -> tuple[str, ...]:
        unnamed = ("index",) if rank == 1 else tuple(f"axis{i}" for i in range(rank))
        if node is None:
            return unnamed
        axes: list[str] = []
        good = True
        for item in self.items(node, "`axes`"):
            axis = self.text(item, "an axis")
            if not _WORD.fullmatch(axis) or axis in axes:
                good = False
                self.problems.report(
                    item.span, f"`{axis}` cannot name an axis", allowed="a word, each once"
                )
            axes.append(axis)
        if good and len(axes) == rank:
            return tuple(axes)
        self.lost = True
        if good and isinstance(node, SequenceNode):
            self.problems.report(
                node.span,
                f"{_count(len(axes), 'name')} for the axes of {_count(rank, 'dimension')}",
                allowed="one name for each dimension",
            )
        return unnamed

    def _dim(self, node: Scalar, text: str, start: int, scope: language.Scope, unknown: str) -> Dim:
        at_least = text.lstrip().startswith(">=")
        if at_least:
            cut = text.index(">=") + 2
            text, start = text[cut:], start + cut
        try:
            expr = language.parse(text, scope, Type.INTEGER)
        except ExprError as error:
            message, allowed = error.message, error.allowed
            if error.unknown:
                word = text[error.start : error.start + error.length]
                message = f"unknown {unknown} `{word}`"
                if unknown == "size":
                    message = f"size `{word}` is bound by nothing"
                    allowed = "a size that is a whole dimension of some tensor, or a scalar"
            self.refuse(node, text, start, error, message, allowed)
            self.missing.update(_WORD.findall(text))
            return Dim(expr=language.Integer(1), at_least=at_least)
        if isinstance(expr, language.Integer) and expr.value < 0:
            self.problems.report(
                node.at(start + len(text) - len(text.lstrip()), len(text.strip())),
                f"{expr.value} as a length",
                allowed="0 or more",
            )
        return Dim(expr=expr, at_least=at_least)

    def rules(
        self,
        node: Node | None,
        *,
        stem: str,
        stage: Stage,
        scope: language.Scope,
        arguments: Mapping[str, str],
        flags: tuple[str, ...],
        argument_key: bool = True,
        reused: bool = False,
        lists: Mapping[str, ListArgument] | None = None,
    ) -> tuple[Rule, ...]:
        """A list of written rules. `reused`: another kernel's, read again in this one's scope."""
        found = []
        for item in self.items(node, "`rules`"):
            entries = self.mapping(item, "rule")
            if (
                argument_key
                and not {"argument", "each"} & entries.keys()
                and isinstance(item, MappingNode)
            ):
                self.problems.report(
                    _head(item), "a kernel's rule without `argument`", allowed="`argument: ...`"
                )
            rule = self._rule(
                entries, item.span, stem, stage, scope, arguments, flags, reused, lists or {}
            )
            if rule is not None:
                found.append(rule)
        return tuple(found)

    def _each(self, entries: Entries, lists: Mapping[str, ListArgument]) -> str | None:
        """The list whose every item a rule is about; without it the rule has no meaning."""
        node = entries["each"][1]
        for other, reason in (
            ("argument", "the list is the argument"),
            ("example", "the tests find calls that break it"),
        ):
            if other in entries:
                self.problems.report(
                    entries[other][0].span,
                    f"`{other}` of a rule about each item of a list",
                    allowed=f"`each` alone: {reason}",
                )
        path = self.named(node, "list", lists)
        if path is None:
            for word in ("require", "message"):
                text = entries.get(word, (None, None))[1]
                if isinstance(text, Scalar):
                    self.mentioned.update(_WORD.findall(text.text))
        return path

    def item_scope(self, whole: ListArgument) -> dict[str, Symbol]:
        """What a rule about each item of a list may read besides."""
        return {
            **{
                f"{whole.item}_{t.path.rpartition('.')[2]}": Symbol(
                    name=f"{whole.item}_{t.path.rpartition('.')[2]}",
                    kind=Kind.TENSOR,
                    rank=t.type.rank,
                )
                for t in whole.tensors
                if t.item == 0
            },
            **{
                name: Symbol(name=name, kind=Kind.SCALAR)
                for name in (f"{whole.item}_{s.field}" for s in whole.scalars if s.item == 0)
            },
            **{
                name: Symbol(name=name, kind=Kind.SIZE)
                for name in (
                    f"{whole.item}_{size.removeprefix(f'{whole.item}_0_')}"
                    for t in whole.tensors
                    if t.item == 0
                    for dim in t.type.dims
                    for size in language.names_in(dim.expr)
                )
            },
            "i": Symbol(name="i", kind=Kind.CONSTANT),
        }

    def _rule(
        self,
        entries: Entries,
        span: Span,
        stem: str,
        stage: Stage,
        scope: language.Scope,
        arguments: Mapping[str, str],
        flags: tuple[str, ...],
        reused: bool,
        lists: Mapping[str, ListArgument],
    ) -> Rule | None:
        id_node = entries.get("id", (None, None))[1]
        if not isinstance(id_node, Scalar):
            if id_node is not None:
                self.text(id_node, "`id`")
            self.rules_lost = True
            return None
        if not re.fullmatch(r"[a-z][a-z0-9_]*", id_node.text):
            self.problems.report(
                id_node.span,
                f"`{id_node.text}` is no rule id",
                allowed="small letters, digits and _; the kernel's stem is put before it",
            )
        rule_id = f"{stem}.{id_node.text}"
        if not reused:
            if rule_id in self.rule_ids:
                self.problems.report(
                    id_node.span,
                    f"two rules are called `{rule_id}`, the first on line "
                    f"{self.rule_ids[rule_id].line}",
                    allowed="an id of its own for each rule",
                )
            self.rule_ids.setdefault(rule_id, id_node.span)
        argument = self.named(entries.get("argument", (None, None))[1], "argument", arguments)
        if "each" in entries:
            argument = self._each(entries, lists)
            if argument is None:
                return None
            scope = {**scope, **self.item_scope(lists[argument])}
            self.each_of[rule_id] = argument
        require = self.expression(
            entries.get("require", (None, None))[1], "`require`", scope, Type.TRUTH
        )
        message = self._message(entries.get("message", (None, None))[1], scope, flags)
        example = self._example(entries.get("example", (None, None))[1], scope, arguments)
        related_node = entries.get("related", (None, None))[1]
        related = []
        for item in self.items(related_node, "`related`"):
            if not isinstance(item, Scalar):
                self.text(item, "an item of `related`")
            else:
                name = item.text if "." in item.text else f"{stem}.{item.text}"
                related.append(name)
                if not reused:
                    self.related.append((item, name))
        return Rule(
            id=rule_id,
            stage=stage,
            require=require,
            message=message,
            argument=arguments.get(argument or next(iter(arguments), ""), argument or ""),
            meaning=self.text(entries.get("meaning", (None, None))[1], "`meaning`"),
            causes=self.texts(entries.get("causes", (None, None))[1], "`causes`"),
            fix=self.texts(entries.get("fix", (None, None))[1], "`fix`"),
            example=example,
            related=tuple(related),
            span=span,
        )

    def _message(
        self, node: Node | None, scope: language.Scope, flags: tuple[str, ...]
    ) -> tuple[Piece, ...]:
        if node is None:
            return ()
        if not isinstance(node, Scalar) or not node.text.strip():
            self.text(node, "`message`")
            return ()
        self.printable(node, "`message`")
        pieces: list[Piece] = []
        at = 0
        text = node.text
        literal = ""
        while at < len(text):
            two = text[at : at + 2]
            if two in ("{{", "}}"):
                literal += two[0]
                at += 2
                continue
            if text[at] == "}":
                self.problems.report(
                    node.at(at), "a `}` without its `{`", allowed="`}}` for the character itself"
                )
                self.mentioned.update(_WORD.findall(text))
            if text[at] != "{":
                literal += text[at]
                at += 1
                continue
            end = text.find("}", at)
            if end < 0:
                self.problems.report(
                    node.at(at), "a `{` without its `}`", allowed="`{{` for the character itself"
                )
                self.mentioned.update(_WORD.findall(text))
                break
            if literal:
                pieces.append(literal)
                literal = ""
            pieces.append(self._placeholder_in(node, text[at + 1 : end], at + 1, scope, flags))
            at = end + 1
        if literal:
            pieces.append(literal)
        return tuple(pieces)

    def _placeholder_in(
        self, node: Scalar, text: str, start: int, scope: language.Scope, flags: tuple[str, ...]
    ) -> Piece:
        match = re.fullmatch(r"type\((\w+)\)", text)
        if match:
            if match.group(1) not in flags:
                self.unknown(node.at(start + 5, len(match.group(1))), "flag", match.group(1), flags)
            return TypeName(match.group(1))
        match = re.fullmatch(r"(\w+)\(([\w.]+)\)", text)
        if match and match.group(1) in DESCRIBED:
            described = scope.get(match.group(2), _NOTHING)
            if described.kind is not Kind.TENSOR:
                tensors = (n for n, s in scope.items() if s.kind is Kind.TENSOR)
                place = node.at(start + match.start(2), len(match.group(2)))
                self.unknown(place, "tensor", match.group(2), tensors)
            return Described(match.group(1), described.name)
        functions = (*language.FUNCTIONS, *DESCRIBED, "type")
        if match and match.group(1) not in functions:
            self.problems.report(
                node.at(start, len(match.group(1))),
                f"unknown function `{match.group(1)}`",
                allowed=functions,
                near=nearest(match.group(1), functions),
            )
            self.mentioned.update(_WORD.findall(text))
            return language.Integer(0)
        symbol = scope.get(text)
        if symbol is not None and symbol.kind is Kind.FLAG:
            return language.Name(text, Kind.FLAG)
        try:
            return language.parse(text, scope, Type.INTEGER)
        except ExprError as error:
            message = error.message
            if error.unknown:
                word = text[error.start : error.start + error.length]
                message = f"the message names an unknown size `{word}`"
            self.refuse(node, text, start, error, message, error.allowed)
            return language.Integer(0)

    def _example(
        self, node: Node | None, scope: language.Scope, arguments: Mapping[str, str]
    ) -> Example | None:
        if node is None:
            return None
        entries = self.mapping(node, "example")
        known = {
            name: symbol
            for name, symbol in scope.items()
            if symbol.kind in (Kind.SIZE, Kind.SCALAR, Kind.FLAG, Kind.CHOICE)
            or (symbol.kind is Kind.TENSOR and symbol.optional)
        }
        constants = {n: s for n, s in scope.items() if s.kind is Kind.CONSTANT}

        def changes(key: str) -> tuple[tuple[str, str], ...]:
            found = []
            for name, (name_key, value) in self.any_mapping(
                entries.get(key, (None, None))[1], f"`{key}`"
            ).items():
                symbol = known.get(name)
                if symbol is None:
                    self.unknown(name_key.span, "size or argument", name, known)
                    continue
                if symbol.kind is Kind.TENSOR:
                    word = self.one_of(value, "presence", ("given", "none"))
                elif symbol.kind is Kind.CHOICE:
                    word = self.one_of(value, f"value of `{name}`", symbol.members)
                elif (
                    symbol.kind is Kind.FLAG
                    and isinstance(value, Scalar)
                    and value.text in ("true", "false")
                ):
                    word = value.text
                else:
                    tree = self.expression(value, f"`{name}`", constants, Type.INTEGER)
                    word = str(
                        language.evaluate(tree, language.Values(names={}, shapes={}, strides={}))
                    )
                found.append((name, word or ""))
            return tuple(found)

        return Example(wrong=changes("wrong"), right=changes("right"))

    def _kernel_sources(self) -> dict[str, _KernelSource]:
        folder = self.folder / "kernels"
        sources: dict[str, _KernelSource] = {}
        paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
        if not paths:
            self.problems.report(
                Span(file=f"{self.shown}/kernels", line=0, column=0),
                "there is no kernel spec here",
                allowed="kernels/<stem>.yaml, one a kernel",
            )
        for path in paths:
            shown = f"{self.shown}/kernels/{path.name}"
            whole = Span(file=shown, line=0, column=0)
            if path.stem in TAKEN_STEMS:
                self.problems.report(
                    whole,
                    f"`{path.stem}` cannot name a kernel: that page and test are the project's own",
                    allowed="another name",
                )
                continue
            if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem) or keyword.iskeyword(path.stem):
                self.problems.report(
                    whole,
                    f"`{path.stem}` cannot name a kernel",
                    allowed="small letters, digits and _, and no reserved word",
                )
                continue
            node = self.load(path, shown)
            self.lost = False
            entries = self.mapping(node, "kernel") if node is not None else {}
            stem = entries.get("kernel", (None, None))[1]
            if isinstance(stem, Scalar) and stem.text != path.stem:
                self.problems.report(
                    stem.span,
                    f"kernel `{stem.text}` in a file called {path.name}",
                    allowed=f"`kernel: {path.stem}`",
                )
            elif stem is not None:
                self.text(stem, "`kernel`")
            sources[path.stem] = _KernelSource(
                stem=path.stem,
                shown=shown,
                entries=entries,
                span=whole if node is None else _head(node),
                readable=node is not None,
                lost=self.lost,
            )
        self._refuse_strays(folder, sources)
        return sources

    def _refuse_strays(self, folder: Path, sources: Mapping[str, _KernelSource]) -> None:
        """Files that somebody wrote for a kernel, and that nothing reads."""
        for path in sorted(folder.glob("*.yml")):
            self.problems.report(
                Span(file=f"{self.shown}/kernels/{path.name}", line=0, column=0),
                "nothing reads this file",
                allowed=f"the name {path.stem}.yaml",
            )
        for path in sorted(folder.glob("*.py.jinja")):
            stem = path.name.removesuffix(".py.jinja")
            if stem not in sources:
                self.problems.report(
                    Span(file=f"{self.shown}/kernels/{path.name}", line=0, column=0),
                    "this body belongs to no kernel",
                    allowed=f"a spec {stem}.yaml beside it, or the folder fragments",
                    near=nearest(stem, sources),
                )

    def _check_launchers(self, sources: Mapping[str, _KernelSource]) -> None:
        seen: dict[str, str] = {}
        for source in sources.values():
            node = self.entries_of(source.entries, "launcher").get("name", (None, None))[1]
            if not isinstance(node, Scalar):
                continue
            if node.text in seen:
                self.problems.report(
                    node.span,
                    f"launcher `{node.text}` is already kernel `{seen[node.text]}`'s",
                    allowed="a launcher of its own for each kernel",
                )
            seen.setdefault(node.text, source.stem)

    def _check_follow_ups(self, kernels: list[Kernel]) -> None:
        """What a follow-up kernel must have, its condition promises."""
        known = {kernel.stem: kernel for kernel in kernels}
        for kernel in kernels:
            own = {tensor.identifier: tensor for tensor in kernel.tensors}
            for follow_up in kernel.then:
                promised = () if follow_up.when is None else language.conjuncts(follow_up.when)
                tensors = known[follow_up.stem].tensors if follow_up.stem in known else ()
                for tensor in tensors:
                    mine = own.get(tensor.path)
                    given = mine is not None and language.Present(mine.path) in promised
                    if mine is not None and mine.optional and not (tensor.optional or given):
                        self.problems.report(
                            follow_up.span,
                            f"kernel `{follow_up.stem}` must have `{tensor.path}`, which this "
                            "launcher may be without",
                            allowed=f"`when: present({mine.path})`",
                        )

    def _check_related(self) -> None:
        for scalar, name in self.related:
            if name not in self.rule_ids and not self.rules_lost:
                self.problems.unknown(scalar.span, "rule", name, self.rule_ids)


def _split(text: str, start: int) -> list[tuple[str, int]]:
    """Split at commas outside parentheses; each part with its offset."""
    parts = []
    depth = 0
    part_start = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append((text[part_start:index], start + part_start))
            part_start = index + 1
    if text[part_start:].strip() or parts:
        parts.append((text[part_start:], start + part_start))
    return parts


def _steps_of_one(require: Expr) -> Iterator[tuple[str, int]]:
    """Tensors and axes of which a rule requires that elements along them follow each other."""
    match require:
        case language.Compare(first=language.Stride(tensor=path, axis=axis), rest=rest):
            if rest == (("==", language.Integer(1)),):
                yield path, axis
        case language.Implies(left=language.Present(tensor=path), right=right):
            yield from (found for found in _steps_of_one(right) if found[0] == path)
        case language.Every(items=items):
            for item in items:
                yield from _steps_of_one(item)


class _KernelReader:
    """Reads one kernel: names first, then what is written with them, then what nothing reads."""

    def __init__(
        self, spec: _SpecReader, source: _KernelSource, sources: Mapping[str, _KernelSource]
    ) -> None:
        self.spec = spec
        self.problems = spec.problems
        self.source = source
        self.sources = sources
        self.scope: dict[str, Symbol] = dict(spec.constant_scope())
        self.read_names: set[str] = set()
        self.used_rules: dict[str, Span] = {}
        """Single rules of other kernels that this one takes over, and where it says so."""
        self.lists: dict[str, ListArgument] = {}
        self.counters: list[str] = []
        """Tensors that may count the rows of another, by path."""

    def node(self, key: str) -> Node | None:
        """The value of one of the kernel's own keys."""
        return self.source.entries.get(key, (None, None))[1]

    def read(self) -> Kernel | None:
        """The kernel, or None after reporting what is wrong with it."""
        before = self.problems.count()
        stem = self.source.stem
        arguments_node = self.spec.any_mapping(self.node("arguments"), "`arguments`")
        merged = {
            name: self._like(key, node, (f"{stem}.{name}",))
            for name, (key, node) in arguments_node.items()
            if self.spec.name(key, "an argument")
        }
        self._bind_names(merged)
        arguments = []
        for name, (key, node) in merged.items():
            with self._borrowing(arguments_node[name][1]):
                argument = self._argument(name, key, node, written=node is arguments_node[name][1])
            if argument is not None:
                arguments.append(argument)
            else:
                self.spec.lost = True
        self._add_tensors(arguments)
        used = self._used_stems()
        derived = self._derived(used)
        launcher_entries = self.spec.mapping(self.node("launcher"), "launcher")
        launcher = self._launcher(launcher_entries)
        rules = self._all_rules(arguments, derived, launcher_entries, used)
        checked = self._checking_order(arguments)
        device_of = self._device_of(checked)
        variants = self._variants(arguments)
        blocks = self._blocks()
        classes = self._all_classes(blocks)
        wide = self._wide(arguments)
        grid, num_warps = self._launch(blocks, classes)
        then = self._then(launcher_entries, arguments)
        ensures = self._ensures(arguments)
        reference = self._reference()
        stages, also = self._stages(), self._also()
        messages = self._messages(self.node("messages"))
        summary = self.spec.text(self.node("summary"), "`summary`")
        details = self.spec.text(self.node("details"), "`details`")
        functions = self._functions()
        complete = not self.spec.lost and not self.spec.missing
        reader = BodyReader(
            folder=self.spec.folder / "kernels",
            shown_folder=f"{self.spec.shown}/kernels",
            tensors={t.identifier: t for t in _flatten(arguments)},
            names=self._names_in_body(arguments, variants, blocks, classes),
            problems=self.problems,
            constants={c.name: c.value for c in self.spec.constants.values()} | dict(blocks),
            classes=frozenset(name for each in classes for name, _ in each.values),
            minimums=_minimums(arguments, rules),
            functions=functions,
            complete=complete,
            sound=self.problems.count() == before,
        )
        body = self.spec.read_body(reader, stem, self.source.span)
        if body is not None and complete:
            self._check_unread(arguments, derived, body, merged, {name for _, name in used})
            if self.problems.count() == before:
                self._check_packed(arguments, body, rules)
        if self.problems.count() > before or body is None or not complete:
            return None
        return Kernel(
            stem=stem,
            summary=summary,
            details=details,
            launcher=launcher,
            then=then,
            reference=reference,
            arguments=tuple(arguments),
            checked=checked,
            derived=derived,
            rules=rules,
            device_of=device_of,
            variants=variants,
            blocks=blocks,
            grid=grid,
            num_warps=num_warps,
            ensures=ensures,
            body=body,
            classes=classes,
            wide=wide,
            order=stages,
            messages=messages,
            also=also,
            spec_path=f"kernels/{stem}.yaml",
            span=self.source.span,
        )

    def _borrowing(self, node: Node) -> AbstractContextManager[None]:
        """While an argument is read: what its `like` brings in is another kernel's text."""
        like = {k.text: v for k, v in node}.get("like") if isinstance(node, MappingNode) else None
        return self.problems.borrowed(like.span) if like is not None else nullcontext()

    def _names_in_body(
        self,
        arguments: list[Argument],
        variants: tuple[str, ...],
        blocks: tuple[tuple[str, int], ...],
        classes: tuple[Classes, ...],
    ) -> frozenset[str]:
        """What the kernel's signature and module give to its body."""
        kinds = (Kind.SIZE, Kind.SCALAR, Kind.FLAG, Kind.CHOICE)
        names = {name for name, symbol in self.scope.items() if symbol.kind in kinds}
        names -= set(variants)
        names |= {name.upper() for name in variants} | {name for name, _ in blocks}
        names |= set(self.spec.constants)
        names |= {name for each in classes for name, _ in each.values}
        for scalar in _scalars(arguments):
            names |= {f"{scalar.name}_{choice}".upper() for choice in scalar.choices}
        for enum in self.spec.enums.values():
            names |= {enum_name(enum.name, member) for member, _, _ in enum.members}
        return frozenset(names)

    def _launcher(self, entries: Entries) -> str:
        node = entries.get("name", (None, None))[1]
        name = self.spec.text(node, "`name`")
        if node is not None and name and (not _WORD.fullmatch(name) or shadows(name)):
            self.problems.report(
                node.span, f"`{name}` cannot name a launcher", allowed="letters, digits and _"
            )
        return name

    def _then(self, launcher: Entries, arguments: list[Argument]) -> tuple[FollowUp, ...]:
        """Kernels that the launcher runs before or after its own, with arguments of its own."""
        own = {a.path if isinstance(a, TensorArgument) else a.name for a in arguments}
        own |= {tensor.identifier for tensor in _flatten(arguments)}
        found = []
        items = [
            (key, item)
            for key in ("before", "then")
            for item in self.spec.items(launcher.get(key, (None, None))[1], f"`{key}`")
        ]
        for key, item in items:
            entries = self.spec.mapping(item, key)
            node = entries.get("kernel", (None, None))[1]
            others = [stem for stem in self.sources if stem != self.source.stem]
            stem = self.spec.named(node, "kernel", others)
            when_node = entries.get("when", (None, None))[1]
            when = None
            if when_node is not None:
                when = self.spec.expression(when_node, "`when`", self.scope, Type.TRUTH)
                self.read_names.update(language.names_in(when))
            if stem is None or node is None:
                continue
            wanted = self.spec.entries_of(self.sources[stem].entries, "arguments")
            self.read_names.update(wanted)
            missing = [name for name in wanted if name not in own]
            if missing and not self.spec.lost:
                self.problems.report(
                    node.span,
                    f"kernel `{stem}` needs `{missing[0]}`, which this launcher does not take",
                    allowed="a kernel whose arguments are all among the launcher's",
                )
            self.read_names.update(wanted)
            found.append(
                FollowUp(stem=stem, when=when, comes_first=key == "before", span=node.span)
            )
        return tuple(found)

    def _wide(self, arguments: list[Argument]) -> tuple[str, ...]:
        """Tensors that are reached 16 bytes at a time where all of them are aligned."""
        named = {
            name: tensor.path
            for tensor in _flatten(arguments)
            if not tensor.optional
            for name in (tensor.path, tensor.identifier)
        }
        found: list[str] = []
        for item in self.spec.items(self.node("wide"), "`wide`"):
            word = self.spec.named(item, "required tensor", named)
            if word is not None and named[word] in found:
                self.problems.report(item.span, f"`{word}` twice", allowed="each tensor once")
            elif word is not None:
                found.append(named[word])
        return tuple(found)

    def _all_classes(self, blocks: tuple[tuple[str, int], ...]) -> tuple[Classes, ...]:
        """Compile-time values that follow from sizes: one list of classes, or several."""
        node = self.node("classes")
        if node is None:
            return ()
        nodes = node.items if isinstance(node, SequenceNode) else (node,)
        found: list[Classes] = []
        taken = {*self.spec.constants, *(block for block, _ in blocks)}
        for place, item in enumerate(nodes):
            found.append(self._classes(item, "size_class" + (f"_{place}" if place else ""), taken))
            taken |= {name for name, _ in found[-1].values}
            taken |= {"num_warps"} if found[-1].num_warps else set()
        return tuple(found)

    def _classes(self, node: Node, variable: str, taken: set[str]) -> Classes:
        """Compile-time values that follow from one size."""
        entries = self.spec.mapping(node, "classes")
        of = self.spec.expression(
            entries.get("of", (None, None))[1], "`of`", self.scope, Type.INTEGER
        )
        self.read_names.update(language.names_in(of))
        up_to = self._increasing(entries.get("up_to", (None, None))[1])
        values = []
        num_warps: tuple[int, ...] = ()
        for name, (key, listing) in self.spec.any_mapping(
            entries.get("values", (None, None))[1], "`values`"
        ).items():
            items = self.spec.items(listing, f"`{name}`")
            numbers = tuple(self._number(item, f"a value of `{name}`", 1) for item in items)
            if len(numbers) != len(up_to) and up_to:
                self.problems.report(
                    listing.span,
                    f"{_count(len(numbers), 'value')} for {len(up_to)} classes",
                    allowed="one value for each of `up_to`",
                )
            known = name == "num_warps" or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*", name))
            if name in taken or not known:
                self.problems.report(
                    key.span,
                    f"`{name}` cannot name a value of classes",
                    allowed="`num_warps`, or capitals, digits and _, and no name of a constant, a "
                    "block or other classes",
                )
            if name == "num_warps":
                for item, number in zip(items, numbers, strict=True):
                    if number not in _WARPS:
                        self.problems.report(
                            item.span,
                            f"{number} is no number of warps",
                            allowed=", ".join(str(warps) for warps in _WARPS),
                        )
                num_warps = numbers
                continue
            values.append((name, numbers))
        # A constant for the last bound may be smaller than bounds before it: those have no use.
        kept = [i for i, bound in enumerate(up_to) if bound < up_to[-1]] + [len(up_to) - 1]
        if any(len(numbers) != len(up_to) for _, numbers in values) or not up_to:
            kept = []

        def of_kept(numbers: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(numbers[i] for i in kept) if numbers else ()

        return Classes(
            variable=variable,
            of=of,
            up_to=of_kept(up_to),
            values=tuple((name, of_kept(numbers)) for name, numbers in values),
            num_warps=of_kept(num_warps) if len(num_warps) == len(up_to) else (),
        )

    def _number(self, node: Node, what: str, fallback: int) -> int:
        """A literal integer, or a constant by its name."""
        constant = self.spec.constants.get(node.text) if isinstance(node, Scalar) else None
        return self.spec.integer(node, what, fallback) if constant is None else constant.value

    def _increasing(self, node: Node | None) -> tuple[int, ...]:
        """Bounds of classes, the smallest first; four classes at most."""
        items = self.spec.items(node, "`up_to`")
        numbers = tuple(self._number(item, "a bound", 0) for item in items)
        if isinstance(node, SequenceNode) and not (
            1 <= len(numbers) <= _MAX_CLASSES
            and all(low < high for low, high in pairwise(numbers[:-1]))
            and (numbers[-1:] > numbers[-2:-1] or _is_constant(items[-1], self.spec.constants))
        ):
            self.problems.report(
                node.span,
                "these are no bounds of classes",
                allowed=f"1 to {_MAX_CLASSES} integers, each larger than the one before",
            )
        return numbers

    def _launch(
        self, blocks: tuple[tuple[str, int], ...], classes: tuple[Classes, ...]
    ) -> tuple[tuple[Expr, ...], int]:
        """The grid and the warps of a launch."""
        launch = self.spec.mapping(self.node("launch"), "launch")
        grid_node = launch.get("grid", (None, None))[1]
        items = self.spec.items(grid_node, "`grid`")
        if isinstance(grid_node, SequenceNode) and not 1 <= len(items) <= 3:
            self.problems.report(
                grid_node.span, f"a grid of {len(items)} dimensions", allowed="1 to 3 dimensions"
            )
        scope = self.scope | {
            name: Symbol(name=name, kind=Kind.CONSTANT, value=value) for name, value in blocks
        }
        scope |= {
            name: Symbol(name=name, kind=Kind.CONSTANT, value=max(values, default=1))
            for each in classes
            for name, values in each.values
        }
        for number, item in enumerate(items):
            if isinstance(item, Scalar) and item.text.count("(") > item.text.count(")"):
                if number + 1 < len(items) and not item.quoted:
                    self.problems.report(
                        item.span, "a comma cuts this in two", allowed=_COMMA_ADVICE
                    )
                    for cut in items[number:]:
                        self.problems.spoil(cut.span)
                break
        grid = tuple(
            self.spec.expression(item, "a grid dimension", scope, Type.INTEGER) for item in items
        )
        for dimension in grid:
            self.read_names.update(language.names_in(dimension))
        node = launch.get("num_warps", (None, None))[1]
        num_warps = self.spec.integer(node, "`num_warps`", fallback=4)
        if node is not None and num_warps not in _WARPS:
            self.problems.report(
                node.span,
                f"{num_warps} is no number of warps",
                allowed=", ".join(str(warps) for warps in _WARPS),
            )
        return grid, num_warps

    def _like(self, key: Scalar, node: Node, path: tuple[str, ...]) -> tuple[Scalar, Node]:
        """An argument's keys with those of the argument that it is like put under them."""
        if not isinstance(node, MappingNode):
            return key, node
        own = {k.text: (k, v) for k, v in node}
        if "like" not in own:
            return key, node
        target = own.pop("like")[1]
        nothing = key, MappingNode(span=node.span, entries=())
        name = target.text if isinstance(target, Scalar) else ""
        stem, dot, argument = name.partition(".")
        if not dot:
            self.spec.lost = True
            known = [
                f"{other}.{name}"
                for other, source in self.sources.items()
                if other != self.source.stem
                and name in self.spec.entries_of(source.entries, "arguments")
            ]
            self.problems.report(
                target.span,
                "`like` names a kernel and an argument",
                allowed="like: kernel.argument",
                near=known[0] if known else None,
            )
            return nothing
        source = self.sources.get(stem)
        if source is None:
            self.spec.unknown(target.span, "kernel", stem, self.sources)
            self.spec.lost = True
            return nothing
        entries = self.spec.entries_of(source.entries, "arguments")
        if argument not in entries:
            if source.readable and not source.lost:
                known = [f"{stem}.{item}" for item in entries]
                self.spec.unknown(target.span, "argument", name, known)
            self.spec.lost = True
            return nothing
        if name in path:
            self.spec.lost = True
            circle = (*path[path.index(name) :], name)
            if frozenset(circle) not in self.spec.circles:
                self.problems.report(
                    target.span,
                    "a circle of `like`: " + " -> ".join(circle),
                    allowed="an argument that is written out",
                )
            self.spec.circles.add(frozenset(circle))
            return nothing
        _, base = self._like(*entries[argument], (*path, name))
        if not isinstance(base, MappingNode):
            return key, base
        combined = {k.text: (k, v) for k, v in base} | own
        return key, MappingNode(span=node.span, entries=tuple(combined.values()))

    def _bind_names(self, merged: Mapping[str, tuple[Scalar, Node]]) -> None:
        """Enter scalars, and the sizes that are whole dimensions, before any expression is read."""
        for name, (_, node) in merged.items():
            if not isinstance(node, MappingNode):
                continue
            entries = {k.text: v for k, v in node}
            scalar = entries.get("scalar")
            if isinstance(scalar, Scalar):
                self.scope[name] = self._scalar_symbol(name, scalar, entries)
            texts = []
            if isinstance(entries.get("tensor"), Scalar):
                texts.append(entries["tensor"])
                if _counts(node):
                    self.counters.append(name)
            struct_node = entries.get("struct")
            struct = (
                self.spec.structs.get(struct_node.text) if isinstance(struct_node, Scalar) else None
            )
            overrides = entries.get("fields")
            own = {k.text: v for k, v in overrides} if isinstance(overrides, MappingNode) else {}
            if struct is not None:
                self.counters += [
                    f"{name}.{item.name}"
                    for item in struct.tensors
                    if not item.optional and item.type.rank == 1 and item.type.dtype.integral
                ]
                for item in struct.tensors:
                    override = own.get(item.name)
                    tensor = None
                    if isinstance(override, MappingNode):
                        tensor = {k.text: v for k, v in override}.get("tensor")
                    if tensor is not None:
                        texts.append(tensor)
                        continue
                    for dim in item.type.dims:
                        for size in language.names_in(dim.expr):
                            self.scope.setdefault(size, Symbol(name=size, kind=Kind.SIZE))
                for scalar_field in struct.scalars:
                    self.scope[scalar_field.name] = scalar_symbol(scalar_field.name, scalar_field)
                for listed_field in struct.lists:
                    for name_of, kind in self.spec.item_names(listed_field):
                        self.scope[name_of] = Symbol(name=name_of, kind=kind)
            for text in texts:
                match = _TENSOR.fullmatch(text.text) if isinstance(text, Scalar) else None
                for part, _ in _split(match.group("dims"), 0) if match else []:
                    word = part.strip()
                    if shadows(word) and isinstance(text, Scalar):
                        start = text.text.find(word, text.text.find("["))
                        self.problems.report(
                            text.at(start, len(word)),
                            f"`{word}` cannot name a size",
                            allowed="no word of Python or of generated code",
                        )
                    if _WORD.fullmatch(word) and word not in self.scope and word not in _NO_NAMES:
                        self.scope[word] = Symbol(name=word, kind=Kind.SIZE)

    def _scalar_symbol(self, name: str, scalar: Scalar, entries: Mapping[str, Node]) -> Symbol:
        text = scalar.text
        if text == "bool":
            return Symbol(name=name, kind=Kind.FLAG)
        if text.startswith("one of "):
            return Symbol(name=name, kind=Kind.CHOICE, members=_choices(text))
        return Symbol(name=name, kind=Kind.SCALAR)

    def _argument(self, name: str, key: Scalar, node: Node, *, written: bool) -> Argument | None:
        if not isinstance(node, MappingNode):
            self.problems.report(
                node.span, f"argument `{name}` must be a mapping", allowed="{tensor: ..., doc: ...}"
            )
            return None
        kinds = [k.text for k, _ in node if k.text in _KINDS]
        if len(kinds) == 1:
            if kinds == ["tensor"]:
                entries = self.spec.mapping(node, "tensor argument")
                return self._tensor(name, name, name, key.span, entries)
            if kinds == ["scalar"]:
                return self.spec.scalar(name, key, self.spec.mapping(node, "scalar argument"))
            return self._struct_argument(name, key, node)
        if kinds or written:
            keys = [k for k, _ in node]
            misspelt = next((k for k in keys if nearest(k.text, (*_KINDS, "like"))), None)
            if kinds or misspelt is None:
                what = " and ".join(kinds) if kinds else "neither tensor nor scalar nor struct"
                self.problems.report(
                    key.span,
                    f"argument `{name}` is {what}",
                    allowed="one of tensor:, scalar:, struct:, or like: another argument",
                )
            else:
                self.problems.report(
                    misspelt.span,
                    f"unknown key of an argument: `{misspelt.text}`",
                    allowed=(*_KINDS, "like"),
                    near=nearest(misspelt.text, (*_KINDS, "like")),
                )
        return None

    def _tensor(
        self, path: str, identifier: str, called: str, span: Span, entries: Entries
    ) -> TensorArgument:
        tensor_type = self.spec.tensor_type(entries, self.scope, "size")
        access = self.spec.one_of(
            entries.get("access", (None, None))[1], "access", [a.value for a in Access]
        )
        optional = self.spec.boolean(entries.get("optional", (None, None))[1], "`optional`")
        default = entries.get("default", (None, None))[1]
        if default is not None:
            self.spec.one_of(default, "default", ("none",))
            if not optional:
                self.problems.report(
                    default.span, "a default of a required tensor", allowed="`optional: true` too"
                )
        values_node = entries.get("values", (None, None))[1]
        values = None
        if values_node is not None:
            parts = self.spec.mapping(values_node, "values")
            scope = self.scope | {"it": Symbol(name="it", kind=Kind.ELEMENT)}
            domain = self.spec.expression(
                parts.get("range", (None, None))[1], "`range`", scope, Type.TRUTH
            )
            if (
                "range" in parts
                and "it" not in language.names_in(domain)
                and "it" not in self.spec.mentioned
            ):
                self.problems.report(
                    parts["range"][1].span,
                    "this says nothing about the elements",
                    allowed="a range that reads `it`",
                )
            self.read_names.update(language.names_in(domain))
            on_violation = self.spec.one_of(
                parts.get("on_violation", (None, None))[1],
                "on_violation",
                [item.value for item in OnViolation],
            )
            values = Domain(expr=domain, on_violation=OnViolation(on_violation or "report"))
        sample_node = entries.get("sample", (None, None))[1]
        sample = None
        if sample_node is not None:
            scope = self.scope | {"i": Symbol(name="i", kind=Kind.ELEMENT)}
            sample = self.spec.expression(sample_node, "`sample`", scope, Type.INTEGER)
            self.read_names.update(language.names_in(sample))
        called_node = entries.get("called", (None, None))[1]
        counter = self.spec.named(
            entries.get("unordered_by", (None, None))[1], "counter", self.counters
        )
        return TensorArgument(
            path=path,
            identifier=identifier,
            called=self.spec.text(called_node, "`called`") if called_node else called,
            type=tensor_type,
            access=Access(access or "read_write"),
            optional=optional,
            values=values,
            sample=sample,
            doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
            defaults_to_none=default is not None,
            unordered_by=counter,
            messages=self._messages(entries.get("messages", (None, None))[1]),
            span=span,
        )

    def _messages(self, node: Node | None) -> tuple[tuple[str, str], ...]:
        """Texts for implied rules, by kind."""
        found = []
        for word, (key, value) in self.spec.any_mapping(node, "`messages`").items():
            if word not in _OWN_MESSAGES:
                self.spec.unknown(key.span, "kind of implied rule", word, _OWN_MESSAGES)
                continue
            text = self.spec.text(value, f"the message for `{word}`")
            if isinstance(value, Scalar):
                self._fields_of(value)
            found.append((word, text))
        return tuple(found)

    def _fields_of(self, node: Scalar) -> None:
        """Report whatever stands in braces in a text and is no field of it."""
        allowed = ", ".join(f"{{{word}}}" for word in _MESSAGE_FIELDS)
        rest = re.sub(r"\{\{|\}\}", "  ", node.text)
        for match in re.finditer(r"\{([^{}]*)\}", rest):
            word = match.group(1)
            if word not in _MESSAGE_FIELDS:
                self.problems.report(
                    node.at(match.start(), len(word) + 2),
                    f"the message has no field `{word}`" if word else "`{}` names no field",
                    allowed=allowed,
                    near=nearest(word, _MESSAGE_FIELDS),
                )
        stray = re.search(r"[{}]", re.sub(r"\{[^{}]*\}", lambda m: " " * len(m[0]), rest))
        if stray is not None:
            other = "}" if stray[0] == "{" else "{"
            self.problems.report(
                node.at(stray.start()),
                f"a `{stray[0]}` without its `{other}`",
                allowed=f"{allowed}; `{stray[0] * 2}` for the character itself",
            )

    def _also(self) -> tuple[tuple[str, str], ...]:
        """The builtin error that a broken rule of a kind is as well."""
        found = []
        for word, (key, value) in self.spec.any_mapping(self.node("also"), "`also`").items():
            if word not in _OWN_MESSAGES:
                self.spec.unknown(key.span, "kind of implied rule", word, _OWN_MESSAGES)
                continue
            error = self.spec.one_of(value, "error", ("TypeError",))
            if error is not None:
                found.append((word, error))
        return tuple(found)

    def _functions(self) -> tuple[str, ...]:
        """Files of functions that stand before the kernel."""
        folder = self.spec.folder / "kernels" / "functions"
        known = sorted(p.name.removesuffix(".py.jinja") for p in folder.glob("*.py.jinja"))
        found: list[str] = []
        for item in self.spec.items(self.node("functions"), "`functions`"):
            word = self.spec.named(item, "file of functions", known)
            if word in found:
                self.problems.report(item.span, f"`{word}` twice", allowed="each file once")
            elif word is not None:
                found.append(word)
        return tuple(found)

    def _stages(self) -> tuple[Stage, ...]:
        """The order in which the kernel's checks run."""
        node = self.node("stages")
        if node is None:
            return DEFAULT_ORDER
        known = {stage.value: stage for stage in Stage}
        order: list[Stage] = []
        before = self.problems.count()
        for item in self.spec.items(node, "`stages`"):
            word = self.spec.one_of(item, "stage", known)
            if word is not None and known[word] in order:
                self.problems.report(item.span, f"`{word}` twice", allowed="each stage once")
            elif word is not None:
                order.append(known[word])
        shape = [Stage.RANK, Stage.LENGTH] if Stage.SHAPE not in order else [Stage.SHAPE]
        wanted = [stage for stage in DEFAULT_ORDER if stage is not Stage.SHAPE] + shape
        missing = [stage.value for stage in wanted if stage not in order]
        extra = [stage.value for stage in order if stage not in wanted]
        if self.problems.count() > before:
            return DEFAULT_ORDER
        if missing or extra:
            left_out = "leaves out " + ", ".join(f"`{word}`" for word in missing)
            both = "has `shape` and a half of it"
            self.problems.report(
                node.span,
                f"`stages` {left_out if missing else both}",
                allowed="every stage once: arguments first, `shape` or both `rank` and `length`",
            )
            return DEFAULT_ORDER
        if order and order[0] is not Stage.ARGUMENTS and isinstance(node, SequenceNode):
            self.problems.report(
                node.items[0].span,
                "checks begin with something that may be no argument at all",
                allowed="`arguments` first",
            )
        return tuple(order)

    def _struct_argument(self, name: str, key: Scalar, node: MappingNode) -> StructArgument | None:
        entries = self.spec.mapping(node, "struct argument")
        struct_name = self.spec.named(entries["struct"][1], "struct", self.spec.structs)
        if struct_name is None:
            return None
        struct = self.spec.structs[struct_name]
        if struct.rules and not struct.sizes:
            self.problems.report(
                entries["struct"][1].span,
                f"`{struct_name}` is refused when it is made, before a kernel judges it",
                allowed="rules of the kernel, and a struct without `rules` of its own",
            )
        pattern_node = entries.get("called", (None, None))[1]
        pattern = self.spec.text(pattern_node, "`called`") if pattern_node else f"{name}.{{field}}"
        if "{field}" not in pattern and pattern_node is not None:
            self.problems.report(
                pattern_node.span, "all fields would have one name", allowed="a name with {field}"
            )
            self.spec.lost = True
            pattern = f"{name}_{{field}}"
        overrides = self.spec.any_mapping(entries.get("fields", (None, None))[1], "`fields`")
        known = [item.name for item in struct.tensors]
        for field_name, (field_key, _) in overrides.items():
            if field_name in {item.name for item in struct.fields} - set(known):
                self.problems.report(
                    field_key.span,
                    f"`{struct_name}.{field_name}` is no tensor, and stays as the struct has it",
                    allowed=listed(field_name, known),
                )
            elif field_name not in known:
                self.spec.unknown(field_key.span, f"field of {struct_name}", field_name, known)
        fields = []
        for item in struct.tensors:
            override_node = overrides.get(item.name, (None, None))[1]
            own = self.spec.mapping(override_node, "struct argument field") if override_node else {}
            tensor_type = item.type
            if "tensor" in own:
                written = self.spec.tensor_type(own, self.scope, "size", override=True)
                if written.rank == item.type.rank and written.dtype is item.type.dtype:
                    tensor_type = replace(
                        written,
                        axes=item.type.axes,
                        layout=item.type.layout,
                        reached=item.type.reached,
                        aligned=item.type.aligned,
                    )
                elif written.dims:
                    self.problems.report(
                        own["tensor"][1].span,
                        f"`{struct_name}.{item.name}` is {item.type.dtype.value} of "
                        f"{_count(item.type.rank, 'dimension')}",
                        allowed="other names for its sizes, the same dtype and rank",
                    )
            access = own.get("access", entries.get("access", (None, None)))[1]
            word = self.spec.one_of(access, "access", [a.value for a in Access])
            called = pattern.replace("{field}", item.name)
            if "called" in own:
                called = self.spec.text(own["called"][1], "`called`")
            identifier = called if _WORD.fullmatch(called) else item.name
            contents = self._tensor(
                f"{name}.{item.name}",
                identifier,
                called,
                key.span,
                {k: v for k, v in own.items() if k in ("values", "sample")},
            )
            doc = self.spec.text(own["doc"][1], "`doc`") if "doc" in own else item.doc
            fields.append(
                TensorArgument(
                    path=f"{name}.{item.name}",
                    identifier=identifier,
                    called=called,
                    type=tensor_type,
                    access=Access(word or "read_write"),
                    optional=item.optional,
                    values=contents.values,
                    sample=contents.sample,
                    doc=doc,
                    unordered_by=None
                    if item.unordered_by is None
                    else f"{name}.{item.unordered_by}",
                    span=key.span,
                )
            )
        return StructArgument(
            name=name,
            struct=struct_name,
            fields=tuple(fields),
            doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
            scalars=tuple(
                replace(
                    scalar,
                    owner=name,
                    called=pattern.replace("{field}", scalar.name),
                    default=scalar.default,
                )
                for scalar in struct.scalars
            ),
            lists=tuple(
                self._list_argument(name, pattern.replace("{field}", item.name), item)
                for item in struct.lists
            ),
            span=key.span,
        )  # fmt: skip

    def _list_argument(self, owner: str, called: str, whole: ListDef) -> ListArgument:
        """A list's items taken apart: tensors and integers of each, under names of their own."""
        struct = self.spec.structs[whole.struct]
        path = f"{owner}.{whole.name}"
        tensors = []
        for item in range(whole.at_most):
            prefix = f"{whole.item}_{item}_"
            for tensor in struct.tensors:
                names = {
                    size: f"{prefix}{size}"
                    for dim in tensor.type.dims
                    for size in language.names_in(dim.expr)
                }
                dims = tuple(
                    replace(dim, expr=language.renamed(dim.expr, names)) for dim in tensor.type.dims
                )
                tensors.append(
                    TensorArgument(
                        path=f"{path}[{item}].{tensor.name}",
                        identifier=f"{prefix}{tensor.name}",
                        called=f"{called}[{item}].{tensor.name}",
                        type=replace(tensor.type, dims=dims),
                        access=Access.READ,
                        optional=True,
                        values=None,
                        sample=None,
                        doc=tensor.doc,
                        item=item,
                        span=whole.span,
                    )
                )
        return ListArgument(
            path=path,
            name=whole.name,
            called=called,
            struct=whole.struct,
            at_most=whole.at_most,
            item=whole.item,
            tensors=tuple(tensors),
            scalars=tuple(
                ItemScalar(
                    name=f"{whole.item}_{item}_{scalar.name}",
                    field=scalar.name,
                    item=item,
                    sample=scalar.sample or 0,
                )
                for item in range(whole.at_most)
                for scalar in struct.scalars
            ),
            span=whole.span,
        )

    def _refuse_shared_names(self, arguments: list[Argument]) -> None:
        """Refuse numbers of structs and of items, which `called` does not rename, with one name."""
        taken = {argument.name for argument in arguments if isinstance(argument, ScalarArgument)}
        items: set[str] = set()
        for argument in arguments:
            if not isinstance(argument, StructArgument):
                continue
            for whole in argument.lists:
                if whole.item in items:
                    self.spec.lost = True
                    self.problems.report(
                        argument.span,
                        f"the items of two lists are called `{whole.item}` in the kernel",
                        allowed="one argument with such a list, or another `item:`",
                    )
                items.add(whole.item)
            for name in (
                *(scalar.name for scalar in argument.scalars),
                *(scalar.name for whole in argument.lists for scalar in whole.scalars),
            ):
                if name in taken and not self.spec.lost:
                    self.problems.report(
                        argument.span,
                        f"`{argument.name}` has a number that is called `{name}` in the kernel, "
                        "and so has another argument",
                        allowed="another name for one of them",
                    )
                taken.add(name)

    def _add_tensors(self, arguments: list[Argument]) -> None:
        """Enter the tensors, by path and by identifier, once their ranks are known."""
        self._refuse_shared_names(arguments)
        seen: set[str] = set()
        for tensor in _flatten(arguments):
            symbol = Symbol(
                name=tensor.path,
                kind=Kind.TENSOR,
                optional=tensor.optional,
                rank=tensor.type.rank,
            )
            if tensor.identifier in seen or tensor.identifier in {
                a.name for a in arguments if isinstance(a, ScalarArgument | StructArgument)
            }:
                if tensor.item is None or not self.spec.lost:
                    self.problems.report(
                        tensor.span,
                        f"two arguments are called `{tensor.identifier}` in the kernel",
                        allowed="`called:` with another name for one of them",
                    )
                self.spec.lost = True
            seen.add(tensor.identifier)
            if tensor.path in self.scope:
                self.problems.report(
                    tensor.span,
                    f"`{tensor.path}` is already a {self.scope[tensor.path].kind.value}",
                    allowed="a name of its own",
                )
            if tensor.item is None:
                self.scope.setdefault(tensor.path, symbol)
            self.scope.setdefault(tensor.identifier, symbol)
            for dim in tensor.type.dims:
                if dim.binds is None:
                    self.read_names.update(language.names_in(dim.expr))
        for whole in _lists(arguments):
            self.scope[whole.path] = Symbol(name=whole.path, kind=Kind.LIST)
            self.scope.setdefault(whole.name, Symbol(name=whole.path, kind=Kind.LIST))

    def _derived(self, used: tuple[tuple[Span, str], ...]) -> tuple[DerivedSize, ...]:
        """Derived sizes and flags, this kernel's and used ones, each after what it reads."""
        texts: dict[str, tuple[Span | None, Scalar, bool, Entries]] = {}
        for place, stem in (*used, (None, self.source.stem)):
            node = self.sources[stem].entries.get("sizes", (None, None))[1]
            with self.problems.borrowed(place) if place is not None else nullcontext():
                for name, (key, size_node) in self.spec.any_mapping(node, "`sizes`").items():
                    entries = self.spec.mapping(size_node, "size")
                    value = self._size_value(key, size_node, entries)
                    if value is not None:
                        texts[name] = (place, value, "flag" in entries, entries)
                    else:
                        self.spec.lost = True
        for name, (_, _, truth, _) in texts.items():
            self.scope[name] = Symbol(name=name, kind=Kind.FLAG if truth else Kind.SIZE)
        found: dict[str, DerivedSize] = {}
        for name, (place, value, truth, entries) in texts.items():
            wanted = Type.TRUTH if truth else Type.INTEGER
            with self.problems.borrowed(place) if place is not None else nullcontext():
                found[name] = DerivedSize(
                    name=name,
                    expr=self.spec.parse(value, value.text, 0, self.scope, wanted),
                    truth=truth,
                    doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
                    span=value.span,
                )
        return self._ordered(found)

    def _size_value(self, key: Scalar, node: Node, entries: Entries) -> Scalar | None:
        """The text of a derived size or flag, if its name and its keys are right."""
        name = key.text
        if not self.spec.name(key, "a size") or not isinstance(node, MappingNode):
            return None
        if ("size" in entries) == ("flag" in entries):
            both = "size" in entries
            self.problems.report(
                key.span,
                f"`{name}` is both a size and a flag" if both
                else f"`{name}` is neither a size nor a flag",
                allowed="size: ..., or flag: ...",
            )  # fmt: skip
            return None
        known = self.scope.get(name)
        if known is not None and known.kind is not Kind.SIZE:
            self.problems.report(
                key.span, f"`{name}` is already a {known.kind.value}", allowed="a new name"
            )
            return None
        value = entries["flag" if "flag" in entries else "size"][1]
        if not isinstance(value, Scalar):
            self.problems.report(value.span, "a size must be an expression", allowed=_ONE_TEXT)
            return None
        return value

    def _ordered(self, found: dict[str, DerivedSize]) -> tuple[DerivedSize, ...]:
        ordered: dict[str, DerivedSize] = {}
        circles: set[str] = set()

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in path:
                circle = (*path[path.index(name) :], name)
                if not circles & set(circle):
                    self.problems.report(
                        found[name].span,
                        "a circle of derived sizes: " + " -> ".join(circle),
                        allowed="sizes that lead back to tensors and scalars",
                    )
                circles.update(circle)
                return
            if name in ordered or name not in found:
                return
            for read in language.names_in(found[name].expr):
                self.read_names.add(read)
                visit(read, (*path, name))
            ordered[name] = found[name]

        for name in found:
            visit(name, ())
        return tuple(ordered.values())

    def _used_stems(self) -> tuple[tuple[Span, str], ...]:
        """Kernels whose sizes and rules this one takes over, and where it says so."""
        stems: dict[str, Span] = {}
        for item in self.spec.items(self.node("use"), "`use`"):
            known = [s for s in self.sources if s != self.source.stem]
            if isinstance(item, Scalar) and "." in item.text:
                stem = item.text.partition(".")[0]
                if stem not in known:
                    self.spec.unknown(item.span, "kernel", stem, known)
                elif item.text in self.used_rules:
                    self.problems.report(
                        item.span, f"`{item.text}` twice", allowed="each rule once"
                    )
                else:
                    self.used_rules[item.text] = item.span
                    self.spec.lost |= not self.sources[stem].readable or self.sources[stem].lost
                continue
            used = self.spec.named(item, "kernel", known)
            if used is not None and used in stems:
                self.problems.report(item.span, f"`{used}` twice", allowed="each kernel once")
            elif used is not None:
                stems[used] = item.span
                if not self.sources[used].readable or self.sources[used].lost:
                    self.spec.lost = True
        for name, span in self.used_rules.items():
            if name.partition(".")[0] in stems:
                self.problems.report(
                    span,
                    f"`{name}` twice: all rules of its kernel are taken over",
                    allowed="a kernel, or single rules of it",
                )
        return tuple((span, stem) for stem, span in stems.items())

    def _rule_nodes(self, stem: str) -> dict[Stage, Node | None]:
        """Where a kernel's rules stand, by stage."""
        entries = self.sources[stem].entries
        return {
            Stage.LAUNCHER: self.spec.entries_of(entries, "launcher").get("rules", (None, None))[1],
            Stage.SIZES: entries.get("rules", (None, None))[1],
            Stage.RELATIONS: entries.get("relations", (None, None))[1],
        }

    def _single_rules(
        self, stage: Stage, named: Mapping[str, str], flags: tuple[str, ...]
    ) -> list[Rule]:
        """Rules of other kernels that this one takes over one by one."""
        found: list[Rule] = []
        for name, place in self.used_rules.items():
            stem, _, rule_id = name.partition(".")
            nodes = self._rule_nodes(stem)
            ids = [
                node.text
                for rules in nodes.values()
                for _, node in _rule_ids(rules)
                if isinstance(node, Scalar)
            ]
            if rule_id not in ids:
                if stage is Stage.LAUNCHER:
                    shown = [f"{stem}.{item}" for item in sorted(ids)]
                    self.spec.unknown(place, "rule", name, shown)
                continue
            picked = tuple(
                item
                for item, node in _rule_ids(nodes[stage])
                if isinstance(node, Scalar) and node.text == rule_id
            )
            with self.problems.borrowed(place):
                found += self.spec.rules(
                    SequenceNode(span=place, items=picked),
                    stem=stem,
                    stage=stage,
                    scope=self.scope,
                    arguments=named,
                    flags=flags,
                    reused=True,
                    lists=self.lists,
                )
        return found

    def _of_each_item(self, rules: Iterable[Rule], nodes_each: Mapping[str, str]) -> list[Rule]:
        """Rules about each item of a list, once for every item that may be there."""
        found: list[Rule] = []
        waiting: list[Rule] = []

        def settle() -> None:
            if not waiting:
                return
            whole = self.lists[waiting[0].argument]
            found.extend(
                _of_item(rule, whole, item) for item in range(whole.at_most) for rule in waiting
            )
            waiting.clear()

        for rule in rules:
            if rule.argument in self.lists and rule.argument == nodes_each.get(rule.id):
                waiting.append(rule)
            else:
                settle()
                found.append(rule)
        settle()
        return found

    def _all_rules(
        self,
        arguments: list[Argument],
        derived: tuple[DerivedSize, ...],
        launcher: Entries,
        used: tuple[tuple[Span, str], ...],
    ) -> tuple[Rule, ...]:
        named = {a.name: a.name for a in arguments if not isinstance(a, TensorArgument)}
        for tensor in _flatten(arguments):
            named[tensor.identifier] = tensor.path
            named[tensor.path] = tensor.path
        flags = tuple(d.name for d in derived if d.truth)
        self.lists = {whole.path: whole for whole in _lists(arguments)}
        named |= {path: path for path in self.lists}

        def written(node: Node | None, stem: str, stage: Stage, reused: bool) -> list[Rule]:
            found = self.spec.rules(
                node,
                stem=stem,
                stage=stage,
                scope=self.scope,
                arguments=named,
                flags=flags,
                reused=reused,
                lists=self.lists,
            )
            return list(found)

        own = self.source.stem
        rules = written(launcher.get("rules", (None, None))[1], own, Stage.LAUNCHER, False)
        rules += self._single_rules(Stage.LAUNCHER, named, flags)
        for stage in (Stage.SIZES, Stage.RELATIONS):
            for place, stem in used:
                with self.problems.borrowed(place):
                    rules += written(self._rule_nodes(stem)[stage], stem, stage, True)
            rules += written(self._rule_nodes(own)[stage], own, stage, False)
            rules += self._single_rules(stage, named, flags)
        rules = self._of_each_item(rules, self.spec.each_of)
        for rule in rules:
            self.read_names.update(language.names_in(rule.require))
            for piece in rule.message:
                if not isinstance(piece, str | TypeName | Described):
                    self.read_names.update(language.names_in(piece))
        return tuple(rules)

    def _checking_order(self, arguments: list[Argument]) -> tuple[TensorArgument, ...]:
        node = self.node("checking_order")
        named = {a.path if isinstance(a, TensorArgument) else a.name: a for a in arguments
                 if not isinstance(a, ScalarArgument)}  # fmt: skip
        if node is None:
            return tuple(_flatten(arguments))
        ordered: list[Argument] = []
        for item in self.spec.items(node, "`checking_order`"):
            word = self.spec.named(item, "tensor or struct argument", named)
            if word is not None and named[word] in ordered:
                self.problems.report(item.span, f"`{word}` twice", allowed="each argument once")
            elif word is not None:
                ordered.append(named[word])
        missing = [name for name in named if named[name] not in ordered]
        if missing and isinstance(node, SequenceNode) and len(node.items) == len(ordered):
            self.problems.report(
                node.span,
                "`checking_order` leaves out " + ", ".join(f"`{name}`" for name in missing),
                allowed="every tensor and struct argument, each once",
            )
        if missing:
            return tuple(_flatten(arguments))
        return tuple(_flatten(ordered))

    def _device_of(self, checked: tuple[TensorArgument, ...]) -> str:
        node = self.node("device_of")
        required = {t.path: t for t in checked if not t.optional}
        required |= {t.identifier: t for t in checked if not t.optional}
        optional = {name for t in checked if t.optional for name in (t.path, t.identifier)}
        if isinstance(node, Scalar) and node.text in optional:
            self.problems.report(
                node.span,
                f"`{node.text}` is optional, and the device must be one that is always known",
                allowed=required,
            )
            return ""
        word = self.spec.named(node, "required tensor", required)
        return required[word].path if word is not None else ""

    def _variants(self, arguments: list[Argument]) -> tuple[str, ...]:
        scalars = _scalars(arguments)
        finite = [scalar.name for scalar in scalars if scalar.kind is not ScalarKind.INT]
        integers = [scalar.name for scalar in scalars]
        found: list[str] = []
        for item in self.spec.items(self.node("variants"), "`variants`"):
            text = item.text if isinstance(item, Scalar) else ""
            if text in integers and text not in finite and not self.spec.lost:
                self.problems.report(
                    item.span,
                    f"`{text}` is an integer: each value would be a compilation of its own",
                    allowed=finite,
                )
                continue
            word = self.spec.named(item, "bool, choice or enum argument", finite)
            if word in found:
                self.problems.report(item.span, f"`{word}` twice", allowed="each argument once")
            elif word is not None:
                found.append(word)
                self.read_names.add(word)
        return tuple(found)

    def _blocks(self) -> tuple[tuple[str, int], ...]:
        found = []
        for name, (key, node) in self.spec.any_mapping(self.node("blocks"), "`blocks`").items():
            value = self.spec.integer(node, f"`{name}`", fallback=1)
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or name in self.spec.constants:
                self.problems.report(
                    key.span,
                    f"`{name}` cannot name a block",
                    allowed="capitals, digits and _, and no constant's name",
                )
            if value < 1 or value & (value - 1):
                self.problems.report(
                    node.span, f"{value} is no power of two", allowed="1, 2, 4, 8, ..."
                )
            elif value > _MAX_BLOCK:
                self.problems.report(
                    node.span, f"a block of {value} elements", allowed=f"at most {_MAX_BLOCK}"
                )
            found.append((name, value))
        return tuple(found)

    def _reference(self) -> str:
        node = self.node("reference")
        text = self.spec.text(node, "`reference`")
        if node is not None and text and not _MODULE_FUNCTION.fullmatch(text):
            self.problems.report(
                node.span,
                f"`{text}` does not name a function",
                allowed="package.module:function",
            )
        return text

    def _ensures(self, arguments: list[Argument]) -> tuple[Ensure, ...]:
        outputs = {
            name: tensor
            for tensor in _flatten(arguments)
            if tensor.access.writes
            for name in (tensor.path, tensor.identifier)
        }
        found = []
        for item in self.spec.items(self.node("ensures"), "`ensures`"):
            ensure = self._ensure(item, outputs)
            if ensure is not None:
                found.append(ensure)
        return tuple(found)

    def _ensure(self, node: Node, outputs: Mapping[str, TensorArgument]) -> Ensure | None:
        text = node.text if isinstance(node, Scalar) else ""
        self.spec.mentioned.update(_WORD.findall(text))
        name = r"(?P<tensor>[\w.]+)"
        forms = (
            (EnsureKind.EQUALS, rf"\s*{name}\s*\[(?P<a>[^\]]+)\]\s*==(?P<b>.+)"),
            (EnsureKind.WITHIN, rf"\s*{name}\s+in\s+\[(?P<a>[^,]+),(?P<b>[^\]]+)\]\s*"),
            (EnsureKind.NONDECREASING, rf"\s*nondecreasing\({name}(?:\s+to\s+(?P<a>[^)]+))?\)\s*"),
            (EnsureKind.UNCHANGED, rf"\s*unchanged\({name}\s+beyond\s+(?P<a>[^)]+)\)\s*"),
        )
        for kind, pattern in forms:
            match = re.fullmatch(pattern, text)
            if match is None or not isinstance(node, Scalar):
                continue
            tensor = match.group("tensor")
            place = node.at(match.start("tensor"), len(tensor))
            if self.scope.get(tensor, _NOTHING).kind is Kind.TENSOR and tensor not in outputs:
                self.problems.report(
                    place,
                    f"`{tensor}` is an input: no launch changes it",
                    allowed=listed(tensor, outputs),
                )
                return None
            if tensor not in outputs:
                self.spec.unknown(place, "output", tensor, outputs)
                return None
            rank = outputs[tensor].type.rank
            if kind in (EnsureKind.EQUALS, EnsureKind.NONDECREASING) and rank > 1:
                self.problems.report(
                    place,
                    f"`{tensor}` has {rank} dimensions",
                    allowed="an output of one dimension; `in` and `unchanged` take any",
                )
                return None
            operands = []
            for group in ("a", "b"):
                if group in match.groupdict() and match.group(group) is not None:
                    operands.append(
                        self.spec.parse(
                            node, match.group(group), match.start(group), self.scope, Type.INTEGER
                        )
                    )
            for operand in operands:
                self.read_names.update(language.names_in(operand))
            return Ensure(
                kind=kind, tensor=outputs[tensor].path, operands=tuple(operands), text=text.strip()
            )
        self.problems.report(
            node.span,
            "this is no postcondition",
            allowed="x[index] == value · x in [low, high] · nondecreasing(x to count) · "
            "unchanged(x beyond count)",
        )
        return None

    def _check_packed(self, arguments: list[Argument], body: Body, rules: Iterable[Rule]) -> None:
        """Of a tensor in rows, that a rule says what the kernel takes for granted."""
        told = {found for rule in rules for found in _steps_of_one(rule.require)}
        read = {access.tensor.path for access in body.accesses}
        for tensor in _flatten(arguments):
            last = {(tensor.path, -1), (tensor.path, tensor.type.rank - 1)}
            rows = tensor.type.layout is Layout.ROWS and not tensor.item
            if rows and tensor.path in read and not told & last:
                self.problems.report(
                    tensor.span,
                    f"`{tensor.path}` is in rows, and no rule says that its rows are packed",
                    allowed="a rule that requires `stride(it, -1) == 1`",
                )

    def _check_unread(
        self,
        arguments: list[Argument],
        derived: tuple[DerivedSize, ...],
        body: Body,
        merged: Mapping[str, tuple[Scalar, Node]],
        used: set[str],
    ) -> None:
        read = self.read_names | body.words | self.spec.mentioned
        guarded = {
            name
            for access in body.accesses
            for dim in access.tensor.type.dims
            for name in language.names_in(dim.expr)
        }
        used_derived = {
            name
            for stem in used
            for name in self.spec.entries_of(self.sources[stem].entries, "sizes")
        }
        for size in derived:
            if size.name not in read | guarded and size.name not in used_derived:
                self.problems.report(
                    size.span,
                    f"nothing reads the derived size `{size.name}`",
                    allowed="a rule, a shape, the grid or the body that reads it",
                )
        counts: dict[str, int] = {}
        for tensor in _flatten(arguments):
            for dim in tensor.type.dims:
                if dim.binds is not None:
                    counts[dim.binds] = counts.get(dim.binds, 0) + 1
        for argument in arguments:
            if (
                isinstance(argument, ScalarArgument)
                and argument.name not in read | guarded
                and argument.name not in counts
            ):
                self.problems.report(
                    argument.span,
                    f"nothing reads the scalar `{argument.name}`",
                    allowed="a rule, a shape, the grid or the body that reads it",
                )
        for tensor in _flatten(arguments):
            for dim in tensor.type.dims:
                name = dim.binds
                if name is None or counts.get(name) != 1 or name in read:
                    continue
                place = self._dim_span(merged, tensor, name)
                if place.file != self.source.shown:
                    continue  # The name was chosen, and is judged, where this argument is from.
                others = [n for n in counts if n != name]
                near = nearest(name, others)
                if name in guarded:
                    # Its own guard reads it, as it should; only an evident slip is none of that.
                    near = next((n for n in others if _is_slip(name, n)), None)
                if near is not None:
                    self.problems.report(
                        place,
                        f"size `{name}` stands here alone, and nothing else reads it",
                        allowed="a size that some other dimension, rule or statement reads",
                        near=near,
                    )

    def _dim_span(
        self, merged: Mapping[str, tuple[Scalar, Node]], tensor: TensorArgument, size: str
    ) -> Span:
        node = merged.get(tensor.owner, (None, None))[1]
        if isinstance(node, MappingNode):
            text = {k.text: v for k, v in node}.get("tensor")
            if isinstance(text, Scalar):
                match = re.search(rf"\b{re.escape(size)}\b", text.text)
                if match:
                    return text.at(match.start(), len(size))
        return tensor.span


def _is_slip(name: str, meant: str) -> bool:
    """Whether one name looks like another with two letters swapped, one doubled, lost or wrong."""
    if sorted(name) == sorted(meant):
        differing = [i for i, (a, b) in enumerate(zip(name, meant, strict=True)) if a != b]
        return len(differing) == 2 and differing[1] == differing[0] + 1
    parts, meant_parts = name.split("_"), meant.split("_")
    if len(parts) != len(meant_parts):
        return False
    pairs = [(a, b) for a, b in zip(parts, meant_parts, strict=True) if a != b]
    if len(pairs) != 1:
        return False
    short, long = sorted(pairs[0], key=len)
    if len(short) == len(long):
        return len(long) > 4 and sum(a != b for a, b in zip(short, long, strict=True)) == 1
    cuts = [i for i in range(len(long)) if long[:i] + long[i + 1 :] == short]
    doubled = any(long[i - 1 : i] == long[i] for i in cuts if i)
    return doubled or (bool(cuts) and len(long) > 4)


def dimension_names(node: Node | None) -> list[str]:
    """Bare names among the dimensions of a tensor type's text."""
    match = _TENSOR.fullmatch(node.text) if isinstance(node, Scalar) else None
    words = [part.strip() for part, _ in _split(match.group("dims"), 0)] if match else []
    return [word for word in words if _WORD.fullmatch(word) and word not in _NO_NAMES]


def _is_constant(node: Node, constants: Mapping[str, ConstantDef]) -> bool:
    return isinstance(node, Scalar) and node.text in constants


def _minimums(arguments: Iterable[Argument], rules: Iterable[Rule]) -> dict[tuple[str, int], int]:
    """Extents that a rule keeps from being smaller than a constant, by argument and axis."""
    least: dict[Expr, int] = {}
    for rule in rules:
        match rule.require:
            case language.Compare(
                extent, ((">=", language.Integer(value) | language.Constant(_, value)),)
            ):
                least[extent] = max(value, least.get(extent, 0))
    return {
        (tensor.identifier, axis): least[tensor.extent(axis)]
        for tensor in _flatten(arguments)
        for axis in range(tensor.type.rank)
        if tensor.extent(axis) in least
    }


def _rule_ids(rules: Node | None) -> list[tuple[Node, Node]]:
    """Each rule of a list that has an id, and that id."""
    return [
        (item, value)
        for item in (rules.items if isinstance(rules, SequenceNode) else ())
        if isinstance(item, MappingNode)
        for key, value in item
        if key.text == "id"
    ]


def _of_item(rule: Rule, whole: ListArgument, item: int) -> Rule:
    """A rule about any item of a list, said of one of them: where it is there, the rule holds."""
    names: dict[str, str | int] = {"i": item}
    paths: dict[str, str] = {}
    for tensor in whole.tensors:
        field_name = tensor.path.rpartition(".")[2]
        if tensor.item == item:
            names[f"{whole.item}_{field_name}"] = paths[f"{whole.item}_{field_name}"] = tensor.path
            prefix = f"{whole.item}_{item}_"
            for dim in tensor.type.dims:
                for size in language.names_in(dim.expr):
                    names[f"{whole.item}_{size.removeprefix(prefix)}"] = size
    for scalar in whole.scalars:
        if scalar.item == item:
            names[f"{whole.item}_{scalar.field}"] = scalar.name
    pieces: list[Piece] = []
    for piece in rule.message:
        if isinstance(piece, Described):
            pieces.append(Described(piece.what, paths.get(piece.tensor, piece.tensor)))
        elif isinstance(piece, str | TypeName):
            pieces.append(piece)
        else:
            new = language.renamed(piece, names)
            pieces.append(str(new.value) if isinstance(new, language.Integer) else new)
    tensor_path = next(t.path for t in whole.tensors if t.item == item)
    return replace(
        rule,
        require=language.Implies(
            language.Present(tensor_path), language.renamed(rule.require, names)
        ),
        message=tuple(pieces),
        argument=tensor_path,
        item=item,
    )


def _counts(node: Node) -> bool:
    """Whether a tensor may count the rows of another: it is there, and of integers in a row."""
    entries = {k.text: v for k, v in node} if isinstance(node, MappingNode) else {}
    text = entries.get("tensor")
    match = _TENSOR.fullmatch(text.text) if isinstance(text, Scalar) else None
    return (
        match is not None
        and "optional" not in entries
        and len(_split(match["dims"], 0)) == 1
        and match["dtype"] in {item.value for item in Dtype if item.integral}
    )


def _can_be_an_item(struct: StructDef) -> bool:
    """Whether a list may hold structs of this kind: what is in one has a place in every item."""
    return (
        not struct.sizes
        and not struct.lists
        and len(struct.tensors) == 1
        and struct.tensors[0].type.dtype is Dtype.BYTES
        and struct.tensors[0].type.layout is Layout.ROWS
        and not struct.tensors[0].optional
        and all(scalar.kind is ScalarKind.INT for scalar in struct.scalars)
    )


def scalar_symbol(name: str, scalar: ScalarArgument) -> Symbol:
    """What a scalar is to an expression."""
    if scalar.kind is ScalarKind.BOOL:
        return Symbol(name=name, kind=Kind.FLAG)
    if scalar.kind is ScalarKind.CHOICE:
        return Symbol(name=name, kind=Kind.CHOICE, members=scalar.choices)
    return Symbol(name=name, kind=Kind.SCALAR)


def _choices(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.removeprefix("one of ").split(","))


def _scalars(arguments: Iterable[Argument]) -> list[ScalarArgument]:
    found: list[ScalarArgument] = []
    for argument in arguments:
        if isinstance(argument, ScalarArgument):
            found.append(argument)
        elif isinstance(argument, StructArgument):
            found.extend(argument.scalars)
    return found


def _lists(arguments: Iterable[Argument]) -> list[ListArgument]:
    return [item for a in arguments if isinstance(a, StructArgument) for item in a.lists]


def _flatten(arguments: Iterable[Argument]) -> list[TensorArgument]:
    found: list[TensorArgument] = []
    for argument in arguments:
        if isinstance(argument, TensorArgument):
            found.append(argument)
        elif isinstance(argument, StructArgument):
            found.extend(argument.tensors)
    return found
