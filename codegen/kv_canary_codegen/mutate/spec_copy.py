"""A copy of a spec folder that edits are tried in, one after the other.

Note [An edit in memory]
Each edit is written into a copy of the spec folder, in a temporary place, and taken back after the
copy was read: the real folder is only ever read, once. What is kept between two readings is what
the edit cannot have changed: the nodes of a file with the same text, a kernel that is read from no
edited file, and a body whose files, arguments and names are the same. So the spec is what
`read_spec` makes of the edited folder, and a test holds the two to each other on a sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from kv_canary_codegen.body import BodyReader
from kv_canary_codegen.model import Body, Kernel, Spec
from kv_canary_codegen.parse import _KernelSource, _SpecReader
from kv_canary_codegen.source import MappingNode, Problems, Scalar, Span, load

_FRAGMENT = re.compile(r'fragment\(\s*"(\w+)"')
_STATE = frozenset(
    ("problems", "lines", "accesses", "words", "uses", "guard_indices", "domain_loads", "failed")
)
"""What a reader of a body works with, and is not told."""


def spec_files(folder: Path) -> dict[str, str]:
    """The files of a spec folder that a spec is read from, by path relative to it."""
    paths = [*folder.glob("*.yaml"), *folder.glob("kernels/**/*.yaml")]
    paths += folder.glob("kernels/**/*.py.jinja")
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(paths)
    }


class SpecCopy:
    """Reads a spec as it is after an edit."""

    def __init__(self, files: Mapping[str, str], place: Path, shown: str) -> None:
        self.files = files
        self.place = place
        self.shown = shown
        self.texts = dict(files)
        self._nodes: dict[tuple[str, str], MappingNode] = {}
        self._bodies: dict[str, tuple[object, Body]] = {}
        self._kernels: dict[str, _KnownKernel] = {}
        for file, text in files.items():
            path = place / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def read(self, changes: Mapping[str, str]) -> Spec:
        """The spec with other texts in some files.

        Raises:
            SpecError: The spec has mistakes then.
        """
        problems = Problems()
        try:
            for file, text in changes.items():
                self.texts[file] = text
                (self.place / file).write_text(text, encoding="utf-8")
            spec = _CachedReader(self, problems).read()
        finally:
            for file in changes:
                self.texts[file] = self.files[file]
                (self.place / file).write_text(self.files[file], encoding="utf-8")
        problems.raise_if_any()
        return spec

    def nodes(self, file: str, path: Path, shown: str, problems: Problems) -> MappingNode | None:
        """The nodes of one file; those of its own text are kept."""
        text = self.texts[file]
        known = self._nodes.get((file, text))
        if known is not None:
            problems.remember(shown, text)
            return known
        before = problems.count()
        node = load(path, shown, problems)
        if node is not None and problems.count() == before and text == self.files[file]:
            self._nodes[file, text] = node
        return node

    def kernel(
        self, reader: _CachedReader, source: _KernelSource, sources: Mapping[str, _KernelSource]
    ) -> Kernel | None:
        """One kernel; one that is read from no edited file is kept, with what others ask of it."""
        known = self._kernels.get(source.stem)
        if known is not None and all(self._same(file) for file in known.files):
            reader.rule_ids.update(known.rule_ids)
            reader.related.extend(known.related)
            reader.each_of.update(known.each_of)
            return known.kernel
        before = (len(reader.rule_ids), len(reader.related), set(reader.each_of))
        kernel = _SpecReader.read_kernel(reader, source, sources)
        if kernel is not None and self.texts == self.files:
            self._kernels[source.stem] = _KnownKernel(
                kernel=kernel,
                files=self._kernel_files(kernel),
                rule_ids=dict(list(reader.rule_ids.items())[before[0] :]),
                related=tuple(reader.related[before[1] :]),
                each_of={k: v for k, v in reader.each_of.items() if k not in before[2]},
            )
        return kernel

    def _same(self, file: str) -> bool:
        """Whether a file says the same to a kernel, which never reads a struct's rules."""
        text, before = self.texts[file], self.files[file]
        if file == "structs.yaml" and text != before:
            return _without_rules(text) == _without_rules(before)
        return text == before

    def _kernel_files(self, kernel: Kernel) -> tuple[str, ...]:
        """Every file that a kernel is read from, more of them rather than fewer."""
        stems = [kernel.stem]
        for stem in stems:
            text = self.files[f"kernels/{stem}.yaml"]
            words = re.findall(r"\w+", text)
            stems += [
                other
                for other in dict.fromkeys(words)
                if other not in stems and f"kernels/{other}.yaml" in self.files
            ]
        shared = [f for f in ("project.yaml", "constants.yaml") if f in self.files]
        if any(re.search(r"\bstruct:", self.files[f"kernels/{stem}.yaml"]) for stem in stems):
            shared.append("structs.yaml")
        functions = [f for f in self.files if f.startswith("kernels/functions/")]
        bodies = (f for stem in stems for f in self._body_files(stem, ()))
        specs = (f"kernels/{stem}.yaml" for stem in stems)
        return (*shared, *specs, *functions, *dict.fromkeys(bodies))

    def body(self, reader: BodyReader, stem: str, span: Span) -> Body | None:
        """A body; the last one is kept, with all that it was read from."""
        told = [
            getattr(reader, item.name)
            for item in fields(reader)
            if item.name not in _STATE and not item.name.startswith("_")
        ]
        told.append(
            {file: self.texts.get(file) for file in self._body_files(stem, reader.functions)}
        )
        known = self._bodies.get(stem)
        if known is not None and known[0] == told:
            return known[1]
        before = reader.problems.count()
        body = reader.read(stem, span)
        edited = any(self.texts[file] != text for file, text in self.files.items())
        if body is not None and reader.problems.count() == before and not edited:
            self._bodies[stem] = (told, body)
        return body

    def _body_files(self, stem: str, functions: Iterable[str]) -> list[str]:
        found = [f"kernels/{stem}.py.jinja"]
        found += [f"kernels/functions/{name}.py.jinja" for name in functions]
        for file in found:
            for name in _FRAGMENT.findall(self.texts.get(file, "")):
                fragment = f"kernels/fragments/{name}.py.jinja"
                if fragment not in found:
                    found.append(fragment)
        return found


def _without_rules(text: str) -> list[str]:
    """The lines of `structs.yaml` without those under `rules` of a struct."""
    found = []
    depth: int | None = None
    for line in text.split("\n"):
        deep = len(line) - len(line.lstrip())
        if depth is not None and (not line.strip() or deep > depth):
            continue
        depth = deep if line.strip() == "rules:" else None
        found.append(line)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownKernel:
    """A kernel, and what reading it told about itself to those that are read after it."""

    kernel: Kernel
    files: tuple[str, ...]
    rule_ids: Mapping[str, Span]
    related: tuple[tuple[Scalar, str], ...]
    each_of: Mapping[str, str]


class _CachedReader(_SpecReader):
    """Reads what an edit may have changed, and nothing else anew."""

    def __init__(self, copy: SpecCopy, problems: Problems) -> None:
        super().__init__(copy.place, copy.shown, problems)
        self.copy = copy

    def load(self, path: Path, shown: str) -> MappingNode | None:
        file = path.relative_to(self.copy.place).as_posix()
        if file not in self.copy.texts:
            return super().load(path, shown)
        return self.copy.nodes(file, path, shown, self.problems)

    def read_kernel(
        self, source: _KernelSource, sources: Mapping[str, _KernelSource]
    ) -> Kernel | None:
        return self.copy.kernel(self, source, sources)

    def read_body(self, reader: BodyReader, stem: str, span: Span) -> Body | None:
        return self.copy.body(reader, stem, span)
