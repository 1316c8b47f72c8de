"""`python -m kv_canary_codegen generate|check|new|explain`; loads no torch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kv_canary_codegen.checks import checks_of
from kv_canary_codegen.model import Spec
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.render import Renderer
from kv_canary_codegen.scaffold import ScaffoldError, new_files, write_new
from kv_canary_codegen.source import SpecError, nearest
from kv_canary_codegen.standard import implied_text
from kv_canary_codegen.views import ImpliedView, implied_views
from kv_canary_codegen.write import OutputError, compare, diff, write

OK, DRIFT, BAD_INPUT = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is done, 1 is drift, 2 is bad input."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except SpecError as error:
        count = len(error.problems)
        print(error, file=sys.stderr)
        print(f"\n{count} mistake{'s' if count != 1 else ''} in the spec; nothing was written",
              file=sys.stderr)  # fmt: skip
    except (OutputError, ScaffoldError, UsageError) as error:
        print(f"{_program()}: {error}", file=sys.stderr)
    return BAD_INPUT


class UsageError(Exception):
    """A command's words are off."""


def _program() -> str:
    name = Path(sys.argv[0]).name
    return "kv_canary_codegen" if name.startswith("__main__") else name


class _Parser(argparse.ArgumentParser):
    """Says what is near when a command is misspelt."""

    def error(self, message: str) -> None:  # type: ignore[override]
        wrong = message.partition("invalid choice: '")[2].partition("'")[0]
        near = nearest(wrong, ("generate", "check", "new", "explain")) if wrong else None
        hint = f"; did you mean `{near}`?" if near else ""
        self.exit(BAD_INPUT, f"{self.prog}: {message}{hint}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kv_canary_codegen", description="Kernels out of specs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, words, run in (
        ("generate", "write kernels, validators, launchers, tests and pages", _generate),
        ("check", "say whether the output is what the specs give; exit 1 if not", _check),
        ("new", "begin a kernel: a spec, a body and a reference", _new),
        ("explain", "say what a rule means and what to do when it breaks", _explain),
    ):
        command = commands.add_parser(name, help=words, description=words)
        command.add_argument(
            "--spec", metavar="FOLDER", help="folder with project.yaml (default: spec)"
        )
        command.add_argument(
            "--out", metavar="FOLDER", help="folder of the output (default: as project.yaml says)"
        )
        command.set_defaults(run=run)
        if name == "new":
            command.add_argument("stem", metavar="STEM", help="name of the kernel")
        if name == "explain":
            command.add_argument("rule", metavar="RULE", nargs="?", help="a rule's id")
    return parser


def _spec_folder(arguments: argparse.Namespace) -> Path:
    if arguments.spec is not None:
        return Path(arguments.spec)
    here = Path("spec")
    if (here / "project.yaml").is_file():
        return here
    for folder in (Path(__file__).parents[2] / "spec", Path(__file__).parent / "spec"):
        if (folder / "project.yaml").is_file():
            return Path(os.path.relpath(folder))
    raise UsageError("there is no spec folder here; wanted: --spec FOLDER with a project.yaml")


def _read(arguments: argparse.Namespace) -> tuple[Path, Spec]:
    folder = _spec_folder(arguments)
    return folder, read_spec(folder, folder.as_posix())


def _output(arguments: argparse.Namespace, folder: Path, spec: Spec) -> Path:
    if arguments.out is not None:
        return Path(arguments.out)
    return Path(os.path.relpath((folder / spec.project.output).resolve()))


def _rendered(folder: Path, spec: Spec) -> dict[str, str]:
    return Renderer(spec, folder.resolve().name).files()


def _generate(arguments: argparse.Namespace) -> int:
    folder, spec = _read(arguments)
    out = _output(arguments, folder, spec)
    files = _rendered(folder, spec)
    changes = write(out, files)
    for word, paths in (
        ("added", changes.added),
        ("changed", changes.changed),
        ("removed", changes.orphaned),
    ):
        for path in paths:
            print(f"{word} {(out / path).as_posix()}")
    touched = len(changes.added) + len(changes.changed) + len(changes.orphaned)
    print(f"{len(files)} files from {len(spec.kernels)} kernels, {touched} touched")
    return OK


def _check(arguments: argparse.Namespace) -> int:
    folder, spec = _read(arguments)
    out = _output(arguments, folder, spec)
    files = _rendered(folder, spec)
    changes = compare(out, files)
    if not changes:
        print(f"{out.as_posix()} is current: {len(files)} files from {len(spec.kernels)} kernels")
        return OK
    sys.stdout.write(diff(out, out.as_posix(), files, changes))
    total = len(changes.added) + len(changes.changed) + len(changes.orphaned)
    names = ", ".join(sorted((*changes.added, *changes.changed, *changes.orphaned))[:8])
    more = ", ..." if total > 8 else ""
    flags = "".join(
        f" --{name} {value}"
        for name, value in (("spec", arguments.spec), ("out", arguments.out))
        if value is not None
    )
    print(f"{total} file{'s differ' if total != 1 else ' differs'} from the specs: {names}{more}")
    print(f"mend with: {spec.project.command} generate{flags}")
    return DRIFT


def _new(arguments: argparse.Namespace) -> int:
    folder, spec = _read(arguments)
    files = new_files(folder, spec.project, arguments.stem)
    write_new(files)
    for path in files:
        print(f"wrote {path.as_posix()}")
    flags = f" --spec {arguments.spec}" if arguments.spec is not None else ""
    print(f"next: {spec.project.command} generate{flags}, and read what it writes")
    return OK


def _explain(arguments: argparse.Namespace) -> int:
    _, spec = _read(arguments)
    if arguments.rule is None:
        listed = [text.id for text in Renderer(spec, "spec").written]
        print("\n".join([*listed, *(view.id for view in implied_views(spec))]))
        return OK
    text = _explanation(spec, arguments.rule)
    if text is None:
        known = [view.id for view in implied_views(spec)]
        known += [rule.id for rule in spec.all_rules()]
        near = nearest(arguments.rule, known)
        hint = f"; did you mean `{near}`?" if near else ""
        command = spec.project.command
        raise UsageError(
            f"there is no rule `{arguments.rule}`{hint} (`{command} explain` lists them)"
        )
    sys.stdout.write(text)
    return OK


def _explanation(spec: Spec, rule: str) -> str | None:
    for kernel in spec.kernels:
        for check in checks_of(kernel):
            if check.id == rule and check.rule is None:
                return implied_text(check, kernel).show()
    for view in implied_views(spec):
        if view.id == rule:
            return _struct_text(view)
    for text in Renderer(spec, "spec").written:
        if text.id == rule:
            return text.show()
    return None


def _struct_text(view: ImpliedView) -> str:
    from kv_canary_codegen.checks import CheckKind
    from kv_canary_codegen.standard import kind_text

    return kind_text(
        CheckKind(view.kind),
        rule=view.id,
        owner=view.owner,
        argument=view.argument,
        name=view.name,
        expected=view.expected,
    ).show()
