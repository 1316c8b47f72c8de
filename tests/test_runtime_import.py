"""What `import kv_canary` gives, and what it does not load."""

import ast
import importlib
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

import kv_canary
from kv_canary.errors import GeneratedCodeMissingError

REPOSITORY = Path(__file__).parent.parent
RUNTIME = REPOSITORY / "runtime" / "kv_canary"

# What runtime/README.md says loads neither torch nor the generated package.
LIGHT_MODULES = [
    "kv_canary",
    "kv_canary.canary.rules",
    "kv_canary.cli",
    "kv_canary.devices",
    "kv_canary.errors",
    "kv_canary.flags",
    "kv_canary.replay.command",
    "kv_canary.replay.pool",
    "kv_canary.replay.report",
    "kv_canary.replay.settings",
    "kv_canary.replay.trace",
]


def run_python(program, *, blocked=("torch", "triton")):
    """Run a program in a process of its own in which some modules cannot be imported."""
    preamble = (
        "import sys\n"
        f"sys.path.insert(0, {str(RUNTIME.parent)!r})\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", preamble + program],
        capture_output=True,
        text=True,
        check=False,
    )


def names_for_type_checkers():
    """Name to module, as the TYPE_CHECKING block of the package root has them."""
    tree = ast.parse((RUNTIME / "__init__.py").read_text(encoding="utf-8"))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        alias.name: statement.module
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_module_loads_without_torch_and_generated_code(module):
    result = run_python(f"import {module}", blocked=("torch", "triton", "kv_canary_kernels"))
    assert (result.returncode, result.stderr) == (0, "")


def test_dir_shows_every_name_before_anything_is_loaded():
    result = run_python("import kv_canary; print(set(kv_canary.__all__) <= set(dir(kv_canary)))")
    assert (result.stdout, result.stderr) == ("True\n", "")


def test_type_checkers_and_the_interpreter_see_the_same_names():
    assert names_for_type_checkers() == kv_canary._MODULE_OF_NAME
    assert sorted(kv_canary.__all__) == sorted([*kv_canary._MODULE_OF_NAME, "__version__"])


@pytest.mark.parametrize("name", sorted(kv_canary._MODULE_OF_NAME))
def test_name_is_what_its_module_has(name):
    module = importlib.import_module(kv_canary._MODULE_OF_NAME[name])
    assert getattr(kv_canary, name) is getattr(module, name)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(
        AttributeError, match=r"\Amodule 'kv_canary' has no attribute 'VerifyPaln'\Z"
    ):
        _ = kv_canary.VerifyPaln


def test_missing_generated_package_is_a_named_import_error(monkeypatch):
    monkeypatch.delitem(vars(kv_canary), "VerifyPlan", raising=False)
    monkeypatch.setitem(sys.modules, "kv_canary_kernels.structs", None)
    with pytest.raises(GeneratedCodeMissingError) as caught:
        _ = kv_canary.VerifyPlan
    assert str(caught.value) == (
        "kv_canary.VerifyPlan is generated code, and kv_canary_kernels.structs cannot be found; "
        "run `python -m kv_canary generate` in the repository"
    )
    assert isinstance(caught.value, ImportError)


def test_missing_torch_is_not_taken_for_missing_generated_code():
    result = run_python(
        "import types\n"
        "kernels = sys.modules['kv_canary_kernels'] = types.ModuleType('kv_canary_kernels')\n"
        "kernels.__path__ = []\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'kv_canary_kernels.structs':\n"
        "            raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import kv_canary\n"
        "try:\n"
        "    kv_canary.VerifyPlan\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    assert (result.stdout, result.stderr) == ("No module named 'torch'\n", "")


def test_either_package_may_be_imported_first():
    folders = [str(REPOSITORY / name) for name in ("generated", "runtime")]
    for order in ("kv_canary_kernels, kv_canary", "kv_canary, kv_canary_kernels"):
        result = run_python(
            f"sys.path[:0] = {folders!r}\nimport {order}\nprint(kv_canary.VerifyPlan.__name__)",
            blocked=(),
        )
        assert (result.stdout, result.stderr) == ("VerifyPlan\n", "")


def test_version_is_the_distributions():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert kv_canary.__version__ == project["version"]


def test_package_is_marked_as_typed():
    assert (RUNTIME / "py.typed").read_text() == ""


@pytest.mark.parametrize("name", ["CanaryConfig", "Health", "RealKvSource", "WindowPool"])
def test_help_says_what_every_field_is(name):
    kind = getattr(kv_canary, name)
    said = kind.__doc__.partition("    Args:\n")[2]
    for field in fields(kind):
        assert f"\n        {field.name}: " in f"\n{said}"


def test_help_of_the_canary_shows_what_an_engine_calls_alone():
    assert {name for name in vars(kv_canary.Canary) if not name.startswith("_")} == {
        "allocation_bytes",
        "arm",
        "close",
        "dump",
        "findings",
        "forget",
        "forward",
        "health",
        "poll",
        "prefix_hit",
        "rewind",
        "snapshot",
        "stamp_buffers",
        "sweep",
    }
