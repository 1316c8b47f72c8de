"""Kernel bodies: Triton text whose every memory access goes through a macro that names an argument.

A body is `def kernel():` in a file beside its spec, after functions of its own if it has any. The
macros read as Python (a set of a set), so Python's own parser tells what a body does, and where:

    name = {{ load("argument", index, ..., mask="...", other=..., guard="...") }}
    {{ store("argument", index, ..., value="...", mask="...", guard="...") }}
        span=N: the last index is a scalar, and begins a block of N elements
        columns=N: the indices are blocks, and N elements from the last one are one more dimension
        cache="evict_first": what becomes of the lines in the cache
        unchecked="reason": why nothing need look at the domain of what is loaded
    {{ atomic_add("argument", index, ..., value="...", mask="...", guard="...") }}
    {{ fragment("name") }}                 the lines of fragments/name.py.jinja, in place
    {{ fragment("name", a="b") }}          the same, names that begin with a_ beginning with b_
    {{ present("argument") }}              in an expression: whether an optional argument is given
    {{ absent("argument") }}               in an expression: whether it is not

Nothing else may reach memory, and every name that a body reads is one that it or its spec gives.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kv_canary_codegen.expr import Constant, Integer
from kv_canary_codegen.model import Body, MemoryAccess, TensorArgument
from kv_canary_codegen.source import Problems, Span, listed, nearest, read_text

STATEMENT_MACROS = ("load", "store", "atomic_add", "fragment")
MACROS = (*STATEMENT_MACROS, "present", "absent")
_OPTIONS = {
    "load": ("mask", "other", "guard", "span", "columns", "cache", "unchecked"),
    "store": ("value", "mask", "guard", "span", "columns", "cache"),
    "atomic_add": ("value", "mask", "guard"),
}
_CACHE_POLICIES = ("evict_first", "evict_last")
_RAW_ACCESS = re.compile(
    r"load|store|atomic_\w+|make_block_ptr|advance|\w*tensor_descriptor\w*"
    r"|inline_asm\w*|pointer_type|__\w+"
)
_HIDING_NAMES = frozenset(
    ("__import__", "compile", "delattr", "eval", "exec", "getattr", "globals", "locals", "open",
     "setattr", "vars")
)  # fmt: skip
"""Builtins that could reach what a name written out would show."""
_GIVEN_NAMES = frozenset(dir(builtins)) | {"tl", "triton"}
_HEADER = re.compile(r"def kernel\(\):\s*(#.*)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class BodyReader:
    """Reads one kernel's body and its fragments; reports every mistake with its place."""

    folder: Path
    shown_folder: str
    tensors: Mapping[str, TensorArgument]
    """By identifier."""
    names: frozenset[str]
    """What the spec gives a body to read: sizes, scalars, constants, blocks."""
    problems: Problems
    constants: Mapping[str, int] = field(default_factory=dict)
    """Values of the project's constants: an index that is one may need no guard."""
    classes: frozenset[str] = frozenset()
    """Names of compile-time values that follow from a size."""
    minimums: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """Extents that a rule keeps from being smaller, by argument and axis."""
    functions: tuple[str, ...] = ()
    """Files of functions that stand before the kernel."""
    sound: bool = True
    """Whether nothing was wrong with the spec; if something was, an extent may be unknown."""
    complete: bool = True
    """Whether the arguments are all known; if not, an unknown one is no mistake of the body's."""
    lines: list[str] = field(default_factory=list)
    accesses: list[MemoryAccess] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    uses: dict[str, Span] = field(default_factory=dict)
    """Names that the text reads, and where first."""
    guard_indices: dict[str, str] = field(default_factory=dict)
    domain_loads: list[tuple[str, str, Span]] = field(default_factory=list)
    """Argument, target and place of each load whose elements have a domain."""
    failed: bool = False
    _function_names: set[str] = field(default_factory=set)
    _fragments: list[str] = field(default_factory=list)
    """Those being read, the outermost first."""
    _renames_in: dict[str, dict[str, str]] = field(default_factory=dict)
    """What names in a file begin with instead, where it was read last."""
    _renamed_faults: set[Span] = field(default_factory=set)
    """A fragment that is read under several names has each of its faults once."""

    def read(self, stem: str, spec_span: Span) -> Body | None:
        """Read `<stem>.py.jinja`, or report and return None."""
        path = self.folder / f"{stem}.py.jinja"
        shown = f"{self.shown_folder}/{stem}.py.jinja"
        if not path.exists():
            self._at(
                spec_span,
                f"kernel `{stem}` has no body",
                allowed=f"a file {shown} with `def kernel():` in it",
            )
            return None
        text = read_text(path, shown, self.problems)
        tree = self._parse(text, shown) if text is not None else None
        if text is None or tree is None:
            return None
        source = text.split("\n")
        kernel = self._kernel(tree, source, shown)
        if kernel is None:
            return None
        end = kernel.end_lineno or len(source)
        self._take(kernel.body, source[:end], shown, nested=False, first_line=kernel.lineno)
        helpers = "\n".join(source[: kernel.lineno - 1]).strip("\n")
        helpers = "\n\n\n".join([*self._functions(), *([helpers] if helpers else [])])
        for node in tree.body:
            if node is not kernel:
                self._helper(node, shown)
                self._refuse_second(node, shown)
        if not self.failed:
            self._require_domain_guards()
        if not self.failed and self.complete:
            self._refuse_unknown_names()
        if self.failed:
            return None
        return Body(
            helpers=helpers,
            lines=tuple(self.lines),
            accesses=tuple(self.accesses),
            words=frozenset(self.words | self.uses.keys()),
        )

    def _kernel(self, tree: ast.Module, source: list[str], shown: str) -> ast.FunctionDef | None:
        """The function called `kernel`, when it and what stands around it have the right form."""
        kernels = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "kernel"]
        if len(kernels) != 1:
            place = Span(file=shown, line=0, column=0)
            found = f"holds {len(kernels)} functions called `kernel`"
            self._at(place, f"the body {found}", allowed="one `def kernel():`")
            return None
        (kernel,) = kernels
        header = source[kernel.lineno - 1]
        if kernel.decorator_list or not _HEADER.fullmatch(header):
            self._at(
                Span(file=shown, line=kernel.lineno, column=1, length=len(header)),
                "the kernel does not begin with `def kernel():` alone",
                allowed="no parameters, no decorator, and the statements on lines of their own: "
                "the generator writes the signature",
            )
            return None
        for node in tree.body:
            helper = isinstance(node, ast.FunctionDef) and node.name.startswith("_")
            if node is not kernel and not (helper and node.lineno < kernel.lineno):
                self._report(
                    shown,
                    node,
                    "only functions stand beside the kernel, before it",
                    allowed="`@triton.jit def _name(...):` before `def kernel():`",
                )
        return kernel

    def _functions(self) -> list[str]:
        """The texts of files of functions, each read as a body's own functions are."""
        found = []
        for name in self.functions:
            shown = f"{self.shown_folder}/functions/{name}.py.jinja"
            path = self.folder / "functions" / f"{name}.py.jinja"
            text = read_text(path, shown, self.problems)
            tree = self._parse(text, shown) if text is not None else None
            if text is None or tree is None:
                self.failed = True
                continue
            for node in tree.body:
                if not isinstance(node, ast.FunctionDef) or not node.name.startswith("_"):
                    self._report(
                        shown,
                        node,
                        "only functions stand in a file of functions",
                        allowed="`@triton.jit def _name(...):`",
                    )
                self._helper(node, shown)
                self._refuse_second(node, shown)
            found.append(text.strip("\n"))
        return found

    def _refuse_second(self, node: ast.stmt, shown: str) -> None:
        """Two functions of one name would be one, whatever their bodies."""
        if not isinstance(node, ast.FunctionDef):
            return
        if node.name in self._function_names:
            place = self.problems.line(shown, node.lineno) or ""
            start = max(0, place.find(node.name))
            self._at(
                Span(file=shown, line=node.lineno, column=start + 1, length=len(node.name)),
                f"two functions are called `{node.name}`",
                allowed="a name of its own for each function",
            )
        self._function_names.add(node.name)

    def _helper(self, node: ast.stmt, shown: str) -> None:
        self._refuse_raw(node, shown)
        for inner in ast.walk(node):
            if isinstance(inner, ast.expr) and (call := _macro(inner)) is not None:
                self._report(
                    shown,
                    inner,
                    f"`{_function(call)}` in a function of the body's own",
                    allowed="a macro in `def kernel():`, and its result handed to the function",
                )
            elif isinstance(inner, ast.FunctionDef):
                self.words.add(inner.name)
        self._note_names(node, shown)

    def _parse(self, text: str, shown: str) -> ast.Module | None:
        for number, line in enumerate(text.split("\n"), start=1):
            for mark in ("{%", "{#"):
                if mark in line:
                    self._at(
                        Span(file=shown, line=number, column=line.index(mark) + 1, length=2),
                        "a body holds no Jinja statements",
                        allowed="constexpr branches, and {{ load(...) }}, {{ store(...) }}, "
                        '{{ atomic_add(...) }}, {{ fragment("...") }}, {{ present("...") }}',
                    )
                    return None
        tree = _parsed(text, "exec")
        if isinstance(tree, ast.Module):
            return tree
        assert isinstance(tree, SyntaxError)
        # Of a fault that only the file's end shows, the parser may give a line after the last.
        line_number = min(tree.lineno or 0, text.count("\n") + 1)
        column = tree.offset or 1
        length = 1
        if tree.end_lineno == tree.lineno and tree.end_offset and tree.end_offset > column:
            length = tree.end_offset - column
        if self._renames_in.get(shown):
            column = self._column(shown, line_number, column - 1) + 1
        self._at(
            Span(file=shown, line=line_number, column=max(1, column), length=length),
            f"this is not Python: {tree.msg}",
            allowed="Python, and {{ ... }} around a macro",
        )
        return None

    def _at(
        self, span: Span, message: str, *, allowed: str | None = None, near: str | None = None
    ) -> None:
        self.failed = True
        if self._renames_in.get(span.file):
            if span in self._renamed_faults:
                return
            self._renamed_faults.add(span)
        self.problems.report(span, message, allowed=allowed, near=near)

    def _report(
        self,
        shown: str,
        node: ast.expr | ast.stmt,
        message: str,
        *,
        allowed: str | None = None,
        near: str | None = None,
        within: ast.expr | None = None,
    ) -> None:
        self._at(self._span(shown, node, within), message, allowed=allowed, near=near)

    def _span(
        self, shown: str, node: ast.expr | ast.stmt | ast.keyword, within: ast.expr | None = None
    ) -> Span:
        """Where a node stands; `within`: the string that the node's text is the content of."""
        line = node.lineno
        start = node.col_offset
        end = node.end_col_offset if node.end_lineno == node.lineno else None
        if within is not None:
            text = (_text(within) or "").encode()
            plain = within.end_lineno == within.lineno
            if not plain or (within.end_col_offset or 0) - within.col_offset != len(text) + 2:
                return self._span(shown, within)
            line = within.lineno
            start += within.col_offset + 1
            end = None if end is None else end + within.col_offset + 1
        column = self._column(shown, line, start)
        length = self._column(shown, line, end) - column if end is not None else 1
        return Span(file=shown, line=line, column=column + 1, length=max(1, length))

    def _column(self, shown: str, number: int, offset: int) -> int:
        """Characters before an offset of Python's, which counts bytes of renamed text."""
        line = self.problems.line(shown, number) or ""
        renames = self._renames_in.get(shown)
        if not renames:
            return len(line.encode()[:offset].decode(errors="replace"))
        ends = (end for end in range(len(line) + 1))
        reached = (end for end in ends if len(_renamed(line[:end], renames).encode()) >= offset)
        return next(reached, len(line))

    def _refuse_raw(self, tree: ast.AST, shown: str, within: ast.expr | None = None) -> None:
        """Whatever could reach memory without a guard."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and _RAW_ACCESS.fullmatch(node.attr):
                owner = ast.unparse(node.value)
                self._report(
                    shown,
                    node,
                    f"a raw `{owner}.{node.attr}`",
                    allowed='{{ load("argument", ...) }}, {{ store(...) }}, '
                    "{{ atomic_add(...) }}: they guard every index",
                    within=within,
                )
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._report(
                    shown,
                    node,
                    "an import in a body",
                    allowed="`tl` and `triton`, which are there, and functions before the kernel",
                )
            elif isinstance(node, ast.Name) and node.id in _HIDING_NAMES:
                self._report(
                    shown,
                    node,
                    f"`{node.id}` in a body",
                    allowed="names written out, such as tl.where",
                    within=within,
                )
            elif isinstance(node, ast.Name) and node.id.endswith("_ptr"):
                self._report(
                    shown,
                    node,
                    f"a raw pointer `{node.id}`",
                    allowed="an access macro that names the argument",
                    within=within,
                )

    def _note_names(self, tree: ast.AST, shown: str, within: ast.expr | None = None) -> None:
        """Remember what is read and what is given a value."""
        macros = {
            id(call.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.expr) and (call := _macro(node)) is not None
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                self.words.add(node.arg)
            if not isinstance(node, ast.Name) or id(node) in macros:
                continue
            if isinstance(node.ctx, ast.Load):
                if node.id not in self.uses:
                    self.uses[node.id] = self._span(shown, node, within)
            else:
                self.words.add(node.id)
                if node.id in self.names:
                    self._at(
                        self._span(shown, node, within),
                        f"the body assigns `{node.id}`, which is a size, scalar or constant",
                        allowed="a name of its own for each value",
                    )

    def _take(
        self, body: list[ast.stmt], source: list[str], shown: str, *, nested: bool, first_line: int
    ) -> None:
        """Copy statements, macros taken out, and fragments put in place."""
        for statement in body:
            self._refuse_raw(statement, shown)
        macros: dict[int, tuple[ast.stmt, ast.Call]] = {}
        for statement in _statements(body):
            call = _macro(statement.value if isinstance(statement, ast.Expr | ast.Assign) else None)
            if call is not None and _function(call) in STATEMENT_MACROS:
                if not self._stands_alone(statement, source):
                    self._report(
                        shown,
                        statement,
                        f"`{_function(call)}` shares its line with something else",
                        allowed="a line of its own; a comment stands above it",
                    )
                macros[statement.lineno] = (statement, call)
        replaced = self._inline_macros(body, {id(call) for _, call in macros.values()}, shown)
        for statement in body:
            self._note_names(statement, shown)
        indent_cut = body[0].col_offset if nested else 4
        number = first_line + 1
        while number <= len(source):
            line = source[number - 1]
            if number in macros:
                statement, call = macros[number]
                indent = " " * (statement.col_offset - indent_cut + 4)
                self._macro_statement(statement, call, indent, shown)
                number = (statement.end_lineno or number) + 1
                continue
            encoded = line.encode()
            for start, end, text in sorted(replaced.get(number, []), reverse=True):
                encoded = encoded[:start] + text.encode() + encoded[end:]
            line = encoded.decode()
            self.lines.append(f"    {line[indent_cut:]}".rstrip() if line.strip() else "")
            number += 1

    def _stands_alone(self, statement: ast.stmt, source: list[str]) -> bool:
        before = source[statement.lineno - 1].encode()[: statement.col_offset]
        last = source[(statement.end_lineno or statement.lineno) - 1].encode()
        return not before.strip() and not last[statement.end_col_offset :].strip()

    def _inline_macros(
        self, body: list[ast.stmt], known: set[int], shown: str
    ) -> dict[int, list[tuple[int, int, str]]]:
        """Refuse stray macros; what stands for each `present(...)`, by line."""
        replaced: dict[int, list[tuple[int, int, str]]] = {}
        for parent in (n for statement in body for n in ast.walk(statement)):
            for node in ast.iter_child_nodes(parent):
                inner = node.elts[0] if isinstance(node, ast.Set) and len(node.elts) == 1 else None
                if not isinstance(node, ast.expr) or not isinstance(inner, ast.Set):
                    continue
                call = _macro(node)
                word = _function(call) if call is not None else ""
                if call is None:
                    self._report(shown, node, "this is no macro call", allowed=", ".join(MACROS))
                elif word not in MACROS:
                    self._report(
                        shown,
                        call.func,
                        f"unknown macro `{word}`",
                        allowed=", ".join(MACROS),
                        near=nearest(word, MACROS),
                    )
                elif word in ("present", "absent"):
                    text = self._presence(call, shown)
                    if not isinstance(parent, ast.If | ast.BoolOp | ast.IfExp | ast.While):
                        text = f"({text})"
                    place = (node.col_offset, node.end_col_offset or node.col_offset, text)
                    replaced.setdefault(node.lineno, []).append(place)
                elif id(call) not in known:
                    self._report(
                        shown,
                        node,
                        f"`{word}` inside an expression",
                        allowed=f"`{word}` in a statement of its own"
                        if word != "load"
                        else "`name = {{ load(...) }}`, and the name in the expression",
                    )
        return replaced

    def _presence(self, call: ast.Call, shown: str) -> str:
        name = _text(call.args[0]) if len(call.args) == 1 and not call.keywords else None
        if name is None or call.end_lineno != call.lineno:
            self._report(
                shown,
                call,
                f"`{_function(call)}` of what?",
                allowed=f'`{_function(call)}("argument")` on one line',
            )
            return "True"
        tensor = self.tensors.get(name)
        if tensor is None:
            self._unknown_argument(call.args[0], name, shown)
            return "True"
        if not tensor.optional:
            self._report(
                shown,
                call.args[0],
                f"`{name}` is always present",
                allowed=listed(name, (n for n, t in self.tensors.items() if t.optional)),
            )
        self.uses.setdefault(name, self._span(shown, call.args[0]))
        return f"{name}_ptr is {'not None' if _function(call) == 'present' else 'None'}"

    def _unknown_argument(self, node: ast.expr, name: str, shown: str) -> None:
        self.failed = True
        if self.complete:
            self._report(
                shown,
                node,
                f"unknown argument `{name}`",
                allowed=listed(name, self.tensors),
                near=nearest(name, self.tensors),
            )

    def _macro_statement(
        self, statement: ast.stmt, call: ast.Call, indent: str, shown: str
    ) -> None:
        if _function(call) == "fragment":
            self._fragment(call, indent, shown)
            return
        access = self._access(statement, call, indent, shown)
        if access is not None:
            self.accesses.append(access)
            self.lines.append("")

    def _fragment(self, call: ast.Call, indent: str, shown: str) -> None:
        name = _text(call.args[0]) if len(call.args) == 1 else None
        renames = self._renames(call, shown)
        if renames is None:
            return
        folder = self.folder / "fragments"
        known = sorted(p.name.removesuffix(".py.jinja") for p in folder.glob("*.py.jinja"))
        if name not in known:
            self._report(
                shown,
                call.args[0] if call.args else call,
                f"unknown fragment `{name}`" if name else "`fragment` of what?",
                allowed=", ".join(known) or f"a file in {self.shown_folder}/fragments",
                near=nearest(name or "", known),
            )
            return
        if name in self._fragments:
            self._report(
                shown,
                call,
                "a circle of fragments: " + " -> ".join((*self._fragments, name)),
                allowed="fragments that lead to no fragment around them",
            )
            return
        fragment_shown = f"{self.shown_folder}/fragments/{name}.py.jinja"
        text = read_text(folder / f"{name}.py.jinja", fragment_shown, self.problems)
        for word in renames:
            if text is not None and not re.search(rf"\b{word}_", text):
                self._report(
                    shown,
                    call,
                    f"fragment `{name}` has no name that begins with `{word}_`",
                    allowed="a beginning of names in the fragment",
                )
                return
        self._renames_in[fragment_shown] = renames
        text = _renamed(text, renames) if text is not None else None
        tree = self._parse(text, fragment_shown) if text is not None else None
        if text is None or tree is None:
            self.failed = True
            return
        outer_lines = self.lines
        self.lines = []
        first_access = len(self.accesses)
        source = text.rstrip("\n").split("\n")
        if tree.body:
            self._fragments.append(name)
            self._take(tree.body, source, fragment_shown, nested=True, first_line=0)
            self._fragments.pop()
        extra = indent[4:]
        for index in range(first_access, len(self.accesses)):
            self.accesses[index] = _moved(
                self.accesses[index], by=len(outer_lines), extra_indent=extra
            )
        outer_lines.extend(f"{extra}{line}" if line else "" for line in self.lines)
        self.lines = outer_lines

    def _renames(self, call: ast.Call, shown: str) -> dict[str, str] | None:
        """What names in a fragment begin with, and what they begin with instead."""
        found: dict[str, str] = {}
        for keyword in call.keywords:
            meant = _text(keyword.value)
            if keyword.arg is None or meant is None or not _WORD.fullmatch(meant):
                self._report(
                    shown,
                    keyword.value,
                    "a fragment's names begin with another word",
                    allowed='fragment("name", source="source_0")',
                )
                return None
            found[keyword.arg] = meant
        return found

    def _access(
        self, statement: ast.stmt, call: ast.Call, indent: str, shown: str
    ) -> MemoryAccess | None:
        operation = _function(call)
        name = _text(call.args[0]) if call.args else None
        if name is None:
            self._report(
                shown,
                call,
                f"`{operation}` names no argument",
                allowed=f'{operation}("argument", ...)',
            )
            return None
        tensor = self.tensors.get(name)
        if tensor is None:
            self._unknown_argument(call.args[0], name, shown)
            return None
        self.uses.setdefault(tensor.identifier, self._span(shown, call.args[0]))
        options = self._options(call, operation, shown)
        if options is None:
            return None
        target = None
        if isinstance(statement, ast.Assign):
            first = statement.targets[0]
            target = (
                first.id if len(statement.targets) == 1 and isinstance(first, ast.Name) else None
            )
        if operation == "load" and target is None:
            self._report(
                shown,
                statement,
                f"`load` of `{name}` needs one name to go to",
                allowed=f'`name = {{{{ load("{name}", ...) }}}}`',
            )
            return None
        if operation == "atomic_add" and isinstance(statement, ast.Assign) and target is None:
            self._report(
                shown,
                statement,
                f"`atomic_add` of `{name}` needs one name for what was there before",
                allowed=f'`name = {{{{ atomic_add("{name}", ...) }}}}`, or no name',
            )
            return None
        if operation == "store" and isinstance(statement, ast.Assign):
            self._report(
                shown,
                statement,
                f"`{operation}` of `{name}` gives no value",
                allowed=f'`{{{{ {operation}("{name}", ...) }}}}` in a statement of its own',
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
        if not tensor.type.dims:
            self.failed = True  # its type was reported
            return None
        indices = [self._operand(argument, shown) for argument in call.args[1:]]
        if len(indices) != tensor.type.rank:
            count, rank = len(indices), tensor.type.rank
            self._report(
                shown,
                call,
                f"`{name}` has {rank} dimension{'s' if rank != 1 else ''}, "
                f"and {count} {'are' if count != 1 else 'is'} indexed",
                allowed=f'{operation}("{name}", {", ".join(tensor.type.axes)}, ...)',
            )
            return None
        if "span" in options and "columns" in options:
            self._report(
                shown, call, "both `span` and `columns`", allowed="one of them, or neither"
            )
            return None
        width = options.get("span") or options.get("columns")
        if width is not None and not self._is_number(width):
            self._report(
                shown,
                call,
                f"`{width}` is no number of elements",
                allowed="a number, or a block or constant by name",
            )
            return None
        guards = self._guards(tensor, indices, options.get("guard"), call, shown, width)
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
        has_domain = tensor.values is not None and "unchecked" not in options
        if operation == "load" and target is not None and has_domain:
            self.domain_loads.append((tensor.identifier, target, self._span(shown, call)))
            self.words.add(f"{target}_in_domain")
        return MemoryAccess(
            operation=operation,
            tensor=tensor,
            indices=tuple(indices),
            mask=options.get("mask"),
            other=options.get("other"),
            value=options.get("value"),
            target=target,
            guards=tuple(guards),
            begins=len(indices) > 1 and self._number(indices[-1]) == 0,
            span=options.get("span"),
            columns=options.get("columns"),
            cache=options.get("cache"),
            checks_domain=has_domain,
            first_line=len(self.lines),
            last_line=len(self.lines),
            indent=indent,
        )

    def _options(self, call: ast.Call, operation: str, shown: str) -> dict[str, str] | None:
        options: dict[str, str] = {}
        known = _OPTIONS[operation]
        for keyword in call.keywords:
            if keyword.arg not in known:
                word = f"`{keyword.arg}`" if keyword.arg else "`**`"
                place = self._span(shown, keyword)
                self._at(
                    replace(place, length=len(keyword.arg or "**")),
                    f"unknown option {word} of `{operation}`",
                    allowed=", ".join(known),
                    near=nearest(keyword.arg or "", known),
                )
                return None
            if keyword.arg == "guard":
                text = _text(keyword.value)
                if text is None or not _WORD.fullmatch(text):
                    self._report(
                        shown, keyword.value, "a guard's name is a word", allowed='guard="name"'
                    )
                    return None
                options["guard"] = text
            elif keyword.arg == "unchecked":
                reason = _text(keyword.value)
                if reason is None or len(reason.split()) < 3:
                    self._report(
                        shown,
                        keyword.value,
                        "no reason why the domain need not be looked at",
                        allowed='unchecked="...": a reason in words',
                    )
                    return None
                options["unchecked"] = reason
            elif keyword.arg == "cache":
                policy = _text(keyword.value)
                if policy not in _CACHE_POLICIES:
                    self._report(
                        shown,
                        keyword.value,
                        "this is nothing that the cache can do",
                        allowed=", ".join(f'cache="{word}"' for word in _CACHE_POLICIES),
                    )
                    return None
                options["cache"] = policy or ""
            else:
                options[keyword.arg] = self._operand(keyword.value, shown)
        return options

    def _operand(self, node: ast.expr, shown: str) -> str:
        """Triton text out of a macro's argument: a string's content, or a name or number itself."""
        text = _text(node)
        if text is None:
            if isinstance(node, ast.Starred):
                self._report(shown, node, "a `*` in a macro", allowed="each index by itself")
            return ast.unparse(node)
        tree = _parsed(text, "eval")
        if not isinstance(tree, ast.Expression) or text != text.strip() or set(text) & {"\n", "#"}:
            reason = f": {tree.msg}" if isinstance(tree, SyntaxError) else ""
            self._report(
                shown,
                node,
                f"this is not a Python expression{reason}",
                allowed="one expression, without comments, on one line",
            )
            return text
        self._refuse_raw(tree, shown, within=node)
        self._note_names(tree, shown, within=node)
        return text

    def _guards(
        self,
        tensor: TensorArgument,
        indices: list[str],
        prefix: str | None,
        call: ast.Call,
        shown: str,
        width: str | None,
    ) -> list[str]:
        guards = []
        for axis, index in enumerate(indices):
            extent = tensor.extent(axis)
            constant = self._number(index)
            if constant is not None and width is not None and axis == tensor.type.rank - 1:
                count = self._number(width)
                constant = None if count is None else constant + count - 1
            known = extent.value if isinstance(extent, Integer | Constant) else 0
            known = max(known, self.minimums.get((tensor.identifier, axis), 0))
            if constant is not None and 0 <= constant < known:
                guards.append("")
                continue
            guard = f"{prefix or tensor.identifier}_{tensor.type.axes[axis]}_in_range"
            self.words.add(guard)
            place = f"{tensor.identifier}[{axis}] at {index}"
            if width is not None and axis == tensor.type.rank - 1:
                place = f"{place} and {width} - 1 after it"
            earlier = self.guard_indices.setdefault(guard, place)
            if earlier != place and self.sound:
                self._report(
                    shown,
                    call,
                    f"two guards are called `{guard}`: {earlier}, and {place}",
                    allowed='guard="...": another name for one of them',
                )
            guards.append(guard)
        return guards

    def _number(self, text: str) -> int | None:
        """The value of a number, or of a constant or block; None where it is neither."""
        return int(text) if re.fullmatch(r"\d+", text) else self.constants.get(text)

    def _is_number(self, text: str) -> bool:
        return self._number(text) is not None or text in self.classes

    def _require_domain_guards(self) -> None:
        for name, tensor in self.tensors.items():
            if tensor.values is None:
                continue
            loads = [(target, span) for loaded, target, span in self.domain_loads if loaded == name]
            if not loads:
                self._at(
                    tensor.span,
                    f"`{name}` has a value domain, and the body never loads it",
                    allowed="a body that loads it and uses the guard, or no `values:`",
                )
            for target, span in loads:
                if f"{target}_in_domain" not in self.uses:
                    self._at(
                        span,
                        f"the value domain of `{name}` is never looked at: "
                        f"nothing reads `{target}_in_domain`",
                        allowed=f"a body that uses `{target}_in_domain`",
                    )

    def _refuse_unknown_names(self) -> None:
        strides = {
            f"{name}_stride_{axis}"
            for name, tensor in self.tensors.items()
            for axis in tensor.type.axes
        }
        given = self.names | self.words | strides
        for word, span in self.uses.items():
            if word in given or word in _GIVEN_NAMES or word in self.tensors:
                continue
            near = word.upper() if word.upper() in given else nearest(word, given)
            self._at(span, f"unknown name `{word}`", allowed=listed(word, given), near=near)


def _parsed(text: str, mode: str) -> ast.AST | SyntaxError:
    """Python's tree of a text, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            tree = ast.parse(text, mode=mode)
            _unparse_depth(tree)
            return tree
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return SyntaxError("it is nested too deeply")


def _unparse_depth(tree: ast.AST) -> None:
    """Fail now, by RecursionError, where `ast.unparse` of a part would fail later."""
    level: Iterable[ast.AST] = [tree]
    for _ in range(_MAX_TREE_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise RecursionError


_MAX_TREE_DEPTH = 100


def _renamed(text: str, renames: Mapping[str, str]) -> str:
    """A fragment's text, its names beginning with other words."""
    if not renames:
        return text
    words = "|".join(re.escape(word) for word in renames)
    return re.sub(rf"\b({words})_", lambda match: f"{renames[match[1]]}_", text)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.stmt))


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
        begins=access.begins,
        span=access.span,
        columns=access.columns,
        cache=access.cache,
        checks_domain=access.checks_domain,
        first_line=access.first_line + by,
        last_line=access.last_line + by,
        indent=access.indent + extra_indent,
    )
