"""The wheel: what is in it, and that it works in a folder far from the repository.

It is unpacked rather than installed, and run with nothing of ours in reach but what it holds.
"""

import email
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
PACKAGES = {
    "kv_canary": REPOSITORY / "runtime" / "kv_canary",
    "kv_canary_codegen": REPOSITORY / "codegen" / "kv_canary_codegen",
    "kv_canary_kernels": REPOSITORY / "generated" / "kv_canary_kernels",
    "kv_canary_codegen/spec": REPOSITORY / "spec",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network and outside the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    result = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """What an installer would put among the packages."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def python(unpacked, cwd, *words):
    """Run Python, without site and so without an editable install, on the unpacked wheel.

    The folder of this environment's packages comes after it: for torch, YAML and the like.
    """
    folders = [str(unpacked), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    return subprocess.run(
        [sys.executable, "-S", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )


def names_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_wheel_holds_the_three_packages_and_the_specs_and_nothing_else(wheel):
    expected = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = {name for name in names_in(wheel) if ".dist-info/" not in name}
    assert found == expected


def test_wheel_holds_no_test_cache_or_setting(wheel):
    for name in names_in(wheel):
        parts = Path(name).parts
        assert not Path(name).name.startswith(("test_", "conftest", ".")), name
        assert not {"tests", "__pycache__", ".git", ".venv", ".benchmarks"} & set(parts), name


def test_wheel_holds_licence_notice_and_type_marks(wheel):
    names = names_in(wheel)
    (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    assert {
        f"{info}/licenses/LICENSE",
        f"{info}/licenses/runtime/kv_canary/data/NOTICE.md",
        "kv_canary/data/NOTICE.md",
        "kv_canary/data/mooncake_conversation_slice.jsonl",
        "kv_canary/py.typed",
        "kv_canary_codegen/py.typed",
        "kv_canary_kernels/py.typed",
        "kv_canary_codegen/spec/project.yaml",
        "kv_canary_codegen/spec/kernels/plan.yaml",
        "kv_canary_codegen/spec/kernels/plan.py.jinja",
        "kv_canary_codegen/templates/new_spec.yaml.jinja",
    } <= set(names)
    with zipfile.ZipFile(wheel) as archive:
        for name, path in (
            (f"{info}/licenses/LICENSE", "LICENSE"),
            ("kv_canary/data/NOTICE.md", "runtime/kv_canary/data/NOTICE.md"),
        ):
            assert archive.read(name) == (REPOSITORY / path).read_bytes()


def test_wheel_requires_torch_alone_and_the_rest_by_extras(wheel):
    metadata = metadata_of(wheel)
    required = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
    assert required == ["torch"]
    extras = {"bench", "cli", "codegen", "dev", "prove", "triton"}
    assert set(metadata.get_all("Provides-Extra")) == extras
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        assert archive.read(name).decode().split() == [
            "[console_scripts]",
            "kv-canary",
            "=",
            "kv_canary.cli:main",
        ]


def test_version_of_the_wheel_is_the_packages(wheel, unpacked, tmp_path):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata_of(wheel)["Version"] == project["version"]
    result = python(unpacked, tmp_path, "-m", "kv_canary", "--version")
    assert (result.stdout, result.stderr) == (f"kv-canary {project['version']}\n", "")


def test_packages_come_from_the_wheel_and_work(unpacked, tmp_path):
    program = (
        "import torch, kv_canary, kv_canary_codegen, kv_canary_kernels\n"
        "from kv_canary import VerifyPlan\n"
        "plan = VerifyPlan.allocate(verify_capacity=3, device=torch.device('cpu'))\n"
        "print(plan.verify_slot_indices.shape[0])\n"
        "for package in (kv_canary, kv_canary_codegen, kv_canary_kernels):\n"
        "    print(package.__path__[0])\n"
    )
    result = python(unpacked, tmp_path, "-c", program)
    names = ("kv_canary", "kv_canary_codegen", "kv_canary_kernels")
    assert (result.stdout.split(), result.stderr) == (
        ["3", *(str(unpacked / name) for name in names)],
        "",
    )


def test_explain_works_from_the_wheel(unpacked, tmp_path):
    result = python(unpacked, tmp_path, "-m", "kv_canary", "explain", "plan_offsets.bs_range")
    assert result.stderr == ""
    assert result.stdout.splitlines()[:2] == [
        "plan_offsets.bs_range",
        "  kv-canary: offsets kernel bs must be in [0, {PLAN_BS_BLOCK_SIZE}], got {bs}",
    ]


WITHOUT_EXTRAS = (
    "import sys\n"
    "sys.modules['jinja2'] = sys.modules['yaml'] = sys.modules['rich'] = None\n"
    "from kv_canary.cli import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


def test_explain_is_the_same_without_the_extras(unpacked, tmp_path):
    words = ("explain", "plan_offsets.bs_range")
    with_extras = python(unpacked, tmp_path, "-m", "kv_canary", *words)
    without = python(unpacked, tmp_path, "-c", WITHOUT_EXTRAS, *words)
    assert (without.returncode, without.stdout, without.stderr) == (0, with_extras.stdout, "")


def test_explain_of_an_unknown_rule_is_an_error_without_the_extras(unpacked, tmp_path):
    result = python(unpacked, tmp_path, "-c", WITHOUT_EXTRAS, "explain", "plan_offsets.bs_rnage")
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    assert "plan_offsets.bs_range" in result.stderr


def test_replay_works_from_the_wheel(unpacked, tmp_path):
    result = python(
        unpacked, tmp_path, "-m", "kv_canary", "replay", "--requests", "20", "--quiet", "--json"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["generate"], ["check"], ["new", "mine"]])
def test_commands_that_write_never_touch_an_installed_package(unpacked, tmp_path, command):
    before = sorted(unpacked.rglob("*"))
    result = python(unpacked, tmp_path, "-m", "kv_canary_codegen", *command)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        f"kv_canary_codegen: {command[0]}: there must be a spec folder\n"
        "  found:  no spec/project.yaml here\n"
        "  wanted: a folder with project.yaml, constants.yaml and kernels/\n"
        f"  fix:    python -m kv_canary_codegen {command[0]} --spec FOLDER\n"
    )
    after = sorted(unpacked.rglob("*"))
    assert [p for p in after if "__pycache__" not in p.parts] == [
        p for p in before if "__pycache__" not in p.parts
    ]


def test_own_specs_are_generated_into_an_own_package(unpacked, tmp_path):
    """Begun, generated and checked with the wheel; then used without the generator."""
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "project.yaml").write_text(
        "project: mine\npackage: my_kernels\nmessage_prefix: 'mine: '\nenvironment_prefix: MINE\n"
        "command: python -m kv_canary_codegen\noutput: ../generated\nreference_root: ..\n"
        "reference_package: my_references\n"
    )
    (tmp_path / "spec" / "constants.yaml").write_text("constants: {}\n")
    for command in (["new", "doubled"], ["generate"], ["check"]):
        result = python(unpacked, tmp_path, "-m", "kv_canary", *command)
        assert (result.returncode, result.stderr) == (0, ""), command
    program = (
        "import sys, torch\n"
        f"sys.path[:0] = [{str(tmp_path / 'generated')!r}, {str(tmp_path)!r}]\n"
        "from my_kernels import launch_doubled_kernel\n"
        "out = torch.zeros(3, dtype=torch.int64)\n"
        "launch_doubled_kernel(values=torch.arange(1, 3), out=out)\n"
        "print(out.tolist(), [n for n in sys.modules if n.startswith('kv_canary')])\n"
    )
    result = python(unpacked, tmp_path, "-c", program)
    assert (result.stdout, result.stderr) == ("[2, 4, 0] []\n", "")
