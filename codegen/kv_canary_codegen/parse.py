"""From YAML nodes to the model: the one way in. Every mistake is reported; none stops the run."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kv_canary_codegen import expr as language
from kv_canary_codegen.body import BodyReader
from kv_canary_codegen.expr import Expr, ExprError, Kind, Symbol, Type
from kv_canary_codegen.model import (
    Access,
    Argument,
    Body,
    ConstantDef,
    DerivedSize,
    Dim,
    Domain,
    Dtype,
    Ensure,
    EnsureKind,
    EnumDef,
    Example,
    FieldDef,
    Kernel,
    Layout,
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
)
from kv_canary_codegen.source import (
    MappingNode,
    Node,
    Problems,
    Scalar,
    SequenceNode,
    Span,
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
    "struct": {"summary": True, "sizes": True, "fields": True, "rules": False},
    "field": {"tensor": True, "axes": False, "optional": False, "initial": False, "doc": True},
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
        "sizes": False,
        "rules": False,
        "relations": False,
        "variants": False,
        "launch": True,
        "blocks": False,
        "ensures": False,
    },
    "launcher": {"name": True, "rules": False},
    "tensor argument": {
        "tensor": True,
        "axes": False,
        "access": True,
        "layout": False,
        "optional": False,
        "default": False,
        "called": False,
        "values": False,
        "sample": False,
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
        "argument": True,
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
}
"""Every key of the language, by the mapping that it stands in; True: it must be there.

`like` stands beside an argument's keys; spec/README.md is held to this table by a test.
"""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_TENSOR = re.compile(r"\s*(?P<dtype>[A-Za-z_0-9]+)\s*\[(?P<dims>.*)\]\s*", re.DOTALL)
_INTEGER = re.compile(r"-?(0[xX][0-9a-fA-F]+|[0-9]+)")
_MAX_RANK = 4
_INT64_MAX = 2**63 - 1

Entries = dict[str, tuple[Scalar, Node]]


class Reader:
    """Takes values out of nodes, reporting whatever is not what its place wants."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def mapping(self, node: Node | None, context: str, *, extra: tuple[str, ...] = ()) -> Entries:
        """The entries of a mapping that may hold only the keys of its context."""
        keys = KEYS[context]
        entries = self.any_mapping(node, f"a {context}" if "." not in context else context)
        for name, (key, _) in list(entries.items()):
            if name not in keys and name not in extra:
                self.problems.unknown(key.span, f"key of a {context}", name, (*keys, *extra))
                del entries[name]
        if node is not None and isinstance(node, MappingNode):
            for name, required in keys.items():
                if required and name not in entries:
                    self.problems.report(
                        _head(node), f"this {context} has no `{name}`", allowed=f"`{name}: ...`"
                    )
        return entries

    def any_mapping(self, node: Node | None, what: str) -> Entries:
        """The entries of a mapping whose keys are names."""
        if node is None:
            return {}
        if not isinstance(node, MappingNode):
            self.problems.report(node.span, f"{what} is a mapping", allowed="`key: value` entries")
            return {}
        return {key.text: (key, value) for key, value in node}

    def text(self, node: Node | None, what: str) -> str:
        """A line of text."""
        if node is None:
            return ""
        if not isinstance(node, Scalar):
            self.problems.report(node.span, f"{what} is text", allowed="one scalar")
            return ""
        if not node.text.strip():
            self.problems.report(node.span, f"{what} is empty", allowed="text")
        return " ".join(node.text.split())

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """A list of lines of text."""
        return tuple(self.text(item, what) for item in self.items(node, what))

    def items(self, node: Node | None, what: str) -> tuple[Node, ...]:
        """The items of a list."""
        if node is None:
            return ()
        if not isinstance(node, SequenceNode):
            self.problems.report(node.span, f"{what} is a list", allowed="`- item` lines")
            return ()
        return node.items

    def integer(self, node: Node | None, what: str) -> int:
        """A literal integer."""
        if node is None:
            return 0
        if not isinstance(node, Scalar) or not _INTEGER.fullmatch(node.text):
            self.problems.report(node.span, f"{what} is an integer", allowed="12, -1 or 0x0C")
            return 0
        return int(node.text, 0)

    def boolean(self, node: Node | None, what: str) -> bool:
        """True or false, and no other spelling."""
        if node is None:
            return False
        if not isinstance(node, Scalar) or node.text not in ("true", "false"):
            self.problems.report(node.span, f"{what} is a truth value", allowed="true, false")
            return False
        return node.text == "true"

    def one_of(self, node: Node | None, what: str, allowed: Iterable[str]) -> str | None:
        """One of a closed set of words."""
        if node is None:
            return None
        known = tuple(allowed)
        if not isinstance(node, Scalar):
            self.problems.report(node.span, f"{what} is one word", allowed=known)
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

    def name(self, key: Scalar, what: str) -> bool:
        """Whether a key can be a name in Python."""
        good = bool(_WORD.fullmatch(key.text)) and not keyword.iskeyword(key.text)
        if not good or key.text in (*language.KEYWORDS, *language.FUNCTIONS, "it"):
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
            self.problems.report(node.span, f"{what} is an expression", allowed="one scalar")
            return _placeholder(wanted)
        return self.parse(node, node.text, 0, scope, wanted)

    def parse(
        self, scalar: Scalar, text: str, start: int, scope: language.Scope, wanted: Type
    ) -> Expr:
        """An expression that is a part of a scalar, from an offset on."""
        try:
            return language.parse(text, scope, wanted)
        except ExprError as error:
            self.problems.report(
                scalar.at(start + error.start, error.length),
                error.message,
                allowed=error.allowed,
                near=error.near,
            )
            return _placeholder(wanted)


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

    def read(self) -> Spec:
        if not self.folder.is_dir():
            whole = Span(file=self.shown, line=0, column=0)
            self.problems.report(
                whole, "there is no such spec folder", allowed="--spec FOLDER with a project.yaml"
            )
            self.problems.raise_if_any()
        project = self._project()
        self._read_constants()
        self._read_structs()
        sources = self._kernel_sources()
        kernels = []
        for source in sources.values():
            kernel = _KernelReader(self, source, sources).read()
            if kernel is not None:
                kernels.append(kernel)
        self._check_launchers(kernels)
        self._check_related()
        return Spec(
            project=project,
            constants=tuple(self.constants.values()),
            enums=tuple(self.enums.values()),
            structs=tuple(self.structs.values()),
            kernels=tuple(kernels),
        )

    def _file(self, name: str, context: str) -> Entries:
        node = load(self.folder / name, f"{self.shown}/{name}", self.problems)
        return self.mapping(node, context)

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
            value = self.integer(value_node, f"the value of `{name}`")
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
        members: list[tuple[str, int, str]] = []
        values: dict[int, str] = {}
        for member, (member_key, member_node) in self.any_mapping(
            fields.get("members", (None, None))[1], "`members`"
        ).items():
            self.name(member_key, "a member")
            parts = self.mapping(member_node, "member")
            value_node = parts.get("value", (None, None))[1]
            value = self.integer(value_node, f"the value of `{member}`")
            if value in values and value_node is not None:
                self.problems.report(
                    value_node.span,
                    f"{value} is already `{values[value]}`",
                    allowed="a number of its own for each member",
                )
            values[value] = member
            doc = self.text(parts.get("doc", (None, None))[1], "`doc`")
            members.append((member, value, doc))
        return EnumDef(
            name=name,
            doc=self.text(fields.get("doc", (None, None))[1], "`doc`"),
            flags=self.boolean(fields.get("flags", (None, None))[1], "`flags`"),
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

    def _read_structs(self) -> None:
        if not (self.folder / "structs.yaml").exists():
            return
        entries = self._file("structs.yaml", "structs.yaml")
        for name, (key, node) in self.any_mapping(
            entries.get("structs", (None, None))[1], "`structs`"
        ).items():
            if self.name(key, "a struct"):
                self.structs[name] = self._struct(name, key, node)

    def _struct(self, name: str, key: Scalar, node: Node) -> StructDef:
        parts = self.mapping(node, "struct")
        sizes = {
            size: self.text(doc, f"the meaning of `{size}`")
            for size, (_, doc) in self.any_mapping(
                parts.get("sizes", (None, None))[1], "`sizes`"
            ).items()
        }
        scope = self.constant_scope() | {size: Symbol(name=size, kind=Kind.SIZE) for size in sizes}
        fields = []
        read: set[str] = set()
        for field_name, (field_key, field_node) in self.any_mapping(
            parts.get("fields", (None, None))[1], "`fields`"
        ).items():
            if not self.name(field_key, "a field"):
                continue
            entries = self.mapping(field_node, "field")
            tensor_type = self.tensor_type(entries, scope, "struct size")
            initial = entries.get("initial", (None, None))[1]
            for dim in tensor_type.dims:
                read.update(language.names_in(dim.expr))
            fields.append(
                FieldDef(
                    name=field_name,
                    type=tensor_type,
                    optional=self.boolean(entries.get("optional", (None, None))[1], "`optional`"),
                    initial=None if initial is None else self.integer(initial, "`initial`"),
                    doc=self.text(entries.get("doc", (None, None))[1], "`doc`"),
                    span=field_key.span,
                )
            )
        rules = self.rules(
            parts.get("rules", (None, None))[1],
            stem=name,
            stage=Stage.SIZES,
            scope=scope,
            arguments={size: size for size in sizes},
            flags=(),
            argument_key=False,
        )
        size_keys = self.any_mapping(parts.get("sizes", (None, None))[1], "`sizes`")
        for size, (size_key, _) in size_keys.items():
            if size not in read:
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
            span=key.span,
        )

    def tensor_type(self, entries: Entries, scope: language.Scope, unknown: str) -> TensorType:
        """A `tensor:` and its `axes:` and `layout:`."""
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
            self.problems.report(
                node.span, "this is no tensor type", allowed="dtype[dim, ...], as in int64[bs]"
            )
            return fallback
        known = {item.value: item for item in Dtype}
        word = match.group("dtype")
        if word not in known:
            self.problems.report(
                node.at(match.start("dtype"), len(word)),
                f"unknown dtype `{word}`",
                allowed=sorted(known),
                near=nearest(word, known),
            )
        dims = []
        for text, start in _split(match.group("dims"), match.start("dims")):
            at_least = text.lstrip().startswith(">=")
            inner_start = start + (text.index(">=") + 2 if at_least else 0)
            inner = text[text.index(">=") + 2 :] if at_least else text
            dims.append(
                Dim(expr=self._dim(node, inner, inner_start, scope, unknown), at_least=at_least)
            )
        if not 1 <= len(dims) <= _MAX_RANK:
            self.problems.report(
                node.span, f"{len(dims)} dimensions", allowed=f"1 to {_MAX_RANK} dimensions"
            )
        axes = self.texts(axes_node, "`axes`")
        if axes_node is not None and len(axes) != len(dims):
            self.problems.report(
                axes_node.span,
                f"{len(axes)} axes for a tensor of {len(dims)} dimensions",
                allowed="one name for each dimension",
            )
        if axes_node is None:
            axes = ("index",) if len(dims) == 1 else tuple(f"axis{i}" for i in range(len(dims)))
        for axis, item in zip(axes, self.items(axes_node, "`axes`"), strict=False):
            if not _WORD.fullmatch(axis) or axes.count(axis) > 1:
                self.problems.report(
                    item.span, f"`{axis}` cannot name an axis", allowed="a word, each once"
                )
        return TensorType(
            dtype=known.get(word, Dtype.INT64),
            dims=tuple(dims),
            axes=axes,
            layout=Layout(layout or "contiguous"),
        )

    def _dim(
        self, node: Scalar, text: str, start: int, scope: language.Scope, unknown: str
    ) -> Expr:
        try:
            return language.parse(text, scope, Type.INTEGER)
        except ExprError as error:
            match = _WORD.match(text, error.start)
            message = error.message
            allowed = error.allowed
            if message.startswith("unknown name") and match:
                message = f"unknown {unknown} `{match.group()}`"
                if unknown == "size":
                    message = f"size `{match.group()}` is bound by nothing"
                    allowed = "a size that is a whole dimension of some tensor, or a scalar"
            self.problems.report(
                node.at(start + error.start, error.length),
                message,
                allowed=allowed,
                near=error.near,
            )
            return language.Integer(1)

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
    ) -> tuple[Rule, ...]:
        """A list of written rules. `reused`: another kernel's, read again in this one's scope."""
        found = []
        for item in self.items(node, "`rules`"):
            if not argument_key and isinstance(item, MappingNode):
                marker = Scalar(span=item.span, text="argument", quoted=False)
                named = item.entries if any(k.text == "argument" for k, _ in item) else (
                    *item.entries, (marker, Scalar(span=item.span, text=next(iter(arguments), ""),
                                                   quoted=False)))  # fmt: skip
                item = MappingNode(span=item.span, entries=named)
            entries = self.mapping(item, "rule")
            rule = self._rule(entries, item.span, stem, stage, scope, arguments, flags, reused)
            if rule is not None:
                found.append(rule)
        return tuple(found)

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
    ) -> Rule | None:
        id_node = entries.get("id", (None, None))[1]
        if not isinstance(id_node, Scalar):
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
            self.rule_ids[rule_id] = id_node.span
        argument = self.one_of(entries.get("argument", (None, None))[1], "argument", arguments)
        require = self.expression(
            entries.get("require", (None, None))[1], "`require`", scope, Type.TRUTH
        )
        message = self._message(entries.get("message", (None, None))[1], scope, flags)
        example = self._example(entries.get("example", (None, None))[1], scope, arguments)
        related_node = entries.get("related", (None, None))[1]
        related = []
        for item in self.items(related_node, "`related`"):
            if isinstance(item, Scalar):
                name = item.text if "." in item.text else f"{stem}.{item.text}"
                related.append(name)
                if not reused:
                    self.related.append((item, name))
        return Rule(
            id=rule_id,
            stage=stage,
            require=require,
            message=message,
            argument=arguments.get(argument or "", argument or ""),
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
            self.problems.report(node.span, "`message` is text", allowed="one scalar")
            return ()
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
            if text[at] != "{":
                literal += text[at]
                at += 1
                continue
            end = text.find("}", at)
            if end < 0:
                self.problems.report(
                    node.at(at), "a `{` without its `}`", allowed="`{{` for the character itself"
                )
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
                self.problems.unknown(
                    node.at(start + 5, len(match.group(1))), "flag", match.group(1), flags
                )
            return TypeName(match.group(1))
        symbol = scope.get(text)
        if symbol is not None and symbol.kind is Kind.FLAG:
            return language.Name(text, Kind.FLAG)
        try:
            return language.parse(text, scope, Type.INTEGER)
        except ExprError as error:
            message = error.message
            if message.startswith("unknown name"):
                message = f"the message names an unknown size `{text}`"
            self.problems.report(
                node.at(start + error.start, error.length),
                message,
                allowed=error.allowed,
                near=error.near,
            )
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
                    self.problems.unknown(name_key.span, "size or argument", name, known)
                    continue
                if symbol.kind is Kind.TENSOR:
                    word = self.one_of(value, "presence", ("given", "none"))
                elif symbol.kind is Kind.CHOICE:
                    word = self.one_of(value, "choice", symbol.members)
                elif isinstance(value, Scalar) and value.text in ("true", "false"):
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
            node = load(path, shown, self.problems)
            if node is None:
                continue
            entries = self.mapping(node, "kernel")
            stem = entries.get("kernel", (None, None))[1]
            if isinstance(stem, Scalar) and stem.text != path.stem:
                self.problems.report(
                    stem.span,
                    f"kernel `{stem.text}` in a file called {path.name}",
                    allowed=f"`kernel: {path.stem}`",
                )
            if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem) or keyword.iskeyword(path.stem):
                self.problems.report(
                    Span(file=shown, line=0, column=0),
                    f"`{path.stem}` cannot name a kernel",
                    allowed="small letters, digits and _",
                )
            sources[path.stem] = _KernelSource(path.stem, shown, entries, _head(node))
        return sources

    def _check_launchers(self, kernels: list[Kernel]) -> None:
        seen: dict[str, Kernel] = {}
        for kernel in kernels:
            if kernel.launcher in seen:
                self.problems.report(
                    kernel.span,
                    f"launcher `{kernel.launcher}` is already kernel "
                    f"`{seen[kernel.launcher].stem}`'s",
                    allowed="a launcher of its own for each kernel",
                )
            seen[kernel.launcher] = kernel

    def _check_related(self) -> None:
        for scalar, name in self.related:
            if name not in self.rule_ids:
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

    def node(self, key: str) -> Node | None:
        """The value of one of the kernel's own keys."""
        return self.source.entries.get(key, (None, None))[1]

    def read(self) -> Kernel | None:
        before = len(self.problems.found)
        stem = self.source.stem
        arguments_node = self.spec.any_mapping(self.node("arguments"), "`arguments`")
        merged = {
            name: self._like(key, node, (f"{stem}.{name}",))
            for name, (key, node) in arguments_node.items()
            if self.spec.name(key, "an argument")
        }
        self._bind_names(merged)
        arguments = [
            argument
            for name, (key, node) in merged.items()
            if (argument := self._argument(name, key, node)) is not None
        ]
        self._add_tensors(arguments)
        derived = self._derived(merged)
        used = self._used_stems()
        launcher_entries = self.spec.mapping(self.node("launcher"), "launcher")
        rules = self._all_rules(arguments, derived, launcher_entries, used)
        checked = self._checking_order(arguments)
        device_of = self._device_of(checked)
        variants = self._variants(arguments)
        blocks = self._blocks()
        launch = self.spec.mapping(self.node("launch"), "launch")
        grid_node = launch.get("grid", (None, None))[1]
        grid_items = self.spec.items(grid_node, "`grid`")
        if grid_node is not None and not 1 <= len(grid_items) <= 3:
            self.problems.report(
                grid_node.span, f"{len(grid_items)} grid dimensions", allowed="1 to 3"
            )
        block_scope = self.scope | {
            name: Symbol(name=name, kind=Kind.CONSTANT, value=value) for name, value in blocks
        }
        grid = tuple(
            self.spec.expression(item, "a grid dimension", block_scope, Type.INTEGER)
            for item in grid_items
        )
        for dimension in grid:
            self.read_names.update(language.names_in(dimension))
        ensures = self._ensures(arguments)
        tensors = {t.identifier: t for t in _flatten(arguments)}
        body = BodyReader(
            folder=self.spec.folder / "kernels",
            shown_folder=f"{self.spec.shown}/kernels",
            tensors=tensors,
            problems=self.problems,
        ).read(stem, self.source.span)
        reference = self._reference()
        if body is not None:
            self._check_unread(arguments, derived, body, merged)
        if len(self.problems.found) > before or body is None or not checked:
            return None
        num_warps = launch.get("num_warps", (None, None))[1]
        return Kernel(
            stem=stem,
            summary=self.spec.text(self.node("summary"), "`summary`"),
            details=self.spec.text(self.node("details"), "`details`"),
            launcher=self.spec.text(launcher_entries.get("name", (None, None))[1], "`name`"),
            reference=reference,
            arguments=tuple(arguments),
            checked=checked,
            derived=derived,
            rules=rules,
            device_of=device_of,
            variants=variants,
            blocks=blocks,
            grid=grid,
            num_warps=4 if num_warps is None else self._warps(num_warps),
            ensures=ensures,
            body=body,
            spec_path=f"kernels/{stem}.yaml",
            span=self.source.span,
        )

    def _warps(self, node: Node) -> int:
        value = self.spec.integer(node, "`num_warps`")
        if value not in (1, 2, 4, 8, 16, 32):
            self.problems.report(
                node.span, f"{value} is no number of warps", allowed="1, 2, 4, 8, 16, 32"
            )
        return value

    def _like(self, key: Scalar, node: Node, path: tuple[str, ...]) -> tuple[Scalar, Node]:
        """An argument's keys with those of the argument that it is like put under them."""
        if not isinstance(node, MappingNode):
            return key, node
        own = {k.text: (k, v) for k, v in node}
        if "like" not in own:
            return key, node
        target = own.pop("like")[1]
        name = target.text if isinstance(target, Scalar) else ""
        stem, _, argument = name.partition(".")
        source = self.sources.get(stem)
        if source is None:
            self.problems.unknown(target.span, "kernel", stem, self.sources)
            return key, MappingNode(span=node.span, entries=())
        entries = self.spec.any_mapping(
            source.entries.get("arguments", (None, None))[1], "`arguments`"
        )
        if argument not in entries:
            known = [f"{stem}.{item}" for item in entries]
            self.problems.unknown(target.span, "argument", name, known)
            return key, MappingNode(span=node.span, entries=())
        if name in path:
            self.problems.report(
                target.span,
                "a circle of `like`: " + " -> ".join((*path, name)),
                allowed="an argument that is written out",
            )
            return key, MappingNode(span=node.span, entries=())
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
            struct_node = entries.get("struct")
            struct = (
                self.spec.structs.get(struct_node.text) if isinstance(struct_node, Scalar) else None
            )
            overrides = entries.get("fields")
            own = {k.text: v for k, v in overrides} if isinstance(overrides, MappingNode) else {}
            if struct is not None:
                for item in struct.fields:
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
            for text in texts:
                match = _TENSOR.fullmatch(text.text) if isinstance(text, Scalar) else None
                for part, _ in _split(match.group("dims"), 0) if match else []:
                    word = part.strip()
                    if (
                        _WORD.fullmatch(word)
                        and word not in self.scope
                        and word
                        not in (
                            *language.KEYWORDS,
                            *language.FUNCTIONS,
                        )
                    ):
                        self.scope[word] = Symbol(name=word, kind=Kind.SIZE)

    def _scalar_symbol(self, name: str, scalar: Scalar, entries: Mapping[str, Node]) -> Symbol:
        text = scalar.text
        if text == "bool":
            return Symbol(name=name, kind=Kind.FLAG)
        if text.startswith("one of "):
            return Symbol(name=name, kind=Kind.CHOICE, members=_choices(text))
        return Symbol(name=name, kind=Kind.SCALAR)

    def _argument(self, name: str, key: Scalar, node: Node) -> Argument | None:
        if not isinstance(node, MappingNode):
            self.problems.report(
                node.span, f"argument `{name}` is a mapping", allowed="{tensor: ..., doc: ...}"
            )
            return None
        kinds = [k.text for k, _ in node if k.text in ("tensor", "scalar", "struct")]
        if len(kinds) != 1:
            if node.entries:
                self.problems.report(
                    key.span,
                    f"argument `{name}` is " + (" and ".join(kinds) if kinds else "nothing"),
                    allowed="one of tensor:, scalar:, struct:, or like: another argument",
                )
            return None
        if kinds == ["tensor"]:
            entries = self.spec.mapping(node, "tensor argument")
            return self._tensor(name, name, name, key.span, entries)
        if kinds == ["scalar"]:
            return self._scalar(name, key, node)
        return self._struct_argument(name, key, node)

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
            if "it" not in language.names_in(domain) and "range" in parts:
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
        called_node = entries.get("called", (None, None))[1]
        return TensorArgument(
            path=path,
            identifier=identifier,
            called=self.spec.text(called_node, "`called`") if called_node else called,
            type=tensor_type,
            access=Access(access or "read"),
            optional=optional,
            values=values,
            sample=sample,
            doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
            defaults_to_none=default is not None,
            span=span,
        )

    def _scalar(self, name: str, key: Scalar, node: MappingNode) -> ScalarArgument:
        entries = self.spec.mapping(node, "scalar argument")
        kind_node = entries["scalar"][1]
        text = kind_node.text if isinstance(kind_node, Scalar) else ""
        kind = ScalarKind.INT
        choices: tuple[str, ...] = ()
        enum = None
        if text in ("int", "bool"):
            kind = ScalarKind(text)
        elif text.startswith("one of "):
            kind = ScalarKind.CHOICE
            choices = _choices(text)
            if len(set(choices)) < 2 or not all(_WORD.fullmatch(c) for c in choices):
                self.problems.report(
                    kind_node.span, "no choice", allowed="one of a, b, ...: two words or more"
                )
        elif text in self.spec.enums:
            kind = ScalarKind.ENUM
            enum = text
        else:
            self.problems.unknown(
                kind_node.span,
                "scalar type",
                text,
                ("int", "bool", "one of a, b, ...", *self.spec.enums),
            )
        default_node = entries.get("default", (None, None))[1]
        default = None
        if default_node is not None:
            if kind is ScalarKind.INT:
                default = str(self.spec.integer(default_node, "`default`"))
            elif kind is ScalarKind.BOOL:
                default = str(self.spec.boolean(default_node, "`default`"))
            else:
                members = choices or tuple(m for m, _, _ in self.spec.enums[enum or ""].members)
                word = self.spec.one_of(default_node, "default", members) or ""
                default = f'"{word}"' if kind is ScalarKind.CHOICE else f"{enum}.{word}"
        called = entries.get("called", (None, None))[1]
        return ScalarArgument(
            name=name,
            called=self.spec.text(called, "`called`") if called else name,
            kind=kind,
            choices=choices,
            enum=enum,
            default=default,
            doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
            span=key.span,
        )

    def _struct_argument(self, name: str, key: Scalar, node: MappingNode) -> StructArgument | None:
        entries = self.spec.mapping(node, "struct argument")
        struct_name = self.spec.one_of(entries["struct"][1], "struct", self.spec.structs)
        if struct_name is None:
            return None
        struct = self.spec.structs[struct_name]
        pattern_node = entries.get("called", (None, None))[1]
        pattern = self.spec.text(pattern_node, "`called`") if pattern_node else f"{name}.{{field}}"
        if "{field}" not in pattern and pattern_node is not None:
            self.problems.report(
                pattern_node.span, "all fields would have one name", allowed="a name with {field}"
            )
        overrides = self.spec.any_mapping(entries.get("fields", (None, None))[1], "`fields`")
        known = {item.name for item in struct.fields}
        for field_name, (field_key, _) in overrides.items():
            if field_name not in known:
                self.problems.unknown(field_key.span, f"field of {struct_name}", field_name, known)
        fields = []
        for item in struct.fields:
            override_node = overrides.get(item.name, (None, None))[1]
            own = self.spec.mapping(override_node, "struct argument field") if override_node else {}
            if "tensor" in own:
                tensor_type = replace(
                    self.spec.tensor_type(own, self.scope, "size"), axes=item.type.axes
                )
                if tensor_type.rank != item.type.rank or tensor_type.dtype is not item.type.dtype:
                    self.problems.report(
                        own["tensor"][1].span,
                        f"`{struct_name}.{item.name}` is {item.type.dtype.value} "
                        f"of {item.type.rank} dimensions",
                        allowed="other names for its sizes, the same dtype and rank",
                    )
            else:
                tensor_type = item.type
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
                    access=Access(word or "read"),
                    optional=item.optional,
                    values=contents.values,
                    sample=contents.sample,
                    doc=doc,
                    span=key.span,
                )
            )
        return StructArgument(
            name=name,
            struct=struct_name,
            fields=tuple(fields),
            doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
            span=key.span,
        )

    def _add_tensors(self, arguments: list[Argument]) -> None:
        """Enter the tensors, by path and by identifier, once their ranks are known."""
        seen: dict[str, str] = {}
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
                self.problems.report(
                    tensor.span,
                    f"two arguments are called `{tensor.identifier}` in the kernel",
                    allowed="`called:` with another name for one of them",
                )
            seen[tensor.identifier] = tensor.path
            if tensor.path in self.scope:
                self.problems.report(
                    tensor.span,
                    f"`{tensor.path}` is already a {self.scope[tensor.path].kind.value}",
                    allowed="a name of its own",
                )
            self.scope[tensor.path] = symbol
            self.scope.setdefault(tensor.identifier, symbol)
            for dim in tensor.type.dims:
                if dim.binds is None:
                    self.read_names.update(language.names_in(dim.expr))

    def _derived(self, merged: Mapping[str, tuple[Scalar, Node]]) -> tuple[DerivedSize, ...]:
        """Derived sizes and flags, this kernel's and used ones, each after what it reads."""
        pending: dict[str, tuple[Scalar, Node]] = {}
        for stem in (*self._used_stems(), self.source.stem):
            node = self.sources[stem].entries.get("sizes", (None, None))[1]
            pending |= self.spec.any_mapping(node, "`sizes`")
        texts: dict[str, tuple[Scalar, bool, Entries]] = {}
        for name, (key, node) in pending.items():
            entries = self.spec.mapping(node, "size")
            if not self.spec.name(key, "a size"):
                continue
            if ("size" in entries) == ("flag" in entries):
                self.problems.report(
                    key.span, f"`{name}` is no size and no flag", allowed="size: ..., or flag: ..."
                )
                continue
            known = self.scope.get(name)
            if known is not None and known.kind is not Kind.SIZE:
                self.problems.report(
                    key.span, f"`{name}` is already a {known.kind.value}", allowed="a new name"
                )
                continue
            truth = "flag" in entries
            value = entries["flag" if truth else "size"][1]
            if not isinstance(value, Scalar):
                self.problems.report(value.span, "this is an expression", allowed="one scalar")
                continue
            texts[name] = (value, truth, entries)
        for name, (_, truth, _) in texts.items():
            self.scope[name] = Symbol(name=name, kind=Kind.FLAG if truth else Kind.SIZE)
        found: dict[str, DerivedSize] = {}
        for name, (value, truth, entries) in texts.items():
            wanted = Type.TRUTH if truth else Type.INTEGER
            found[name] = DerivedSize(
                name=name,
                expr=self.spec.parse(value, value.text, 0, self.scope, wanted),
                truth=truth,
                doc=self.spec.text(entries.get("doc", (None, None))[1], "`doc`"),
                span=value.span,
            )
        return self._ordered(found)

    def _ordered(self, found: dict[str, DerivedSize]) -> tuple[DerivedSize, ...]:
        ordered: dict[str, DerivedSize] = {}
        reported = False

        def visit(name: str, path: tuple[str, ...]) -> None:
            nonlocal reported
            if name in path:
                if not reported:
                    self.problems.report(
                        found[path[0]].span,
                        "a circle of derived sizes: " + " -> ".join((*path, name)),
                        allowed="sizes that lead back to tensors and scalars",
                    )
                reported = True
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

    def _used_stems(self) -> tuple[str, ...]:
        stems = []
        for item in self.spec.items(self.node("use"), "`use`"):
            stem = self.spec.one_of(
                item, "kernel", [s for s in self.sources if s != self.source.stem]
            )
            if stem is not None:
                stems.append(stem)
        return tuple(dict.fromkeys(stems))

    def _all_rules(
        self,
        arguments: list[Argument],
        derived: tuple[DerivedSize, ...],
        launcher: Entries,
        used: tuple[str, ...],
    ) -> tuple[Rule, ...]:
        named = {a.name: a.name for a in arguments if not isinstance(a, TensorArgument)}
        for tensor in _flatten(arguments):
            named[tensor.identifier] = tensor.path
            named[tensor.path] = tensor.path
        flags = tuple(d.name for d in derived if d.truth)
        rules = list(
            self.spec.rules(
                launcher.get("rules", (None, None))[1],
                stem=self.source.stem,
                stage=Stage.LAUNCHER,
                scope=self.scope,
                arguments=named,
                flags=flags,
            )
        )
        for key, stage in (("rules", Stage.SIZES), ("relations", Stage.RELATIONS)):
            for stem in used:
                rules += self.spec.rules(
                    self.sources[stem].entries.get(key, (None, None))[1],
                    stem=stem,
                    stage=stage,
                    scope=self.scope,
                    arguments=named,
                    flags=flags,
                    reused=True,
                )
            rules += self.spec.rules(
                self.node(key),
                stem=self.source.stem,
                stage=stage,
                scope=self.scope,
                arguments=named,
                flags=flags,
            )
        for rule in rules:
            self.read_names.update(language.names_in(rule.require))
        return tuple(rules)

    def _checking_order(self, arguments: list[Argument]) -> tuple[TensorArgument, ...]:
        node = self.node("checking_order")
        named = {a.path if isinstance(a, TensorArgument) else a.name: a for a in arguments
                 if not isinstance(a, ScalarArgument)}  # fmt: skip
        if node is None:
            return tuple(_flatten(arguments))
        ordered = []
        for item in self.spec.items(node, "`checking_order`"):
            word = self.spec.one_of(item, "argument", named)
            if word is not None:
                ordered.append(named[word])
        missing = [name for name in named if named[name] not in ordered]
        if missing or len(ordered) != len(named):
            self.problems.report(
                node.span,
                "`checking_order` does not name every tensor argument once",
                allowed=", ".join(named),
            )
            return tuple(_flatten(arguments))
        return tuple(_flatten(ordered))

    def _device_of(self, checked: tuple[TensorArgument, ...]) -> str:
        node = self.node("device_of")
        required = {t.path: t for t in checked if not t.optional}
        required |= {t.identifier: t for t in checked if not t.optional}
        word = self.spec.one_of(node, "required tensor", required)
        return required[word].path if word is not None else ""

    def _variants(self, arguments: list[Argument]) -> tuple[str, ...]:
        finite = [
            a.name
            for a in arguments
            if isinstance(a, ScalarArgument) and a.kind is not ScalarKind.INT
        ]
        found = []
        for item in self.spec.items(self.node("variants"), "`variants`"):
            word = self.spec.one_of(item, "bool, choice or enum argument", finite)
            if word is not None:
                found.append(word)
                self.read_names.add(word)
        return tuple(found)

    def _blocks(self) -> tuple[tuple[str, int], ...]:
        found = []
        for name, (key, node) in self.spec.any_mapping(self.node("blocks"), "`blocks`").items():
            value = self.spec.integer(node, f"`{name}`")
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
            found.append((name, value))
        return tuple(found)

    def _reference(self) -> str:
        node = self.node("reference")
        text = self.spec.text(node, "`reference`")
        if node is not None and text and not _MODULE_FUNCTION.fullmatch(text):
            self.problems.report(
                node.span, f"`{text}` is no reference", allowed="package.module:function"
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
            if tensor not in outputs:
                self.problems.unknown(
                    node.at(match.start("tensor"), len(tensor)), "output", tensor, outputs
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

    def _check_unread(
        self,
        arguments: list[Argument],
        derived: tuple[DerivedSize, ...],
        body: Body,
        merged: Mapping[str, tuple[Scalar, Node]],
    ) -> None:
        read = self.read_names | body.words
        for access in body.accesses:
            for dim in access.tensor.type.dims:
                read.update(language.names_in(dim.expr))
        used_derived = {
            name
            for stem in self._used_stems()
            for name in self.spec.any_mapping(
                self.sources[stem].entries.get("sizes", (None, None))[1], "`sizes`"
            )
        }
        for size in derived:
            if size.name not in read and size.name not in used_derived:
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
                and argument.name not in read
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
                near = nearest(name, [n for n in counts if n != name]) if name else None
                if name and near and counts.get(name) == 1 and name not in read:
                    place = self._dim_span(merged, tensor, name)
                    self.problems.report(
                        place, f"size `{name}` stands here alone, and nothing reads it", near=near
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


def _choices(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.removeprefix("one of ").split(","))


def _flatten(arguments: Iterable[Argument]) -> list[TensorArgument]:
    found: list[TensorArgument] = []
    for argument in arguments:
        if isinstance(argument, TensorArgument):
            found.append(argument)
        elif isinstance(argument, StructArgument):
            found.extend(argument.fields)
    return found
