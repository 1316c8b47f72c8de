"""Every generated file, as text in memory: nothing is written before all of it is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jinja2

from kv_canary_codegen import layout, views
from kv_canary_codegen.checks import explicit_sizes
from kv_canary_codegen.model import ConstantDef, Kernel, Spec
from kv_canary_codegen.proofs import (
    KernelProofs,
    ProofView,
    contract_digest,
    proof_view,
    source_digest,
)
from kv_canary_codegen.search import Search
from kv_canary_codegen.standard import RuleText, backend_texts

HEADER_MARK = "do not edit."
"""Stands in the first line of every generated file, and in no other."""


@cache
def environment() -> jinja2.Environment:
    """The one environment: a misspelt name is an error, and nothing is stripped that is printed."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


class Renderer:
    """Renders one spec."""

    def __init__(
        self, spec: Spec, spec_name: str, proofs: Mapping[str, KernelProofs] | None = None
    ) -> None:
        self.spec = spec
        self.spec_name = spec_name
        self.proofs = proofs or {}

    @cached_property
    def searches(self) -> dict[str, Search]:
        """Of each kernel, the search for calls that break its rules."""
        return {kernel.stem: Search(self.spec, kernel) for kernel in self.spec.kernels}

    @cached_property
    def written(self) -> tuple[RuleText, ...]:
        """What every written rule means."""
        return (
            *views.written_texts(self.spec, self.searches),
            *backend_texts(self.spec.project),
        )

    def modules(self, stems: Iterable[str]) -> dict[str, str]:
        """Of all files, those that a call of these kernels runs, beside what all kernels share."""
        package = self.spec.project.package
        found = {f"{package}/constants.py": self._constants()}
        if self.spec.structs:
            found[f"{package}/structs.py"] = self._structs()
        for kernel in self.spec.kernels:
            if kernel.stem in stems:
                found[f"{package}/kernels/{kernel.stem}.py"] = self._kernel(kernel)
                found[f"{package}/validators/{kernel.stem}.py"] = self._validator(kernel)
                found[f"{package}/launchers/{kernel.stem}.py"] = self._launcher(kernel)
        return found

    def tests(self, stems: Iterable[str]) -> dict[str, str]:
        """Of all files, the tests of these kernels and of the structs."""
        found = {"tests/conftest.py": self._render("markers.py.jinja", "project.yaml")}
        if self.spec.structs:
            found["tests/test_structs.py"] = self._structs_test()
        for kernel in self.spec.kernels:
            if kernel.stem in stems:
                found[f"tests/test_{kernel.stem}.py"] = self._test(kernel)
        return found

    def files(self) -> dict[str, str]:
        """All files by path relative to the output folder, in order of their paths."""
        package = self.spec.project.package
        found = {
            f"{package}/contract.py": self._render("contract.py.jinja", "project.yaml"),
            f"{package}/backends.py": self._render("backends.py.jinja", "project.yaml"),
            f"{package}/testing.py": self._render("testing.py.jinja", "project.yaml"),
            f"{package}/warming.py": self._render(
                "warming.py.jinja", "kernels", stems=self._warmed()
            ),
            f"{package}/constants.py": self._constants(),
            f"{package}/rules.py": self._rules(),
            f"{package}/py.typed": "",
            f"{package}/__init__.py": self._init(
                f"Kernels, validators and launchers of {self.spec.project.name}.", self._names()
            ),
            f"{package}/kernels/__init__.py": self._init("Triton kernels, one a module."),
            f"{package}/validators/__init__.py": self._init("Host-side checks, one a kernel."),
            f"{package}/launchers/__init__.py": self._init("Launchers, one a kernel."),
            "tests/conftest.py": self._render("markers.py.jinja", "project.yaml"),
            "docs/rules.md": self._rules_page(),
        }
        found["docs/constants.md"] = self._constants_page()
        found["docs/README.md"] = self._render(
            "index.md.jinja",
            "kernels",
            kernels=self.spec.kernels,
            has_structs=bool(self.spec.structs),
        )
        if self.spec.structs:
            found[f"{package}/structs.py"] = self._structs()
            found["tests/test_structs.py"] = self._structs_test()
            found["docs/structs.md"] = self._render(
                "structs.md.jinja",
                "structs.yaml",
                structs=[views.struct_page_view(s, self.written) for s in self.spec.structs],
            )
        for kernel in self.spec.kernels:
            stem = kernel.stem
            found[f"{package}/kernels/{stem}.py"] = self._kernel(kernel)
            found[f"{package}/validators/{stem}.py"] = self._validator(kernel)
            found[f"{package}/launchers/{stem}.py"] = self._launcher(kernel)
            found[f"tests/test_{stem}.py"] = self._test(kernel)
            found[f"docs/{stem}.md"] = self._page(kernel)
        return dict(sorted(found.items()))

    def _render(self, template: str, source: str, **names: Any) -> str:
        command = f"{self.spec.project.command} generate"
        origin = f"{self.spec_name}/{source}"
        first = f"Generated from {origin} by `{command}`; {HEADER_MARK}"
        second = f"Template: {template}."
        text = (
            environment()
            .get_template(template)
            .render(
                header=f"# {first}\n# {second}",
                header_md=f"<!-- {first} -->\n<!-- {second} -->",
                project=self.spec.project,
                placed=layout.placed,
                statement=layout.statement,
                imported=layout.imported,
                laid_out=layout.item,
                call=_call,
                spread=_spread,
                literals=_literals,
                docstring=_docstring,
                literal=layout.literal,
                **names,
            )
        )
        return _tidied(text)

    def _init(self, summary: str, names: Iterable[tuple[str, str]] = ()) -> str:
        return self._render(
            "package_init.py.jinja", "project.yaml", summary=summary, names=tuple(names)
        )

    def _names(self) -> list[tuple[str, str]]:
        package = self.spec.project.package
        found = [("BrokenRule", "contract"), ("ContractError", "contract")]
        found += [("warm_up", "warming")]
        found += [(item.name, "constants") for item in self.spec.constants]
        found += [(item.name, "constants") for item in self.spec.enums]
        found += [(item.name, "structs") for item in self.spec.structs]
        found += [(k.launcher, f"launchers.{k.stem}") for k in self.spec.kernels]
        return sorted((name, f"{package}.{home}") for name, home in found)

    def _warmed(self) -> list[str]:
        """Stems to warm up: a follow-up kernel is warmed up with the launcher that runs it."""
        follow_ups = {f.stem for kernel in self.spec.kernels for f in kernel.then}
        return [k.stem for k in self.spec.kernels if k.stem not in follow_ups]

    def _constants(self) -> str:
        bases = sorted({"IntFlag" if enum.flags else "IntEnum" for enum in self.spec.enums})
        return self._render(
            "constants.py.jinja",
            "constants.yaml",
            constants=self.spec.constants,
            enums=self.spec.enums,
            enum_bases=bases,
            hex_text=_constant_text,
        )

    def _constants_page(self) -> str:
        return self._render(
            "constants.md.jinja",
            "constants.yaml",
            constants=self.spec.constants,
            enums=self.spec.enums,
            hex_text=_constant_text,
        )

    def _structs(self) -> str:
        structs = [views.struct_view(struct, self.spec) for struct in self.spec.structs]
        text = "\n".join(
            f"{field.annotation}\n" + "\n".join(struct.inspection)
            for struct in structs
            for field in struct.fields
        )
        return self._render(
            "structs.py.jinja",
            "structs.yaml",
            structs=structs,
            listed="Sequence[" in text,
            enums=[e.name for e in self.spec.enums if re.search(rf"\b{e.name}\b", text)],
        )

    def _structs_test(self) -> str:
        return self._render(
            "structs_test.py.jinja",
            "structs.yaml",
            structs=[views.struct_test_view(s, self.spec) for s in self.spec.structs],
        )

    def _rules(self) -> str:
        guards = [
            (kernel.stem, [_guard_text(g) for g in views.kernel_view(kernel, self.spec).guards])
            for kernel in self.spec.kernels
        ]
        return self._render(
            "rules.py.jinja",
            "kernels",
            written=self.written,
            kinds=views.kind_views(self.spec),
            implied=views.implied_views(self.spec),
            guards=guards,
            escaped=_escaped,
            entry=_entry,
            implied_entry=_implied_entry,
        )

    def _rules_page(self) -> str:
        owners: dict[str, list[tuple[str, str]]] = {}
        for text in self.written:
            owners.setdefault(text.owner, []).append((text.id, text.message))
        return self._render("rules.md.jinja", "kernels", owners=list(owners.items()))

    def _kernel(self, kernel: Kernel) -> str:
        return self._render(
            "kernel.py.jinja",
            kernel.spec_path,
            kernel=views.kernel_view(kernel, self.spec),
        )

    def _validator(self, kernel: Kernel) -> str:
        return self._render(
            "validator.py.jinja",
            kernel.spec_path,
            validator=views.validator_view(kernel, self.spec),
        )

    def _launcher(self, kernel: Kernel) -> str:
        view = views.launcher_view(kernel, self.spec)
        details = "\n".join(
            [
                *([view.details, ""] if view.details else []),
                "Args:",
                *(layout.placed(line, 4) for line in view.arguments_doc),
                "",
                "Raises:",
                "    ContractError: A rule is broken; nothing was launched.",
            ]
        )
        return self._render(
            "launcher.py.jinja",
            kernel.spec_path,
            launcher=view,
            details=details,
            keywords=lambda names: [f"{name}={name}" for name in names],
            variants=[_variant(named, warps) for named, warps in view.variants],
            comment=lambda names: layout.commented(", ".join(names) + "."),
        )

    def _test(self, kernel: Kernel) -> str:
        view = views.test_view(kernel, self.spec, self.searches[kernel.stem])
        ensured = view.ensure_names
        outputs_only = [layout.literal(t.path) for t in kernel.tensors if not t.access.reads]
        sizes = [layout.literal(size) for size in explicit_sizes(kernel)]
        return self._render(
            "test.py.jinja",
            kernel.spec_path,
            test=view,
            reference=kernel.reference,
            dictionary=_dictionary,
            message_literal=_message_literal,
            list_literal=_list_literal,
            sizes=layout.call("SIZES: list[str] = [", sizes, "]", indent=0),
            outputs_only=layout.call("OUTPUTS: list[str] = [", outputs_only, "]", indent=0),
            ensured=ensured,
            bounded=any(item.low for item in view.contents),
            sampled=any(item.sample for item in view.contents),
            optional_names=layout.call(
                "OPTIONAL: list[str] = [",
                [layout.literal(name) for name in view.optional],
                "]",
                indent=0,
            ),
            enums_used=any(s.enum for s in kernel.scalars),
            lists=kernel.lists,
            struct_names=views.structs_of(kernel),
            helpers=[
                name
                for name in ("nondecreasing", "same_rows", "unchanged")
                if name in ensured or (name == "same_rows" and view.unordered)
            ],
        )

    def _page(self, kernel: Kernel) -> str:
        return self._render(
            "page.md.jinja",
            kernel.spec_path,
            page=views.page_view(kernel, self.spec, self.written),
            proof=self._proof(kernel),
        )

    def _proof(self, kernel: Kernel) -> ProofView | None:
        proofs = self.proofs.get(kernel.stem)
        if proofs is None:
            return None
        return proof_view(
            proofs,
            contract_digest(self.spec, kernel),
            source_digest(self._kernel(kernel), self._constants()),
        )


def _call(head: str, items: list[str], tail: str, indent: int) -> str:
    return layout.call(head, items, tail, indent=indent)


def _spread(head: str, items: list[str], tail: str, indent: int) -> str:
    return layout.spread(head, items, tail, indent=indent)


def _literals(names: Iterable[str]) -> list[str]:
    return [layout.literal(name) for name in names]


def _docstring(first: str, rest: str = "", indent: int = 0) -> str:
    return layout.docstring(first, rest, indent=indent)


def _tidied(text: str) -> str:
    """No spaces at line ends, two empty lines at most, one newline at the end."""
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = re.sub(r"\n{4,}", "\n\n\n", text)
    return text.strip("\n") + "\n"


def _constant_text(constant: ConstantDef) -> str:
    return f"0x{constant.value:X}" if constant.hexadecimal else str(constant.value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _entry(key: str, value: str) -> str:
    head = f"{layout.literal(key)}: "
    one = layout.literal(value)
    if 4 + len(head) + len(one) + 1 <= layout.WIDTH:
        return f"{head}{one},"
    pieces = layout.string(value, indent=8)
    return f"{head}(\n{layout.placed(pieces, 4)}\n),"


def _implied_entry(rule: views.ImpliedView) -> str:
    arguments = [rule.kind, rule.owner, rule.argument, rule.name, rule.expected]
    arguments += [rule.message] if rule.message else []
    head = f"{layout.literal(rule.id)}: Implied("
    return layout.call(head, [layout.literal(a) for a in arguments], "),", indent=4)


def _variant(named: tuple[tuple[str, int], ...], warps: int) -> str:
    constants = ", ".join(f"{layout.literal(name)}: {value}" for name, value in named)
    return f"({{{constants}}}, {warps})"


def _guard_text(guard: views.GuardView) -> str:
    arguments = [guard.argument, guard.index, guard.extent, guard.name]
    return f"Guard({', '.join(_literals(arguments))})"


def _dictionary(items: tuple[str, ...], indent: int) -> str:
    return layout.call("{", items, "}", indent=indent + 1)


def _message_literal(message: str, indent: int) -> str:
    one = layout.literal(message)
    if indent + len(one) + 1 <= layout.WIDTH:
        return one
    return layout.string(message, indent=indent, tail=",")


def _list_literal(items: str, indent: int) -> str:
    return layout.call("[", [i for i in items.split(", ") if i], "]", indent=indent + 1)


__all__ = ["HEADER_MARK", "Renderer", "RuleText"]
