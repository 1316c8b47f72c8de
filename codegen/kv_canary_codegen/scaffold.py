"""`new STEM`: a spec, a body and a reference that generate and pass at once, to be changed."""

from __future__ import annotations

import keyword
import os
import re
from pathlib import Path

from kv_canary_codegen.model import Project
from kv_canary_codegen.render import environment


class ScaffoldError(Exception):
    """A kernel of this name cannot be begun; nothing was written."""


def new_files(spec_folder: Path, project: Project, stem: str) -> dict[Path, str]:
    """The files of a new kernel, by path.

    Raises:
        ScaffoldError: The stem is no name, or one of the files is there already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", stem) or keyword.iskeyword(stem):
        raise ScaffoldError(
            f"`{stem}` cannot name a kernel; wanted: small letters, digits and _, "
            "beginning with a letter, and no Python keyword"
        )
    package = Path(*project.reference_package.split("."))
    reference = (spec_folder / project.reference_root / package / f"{stem}.py").resolve()
    found = {
        spec_folder / "kernels" / f"{stem}.yaml": "new_spec.yaml.jinja",
        spec_folder / "kernels" / f"{stem}.py.jinja": "new_body.py.jinja",
        Path(os.path.relpath(reference)): "new_reference.py.jinja",
    }
    for path in found:
        if path.exists():
            raise ScaffoldError(
                f"{path}: is there already; choose another name, or change that kernel"
            )
    return {
        path: environment().get_template(template).render(stem=stem, project=project)
        for path, template in found.items()
    }


def write_new(files: dict[Path, str]) -> None:
    """Write a new kernel's files, all or none.

    Raises:
        ScaffoldError: A file could not be written.
    """
    written: list[Path] = []
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise ScaffoldError(
            f"{error.filename}: cannot be written: {error.strerror}; nothing was"
        ) from error
