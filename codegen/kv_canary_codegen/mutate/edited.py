"""A spec and what is generated from it, and both as they are after an edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kv_canary_codegen.model import Spec
from kv_canary_codegen.mutate.guards import beside, kernel_files
from kv_canary_codegen.mutate.mutants import Family, Mutant
from kv_canary_codegen.mutate.spec_copy import SpecCopy, spec_files
from kv_canary_codegen.render import Renderer
from kv_canary_codegen.source import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What an edit makes of a spec."""

    spec: Spec | None
    """None where the reader refuses it."""
    changed: Mapping[str, str]
    """Generated modules that read otherwise than before."""
    refusal: str = ""
    """What the reader says."""
    failure: str = ""
    """Why nothing is generated."""


class Editor:
    """Reads a spec after each edit, and generates what the edit changes."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self.files = spec_files(folder)
        self._copy = SpecCopy(self.files, place / folder.resolve().name, folder.as_posix())
        self.spec = self._copy.read({})
        self.generated = Renderer(self.spec, self.folder.resolve().name).files()
        self.kernels = kernel_files(self.spec, self.generated)
        """The generated kernels, by path relative to the spec folder."""

    @property
    def package(self) -> str:
        """The generated package."""
        return self.spec.project.package

    def modules(self) -> dict[str, str]:
        """The generated package's modules."""
        return {
            file: text
            for file, text in self.generated.items()
            if file.startswith(f"{self.package}/") and file.endswith(".py")
        }

    def stems(self, changed: Sequence[str]) -> tuple[str, ...]:
        """The kernels that some generated files are of; all of them, of files that all share."""
        known = [kernel.stem for kernel in self.spec.kernels]
        found = {Path(file).stem.removeprefix("test_") for file in changed}
        return tuple(known if found - set(known) else (k for k in known if k in found))

    def edited(self, mutant: Mutant) -> Edited:
        """The spec and the modules after an edit."""
        if mutant.family is Family.GUARDS:
            texts = mutant.texts(self.kernels)
            changed = {
                file: texts[beside(self.spec, file)]
                for file in self.generated
                if beside(self.spec, file) in texts
            }
            return Edited(spec=self.spec, changed=changed)
        try:
            spec = self._copy.read(mutant.texts(self.files))
        except SpecError as error:
            said = next((line.strip() for line in str(error).split("\n") if line.strip()), "")
            return Edited(spec=None, changed={}, refusal=said)
        known = {kernel.stem: kernel for kernel in self.spec.kernels}
        same = _shared(spec) == _shared(self.spec)
        stems = [
            kernel.stem
            for kernel in spec.kernels
            if not same or (known[kernel.stem] is not kernel and known[kernel.stem] != kernel)
        ]
        try:
            modules = self._renderer(spec).modules(stems)
        except Exception as error:
            return Edited(spec=spec, changed={}, failure=f"{type(error).__name__}: {error}")
        return Edited(
            spec=spec,
            changed={f: text for f, text in modules.items() if text != self.generated[f]},
        )

    def tests(self, spec: Spec, stems: Sequence[str]) -> dict[str, str]:
        """The generated tests of some kernels, of a spec after an edit."""
        return self._renderer(spec).tests(stems)

    def _renderer(self, spec: Spec) -> Renderer:
        return Renderer(spec, self.folder.resolve().name)


def _shared(spec: Spec) -> tuple[object, ...]:
    """What every kernel's modules may say something of; of a struct's rules they say nothing."""
    structs = tuple(replace(struct, rules=()) for struct in spec.structs)
    return (structs, spec.constants, spec.enums)
