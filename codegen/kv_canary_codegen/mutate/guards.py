"""Mutants of guards: those that the generator writes around each index of a load or store.

No spec says them, so they are edited in the generated kernel: a guard is always true then, wherever
it is used.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.mutate.mutants import Family, Mutant, Replacement, line_starts, made
from kv_canary_codegen.views import kernel_view


def kernel_files(spec: Spec, generated: Mapping[str, str]) -> dict[str, str]:
    """The generated kernels, by path relative to the spec folder."""
    return {
        beside(spec, file): generated[file]
        for kernel in spec.kernels
        for file in (generated_file(spec, kernel),)
    }


def generated_file(spec: Spec, kernel: Kernel) -> str:
    """A kernel's file, relative to the generated folder."""
    return f"{spec.project.package}/kernels/{kernel.stem}.py"


def beside(spec: Spec, file: str) -> str:
    """A generated file, relative to the spec folder."""
    return posixpath.join(spec.project.output, file)


def guard_mutants(spec: Spec, files: Mapping[str, str]) -> tuple[Mutant, ...]:
    """A mutant for each guard of each kernel.

    Args:
        spec: The spec.
        files: What `kernel_files` gives.
    """
    return tuple(
        mutant
        for kernel in spec.kernels
        for mutant in _of_kernel(
            kernel,
            dict.fromkeys(guard.name for guard in kernel_view(kernel, spec).guards),
            beside(spec, generated_file(spec, kernel)),
            files,
        )
    )


def _of_kernel(
    kernel: Kernel, names: Mapping[str, None], file: str, files: Mapping[str, str]
) -> Iterator[Mutant]:
    text = files[file]
    starts = line_starts(text)
    found: dict[str, list[Replacement]] = {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        if name not in names or not isinstance(value, ast.BinOp):
            continue
        index = value.left
        assert isinstance(index, ast.Compare), "at least 0, and below an extent"
        shown = ast.unparse(index.left)
        assert node.end_lineno is not None, "it was read from a text"
        assert node.end_col_offset is not None, "it was read from a text"
        # The kernels are ASCII, so that columns count letters.
        start = starts[node.lineno - 1] + node.col_offset + len(f"{name} = ")
        end = starts[node.end_lineno - 1] + node.end_col_offset
        found.setdefault(name, []).append(
            Replacement(file=file, start=start, end=end, text=f"({shown}) == ({shown})")
        )
    for name in names:
        if name in found:
            yield made(
                files,
                Family.GUARDS,
                f"{kernel.stem}.{name}",
                "drop",
                "the guard is always true",
                found[name],
            )
