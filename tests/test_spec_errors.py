"""Bad specs, one mistake each, and the whole text of what their author hears.

`bad_specs/base` is a sound spec. Each `bad_specs/<case>.txt` says what is changed in it, and after
a line of dashes the whole error:

    in kernels/gather_tiles.yaml         the `-` lines, which stand there once, become the `+` lines
    -    tensor: int64[count]
    +    tensor: int46[count]
    -----
    spec/kernels/gather_tiles.yaml:16:13: unknown dtype `int46`
    ...

Other changes: `PATH becomes` (the `+` lines are the whole file), `PATH becomes bytes HEX times N`,
`PATH is removed`, `PATH is a folder`.
"""

import random
import re
import shutil
from pathlib import Path

import pytest

from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.source import SpecError

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
BASE = HERE / "bad_specs" / "base"
CASES = sorted((HERE / "bad_specs").glob("*.txt"))
SEVERAL_MISTAKES = {"many_mistakes_in_several_files": 6}
"""How many errors a case has; the others have one."""


def changed(folder, script):
    """Make a case's changes to a copy of the base."""
    steps = re.split(r"^(?=in \S+$|\S+ (?:becomes|is)\b)", script, flags=re.MULTILINE)
    for step in filter(str.strip, steps):
        heading, _, rest = step.partition("\n")
        lines = rest.splitlines()
        removed = "".join(f"{line[1:]}\n" for line in lines if line.startswith("-"))
        added = "".join(f"{line[1:]}\n" for line in lines if line.startswith("+"))
        if heading.startswith("in "):
            path = folder / heading.removeprefix("in ")
            text = path.read_text(encoding="utf-8")
            assert text.count(removed) == 1, f"stands {text.count(removed)} times:\n{removed}"
            path.write_text(text.replace(removed, added), encoding="utf-8")
            continue
        name, _, what = heading.partition(" ")
        path = folder / name
        if what == "becomes":
            path.write_text(added, encoding="utf-8")
        elif what == "is removed":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif what == "is a folder":
            path.unlink()
            path.mkdir()
        else:
            match = re.fullmatch(r"becomes bytes ([0-9a-f ]+?)(?: times (\d+))?", what)
            assert match, f"no change is called `{heading}`"
            path.write_bytes(bytes.fromhex(match.group(1)) * int(match.group(2) or 1))


def mistakes_in(folder):
    """The error of a spec folder, shown as `spec`; None when there is none."""
    try:
        read_spec(folder, "spec")
    except SpecError as error:
        return error
    return None


@pytest.fixture
def spec(tmp_path):
    """A copy of the sound spec."""
    return Path(shutil.copytree(BASE, tmp_path / "spec"))


def test_the_base_of_all_cases_is_sound(spec):
    assert mistakes_in(spec) is None


@pytest.mark.parametrize("case", CASES, ids=[path.stem for path in CASES])
def test_a_mistake_is_named_with_its_place_and_what_would_be_right(case, spec):
    script, _, expected = case.read_text(encoding="utf-8").partition("\n-----\n")
    changed(spec, script)
    error = mistakes_in(spec)
    assert f"{error}\n" == expected
    assert len(error.problems) == SEVERAL_MISTAKES.get(case.stem, 1)


def test_there_are_as_many_cases_as_the_language_has_rules():
    assert len(CASES) >= 60


def test_a_spec_folder_that_is_not_there(tmp_path):
    assert str(mistakes_in(tmp_path / "nowhere")) == (
        "spec: there is no such spec folder\n  allowed: a folder with a project.yaml"
    )


def test_a_spec_folder_that_is_a_file(spec):
    assert str(mistakes_in(spec / "project.yaml")) == (
        "spec: this is a file\n  allowed: a folder with a project.yaml"
    )


# Damage of no particular kind ---------------------------------------------------------------------


def damaged(text, chance):
    """A text with one accident of an editor or a merge in it."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    place = chance.randrange(len(text))
    match chance.randrange(9):
        case 0:
            del lines[at : at + chance.randint(1, 4)]
        case 1:
            lines.insert(at, chance.choice(lines))
        case 2:
            lines[at] = chance.choice(("  ", " ", "\t", "- ", "# ", "")) + lines[at].lstrip()
        case 3:
            words = re.findall(r"\w+|[^\w\s]", lines[at]) or [""]
            lines[at] = lines[at].replace(chance.choice(words), chance.choice(words), 1)
        case 4:
            words = re.findall(r"\w+|[^\w\s]", text)
            lines[at] = lines[at].replace(
                chance.choice(lines[at].split() or [" "]), chance.choice(words), 1
            )
        case 5:
            return text[:place]
        case 6:
            return text[:place] + text[place + chance.randint(1, 3) :]
        case 7:
            sign = chance.choice("\0\r\t\n\u2028\ufeffé(){}[]:,#&*!|>%@`\"'-+=<>~0123456789aZ_.\\")
            return text[:place] + sign + text[place + chance.randint(0, 1) :]
        case 8:
            return (
                text[:place] + chance.choice(("{{", "}}", "{%", "[" * 99, "(" * 99)) + text[place:]
            )
    return "".join(lines)


def damage(folder, chance):
    """Damage one to three files of a spec folder."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".jinja"))
    for path in chance.choices(files, k=chance.randint(1, 3)):
        text = path.read_text(encoding="utf-8")
        if text:
            with path.open("w", encoding="utf-8", newline="") as file:
                file.write(damaged(text, chance))


def read_damaged(source, folder, seed):
    """Read a damaged copy of a spec folder; anything but a model or a SpecError is a failure."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.md"))
    damage(folder, random.Random(seed))
    error = mistakes_in(folder)
    if error is not None:
        assert error.problems, f"seed {seed}"
        for problem in error.problems:
            assert re.match(r"spec(/[\w./-]+)?(:\d+:\d+)?: \S", str(problem)), f"seed {seed}"
    return error


def test_damaged_specs_never_end_in_a_traceback(tmp_path):
    errors = [read_damaged(BASE, tmp_path / "base", seed) for seed in range(120)]
    errors += [read_damaged(REPOSITORY / "spec", tmp_path / "ours", seed) for seed in range(24)]
    assert sum(error is not None for error in errors) > len(errors) / 2


@pytest.mark.soak
def test_many_damaged_specs_never_end_in_a_traceback(tmp_path):
    for seed in range(1000, 5000):
        read_damaged(BASE, tmp_path / "base", seed)
    for seed in range(1000, 2000):
        read_damaged(REPOSITORY / "spec", tmp_path / "ours", seed)
