"""A program of its own: compile kernels as far as Triton IR, without a GPU, and print the texts.

Reads a request from standard input, one JSON object: `paths` to import from, `target` (backend,
architecture, warp size), and `jobs`, each with `module`, `function`, `signature`, `constants`,
`num_warps`. Prints a JSON list, for each job its `text`, or the compiler's `error`. Runs apart from
the generator, which loads no Triton.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from typing import Any


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    sys.path[:0] = request["paths"]
    found = []
    for job in request["jobs"]:
        try:
            found.append({"text": text_of(job, request["target"]), "error": ""})
        except Exception as error:
            # Of whatever kind: one kernel's fault is no reason to say nothing of the others.
            found.append({"text": "", "error": f"{type(error).__name__}: {error}"})
    print(json.dumps(found))


def text_of(job: dict[str, Any], target: list[Any]) -> str:
    """The IR of one variant after Triton's own passes on it, which is what is lowered further."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    function = getattr(importlib.import_module(job["module"]), job["function"])
    source = ASTSource(fn=function, signature=job["signature"], constexprs=job["constants"])
    gpu = GPUTarget(*target)
    backend = make_backend(gpu)
    # Said, because Triton 3.9 warns where nobody says.
    options = backend.parse_options({"num_warps": job["num_warps"], "enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    stages: dict[str, Any] = {}
    if len(inspect.signature(backend.add_stages).parameters) > 2:
        backend.add_stages(stages, options, source.language)
    else:
        backend.add_stages(stages, options)
    module = source.make_ir(
        gpu,
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    )
    return str(stages["ttir"](module, {}))


if __name__ == "__main__":
    main()
