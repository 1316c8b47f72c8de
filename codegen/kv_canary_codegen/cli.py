"""`python -m kv_canary_codegen generate|check|new|explain|prove|mutate`; loads no torch."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from kv_canary_codegen.checks import checks_of
from kv_canary_codegen.model import Project, Spec
from kv_canary_codegen.mutate.command import add_parser as add_mutate
from kv_canary_codegen.parse import _SpecReader, read_spec
from kv_canary_codegen.proofs import read_proofs
from kv_canary_codegen.prove.command import add_parser as add_prove
from kv_canary_codegen.render import Renderer
from kv_canary_codegen.scaffold import new_files, write_new
from kv_canary_codegen.source import Problems, SpecError, nearest
from kv_canary_codegen.standard import backend_texts
from kv_canary_codegen.views import ImpliedView, implied_views, kind_views
from kv_canary_codegen.write import CommandError, compare, diff, write

OK, DRIFT, BAD_INPUT = 0, 1, 2


class UsageError(CommandError):
    """A command's words are off."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is done, 1 is drift, 2 is bad input."""
    try:
        arguments = _parse(list(sys.argv[1:] if argv is None else argv))
        return int(arguments.run(arguments))
    except SpecError as error:
        mistakes = _count(len(error.problems), "mistake")
        print(f"{error}\n\n{mistakes} in the spec; nothing was written", file=sys.stderr)
    except CommandError as error:
        print(f"{_program()}: {error}", file=sys.stderr)
    return BAD_INPUT


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _program() -> str:
    """The command that was typed: this one, or that of the runtime, which forwards to it."""
    typed = Path(sys.argv[0])
    name = typed.parent.name if typed.name == "__main__.py" else typed.name
    return "kv-canary" if name in ("kv-canary", "kv_canary") else "kv_canary_codegen"


def _typed() -> str:
    """The same, as a reader types it."""
    program = _program()
    return program if program == "kv-canary" else f"python -m {program}"


# Words of the command line -----------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(
            place=self.prog.rpartition(" ")[2],
            rule="the words of a command must be those that its help shows",
            found=message,
            wanted="what the help shows",
            fix=f"{self.prog} --help",
        )


def _parse(words: list[str]) -> argparse.Namespace:
    _require_command(words)
    arguments, rest = _parser().parse_known_args(words)
    command = arguments.command
    if rest:
        flag = rest[0].partition("=")[0]
        near = nearest(flag, ("--spec", "--out", "--help")) if flag.startswith("-") else None
        raise UsageError(
            place=command,
            rule="a flag must be one that this command has"
            if flag.startswith("-")
            else "there is no room for this word",
            found=flag,
            wanted=f"`{near}`, perhaps" if near else "what the help shows",
            fix=f"{_typed()} {command} --help",
        )
    for name in ("spec", "out"):
        if getattr(arguments, name, None) == "":
            raise UsageError(
                place=f"{command} --{name}",
                rule="a folder must have a name",
                found="nothing",
                wanted="a folder; `.` is this one",
                fix=f"{_typed()} {command} --{name} FOLDER",
            )
    return arguments


def _require_command(words: list[str]) -> None:
    word = words[0] if words else None
    if word in (*_COMMANDS, *_ADDED, "-h", "--help"):
        return
    near = nearest(word, (*_COMMANDS, *_ADDED, "--help")) if word else None
    raise UsageError(
        place="command line",
        rule="the first word must be a command",
        found="nothing" if word is None else f"`{word}`",
        wanted=f"`{near}`, perhaps" if near else ", ".join((*_COMMANDS, *_ADDED, "--help")),
        fix=f"{_typed()} --help",
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=_typed(), description="Kernels out of specs.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (words, run) in _COMMANDS.items():
        command = commands.add_parser(name, help=words, description=words, allow_abbrev=False)
        command.add_argument(
            "--spec", metavar="FOLDER", help="folder with project.yaml (default: spec)"
        )
        if name in ("generate", "check"):
            command.add_argument(
                "--out",
                metavar="FOLDER",
                help="folder of the output (default: as project.yaml says)",
            )
        command.set_defaults(run=run, **({} if name in ("generate", "check") else {"out": None}))
        if name == "new":
            command.add_argument("stem", metavar="STEM", help="name of the kernel")
        if name == "explain":
            command.add_argument("rule", metavar="RULE", nargs="?", help="a rule's id")
    add_prove(commands)
    add_mutate(commands)
    return parser


# Where specs and output are ----------------------------------------------------------------------


def _spec_folder(arguments: argparse.Namespace) -> Path:
    if arguments.spec is not None:
        return Path(arguments.spec)
    here = Path("spec")
    if (here / "project.yaml").is_file():
        return here
    shipped = Path(__file__).parent / "spec"
    if not shipped.is_dir():
        # Run from a checkout, which has the specs beside codegen/.
        repository = Path(__file__).resolve().parents[2] / "spec"
        if (repository / "project.yaml").is_file():
            return Path(os.path.relpath(repository))
    elif arguments.command == "explain":
        # Of an installed package, the specs may be read and the output is nobody's to write.
        return Path(os.path.relpath(shipped))
    raise UsageError(
        place=arguments.command,
        rule="there must be a spec folder",
        found="no spec/project.yaml here",
        wanted="a folder with project.yaml, constants.yaml and kernels/",
        fix=f"{_typed()} {arguments.command} --spec FOLDER",
    )


def _read(arguments: argparse.Namespace) -> tuple[Path, Spec]:
    folder = _spec_folder(arguments)
    return folder, read_spec(folder, folder.as_posix())


def _read_project(folder: Path) -> Project:
    """The project alone: a kernel may be begun before there is any, or beside a broken one."""
    problems = Problems()
    project = _SpecReader(folder, folder.as_posix(), problems)._project()
    problems.raise_if_any()
    return project


def _output(arguments: argparse.Namespace, folder: Path, spec: Spec) -> Path:
    out = folder / spec.project.output if arguments.out is None else Path(arguments.out)
    place = out.resolve()
    if place == Path(place.anchor) or place.is_relative_to(folder.resolve()):
        raise UsageError(
            place=out.as_posix(),
            rule="the output must have a folder of its own",
            found="the root of the file system" if place.parent == place else "the spec folder",
            wanted="a folder beside the specs, as in ../generated",
            fix="--out FOLDER, or `output:` in project.yaml",
        )
    return out if arguments.out is not None else Path(os.path.relpath(place))


def _rendered(folder: Path, spec: Spec) -> dict[str, str]:
    return Renderer(spec, folder.resolve().name, read_proofs(folder)).files()


def _runnable(project: Project, arguments: argparse.Namespace) -> str:
    """The `generate` that a reader can paste: with this run's folders, and by a name that is there.

    The project's own command comes first; where nothing of that name is installed, this module.
    """
    head = project.command
    if shutil.which(head.split()[0]) is None:
        beside = shutil.which("python")
        folder = os.path.dirname(sys.executable)
        same = beside is not None and os.path.dirname(os.path.abspath(beside)) == folder
        python = "python" if same else shlex.quote(sys.executable)
        head = f"{python} -m kv_canary_codegen"
    words = [head, "generate"]
    for name, value in (("spec", arguments.spec), ("out", arguments.out)):
        if value is not None:
            joint = "=" if value.startswith("-") else " "
            words.append(f"--{name}{joint}{shlex.quote(value)}")
    return " ".join(words)


# Commands ----------------------------------------------------------------------------------------


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
    made = f"{_count(len(files), 'file')} from {_count(len(spec.kernels), 'kernel')}"
    print(f"{made}, {len(changes.all())} touched")
    return OK


def _check(arguments: argparse.Namespace) -> int:
    folder, spec = _read(arguments)
    out = _output(arguments, folder, spec)
    files = _rendered(folder, spec)
    changes = compare(out, files)
    if not changes:
        made = f"{_count(len(files), 'file')} from {_count(len(spec.kernels), 'kernel')}"
        print(f"{out.as_posix()} is current: {made}")
        return OK
    sys.stdout.write(diff(out, files, changes))
    paths = changes.all()
    verb = "differs" if len(paths) == 1 else "differ"
    names = ", ".join(paths[:8]) + (", ..." if len(paths) > 8 else "")
    print(f"{_count(len(paths), 'file')} {verb} from the specs: {names}")
    if changes.foreign:
        print(f"not generated here, so first move away: {', '.join(changes.foreign)}")
    print(f"mend with: {_runnable(spec.project, arguments)}")
    return DRIFT


def _new(arguments: argparse.Namespace) -> int:
    folder = _spec_folder(arguments)
    project = _read_project(folder)
    files = new_files(folder, project, arguments.stem)
    write_new(files)
    for path in files:
        print(f"wrote {path.as_posix()}")
    print(f"next: {_runnable(project, arguments)}")
    print("then read what it writes, and make these three files your kernel's")
    return OK


def _explain(arguments: argparse.Namespace) -> int:
    _, spec = _read(arguments)
    pages = RulePages(spec)
    if arguments.rule is None:
        print("\n".join(pages.ids()))
        return OK
    text = pages.page(arguments.rule)
    if text is None:
        near = nearest(arguments.rule, pages.ids())
        command = f"{spec.project.command} explain"
        raise UsageError(
            place="explain",
            rule="a rule must be one of the catalogue",
            found=f"`{arguments.rule}`",
            wanted=f"`{near}`, perhaps" if near else f"an id that `{command}` lists",
            fix=f"{command} {near}" if near else command,
        )
    sys.stdout.write(text)
    return OK


class RulePages:
    """What every rule of a spec means, one page a rule."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def ids(self) -> list[str]:
        """Every rule: the written ones first, then what declarations imply."""
        structs = [rule.id for struct in self.spec.structs for rule in struct.rules]
        kernels = [
            check.id
            for kernel in self.spec.kernels
            for check in checks_of(kernel)
            if check.rule is not None and check.id.startswith(f"{kernel.stem}.")
        ]
        backends = [text.id for text in backend_texts(self.spec.project)]
        return [*structs, *dict.fromkeys(kernels), *backends, *self._implied]

    def page(self, rule: str) -> str | None:
        """The page of a rule, or None where there is no such rule."""
        if rule in self._implied:
            return _filled(self._implied[rule], self.spec)
        return self._written.get(rule)

    @cached_property
    def _implied(self) -> dict[str, ImpliedView]:
        return {view.id: view for view in implied_views(self.spec)}

    @cached_property
    def _written(self) -> dict[str, str]:
        """Made on demand: the wrong and right calls that they show are searched for."""
        return {text.id: text.show() for text in Renderer(self.spec, "spec").written}


def _filled(view: ImpliedView, spec: Spec) -> str:
    """The text of an implied rule's kind, filled in as the generated catalogue does it."""
    text = next(kind.text for kind in kind_views(spec) if kind.kind == view.kind)
    if view.message:
        head, _, *rest = text.split("\n")
        text = "\n".join([head, f"  {spec.project.message_prefix}{view.message}", *rest])
    for name, value in (
        ("{rule}", view.id),
        ("{owner}", view.owner),
        ("{argument}", view.argument),
        ("{name}", view.name),
        ("{expected}", view.expected),
    ):
        text = text.replace(name, value)
    return "\n".join(wrapped for line in text.split("\n") for wrapped in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    hang = len(line) - len(line.lstrip()) + 2
    return textwrap.wrap(line, 100, subsequent_indent=" " * hang) or [""]


_COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "generate": ("write kernels, validators, launchers, tests and pages", _generate),
    "check": ("say whether the output is what the specs give; exit 1 if not", _check),
    "new": ("begin a kernel: a spec, a body and a reference", _new),
    "explain": ("say what a rule means and what to do when it breaks", _explain),
}
_ADDED = ("prove", "mutate")
"""Commands that stand in folders of their own."""
