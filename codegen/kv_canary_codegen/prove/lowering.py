"""The Triton IR of every declared variant of a kernel, from the generated files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kv_canary_codegen import views
from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.prove.arguments import Variant, classes_of

TARGET = ("cuda", 90, 32)
"""Compiled for this one; the IR at this level is the same for all of Triton's targets but for
hints."""


class LoweringError(Exception):
    """No kernel can be compiled here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """What became of one variant."""

    text: str
    error: str
    """The compiler's, or the import's; then there is no text."""


def _warps(kernel: Kernel, variant: Variant) -> int:
    warps = kernel.num_warps
    for each, places in zip(kernel.classes, classes_of(kernel, variant), strict=True):
        if each.num_warps and places:
            warps = each.num_warps[places[0]]
    return warps


def lowered(
    spec: Spec, output: Path, variants: Sequence[tuple[Kernel, Variant]]
) -> tuple[Lowered, ...]:
    """The text of each variant, from the generated package in a folder.

    Raises:
        LoweringError: Triton is missing or cannot be used.
    """
    jobs = []
    for kernel, variant in variants:
        signature: dict[str, str] = {}
        constants: dict[str, int | None] = dict(variant.values)
        given = dict(variant.given)
        for parameter in views.parameters_of(kernel, spec):
            absent = parameter.optional and not given[parameter.name]
            signature[parameter.name] = "constexpr" if absent else parameter.signature
            if absent:
                constants[parameter.name] = None
        jobs.append(
            {
                "module": f"{spec.project.package}.kernels.{kernel.stem}",
                "function": f"_{kernel.stem}_kernel",
                "signature": signature,
                "constants": constants,
                "num_warps": _warps(kernel, variant),
            }
        )
    request = {"paths": [str(output.resolve())], "target": TARGET, "jobs": jobs}
    # Under Triton's interpreter there is no compiler.
    environment = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET",)}
    program = Path(__file__).with_name("emit_ir.py")
    result = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        input=json.dumps(request),
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise LoweringError(result.stderr.strip()[-4000:])
    answers = json.loads(result.stdout.strip().split("\n")[-1])
    return tuple(Lowered(text=answer["text"], error=answer["error"]) for answer in answers)
