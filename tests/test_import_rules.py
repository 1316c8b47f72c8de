"""Who may import whom, and what an import must not load."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
CODEGEN = REPOSITORY / "codegen" / "kv_canary_codegen"
GENERATED = REPOSITORY / "generated" / "kv_canary_kernels"
RUNTIME = REPOSITORY / "runtime" / "kv_canary"


def sources(folder):
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def identity(path):
    return path.relative_to(REPOSITORY).as_posix()


def imported(path):
    """Every module that a file names in an import, also inside functions, and by a literal."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: an import relative to its package"
            found.add(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            found.update(a.value for a in node.args if isinstance(a, ast.Constant))
    return found


def tops(path):
    return {name.partition(".")[0] for name in imported(path)}


def run(program, *folders, blocked=(), **variables):
    """What a program prints in a process where some modules cannot be found."""
    preamble = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {tuple(blocked)!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Block())\n"
        f"sys.path[:0] = {[str(folder) for folder in folders]!r}\n"
    )
    result = subprocess.run(
        [sys.executable, "-I", "-c", preamble + program],
        env={**{k: v for k, v in os.environ.items() if not k.startswith("KV_")}, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("path", sources(CODEGEN), ids=identity)
def test_generator_imports_neither_runtime_nor_generated_package(path):
    allowed = {"jinja2", "yaml", "kv_canary_codegen", *sys.stdlib_module_names}
    if path.parent == CODEGEN / "prove":
        allowed.add("z3")
    if path.name in ("emit_ir.py", "guarded_calls.py"):
        # Processes of their own, which compile and run what was generated.
        allowed |= {"torch", "triton"}
    if path == CODEGEN / "mutate" / "trials.py":
        # A process of its own, which runs tests.
        allowed.add("pytest")
    assert tops(path) - allowed == set()


@pytest.mark.parametrize("path", sources(GENERATED), ids=identity)
def test_generated_package_imports_torch_triton_and_its_siblings_alone(path):
    allowed = {"torch", "triton", "kv_canary_kernels", *sys.stdlib_module_names}
    assert tops(path) - allowed == set()


@pytest.mark.parametrize("path", sources(GENERATED), ids=identity)
def test_generated_package_imports_triton_at_the_top_of_kernels_alone(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {
        name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    assert "triton" not in top or path.parent.name == "kernels"


@pytest.mark.parametrize("path", sources(GENERATED.parent / "tests"), ids=identity)
def test_generated_tests_import_their_package_and_pytest_alone(path):
    allowed = {"torch", "triton", "pytest", "kv_canary_kernels", *sys.stdlib_module_names}
    assert tops(path) - allowed == set()


@pytest.mark.parametrize("path", sources(RUNTIME), ids=identity)
def test_runtime_reaches_the_generator_from_its_command_line_alone(path):
    allowed = {
        "torch",
        "triton",
        "rich",
        "kv_canary",
        "kv_canary_kernels",
        *sys.stdlib_module_names,
    }
    if path == RUNTIME / "cli.py":
        allowed.add("kv_canary_codegen")
    if path == RUNTIME / "bench" / "roofline.py":
        allowed.add("matplotlib")
    assert tops(path) - allowed == set()


@pytest.mark.parametrize("path", sources(RUNTIME / "findings"), ids=identity)
def test_findings_see_a_snapshot_and_nothing_of_who_made_it(path):
    """Neither the replay nor the injected faults, which know the answer, nor the canary itself."""
    hidden = ("kv_canary.replay", "kv_canary.faults", "kv_canary.canary")
    assert [name for name in imported(path) if name.startswith(hidden)] == []


def test_finding_loads_nothing_of_who_made_the_snapshot():
    """By way of no other module either."""
    program = (
        "import sys\n"
        "import kv_canary.findings as findings\n"
        "for name in findings.__all__:\n"
        "    getattr(findings, name)\n"
        "import kv_canary.findings.command\n"
        "hidden = ('kv_canary.replay', 'kv_canary.faults', 'kv_canary.canary')\n"
        "print([name for name in sys.modules if name.startswith(hidden)])"
    )
    assert run(program, *FOLDERS) == "[]\n"


FOLDERS = (GENERATED.parent, RUNTIME.parent)


@pytest.mark.parametrize(
    "order",
    [
        "kv_canary, kv_canary_kernels",
        "kv_canary_kernels, kv_canary",
        "kv_canary.reference.plan, kv_canary_kernels.launchers.plan",
        "kv_canary_kernels.launchers.plan, kv_canary.reference.plan",
    ],
)
def test_packages_import_in_any_order_without_a_circle(order):
    assert (
        run(
            f"import {order}\n"
            "from kv_canary import VerifyPlan\n"
            "from kv_canary_kernels import VerifyPlan as generated\n"
            "print(VerifyPlan is generated)",
            *FOLDERS,
        )
        == "True\n"
    )


def test_every_module_of_the_generated_package_can_be_the_first_import():
    """Alone, with neither runtime nor generator to be found."""
    names = [
        ".".join(path.relative_to(GENERATED.parent).with_suffix("").parts)
        for path in sources(GENERATED)
        if path.name != "__init__.py"
    ]
    program = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    for loaded in [m for m in sys.modules if m.startswith('kv_canary')]:\n"
        "        del sys.modules[loaded]\n"
        "    importlib.import_module(name)\n"
        "print('all')"
    )
    blocked = ("kv_canary", "kv_canary_codegen")
    assert run(program, GENERATED.parent, blocked=blocked, TRITON_INTERPRET="1") == "all\n"


@pytest.mark.parametrize("package", ["kv_canary", "kv_canary_kernels", "kv_canary_codegen"])
def test_root_of_a_package_loads_no_torch(package):
    program = (
        f"import {package}, sys\n"
        f"dir({package})\n"
        "print([n for n in ('torch', 'triton', 'numpy', 'jinja2', 'yaml') if n in sys.modules])"
    )
    assert run(program, *FOLDERS, CODEGEN.parent) == "[]\n"


PLAN_CALL = """\
import torch
from kv_canary import ContractError, VerifyPlan, WritePlan, launch_canary_plan_kernels

device = torch.device("cpu")
verify = VerifyPlan.allocate(verify_capacity=8, device=device)
write = WritePlan.allocate(write_req_capacity=1, device=device)


def launch():
    launch_canary_plan_kernels(
        verify_plan_out=verify,
        write_plan_out=write,
        req_pool_indices=torch.tensor([1]),
        prefix_lens=torch.tensor([2]),
        extend_seq_lens=torch.tensor([1]),
        req_to_token=torch.tensor([[0, 0, 0], [7, 8, 9]], dtype=torch.int32),
        swa_window_size=0,
        full_to_swa_index_mapping=None,
        verify_capacity=8,
        req_to_verify_expected_tokens=None,
        req_to_verify_expected_tokens_valid_lens=None,
        kv_token_id_vs_position_offset=0,
    )
"""


def test_cpu_tensors_work_without_triton():
    program = f"{PLAN_CALL}launch()\nprint(verify.verify_slot_indices[:2].tolist())"
    assert run(program, *FOLDERS, blocked=("triton",)) == "[7, 8]\n"


def test_triton_backend_without_triton_is_a_named_error():
    program = (
        f"{PLAN_CALL}"
        "try:\n"
        "    launch()\n"
        "except ContractError as error:\n"
        "    print(error)\n"
        "    print(error.broken_rules[0].rule_id)\n"
    )
    variables = {"KV_CANARY_BACKEND": "triton", "TRITON_INTERPRET": "1"}
    assert run(program, *FOLDERS, blocked=("triton",), **variables) == (
        "kv-canary: the triton backend needs Triton, which cannot be imported: "
        "No module named 'triton'; install triton, or unset KV_CANARY_BACKEND\n"
        "backend.triton_missing\n"
    )
