"""Kernel bodies: Triton text whose every memory access goes through a macro that names an argument.

A body is `def kernel():` in a file beside its spec, after functions of its own if it has any. The
macros read as Python (a set of a set), so Python's own parser tells what a body does, and where:

    name = {{ load("argument", index, ..., mask="...", other=..., guard="...") }}
    {{ store("argument", index, ..., value="...", mask="...", guard="...") }}
    {{ atomic_add("argument", index, ..., value="...", mask="...", guard="...") }}
    {{ fragment("name") }}                 the lines of fragments/name.py.jinja, in place
    {{ present("argument") }}              in an expression: whether an optional argument is given
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kv_canary_codegen.expr import Integer
from kv_canary_codegen.model import Body, MemoryAccess, TensorArgument
from kv_canary_codegen.source import Problems, Span, nearest, read_text

STATEMENT_MACROS = ("load", "store", "atomic_add", "fragment")
_OPTIONS = {
    "load": ("mask", "other", "guard"),
    "store": ("value", "mask", "guard"),
    "atomic_add": ("value", "mask", "guard"),
    "fragment": (),
    "present": (),
}
_RAW_ACCESS = re.compile(r"load|store|atomic_\w+|make_block_ptr|advance|\w*tensor_descriptor\w*")
_MAX_FRAGMENT_DEPTH = 8


@dataclass(slots=True)
class BodyReader:
    """Reads one kernel's body and its fragments; reports every mistake with its place."""

    folder: Path
    shown_folder: str
    tensors: Mapping[str, TensorArgument]
    """By identifier."""
    problems: Problems
    lines: list[str] = field(default_factory=list)
    accesses: list[MemoryAccess] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    """Names that the text reads."""
    guard_indices: dict[str, str] = field(default_factory=dict)
    domain_loads: list[tuple[str, str, Span]] = field(default_factory=list)
    """Argument, target and place of each load whose elements have a domain."""

    def read(self, stem: str, spec_span: Span) -> Body | None:
        """Read `<stem>.py.jinja`, or report and return None."""
        path = self.folder / f"{stem}.py.jinja"
        shown = f"{self.shown_folder}/{stem}.py.jinja"
        if not path.is_file():
            self.problems.report(
                spec_span,
                f"kernel `{stem}` has no body",
                allowed=f"a file {shown} with `def kernel():` in it",
            )
            return None
        before = len(self.problems.found)
        text = read_text(path, shown, self.problems)
        tree = self._parse(text, shown) if text is not None else None
        if text is None or tree is None:
            return None
        kernels = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "kernel"]
        if len(kernels) != 1:
            self.problems.report(
                Span(file=shown, line=0, column=0),
                f"holds {len(kernels)} functions called `kernel`",
                allowed="one `def kernel():`",
            )
            return None
        (kernel,) = kernels
        for node in tree.body:
            helper = isinstance(node, ast.FunctionDef) and node.name.startswith("_")
            if node is not kernel and not helper:
                self._report(
                    shown,
                    node,
                    "only functions stand beside the kernel",
                    allowed="`@triton.jit def _name(...):` before `def kernel():`",
                )
        source = text.split("\n")
        end = kernel.end_lineno or len(source)
        self._take(kernel.body, source[:end], shown, depth=0, first_line=kernel.lineno)
        helpers = "\n".join(source[: kernel.lineno - 1]).strip("\n")
        for node in tree.body:
            if node is not kernel:
                self._refuse_raw(node, shown)
                self.uses.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        self._require_domain_guards()
        if len(self.problems.found) > before:
            return None
        return Body(
            helpers=helpers,
            lines=tuple(self.lines),
            accesses=tuple(self.accesses),
            words=frozenset(self.words | self.uses),
        )

    def _parse(self, text: str, shown: str) -> ast.Module | None:
        for number, line in enumerate(text.split("\n"), start=1):
            for mark in ("{%", "{#"):
                if mark in line:
                    self.problems.report(
                        Span(file=shown, line=number, column=line.index(mark) + 1, length=2),
                        "a body holds no Jinja statements",
                        allowed="constexpr branches, and {{ load(...) }}, {{ store(...) }}, "
                        '{{ atomic_add(...) }}, {{ fragment("...") }}, {{ present("...") }}',
                    )
                    return None
        try:
            return ast.parse(text)
        except SyntaxError as error:
            self.problems.report(
                Span(file=shown, line=error.lineno or 0, column=error.offset or 1),
                f"this is not Python: {error.msg}",
            )
        except (ValueError, RecursionError) as error:
            self.problems.report(Span(file=shown, line=0, column=0), f"this is not Python: {error}")
        return None

    def _report(
        self,
        shown: str,
        node: ast.expr | ast.stmt,
        message: str,
        *,
        allowed: str | None = None,
        near: str | None = None,
    ) -> None:
        length = 1
        if node.end_lineno == node.lineno and node.end_col_offset is not None:
            length = node.end_col_offset - node.col_offset
        self.problems.report(
            Span(file=shown, line=node.lineno, column=node.col_offset + 1, length=length),
            message,
            allowed=allowed,
            near=near,
        )

    def _refuse_raw(self, tree: ast.AST, shown: str) -> None:
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "tl"
                and _RAW_ACCESS.fullmatch(node.attr)
            ):
                self._report(
                    shown,
                    node,
                    f"a raw `tl.{node.attr}`",
                    allowed='{{ load("argument", ...) }}, {{ store(...) }}, '
                    "{{ atomic_add(...) }}: they guard every index",
                )
            elif isinstance(node, ast.Name) and node.id.endswith("_ptr"):
                self._report(
                    shown,
                    node,
                    f"a raw pointer `{node.id}`",
                    allowed="an access macro that names the argument",
                )

    def _take(
        self, body: list[ast.stmt], source: list[str], shown: str, *, depth: int, first_line: int
    ) -> None:
        """Copy statements, macros taken out, and fragments put in place."""
        for statement in body:
            self._refuse_raw(statement, shown)
        macros: dict[int, tuple[ast.stmt, ast.Call]] = {}
        for statement in _statements(body):
            call = _macro(statement.value if isinstance(statement, ast.Expr | ast.Assign) else None)
            if call is not None and _function(call) in STATEMENT_MACROS:
                macros[statement.lineno] = (statement, call)
        self._refuse_stray_macros(body, {id(call) for _, call in macros.values()}, shown)
        for node in (n for statement in body for n in ast.walk(statement)):
            if isinstance(node, ast.Name):
                (self.words if isinstance(node.ctx, ast.Store) else self.uses).add(node.id)
        indent_cut = body[0].col_offset if depth else 4
        number = first_line + 1
        while number <= len(source):
            line = source[number - 1]
            if number in macros:
                statement, call = macros[number]
                indent = " " * (statement.col_offset - indent_cut + 4)
                self._macro_statement(statement, call, indent, shown, depth)
                number = (statement.end_lineno or number) + 1
                continue
            self.lines.append(self._inline(line, shown, number, indent_cut))
            number += 1

    def _inline(self, line: str, shown: str, number: int, indent_cut: int) -> str:
        """Put `present(...)` into a line, and the line at the kernel's indentation."""

        def replace(match: re.Match[str]) -> str:
            name = match.group(1)
            tensor = self.tensors.get(name)
            span = Span(
                file=shown, line=number, column=match.start(1) + 1, length=max(1, len(name))
            )
            if tensor is None:
                self.problems.unknown(span, "argument", name, self.tensors)
                return "True"
            if not tensor.optional:
                self.problems.report(
                    span,
                    f"`{name}` is always present",
                    allowed=", ".join(n for n, t in self.tensors.items() if t.optional) or None,
                )
            self.uses.add(name)
            return f"{name}_ptr is not None"

        line = re.sub(r"\{\{\s*present\(\s*[\"']([^\"']*)[\"']\s*\)\s*\}\}", replace, line)
        return f"    {line[indent_cut:]}".rstrip() if line.strip() else ""

    def _refuse_stray_macros(self, body: list[ast.stmt], known: set[int], shown: str) -> None:
        for node in (n for statement in body for n in ast.walk(statement)):
            if not isinstance(node, ast.expr):
                continue
            inner = node.elts[0] if isinstance(node, ast.Set) and len(node.elts) == 1 else None
            if not isinstance(inner, ast.Set):
                continue
            call = _macro(node)
            if call is None:
                self._report(
                    shown,
                    node,
                    "this is no macro call",
                    allowed=", ".join((*STATEMENT_MACROS, "present")),
                )
            elif _function(call) not in _OPTIONS:
                word = _function(call)
                self._report(
                    shown,
                    call,
                    f"unknown macro `{word}`",
                    allowed=", ".join((*STATEMENT_MACROS, "present")),
                    near=nearest(word, (*STATEMENT_MACROS, "present")),
                )
            elif id(call) not in known and _function(call) != "present":
                self._report(
                    shown,
                    node,
                    f"`{_function(call)}` inside an expression",
                    allowed="`name = {{ load(...) }}` or `{{ store(...) }}` on lines of their own",
                )

    def _macro_statement(
        self, statement: ast.stmt, call: ast.Call, indent: str, shown: str, depth: int
    ) -> None:
        operation = _function(call)
        if operation == "fragment":
            self._fragment(call, indent, shown, depth)
            return
        access = self._access(statement, call, indent, shown)
        if access is not None:
            self.accesses.append(access)
            self.lines.append("")

    def _fragment(self, call: ast.Call, indent: str, shown: str, depth: int) -> None:
        name = _text(call.args[0]) if len(call.args) == 1 else None
        folder = self.folder / "fragments"
        known = sorted(p.name.removesuffix(".py.jinja") for p in folder.glob("*.py.jinja"))
        if name not in known:
            self._report(
                shown,
                call,
                f"unknown fragment `{name}`",
                allowed=", ".join(known) or f"a file in {self.shown_folder}/fragments",
                near=nearest(name or "", known),
            )
            return
        if depth >= _MAX_FRAGMENT_DEPTH:
            self._report(
                shown, call, f"fragment `{name}` holds itself", allowed="fragments without a circle"
            )
            return
        fragment_shown = f"{self.shown_folder}/fragments/{name}.py.jinja"
        text = read_text(folder / f"{name}.py.jinja", fragment_shown, self.problems)
        tree = self._parse(text, fragment_shown) if text is not None else None
        if text is None or tree is None:
            return
        outer_lines = self.lines
        self.lines = []
        first_access = len(self.accesses)
        source = text.rstrip("\n").split("\n")
        if tree.body:
            self._take(tree.body, source, fragment_shown, depth=depth + 1, first_line=0)
        extra = indent[4:]
        for index in range(first_access, len(self.accesses)):
            self.accesses[index] = _moved(
                self.accesses[index], by=len(outer_lines), extra_indent=extra
            )
        outer_lines.extend(f"{extra}{line}" if line else "" for line in self.lines)
        self.lines = outer_lines

    def _access(
        self, statement: ast.stmt, call: ast.Call, indent: str, shown: str
    ) -> MemoryAccess | None:
        operation = _function(call)
        name = _text(call.args[0]) if call.args else None
        tensor = self.tensors.get(name or "")
        if tensor is None:
            place = call.args[0] if call.args else call
            self._report(
                shown,
                place,
                f"unknown argument `{name}`" if name else f"`{operation}` names no argument",
                allowed=", ".join(sorted(self.tensors)),
                near=nearest(name or "", self.tensors),
            )
            return None
        self.uses.add(tensor.identifier)
        options = self._options(call, operation, shown)
        if options is None:
            return None
        target = None
        if isinstance(statement, ast.Assign):
            first = statement.targets[0]
            target = (
                first.id if len(statement.targets) == 1 and isinstance(first, ast.Name) else None
            )
        if (operation != "load") != (target is None):
            self._report(
                shown,
                statement,
                f"`{operation}` of `{name}` "
                + ("needs one name to go to" if operation == "load" else "gives no value"),
                allowed=f'`name = {{{{ load("{name}", ...) }}}}`'
                if operation == "load"
                else f'`{{{{ {operation}("{name}", ...) }}}}` on a line of its own',
            )
            return None
        if (operation == "load" and not tensor.access.reads) or (
            operation != "load" and not tensor.access.writes
        ):
            self._report(
                shown,
                call,
                f"`{operation}` of `{name}`, whose access is `{tensor.access.value}`",
                allowed="`access: read_write` in the spec, or another argument",
            )
            return None
        indices = [self._operand(argument, shown) for argument in call.args[1:]]
        if len(indices) != tensor.type.rank:
            self._report(
                shown,
                call,
                f"`{name}` has {tensor.type.rank} dimensions, and {len(indices)} are indexed",
                allowed=", ".join(tensor.type.axes),
            )
            return None
        guards = self._guards(tensor, indices, options.get("guard"), call, shown)
        if operation != "load" and "value" not in options:
            self._report(shown, call, f"`{operation}` without `value=`", allowed='value="..."')
            return None
        masked = "mask" in options or any(guards)
        if operation == "load" and masked and "other" not in options:
            self._report(
                shown,
                call,
                f"a guarded load of `{name}` without `other=`",
                allowed="other=: what stands for an element that may not be read",
            )
            return None
        if target is not None and tensor.values is not None:
            span = Span(file=shown, line=call.lineno, column=call.col_offset + 1)
            self.domain_loads.append((tensor.identifier, target, span))
        return MemoryAccess(
            operation=operation,
            tensor=tensor,
            indices=tuple(indices),
            mask=options.get("mask"),
            other=options.get("other"),
            value=options.get("value"),
            target=target,
            guards=tuple(guards),
            first_line=len(self.lines),
            last_line=len(self.lines),
            indent=indent,
        )

    def _options(self, call: ast.Call, operation: str, shown: str) -> dict[str, str] | None:
        options: dict[str, str] = {}
        known = _OPTIONS[operation]
        for keyword in call.keywords:
            if keyword.arg not in known:
                self._report(
                    shown,
                    keyword.value,
                    f"unknown option `{keyword.arg}` of `{operation}`",
                    allowed=", ".join(known),
                    near=nearest(keyword.arg or "", known),
                )
                return None
            options[keyword.arg] = self._operand(keyword.value, shown)
        return options

    def _operand(self, node: ast.expr, shown: str) -> str:
        """Triton text out of a macro's argument: a string's content, or a name or number itself."""
        text = _text(node)
        if text is None:
            return ast.unparse(node)
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError as error:
            self._report(shown, node, f"this is not a Python expression: {error.msg}")
            return text
        self._refuse_raw(tree, shown)
        self.uses.update(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))
        return text

    def _guards(
        self,
        tensor: TensorArgument,
        indices: list[str],
        prefix: str | None,
        call: ast.Call,
        shown: str,
    ) -> list[str]:
        guards = []
        for axis, index in enumerate(indices):
            dim = tensor.type.dims[axis]
            constant = re.fullmatch(r"\d+", index)
            if constant and isinstance(dim.expr, Integer) and int(index) < dim.expr.value:
                guards.append("")
                continue
            guard = f"{prefix or tensor.identifier}_{tensor.type.axes[axis]}_in_range"
            place = f"{tensor.identifier}[{axis}] at {index}"
            earlier = self.guard_indices.setdefault(guard, place)
            if earlier != place:
                self._report(
                    shown,
                    call,
                    f"two guards are called `{guard}`: {earlier}, and {place}",
                    allowed='guard="...": another name for one of them',
                )
            guards.append(guard)
        return guards

    def _require_domain_guards(self) -> None:
        for name, tensor in self.tensors.items():
            if tensor.values is None:
                continue
            loads = [(target, span) for loaded, target, span in self.domain_loads if loaded == name]
            if not loads:
                self.problems.report(
                    tensor.span,
                    f"`{name}` has a value domain, and the body never loads it",
                    allowed="a body that loads it and uses the guard, or no `values:`",
                )
            for target, span in loads:
                if f"{target}_in_domain" not in self.uses:
                    self.problems.report(
                        span,
                        f"the value domain of `{name}` is never looked at: "
                        f"nothing reads `{target}_in_domain`",
                        allowed=f"a body that uses `{target}_in_domain`",
                    )


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        node for statement in body for node in ast.walk(statement) if isinstance(node, ast.stmt)
    ]


def _macro(node: ast.expr | None) -> ast.Call | None:
    """The call inside `{{ ... }}`, which Python reads as a set of a set."""
    if isinstance(node, ast.Set) and len(node.elts) == 1:
        inner = node.elts[0]
        if isinstance(inner, ast.Set) and len(inner.elts) == 1:
            call = inner.elts[0]
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                return call
    return None


def _function(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def _moved(access: MemoryAccess, *, by: int, extra_indent: str) -> MemoryAccess:
    return MemoryAccess(
        operation=access.operation,
        tensor=access.tensor,
        indices=access.indices,
        mask=access.mask,
        other=access.other,
        value=access.value,
        target=access.target,
        guards=access.guards,
        first_line=access.first_line + by,
        last_line=access.last_line + by,
        indent=access.indent + extra_indent,
    )
