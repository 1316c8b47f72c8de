"""The generator's commands: generate, check, new and explain, and what they leave behind.

Most tests run on a small project of one kernel, in a folder of its own; a few on our own specs.
"""

import errno
import itertools
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jinja2
import pytest

from kv_canary_codegen.cli import RulePages, main
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.render import environment
from kv_canary_codegen.source import SpecError

REPOSITORY = Path(__file__).parent.parent
GENERATED = REPOSITORY / "generated"

PROJECT = """\
project: small
package: small_kernels
message_prefix: "small: "
environment_prefix: SMALL
command: small-tool
output: ../generated
reference_root: ../source
reference_package: small.reference
"""
CONSTANTS = """\
constants:
  SIDE: {value: 4, doc: Values along a side.}
"""
STRUCTS = """\
structs:
  Pair:
    summary: Two rows that travel together.
    sizes: {width: Entries of each row.}
    fields:
      left: {tensor: "int64[width]", doc: The first row.}
      right: {tensor: "int64[width]", doc: The second row.}
"""


def small_files():
    """What the small project consists of: what ours does, with one kernel for all of ours."""
    ours = {path.stem for path in (REPOSITORY / "spec" / "kernels").glob("*.yaml")}
    found = []
    for file in output_files():
        path = file.relative_to(GENERATED).as_posix()
        stem = file.stem.removeprefix("test_")
        if stem not in ours - {"plan"}:
            name = file.name.replace("plan", "doubled") if stem == "plan" else file.name
            path = (Path(path).parent / name).as_posix()
            found.append(path.replace("kv_canary_kernels", "small_kernels"))
    return sorted(found)


def output_files():
    return [p for p in sorted(GENERATED.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]


SMALL_FILES = small_files()
COUNT = f"{len(SMALL_FILES)} files from 1 kernel"


class Small:
    """A project of one kernel, generated; the working directory is its root."""

    def __init__(self, root, capsys):
        self.root = root
        self.out = root / "generated"
        self.capsys = capsys
        (root / "spec").mkdir(parents=True)
        for name, text in (
            ("project.yaml", PROJECT),
            ("constants.yaml", CONSTANTS),
            ("structs.yaml", STRUCTS),
        ):
            (root / "spec" / name).write_text(text)

    def run(self, *words):
        """Exit status, standard output and standard error of a command."""
        self.capsys.readouterr()
        status = main(words)
        captured = self.capsys.readouterr()
        return status, captured.out, captured.err

    def error(self, *words):
        """What a command that must be refused prints."""
        status, out, err = self.run(*words)
        assert (status, out) == (2, "")
        return err

    def edit_spec(self, name, old, new):
        path = self.root / "spec" / name
        text = path.read_text()
        assert text.count(old) >= 1
        path.write_text(text.replace(old, new))

    def rename_kernel(self, old, new):
        kernels = self.root / "spec" / "kernels"
        (kernels / f"{old}.py.jinja").rename(kernels / f"{new}.py.jinja")
        text = (kernels / f"{old}.yaml").read_text().replace(old, new)
        (kernels / f"{new}.yaml").write_text(text)
        (kernels / f"{old}.yaml").unlink()


@pytest.fixture
def small(tmp_path, monkeypatch, capsys):
    project = Small(tmp_path / "project", capsys)
    monkeypatch.chdir(project.root)
    assert project.run("new", "doubled")[0] == 0
    assert project.run("generate")[0] == 0
    return project


def contents(folder):
    """Every file and folder below a folder, files with their bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def stamps(folder):
    """Inode and modification time of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def environment_of(*folders, **variables):
    path = os.pathsep.join(str(folder) for folder in folders)
    return {**os.environ, "PYTHONPATH": path, **variables}


def generator(*words, cwd, **variables):
    """Run the command in a process of its own, with nothing but the generator on its path."""
    return subprocess.run(
        [sys.executable, "-m", "kv_canary_codegen", *words],
        cwd=cwd,
        env=environment_of(REPOSITORY / "codegen", **variables),
        capture_output=True,
        text=True,
        check=False,
    )


# The same bytes everywhere -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "from_repository"), [("0", True), ("4242", False)], ids=["one_seed", "another_seed"]
)
def test_generating_anew_gives_the_committed_output_to_the_byte(tmp_path, seed, from_repository):
    """Two hash seeds, two working directories, an output folder that is not there yet."""
    cwd = REPOSITORY if from_repository else tmp_path
    spec = "spec" if from_repository else str(REPOSITORY / "spec")
    words = ("generate", "--spec", spec, "--out", str(tmp_path / "new"))
    result = generator(*words, cwd=cwd, PYTHONHASHSEED=seed)
    assert (result.returncode, result.stderr) == (0, "")
    committed = contents(GENERATED)
    assert contents(tmp_path / "new") == {
        path: data for path, data in committed.items() if "__pycache__" not in path
    }


def test_committed_output_is_current(monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)
    assert main(["check"]) == 0
    assert re.fullmatch(
        r"generated is current: \d+ files from \d+ kernels\n", capsys.readouterr().out
    )


def test_specs_of_a_checkout_are_found_from_any_folder(tmp_path):
    result = generator("check", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_output_that_was_deleted_comes_back_to_the_byte(small):
    before = contents(small.out)
    shutil.rmtree(small.out)
    status, out, err = small.run("generate")
    added = "".join(f"added generated/{path}\n" for path in SMALL_FILES)
    assert (status, out, err) == (0, f"{added}{COUNT}, {len(SMALL_FILES)} touched\n", "")
    assert contents(small.out) == before
    assert [path for path, data in before.items() if data is not None] == SMALL_FILES


# How the output is written -----------------------------------------------------------------------


@pytest.mark.parametrize("path", output_files(), ids=lambda path: path.name)
def test_output_is_plain_text_of_100_columns_with_two_header_lines(path):
    data = path.read_bytes()
    if path.name == "py.typed":
        assert data == b""
        return
    text = data.decode("utf-8")
    assert not text.startswith("\ufeff")
    assert "\r" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert all(line == line.rstrip() for line in text.split("\n"))
    if path.suffix == ".py":
        long = [line for line in text.split("\n") if len(line) > 100]
        assert [line for line in long if " " in line.strip()] == []
    first, second = text.split("\n")[:2]
    start, end = ("<!-- ", " -->") if path.suffix == ".md" else ("# ", "")
    source = re.fullmatch(
        rf"{start}Generated from (spec/\S+) by `kv-canary generate`; do not edit\.{end}", first
    )
    template = re.fullmatch(rf"{start}Template: (\S+)\.{end}", second)
    assert (REPOSITORY / source[1]).exists()
    templates = REPOSITORY / "codegen" / "kv_canary_codegen" / "templates"
    assert (templates / template[1]).is_file()


def test_output_names_no_date_hash_or_absolute_path():
    for path in output_files():
        text = path.read_text(encoding="utf-8")
        assert str(REPOSITORY) not in text
        assert not re.search(r"\b(19|20)\d\d-\d\d-\d\d\b", text), path
        assert not re.search(r"\b\d\d:\d\d:\d\d\b", text), path
        assert not re.search(r"\b[0-9a-f]{20,}\b", text), path
        assert not re.search(r"(?<![\w.])/(home|root|tmp|usr|var|work)/", text), path


def ruff(command, *folders):
    """What ruff finds under our settings."""
    settings = ["--no-cache", "--quiet", "--config", str(REPOSITORY / "pyproject.toml")]
    words = ["format", "--check"] if command == "format" else ["check"]
    result = subprocess.run(
        [sys.executable, "-m", "ruff", *words, *settings, *folders],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout + result.stderr


@pytest.mark.parametrize("command", ["format", "check"])
def test_output_is_clean_under_ruff(command):
    assert ruff(command, GENERATED) == ""


# Check -------------------------------------------------------------------------------------------


def test_check_of_a_current_output_says_so_and_exits_0(small):
    before = stamps(small.root)
    expected = (0, f"generated is current: {COUNT}\n", "")
    assert small.run("check") == expected
    assert stamps(small.root) == before


def mending(out):
    """The command that `check` prints last."""
    return out.splitlines()[-1].removeprefix("mend with: ")


def mend_command(*words):
    """The command as it must be printed here, where the project's own is not installed."""
    beside = shutil.which("python")
    same = beside is not None and Path(beside).parent == Path(sys.executable).parent
    python = "python" if same else sys.executable
    return shlex.join([python, "-m", "kv_canary_codegen", "generate", *words])


@pytest.mark.parametrize("path", SMALL_FILES)
def test_check_names_a_file_that_was_edited_by_hand_and_how_to_mend_it(small, path):
    before = contents(small.out)
    edited = small.out / path
    edited.write_text(edited.read_text() + "# By hand.\n")
    status, out, err = small.run("check")
    lines = out.splitlines()
    assert (status, err) == (1, "")
    assert lines[:2] == [f"--- generated/{path}", f"+++ generated/{path} (generated)"]
    assert "-# By hand." in lines
    assert lines[-2:] == [
        f"1 file differs from the specs: {path}",
        f"mend with: {mend_command()}",
    ]
    words = shlex.split(mending(out))
    assert small.run(*words[words.index("generate") :]) == (
        0,
        f"changed generated/{path}\n{COUNT}, 1 touched\n",
        "",
    )
    assert contents(small.out) == before


def test_check_prints_a_unified_diff_of_all_that_differs(small):
    """An end without a newline, an edit, a deleted file, a file that nothing generates now."""
    edited = [
        "docs/rules.md",
        "small_kernels/constants.py",
        "small_kernels/py.typed",
        "tests/test_old.py",
    ]
    constants = small.out / "small_kernels" / "constants.py"
    constants.write_text(constants.read_text().replace("= 4", "= 5"))
    (small.out / "small_kernels" / "py.typed").unlink()
    page = small.out / "docs" / "rules.md"
    page.write_text(page.read_text().rstrip("\n"))
    header = "# Generated from spec/kernels/old.yaml by `small-tool generate`;"
    (small.out / "tests" / "test_old.py").write_text(f"{header} do not edit.\n")
    last = page.read_text().splitlines()[-1]
    count = len(page.read_text().splitlines())
    status, out, err = small.run("check")
    hunk = out[out.index("--- generated/docs/rules.md") : out.index("--- generated/small_kernels")]
    assert hunk.splitlines()[:3] == [
        "--- generated/docs/rules.md",
        "+++ generated/docs/rules.md (generated)",
        f"@@ -{count - 3},4 +{count - 3},4 @@",
    ]
    assert hunk.endswith(f"-{last}\n\\ No newline at end of file\n+{last}\n")
    constant = constants.read_text().splitlines().index("SIDE: Final = 5") + 1
    lines = [f" {line}" for line in constants.read_text().splitlines()]
    hunk_range = f"{constant - 3},{len(lines) - constant + 4}"
    assert (status, err) == (1, "")
    assert out[len(hunk) :] == "".join(
        f"{line}\n"
        for line in [
            "--- generated/small_kernels/constants.py",
            "+++ generated/small_kernels/constants.py (generated)",
            f"@@ -{hunk_range} +{hunk_range} @@",
            *lines[constant - 4 : constant - 1],
            "-SIDE: Final = 5",
            "+SIDE: Final = 4",
            *lines[constant:],
            "--- /dev/null",
            "+++ generated/small_kernels/py.typed (generated)",
            "--- generated/tests/test_old.py",
            "+++ /dev/null",
            "@@ -1 +0,0 @@",
            f"-{header} do not edit.",
            f"4 files differ from the specs: {', '.join(edited)}",
            f"mend with: {mend_command()}",
        ]
    )


def test_check_of_an_output_that_is_not_there_names_the_first_eight_files(small):
    shutil.rmtree(small.out)
    status, out, err = small.run("check")
    assert (status, err) == (1, "")
    assert out.splitlines()[-2:] == [
        f"{len(SMALL_FILES)} files differ from the specs: {', '.join(SMALL_FILES[:8])}, ...",
        f"mend with: {mend_command()}",
    ]
    assert not small.out.exists()


def test_check_shows_bytes_that_are_no_text(small):
    page = small.out / "docs" / "rules.md"
    page.write_bytes(b"\xff\x00\r\n")
    status, out, err = small.run("check")
    assert (status, err) == (1, "")
    assert "-\ufffd\x00\r\n" in out


@pytest.mark.parametrize(
    ("spec", "out"),
    [("my spec", None), ("my spec", "an output; $HOME 'quoted'"), (None, "-dash out")],
    ids=["spec", "spec_and_out", "out_like_a_flag"],
)
def test_printed_command_mends_as_it_stands_in_a_shell(small, spec, out):
    if spec is not None:
        (small.root / "spec").rename(small.root / spec)
    flags = [f"--{name}={value}" for name, value in (("spec", spec), ("out", out)) if value]
    folder = small.root / (out or "generated")
    assert small.run("generate", *flags)[0] == 0
    before = contents(folder)
    (folder / "docs" / "rules.md").write_text("By hand.\n")
    status, text, _ = small.run("check", *flags)
    assert status == 1
    result = subprocess.run(
        mending(text),
        shell=True,
        cwd=small.root,
        env=environment_of(REPOSITORY / "codegen"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert contents(folder) == before
    assert small.run("check", *flags)[0] == 0


def test_printed_command_is_the_projects_own_where_that_is_installed(small, monkeypatch):
    tools = small.root / "tools"
    tools.mkdir()
    (tools / "small-tool").write_text("#!/bin/sh\n")
    (tools / "small-tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    (small.out / "docs" / "rules.md").unlink()
    assert mending(small.run("check")[1]) == "small-tool generate"


@pytest.mark.parametrize("command", ["generate", "check", "explain"])
def test_mistake_in_a_spec_exits_2_and_changes_nothing(small, command):
    small.edit_spec("kernels/doubled.yaml", "int64[count]", "int46[count]")
    before = contents(small.out)
    with pytest.raises(SpecError) as caught:
        read_spec(Path("spec"), "spec")
    assert str(caught.value).startswith("spec/kernels/doubled.yaml:10:13: ")
    assert small.error(command) == (
        f"{caught.value}\n\n1 mistake in the spec; nothing was written\n"
    )
    assert contents(small.out) == before


# Only what changed -------------------------------------------------------------------------------


def test_generate_of_a_current_output_touches_nothing(small):
    before = stamps(small.root)
    assert small.run("generate") == (0, f"{COUNT}, 0 touched\n", "")
    assert stamps(small.root) == before


def test_generate_touches_only_the_files_that_change(small):
    for path in SMALL_FILES:
        os.utime(small.out / path, ns=(10**18, 10**18))
    before = stamps(small.out)
    small.edit_spec("constants.yaml", "value: 4", "value: 5")
    assert small.run("generate") == (
        0,
        (
            "changed generated/docs/constants.md\n"
            f"changed generated/small_kernels/constants.py\n{COUNT}, 2 touched\n"
        ),
        "",
    )
    after = stamps(small.out)
    assert [path for path in SMALL_FILES if after[path] != before[path]] == [
        "docs/constants.md",
        "small_kernels/constants.py",
    ]


def test_written_file_has_the_permissions_of_any_new_file(small):
    (small.root / "ordinary").write_text("")
    assert (small.out / "docs" / "rules.md").stat().st_mode == (
        small.root / "ordinary"
    ).stat().st_mode


# Orphans, and other people's files ---------------------------------------------------------------


def test_files_of_a_kernel_that_was_renamed_are_removed(small):
    small.rename_kernel("doubled", "twofold")
    status, out, _ = small.run("generate")
    old = [path for path in SMALL_FILES if "doubled" in path]
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("removed")] == [
        f"removed generated/{path}" for path in old
    ]
    files = [path for path, data in contents(small.out).items() if data is not None]
    assert files == sorted(path.replace("doubled", "twofold") for path in SMALL_FILES)


def test_package_that_was_renamed_is_removed_with_its_empty_folders_and_caches(small):
    (small.out / "small_kernels" / "kernels" / "__pycache__").mkdir()
    (small.out / "small_kernels" / "kernels" / "__pycache__" / "doubled.pyc").write_bytes(b"\0")
    small.edit_spec("project.yaml", "small_kernels", "tiny_kernels")
    assert small.run("generate")[0] == 0
    files = [path for path, data in contents(small.out).items() if data is not None]
    assert files == sorted(path.replace("small_kernels", "tiny_kernels") for path in SMALL_FILES)
    assert sorted(path.name for path in small.out.iterdir()) == ["docs", "tests", "tiny_kernels"]


def test_files_of_other_people_stay(small):
    """Also those of another generator, and those that this one made for another project."""
    theirs = {
        "README.md": b"Ours.\n",
        "docs/guide.md": b"# A guide\n",
        "docs/picture.png": b"\x89PNG\r\n\xff",
        "docs/empty": b"",
        "tests/test_by_hand.py": b"def test_nothing(): ...\n",
        "tests/messages_pb2.py": b"# Generated from messages.proto by `protoc`; do not edit.\n",
        "tests/test_other.py": b"# Generated from spec/kernels/other.yaml by `other generate`; "
        b"do not edit.\n",
        "small_kernels/by_hand.py": b"",
        "small_kernels/kernels/__pycache__/x.pyc": b"\0",
        "py.typed": b"",
    }
    for path, data in theirs.items():
        (small.out / path).parent.mkdir(parents=True, exist_ok=True)
        (small.out / path).write_bytes(data)
    assert small.run("check")[0] == 0
    small.rename_kernel("doubled", "twofold")
    assert small.run("generate")[0] == 0
    after = contents(small.out)
    assert {path: after[path] for path in theirs} == theirs


def test_folder_of_an_orphan_stays_with_a_file_of_somebody_else_in_it(small):
    (small.out / "small_kernels" / "kernels" / "by_hand.py").write_text("")
    small.edit_spec("project.yaml", "small_kernels", "tiny_kernels")
    assert small.run("generate")[0] == 0
    left = contents(small.out / "small_kernels")
    assert left == {"kernels": None, "kernels/by_hand.py": b""}


def test_first_run_refuses_to_overwrite_a_file_and_changes_nothing(small):
    (small.root / "theirs" / "tests").mkdir(parents=True)
    (small.root / "theirs" / "tests" / "test_doubled.py").write_text("import mine\n")
    before = contents(small.root)
    assert small.error("generate", "--out", "theirs") == (
        "kv_canary_codegen: theirs/tests/test_doubled.py: only files that this project generated "
        "are overwritten\n"
        "  found:  a file that nobody generated\n"
        "  wanted: no file of this name\n"
        "  fix:    move it away, or choose another --out\n"
    )
    assert contents(small.root) == before


def test_first_run_refuses_a_folder_that_another_project_generates_into(small):
    text = (small.out / "docs" / "rules.md").read_text()
    (small.root / "theirs" / "docs").mkdir(parents=True)
    (small.root / "theirs" / "docs" / "rules.md").write_text(text.replace("small-tool", "other"))
    (small.root / "theirs" / "docs" / "doubled.md").write_text("")
    before = contents(small.root)
    assert small.error("generate", "--out", "theirs") == (
        "kv_canary_codegen: theirs/docs/doubled.md: only files that this project generated are "
        "overwritten\n"
        "  found:  a file that nobody generated, and 1 more: docs/rules.md\n"
        "  wanted: no file of this name\n"
        "  fix:    move it away, or choose another --out\n"
    )
    (small.root / "theirs" / "docs" / "doubled.md").unlink()
    assert small.error("generate", "--out", "theirs").splitlines()[1] == (
        "  found:  a file that `other generate` makes"
    )
    del before["theirs/docs/doubled.md"]
    assert contents(small.root) == before


def test_first_run_takes_a_file_that_is_already_what_it_would_write(small):
    (small.root / "copy" / "docs").mkdir(parents=True)
    shutil.copy(small.out / "docs" / "rules.md", small.root / "copy" / "docs")
    assert small.run("generate", "--out", "copy")[0] == 0
    assert contents(small.root / "copy") == contents(small.out)


def test_new_kernel_does_not_overwrite_a_test_that_somebody_wrote(small):
    """Its name is planned now, and nothing else of that kernel is there."""
    (small.out / "tests" / "test_twofold.py").write_text("import mine\n")
    assert small.run("new", "twofold")[0] == 0
    before = contents(small.out)
    refusal = (
        "kv_canary_codegen: generated/tests/test_twofold.py: only files that this project "
        "generated are overwritten\n"
        "  found:  a file that nobody generated\n"
        "  wanted: no file of this name\n"
        "  fix:    move it away, or choose another --out\n"
    )
    assert small.error("generate") == refusal
    assert contents(small.out) == before
    assert small.run("check")[1].splitlines()[-2] == (
        "not generated here, so first move away: tests/test_twofold.py"
    )
    (small.out / "tests" / "test_twofold.py").unlink()
    assert small.run("generate")[0] == 0


@pytest.mark.parametrize("path", [path for path in SMALL_FILES if not path.endswith("py.typed")])
def test_file_whose_header_was_taken_away_by_hand_is_mended(small, path):
    before = contents(small.out)
    (small.out / path).write_text("")
    assert small.run("generate")[0] == 0
    assert contents(small.out) == before


def test_command_that_was_renamed_rewrites_every_header(small):
    small.edit_spec("project.yaml", "small-tool", "tiny")
    assert small.run("generate")[0] == 0
    assert small.run("check")[0] == 0
    assert (
        (small.out / "docs" / "rules.md")
        .read_text()
        .startswith("<!-- Generated from spec/kernels by `tiny generate`; do not edit. -->\n")
    )


# Failures in the middle --------------------------------------------------------------------------


@pytest.fixture
def edited(small):
    """A project whose next `generate` adds, changes and removes files in every folder."""
    small.rename_kernel("doubled", "twofold")
    small.edit_spec("constants.yaml", "value: 4", "value: 5")
    return small


def unwritable(place, found, state="what was there is there still"):
    return (
        f"kv_canary_codegen: {place}: the output must be writable\n"
        f"  found:  {found}\n"
        "  wanted: a folder that this user can write to, on a disk with room\n"
        f"  fix:    mend that, or choose another --out; {state}\n"
    )


def failing(monkeypatch, owner, name, error, *, calls, forever=False):
    """Make a function fail at its n-th call, or from then on."""
    original = getattr(owner, name)
    count = itertools.count(1)

    def replacement(*arguments, **keywords):
        number = next(count)
        if number == calls or (forever and number > calls):
            raise error
        return original(*arguments, **keywords)

    monkeypatch.setattr(owner, name, replacement)


def test_template_that_fails_leaves_the_old_output_whole(edited, monkeypatch):
    broken = jinja2.DictLoader({"test.py.jinja": "{{ header }}\n{{ nobody }}\n"})
    loaders = jinja2.ChoiceLoader([broken, environment().loader])
    monkeypatch.setattr(environment(), "loader", loaders)
    before = stamps(edited.root)
    with pytest.raises(jinja2.UndefinedError, match=r"\A'nobody' is undefined\Z"):
        main(["generate"])
    assert stamps(edited.root) == before


def test_replacing_that_fails_at_any_file_leaves_the_old_output_whole(edited):
    """At the first file, then at the second, and so on, until it fails nowhere."""
    before = contents(edited.root), stamps(edited.root)
    error = OSError(errno.EIO, os.strerror(errno.EIO))
    for calls in itertools.count(1):
        with pytest.MonkeyPatch.context() as patch:
            failing(patch, os, "replace", error, calls=calls)
            status, out, err = edited.run("generate")
        if status == 0:
            break
        place = err.split(": ")[1]
        assert (status, out, err) == (2, "", unwritable(place, "Input/output error"))
        assert place.startswith("generated/")
        assert (contents(edited.root), stamps(edited.root)) == before
    assert calls > 9
    assert edited.run("check")[0] == 0


@pytest.mark.parametrize("calls", [1, 6, 9])
def test_replacing_that_fails_from_one_file_on_leaves_the_old_texts(edited, monkeypatch, calls):
    """Putting back by renaming fails as well, and is done by copying."""
    before = contents(edited.root)
    error = OSError(errno.EIO, os.strerror(errno.EIO))
    failing(monkeypatch, os, "replace", error, calls=calls, forever=True)
    assert edited.error("generate").endswith("; what was there is there still\n")
    assert contents(edited.root) == before


def test_file_that_cannot_even_be_put_back_is_named(edited, monkeypatch):
    error = OSError(errno.EIO, os.strerror(errno.EIO))
    failing(monkeypatch, os, "replace", error, calls=7, forever=True)
    failing(monkeypatch, shutil, "copy2", error, calls=1)
    assert edited.error("generate") == unwritable(
        "generated/docs/constants.md",
        "Input/output error",
        "docs/README.md could not be put back",
    )
    assert edited.run("check")[0] == 1


@pytest.mark.parametrize("calls", [1, 2, 9])
def test_full_disk_leaves_the_old_output_whole(edited, monkeypatch, calls):
    before = contents(edited.root), stamps(edited.root)
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    failing(monkeypatch, Path, "write_bytes", error, calls=calls)
    err = edited.error("generate")
    assert err == unwritable(err.split(": ")[1], "No space left on device")
    assert (contents(edited.root), stamps(edited.root)) == before


def test_file_system_that_takes_no_more_bytes_leaves_the_old_output_whole(edited):
    """The system itself refuses, in the middle of a file: files may be 3000 bytes long."""
    before = contents(edited.root), stamps(edited.root)
    result = subprocess.run(
        [sys.executable, "-B", "-m", "kv_canary_codegen", "generate"],
        cwd=edited.root,
        env=environment_of(REPOSITORY / "codegen"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == unwritable(result.stderr.split(": ")[1], "File too large")
    assert (contents(edited.root), stamps(edited.root)) == before


def test_file_system_without_second_names_still_puts_back(edited, monkeypatch):
    before = contents(edited.root)
    refused = OSError(errno.EPERM, os.strerror(errno.EPERM))
    failing(monkeypatch, os, "link", refused, calls=1, forever=True)
    error = OSError(errno.EIO, os.strerror(errno.EIO))
    failing(monkeypatch, os, "replace", error, calls=9)
    assert edited.error("generate").endswith("; what was there is there still\n")
    assert contents(edited.root) == before


def test_orphan_that_cannot_be_removed_leaves_the_old_output_whole(edited, monkeypatch):
    before = contents(edited.root), stamps(edited.root)
    error = OSError(errno.EPERM, os.strerror(errno.EPERM))
    failing(monkeypatch, Path, "unlink", error, calls=2)
    assert edited.error("generate") == unwritable(
        "generated/small_kernels/kernels/doubled.py", "Operation not permitted"
    )
    assert (contents(edited.root), stamps(edited.root)) == before


def test_interrupt_leaves_the_old_output_whole(edited, monkeypatch):
    before = contents(edited.root), stamps(edited.root)
    failing(monkeypatch, os, "replace", KeyboardInterrupt(), calls=6)
    with pytest.raises(KeyboardInterrupt):
        main(["generate"])
    assert (contents(edited.root), stamps(edited.root)) == before


def test_first_run_that_fails_leaves_no_folders(small, monkeypatch):
    before = contents(small.root)
    error = OSError(errno.EIO, os.strerror(errno.EIO))
    failing(monkeypatch, os, "replace", error, calls=10)
    err = small.error("generate", "--out", "deep/down")
    assert err.startswith("kv_canary_codegen: deep/down/")
    assert contents(small.root) == before


def test_what_a_killed_run_left_is_removed_by_the_next(small):
    before = contents(small.out)
    (small.out / ".generating-abc").mkdir()
    (small.out / ".generating-abc" / "3.new").write_text("half a fi")
    assert small.run("check")[0] == 0
    assert small.run("generate")[0] == 0
    assert contents(small.out) == before


def test_output_folder_that_refuses_is_a_named_error(edited, monkeypatch):
    before = contents(edited.root)
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    failing(monkeypatch, tempfile, "mkdtemp", error, calls=1)
    assert edited.error("generate") == unwritable("generated", "Permission denied")
    assert contents(edited.root) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a read-only folder")
@pytest.mark.parametrize("folder", ["generated", "generated/docs"])
def test_read_only_folder_leaves_the_old_output_whole(edited, folder):
    before = contents(edited.root), stamps(edited.root)
    (edited.root / folder).chmod(0o555)
    try:
        err = edited.error("generate")
    finally:
        (edited.root / folder).chmod(0o755)
    place = "generated" if folder == "generated" else "generated/docs/twofold.md"
    assert err == unwritable(place, "Permission denied")
    assert (contents(edited.root), stamps(edited.root)) == before


@pytest.mark.parametrize("command", ["generate", "check"])
def test_planned_file_that_is_a_folder_is_refused(small, command):
    (small.out / "docs" / "rules.md").unlink()
    (small.out / "docs" / "rules.md").mkdir()
    before = contents(small.out)
    assert small.error(command) == (
        "kv_canary_codegen: generated/docs/rules.md: a generated file must have its path to "
        "itself\n"
        "  found:  a folder\n"
        "  wanted: a file, or nothing\n"
        "  fix:    move the folder away, or choose another --out\n"
    )
    assert contents(small.out) == before


@pytest.mark.parametrize("command", ["generate", "check"])
@pytest.mark.parametrize(("out", "file"), [("a", "a"), ("a/b/c", "a"), ("d", "d/tests")])
def test_planned_folder_that_is_a_file_is_refused(small, command, out, file):
    (small.root / file).parent.mkdir(exist_ok=True)
    (small.root / file).write_text("mine")
    before = contents(small.root)
    err = small.error(command, "--out", out)
    if (command, out) == ("generate", "a/b/c"):
        assert err == unwritable("a/b/c", "Not a directory")
    else:
        assert err == (
            f"kv_canary_codegen: {file}: generated files must have a folder to go to\n"
            "  found:  a file\n"
            "  wanted: a folder, or nothing\n"
            "  fix:    move the file away, or choose another --out\n"
        )
    assert contents(small.root) == before


def test_two_runs_at_once_take_turns(small):
    """One of them does the work, the other finds nothing left to do; a few rounds."""
    names = ["doubled"]
    for stem in ("twofold", "times_two", "both"):
        names.append(stem)
        small.rename_kernel(names[-2], stem)
        total = int(small.run("check")[1].splitlines()[-2].split()[0])
        runs = [
            subprocess.Popen(
                [sys.executable, "-m", "kv_canary_codegen", "generate"],
                cwd=small.root,
                env=environment_of(REPOSITORY / "codegen"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        results = [(*run.communicate(), run.returncode) for run in runs]
        assert [(err, code) for _, err, code in results] == [("", 0), ("", 0)]
        assert sorted(out.splitlines()[-1] for out, _, _ in results) == [
            f"{COUNT}, 0 touched",
            f"{COUNT}, {total} touched",
        ]
        assert small.run("check")[0] == 0
        files = [path for path, data in contents(small.out).items() if data is not None]
        assert files == sorted(path.replace("doubled", stem) for path in SMALL_FILES)


# What is not imported ----------------------------------------------------------------------------


def test_no_command_imports_torch_triton_or_the_generated_package(small):
    """They stand on the path, broken; the generator does not even look."""
    broken = small.root / "broken"
    for name in ("torch", "triton", "numpy", "kv_canary", "kv_canary_kernels", "small_kernels"):
        (broken / name).mkdir(parents=True)
        (broken / name / "__init__.py").write_text(f"raise RuntimeError('{name} was imported')\n")
    shutil.rmtree(small.out)
    program = (
        "import sys\n"
        "from kv_canary_codegen.cli import main\n"
        "for words in (['new', 'twofold'], ['generate'], ['check'], ['explain'],\n"
        "              ['explain', 'doubled.count_within_out'], ['explain', 'doubled.out.type'],\n"
        f"              ['check', '--spec', {str(REPOSITORY / 'spec')!r}]):\n"
        "    assert main(words) == 0, words\n"
        "found = {name.partition('.')[0] for name in sys.modules}\n"
        f"print(sorted(found & {{*{sorted(p.name for p in broken.iterdir())!r}}}), "
        "file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=small.root,
        env=environment_of(broken, REPOSITORY / "codegen"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "[]\n")


# Words of the command line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "place_and_rule", "found", "wanted", "fix"),
    [
        (
            [],
            "command line: the first word must be a command",
            "nothing",
            "generate, check, new, explain, prove, mutate, --help",
            "python -m kv_canary_codegen --help",
        ),
        (
            ["genrate"],
            "command line: the first word must be a command",
            "`genrate`",
            "`generate`, perhaps",
            "python -m kv_canary_codegen --help",
        ),
        (
            ["generate", "--ot", "x"],
            "generate: a flag must be one that this command has",
            "--ot",
            "`--out`, perhaps",
            "python -m kv_canary_codegen generate --help",
        ),
        (
            ["check", "plan"],
            "check: there is no room for this word",
            "plan",
            "what the help shows",
            "python -m kv_canary_codegen check --help",
        ),
        (
            ["check", "--out"],
            "check: the words of a command must be those that its help shows",
            "argument --out: expected one argument",
            "what the help shows",
            "python -m kv_canary_codegen check --help",
        ),
        (
            ["new"],
            "new: the words of a command must be those that its help shows",
            "the following arguments are required: STEM",
            "what the help shows",
            "python -m kv_canary_codegen new --help",
        ),
        (
            ["generate", "--out="],
            "generate --out: a folder must have a name",
            "nothing",
            "a folder; `.` is this one",
            "python -m kv_canary_codegen generate --out FOLDER",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistyped_command_is_told_what_is_wanted(small, words, place_and_rule, found, wanted, fix):
    before = contents(small.root)
    assert small.error(*words) == (
        f"kv_canary_codegen: {place_and_rule}\n"
        f"  found:  {found}\n  wanted: {wanted}\n  fix:    {fix}\n"
    )
    assert contents(small.root) == before


@pytest.mark.parametrize("command", ["generate", "check", "new", "explain"])
def test_spec_folder_that_is_not_there_is_named(small, command):
    words = [command, "--spec", "nowhere", *(["stem"] if command == "new" else [])]
    assert small.error(*words).splitlines()[0] in (
        "nowhere: there is no such spec folder",
        "nowhere/project.yaml: there is no such file",
    )


def test_errors_name_the_command_that_was_typed(small, monkeypatch):
    for typed, shown in (
        ("/somewhere/bin/kv-canary", "kv-canary: command line"),
        ("/somewhere/kv_canary/__main__.py", "kv-canary: command line"),
        ("/somewhere/kv_canary_codegen/__main__.py", "kv_canary_codegen: command line"),
    ):
        monkeypatch.setattr(sys, "argv", [typed])
        assert small.error().startswith(shown)


def test_reader_that_has_gone_is_no_traceback(small):
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = subprocess.run(
        [sys.executable, "-m", "kv_canary_codegen", "explain"],
        cwd=small.root,
        env=environment_of(REPOSITORY / "codegen"),
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write_end)
    assert (result.returncode, result.stderr) == (1, "")


# New ---------------------------------------------------------------------------------------------


def run_generated_tests(test, *folders):
    configuration = ["-c", str(REPOSITORY / "pyproject.toml"), "-o", "pythonpath="]
    words = ["-q", "-p", "no:cacheprovider", "--rootdir", str(test.parent), *configuration]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(test)],
        env=environment_of(*folders, TRITON_INTERPRET="1", PYTHONDONTWRITEBYTECODE="1"),
        cwd=test.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_new_kernel_beside_ours_generates_and_passes_at_once(tmp_path, monkeypatch, capsys):
    """In a copy of our specs; the stem is as long as the longest that is planned."""
    stem = "double_every_token_id"
    shutil.copytree(REPOSITORY / "spec", tmp_path / "spec")
    shutil.copytree(
        REPOSITORY / "runtime", tmp_path / "runtime", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.chdir(tmp_path)
    assert main(["new", stem]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == [
        f"wrote spec/kernels/{stem}.yaml",
        f"wrote spec/kernels/{stem}.py.jinja",
        f"wrote runtime/kv_canary/reference/{stem}.py",
    ]
    assert out[3].endswith(" generate")
    assert main(["generate", "--out", "out"]) == 0
    result = run_generated_tests(
        tmp_path / "out" / "tests" / f"test_{stem}.py", tmp_path / "out", tmp_path / "runtime"
    )
    assert result.returncode == 0, result.stdout
    assert re.search(r"\b[1-9]\d* passed", result.stdout)


@pytest.mark.parametrize("command", ["format", "check"])
def test_output_of_a_new_kernel_is_clean_under_ruff(small, command):
    """The stem is as long as the longest that is planned."""
    assert small.run("new", "double_every_token_id")[0] == 0
    assert small.run("generate")[0] == 0
    assert ruff(command, small.out, small.root / "source") == ""


def test_new_begins_the_first_kernel_of_a_project(tmp_path, monkeypatch, capsys):
    project = Small(tmp_path / "project", capsys)
    monkeypatch.chdir(project.root)
    status, out, err = project.run("new", "doubled")
    assert (status, err) == (0, "")
    assert out == (
        "wrote spec/kernels/doubled.yaml\n"
        "wrote spec/kernels/doubled.py.jinja\n"
        "wrote source/small/reference/doubled.py\n"
        f"next: {mend_command()}\n"
        "then read what it writes, and make these three files your kernel's\n"
    )
    assert project.run("generate")[0] == 0


def test_new_works_beside_a_broken_spec(small):
    small.edit_spec("kernels/doubled.yaml", "int64[count]", "int46[count]")
    assert small.run("new", "twofold")[0] == 0


LETTERS = "small letters, digits and _, beginning with a letter"


@pytest.mark.parametrize(
    ("stem", "found", "wanted", "near"),
    [
        ("1x", "`1x`", LETTERS, "x"),
        ("for", "`for`, a keyword of Python", f"{LETTERS}, and no keyword of Python", "for_kernel"),
        ("Plan", "`Plan`", LETTERS, "plan"),
        ("a-b", "`a-b`", LETTERS, "a_b"),
        ("../evil", "`../evil`", LETTERS, "evil"),
        ("/etc/evil", "`/etc/evil`", LETTERS, "etc_evil"),
        ("kernels/plan", "`kernels/plan`", LETTERS, "kernels_plan"),
        ("_hidden", "`_hidden`", LETTERS, "hidden"),
        ("plan.py", "`plan.py`", LETTERS, "plan_py"),
        ("", "''", LETTERS, "my_kernel"),
        ("größe", "`größe`", LETTERS, "gr_e"),
        ("a\nb", "'a\\nb'", LETTERS, "a_b"),
        ("a\n", "'a\\n'", LETTERS, "a"),
        (
            "rules",
            "`rules`",
            "another name: docs/rules.md is the catalogue of all rules",
            "rules_kernel",
        ),
        ("k" * 41, "41 letters", "at most 40", "k" * 40),
    ],
)
def test_stem_that_names_nothing_is_refused(small, stem, found, wanted, near):
    before = contents(small.root.parent)
    assert small.error("new", stem) == (
        "kv_canary_codegen: new: a stem must be able to name a module, a function and a file\n"
        f"  found:  {found}\n"
        f"  wanted: {wanted}\n"
        f"  fix:    choose another stem, such as `{near}`\n"
    )
    assert contents(small.root.parent) == before


@pytest.mark.parametrize(
    "path",
    [
        "spec/kernels/doubled.yaml",
        "spec/kernels/doubled.py.jinja",
        "source/small/reference/doubled.py",
    ],
)
def test_stem_of_a_file_that_is_there_is_refused(small, path):
    for other in ("spec/kernels/doubled.yaml", "spec/kernels/doubled.py.jinja",
                  "source/small/reference/doubled.py"):  # fmt: skip
        if other != path:
            (small.root / other).unlink()
    before = contents(small.root)
    assert small.error("new", "doubled") == (
        f"kv_canary_codegen: {path}: a new kernel must not overwrite anything\n"
        "  found:  a file\n"
        "  wanted: no file of this name\n"
        "  fix:    choose another stem, or change the kernel that is there\n"
    )
    assert contents(small.root) == before


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_new_that_fails_in_the_middle_leaves_nothing(small, monkeypatch, calls):
    """The third file would also have needed folders."""
    shutil.rmtree(small.root / "source")
    before = contents(small.root)
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    original, count = Path.open, itertools.count(1)

    def opened(path, mode="r", *arguments, **keywords):
        if mode == "x" and next(count) == calls:
            raise error
        return original(path, mode, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", opened)
    place = (
        "spec/kernels/twofold.yaml",
        "spec/kernels/twofold.py.jinja",
        "source/small/reference/twofold.py",
    )[calls - 1]
    assert small.error("new", "twofold") == (
        f"kv_canary_codegen: {place}: the files of a new kernel must be writable\n"
        "  found:  No space left on device\n"
        "  wanted: a folder that this user can write to, on a disk with room\n"
        "  fix:    mend that, and run `new` again; nothing was written\n"
    )
    monkeypatch.undo()
    assert contents(small.root) == before


def test_new_whose_reference_has_no_folder_to_go_to_leaves_nothing(small):
    shutil.rmtree(small.root / "source")
    (small.root / "source").write_text("a file")
    before = contents(small.root)
    assert small.error("new", "twofold") == (
        "kv_canary_codegen: source/small/reference/twofold.py: the files of a new kernel must be "
        "writable\n"
        "  found:  Not a directory\n"
        "  wanted: a folder that this user can write to, on a disk with room\n"
        "  fix:    mend that, and run `new` again; nothing was written\n"
    )
    assert contents(small.root) == before


# Explain -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def our_spec():
    return read_spec(REPOSITORY / "spec", "spec")


@pytest.fixture
def in_repository(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


@pytest.mark.usefixtures("in_repository")
def test_explain_alone_lists_every_rule(capsys, our_spec):
    from kv_canary_kernels import rules

    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert out == rules.explain()
    listed = out.splitlines()
    assert len(listed) == len(set(listed))
    assert {rule.id for rule in our_spec.all_rules()} < set(listed)


def test_every_rule_has_the_page_that_the_generated_catalogue_has(our_spec):
    from kv_canary_kernels import rules

    pages = RulePages(our_spec)
    assert {rule: pages.page(rule) for rule in pages.ids()} == {
        rule: rules.explain(rule) for rule in rules.explain().split()
    }


def test_every_page_begins_with_its_rule_and_leaves_no_field_unfilled(our_spec):
    pages = RulePages(our_spec)
    implied = {rule for rule in pages.ids() if rule not in pages._written}
    assert implied
    for rule in pages.ids():
        page = pages.page(rule)
        assert page.splitlines()[0] == rule
        assert page.endswith("\n")
        if rule in implied:
            assert not re.search(r"\{\w+\}", page), rule


@pytest.mark.usefixtures("in_repository")
@pytest.mark.parametrize("rule", ["plan_offsets.bs_range", "plan.prefix_lens.dtype"])
def test_explain_prints_a_page(capsys, rule, our_spec):
    assert main(["explain", rule]) == 0
    assert capsys.readouterr().out == RulePages(our_spec).page(rule)


@pytest.mark.usefixtures("in_repository")
@pytest.mark.parametrize(
    ("rule", "wanted", "fix"),
    [
        (
            "plan_offsets.bs_rnage",
            "`plan_offsets.bs_range`, perhaps",
            "kv-canary explain plan_offsets.bs_range",
        ),
        ("backend.nam", "`backend.name`, perhaps", "kv-canary explain backend.name"),
        ("xyzzy", "an id that `kv-canary explain` lists", "kv-canary explain"),
    ],
)
def test_explain_of_an_unknown_rule_suggests_the_nearest(capsys, rule, wanted, fix):
    parts = f"  found:  `{rule}`\n  wanted: {wanted}\n  fix:    {fix}\n"
    assert main(["explain", rule]) == 2
    assert capsys.readouterr() == (
        "",
        f"kv_canary_codegen: explain: a rule must be one of the catalogue\n{parts}",
    )


@pytest.mark.parametrize(
    ("out", "found"), [("/", "the root of the file system"), ("spec/kernels", "the spec folder")]
)
def test_output_at_the_root_or_among_the_specs_is_refused(small, out, found):
    before = stamps(small.root)
    assert small.error("generate", "--out", out).splitlines()[:2] == [
        f"kv_canary_codegen: {out}: the output must have a folder of its own",
        f"  found:  {found}",
    ]
    assert stamps(small.root) == before
