"""`new STEM`: a spec, a body and a reference that generate and pass at once, to be changed."""

from __future__ import annotations

import contextlib
import keyword
import os
import re
from collections.abc import Mapping
from pathlib import Path

from kv_canary_codegen.model import Project
from kv_canary_codegen.parse import TAKEN_STEMS
from kv_canary_codegen.render import environment
from kv_canary_codegen.write import CommandError, make_folders, remove_folders

MAX_STEM = 40
"""Letters of a stem. Generated lines are 100 columns wide, and some name a stem twice."""
_RESERVED = TAKEN_STEMS


class ScaffoldError(CommandError):
    """A kernel of this name cannot be begun; nothing was written."""


def new_files(spec_folder: Path, project: Project, stem: str) -> dict[Path, str]:
    """The files of a new kernel, by path.

    Raises:
        ScaffoldError: The stem is no name, or one of the files is there already.
    """
    _require_name(stem)
    package = Path(*project.reference_package.split("."))
    references = (spec_folder / project.reference_root / package).resolve()
    templates = {
        spec_folder / "kernels" / f"{stem}.yaml": "new_spec.yaml.jinja",
        spec_folder / "kernels" / f"{stem}.py.jinja": "new_body.py.jinja",
        Path(os.path.relpath(references / f"{stem}.py")): "new_reference.py.jinja",
    }
    for path in templates:
        if path.exists() or path.is_symlink():
            raise ScaffoldError(
                place=path.as_posix(),
                rule="a new kernel must not overwrite anything",
                found="a file" if path.is_file() else "something of this name",
                wanted="no file of this name",
                fix="choose another stem, or change the kernel that is there",
            )
    return {
        path: environment().get_template(template).render(stem=stem, project=project)
        for path, template in templates.items()
    }


def _require_name(stem: str) -> None:
    wanted = "small letters, digits and _, beginning with a letter"
    if keyword.iskeyword(stem):
        found, wanted = f"`{stem}`, a keyword of Python", f"{wanted}, and no keyword of Python"
    elif stem in _RESERVED:
        found, wanted = f"`{stem}`", "another name: docs/rules.md is the catalogue of all rules"
    elif not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
        found = f"`{stem}`" if stem and stem.isprintable() else repr(stem)
    elif len(stem) > MAX_STEM:
        found, wanted = f"{len(stem)} letters", f"at most {MAX_STEM}"
    else:
        return
    raise ScaffoldError(
        place="new",
        rule="a stem must be able to name a module, a function and a file",
        found=found,
        wanted=wanted,
        fix=f"choose another stem, such as `{_mended(stem)}`",
    )


def _mended(stem: str) -> str:
    """A name that is near to one that cannot be used."""
    words = re.findall(r"[A-Z]*[a-z0-9]*", stem)
    near = "_".join(word.lower() for word in words if word).lstrip("0123456789_")[:MAX_STEM]
    if not near:
        return "my_kernel"
    return f"{near}_kernel" if keyword.iskeyword(near) or near in _RESERVED else near.rstrip("_")


def write_new(files: Mapping[Path, str]) -> None:
    """Write a new kernel's files, all or none.

    Raises:
        ScaffoldError: A file could not be written.
    """
    made: list[Path] = []
    written: list[Path] = []
    place = Path()
    try:
        for place, text in files.items():
            make_folders(place.parent, made)
            with place.open("x", encoding="utf-8", newline="\n") as file:
                written.append(place)
                file.write(text)
    except BaseException as error:
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        remove_folders(made)
        if not isinstance(error, OSError):
            raise
        raise ScaffoldError(
            place=place.as_posix(),
            rule="the files of a new kernel must be writable",
            found=error.strerror or str(error),
            wanted="a folder that this user can write to, on a disk with room",
            fix="mend that, and run `new` again; nothing was written",
        ) from error
