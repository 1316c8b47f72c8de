"""The command line: forwarding, help, suggestions, and errors without a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kv_canary import __version__
from kv_canary.canary.rules import RULES
from kv_canary.cli import main

EXAMPLE = '{"timestamp": 0, "input_length": 600, "output_length": 20, "hash_ids": [0, 1]}'
REPOSITORY = Path(__file__).parent.parent


def environment():
    """The paths of the repository first, then whatever the test run itself got."""
    folders = [str(REPOSITORY / name) for name in ("codegen", "generated", "runtime")]
    path = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def run_without_torch(*arguments):
    """Run the command line in a process in which importing torch fails."""
    program = (
        "import sys; sys.modules['torch'] = sys.modules['triton'] = None; "
        f"from kv_canary.cli import main; sys.exit(main({list(arguments)!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def error_of(capsys, *arguments):
    """Return what a wrong call prints; it must exit with 2 and print nothing else."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.fixture
def codegen(monkeypatch):
    """A code generator that notes its arguments and exits with 7."""
    calls = []
    module = ModuleType("kv_canary_codegen.cli")

    def codegen_main(argv):
        calls.append(argv)
        return 7

    module.main = codegen_main
    monkeypatch.setitem(sys.modules, "kv_canary_codegen", ModuleType("kv_canary_codegen"))
    monkeypatch.setitem(sys.modules, "kv_canary_codegen.cli", module)
    return calls


@pytest.fixture
def no_codegen(monkeypatch):
    monkeypatch.setitem(sys.modules, "kv_canary_codegen", None)
    monkeypatch.delitem(sys.modules, "kv_canary_codegen.cli", raising=False)


@pytest.fixture
def catalogue(monkeypatch):
    """A generated rule catalogue with one rule."""
    module = ModuleType("kv_canary_kernels.rules")

    class UnknownRuleError(ValueError):
        pass

    def explain(rule_id=None):
        if rule_id not in (None, "plan.a_rule"):
            raise UnknownRuleError(f"no rule {rule_id}")
        return "all rules" if rule_id is None else "what plan.a_rule means"

    module.UnknownRuleError = UnknownRuleError
    module.explain = explain
    monkeypatch.setitem(sys.modules, "kv_canary_kernels.rules", module)


# Help and version --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("replay", "--help"),
        ("demo", "--help"),
        ("bench", "--help"),
        ("check",),
        ("generate", "--help"),
        ("new", "--help"),
        ("explain",),
    ],
    ids=" ".join,
)
def test_command_works_where_torch_cannot_be_imported(arguments):
    result = run_without_torch(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command(capsys, flag):
    assert main([flag]) == 0
    out = capsys.readouterr().out
    for command in ("replay", "demo", "bench", "generate", "check", "new", "explain"):
        assert f"\n  {command} " in out


def test_version_is_the_packages(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kv-canary {__version__}\n"


def test_module_is_the_whole_command_line_with_a_pythonpath_alone(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "kv_canary", "--version"],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (
        0,
        f"kv-canary {__version__}\n",
        "",
    )


# Forwarding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["generate", "check", "new", "explain"])
def test_arguments_and_status_pass_through_to_codegen(codegen, command):
    assert main([command, "--spec", "a folder", "x"]) == 7
    assert codegen == [[command, "--spec", "a folder", "x"]]


@pytest.mark.parametrize("command", ["generate", "check", "new"])
@pytest.mark.usefixtures("no_codegen")
def test_missing_codegen_names_the_extra(capsys, command):
    assert error_of(capsys, command) == (
        f"kv-canary: {command}: the code generator must be installed\n"
        "  found:  no module `kv_canary_codegen`\n"
        "  wanted: kv-canary with its codegen extra\n"
        "  fix:    pip install 'kv-canary[codegen]'\n"
    )


def test_missing_yaml_names_the_extra_too(capsys, codegen, monkeypatch):
    def codegen_main(argv):
        raise ModuleNotFoundError("No module named 'yaml'", name="yaml")

    monkeypatch.setattr(sys.modules["kv_canary_codegen.cli"], "main", codegen_main)
    assert error_of(capsys, "check") == (
        "kv-canary: check: the code generator must be installed\n"
        "  found:  no module `yaml`\n"
        "  wanted: kv-canary with its codegen extra\n"
        "  fix:    pip install 'kv-canary[codegen]'\n"
    )


def test_other_missing_module_of_codegen_is_not_taken_for_the_extra(codegen, monkeypatch):
    def codegen_main(argv):
        raise ModuleNotFoundError("No module named 'left_out'", name="left_out")

    monkeypatch.setattr(sys.modules["kv_canary_codegen.cli"], "main", codegen_main)
    with pytest.raises(ModuleNotFoundError, match=r"\ANo module named 'left_out'\Z"):
        main(["check"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["explain"], "all rules\n" + "".join(f"{rule}\n" for rule in RULES)),
        (["explain", "plan.a_rule"], "what plan.a_rule means\n"),
    ],
)
@pytest.mark.usefixtures("no_codegen", "catalogue")
def test_explain_falls_back_to_the_generated_catalogue(capsys, arguments, text):
    assert main(arguments) == 0
    assert capsys.readouterr().out == text


@pytest.mark.usefixtures("no_codegen", "catalogue")
def test_explain_of_an_unknown_rule_prints_what_the_catalogue_says(capsys):
    assert error_of(capsys, "explain", "plan.b_rule") == "kv-canary: no rule plan.b_rule\n"


@pytest.mark.usefixtures("no_codegen", "catalogue")
def test_explain_tells_a_rule_of_the_canarys_own(capsys):
    assert main(["explain", "canary.rewind_repeated"]) == 0
    assert capsys.readouterr().out == (
        "canary.rewind_repeated\n\n"
        "Checked by Canary.rewind.\n\n"
        "A row goes on from one length; of two, it would be left to chance which. What is on "
        "another device\nis not waited for, so that its values are not checked.\n\n"
        "Likely causes\n"
        "  - One entry for each rejected draft in place of one for each request.\n\n"
        "What to do\n"
        "  - Pass each row once, with the length that stays in the end.\n"
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("canary.tokencount", "canary.token_count"),
        ("token_count", "canary.token_count"),
        ("canry.mode", "canary.mode"),
        ("mode", "canary.mode"),
        ("rewind_length", "canary.rewind_length"),
    ],
)
@pytest.mark.usefixtures("no_codegen")
def test_explain_suggests_a_rule_of_the_canarys_own(capsys, name, near):
    assert error_of(capsys, "explain", name) == (
        "kv-canary: explain: a rule must be one of the catalogue\n"
        f"  found:  `{name}`\n  wanted: `{near}`, perhaps\n  fix:    kv-canary explain {near}\n"
    )


@pytest.mark.usefixtures("no_codegen")
def test_explain_of_a_rule_that_the_canary_has_not_suggests_nothing_far(capsys):
    assert error_of(capsys, "explain", "canary.zzz") == (
        "kv-canary: explain: a rule must be one of the catalogue\n"
        "  found:  `canary.zzz`\n  wanted: an id that `kv-canary explain` lists\n"
        "  fix:    kv-canary explain\n"
    )


@pytest.mark.parametrize("name", ["plan.prefix_lens.dtyp", "zzzz"])
def test_explain_leaves_rules_of_launchers_to_their_catalogue(codegen, name):
    assert main(["explain", name]) == 7
    assert codegen == [["explain", name]]


@pytest.mark.parametrize("rest", [["--spec", "x"], ["plan.a_rule", "plan.b_rule"]])
@pytest.mark.usefixtures("no_codegen", "catalogue")
def test_explain_without_codegen_takes_one_rule_and_no_flag(capsys, rest):
    assert error_of(capsys, "explain", *rest) == (
        "kv-canary: explain: without the code generator, one rule is explained at a time\n"
        f"  found:  {' '.join(rest)}\n"
        "  wanted: a rule's id, or nothing for the list\n"
        "  fix:    kv-canary explain RULE, or pip install 'kv-canary[codegen]'\n"
    )


@pytest.mark.usefixtures("no_codegen")
def test_explain_without_catalogue_and_codegen_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "kv_canary_kernels.rules", None)
    assert error_of(capsys, "explain") == (
        "kv-canary: explain: the generated rule catalogue, or the code generator, must be there\n"
        "  found:  no module `kv_canary_kernels.rules`\n"
        "  wanted: kv-canary with its codegen extra\n"
        "  fix:    pip install 'kv-canary[codegen]'\n"
    )


# Mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "place_and_rule", "found", "wanted", "fix"),
    [
        (
            ["replya"],
            "command line: the first argument must be a command",
            "replya",
            "`replay`, perhaps",
            "kv-canary --help",
        ),
        (
            ["--versoin"],
            "command line: the first argument must be a command",
            "--versoin",
            "`--version`, perhaps",
            "kv-canary --help",
        ),
        (
            [],
            "command line: the first argument must be a command",
            "nothing",
            (
                "replay, demo, faults, diagnose, bench, generate, check, new, explain, prove, "
                "mutate, --help, --version"
            ),
            "kv-canary --help",
        ),
        (
            ["demo", "twice"],
            "demo: there is no room for this argument",
            "twice",
            "nothing more",
            "leave out `twice`",
        ),
        (
            ["replay", "one", "two"],
            "replay: there is no room for this argument",
            "two",
            "nothing more",
            "leave out `two`",
        ),
        (
            ["replay", "--scael=3"],
            "replay: a flag must be one that this command has",
            "--scael",
            "`--scale`, perhaps",
            "kv-canary replay --help",
        ),
        (
            ["replay", "--zzz"],
            "replay: a flag must be one that this command has",
            "--zzz",
            "a flag that the help lists",
            "kv-canary replay --help",
        ),
        (
            ["replay", "--scale"],
            "--scale: this flag needs a value",
            "no value",
            "`--scale VALUE`",
            "kv-canary replay --help",
        ),
        (
            ["replay", "--json=yes"],
            "--json: this flag takes no value",
            "yes",
            "`--json` alone",
            "kv-canary replay --help",
        ),
        (
            ["replay", "--requests", "1_000"],
            "--requests: the value must be a whole number",
            "1_000",
            "a whole number, 1 to 2147483647",
            "--requests 1",
        ),
        (
            ["replay", "--window", ""],
            "--window: the value must be a whole number",
            "nothing",
            "a whole number, 0 to 2147483647",
            "--window 1",
        ),
        (
            ["replay", "--scale", "513"],
            "--scale: the value must be 1 to 512",
            "513",
            "a whole number, 1 to 512",
            "--scale 512",
        ),
        (
            ["replay", "--token-offset", "-1025"],
            "--token-offset: the value must be -1024 to 1024",
            "-1025",
            "a whole number, -1024 to 1024",
            "--token-offset -1024",
        ),
        (
            ["replay", "--backend", "interpretr"],
            "--backend: the value must be one of torch, interpreter, triton",
            "interpretr",
            "`interpreter`, perhaps",
            "--backend interpreter",
        ),
        (
            ["replay", "no such file"],
            "no such file: the trace must be a file that can be read",
            "No such file or directory",
            "a file with one JSON object a line, such as " + EXAMPLE,
            "give the path of a trace, or none at all to replay the shipped slice",
        ),
        (
            ["replay", "--device", "abacus"],
            "--device: a device must have a name that torch knows",
            "abacus",
            "cpu or cuda",
            "--device cpu",
        ),
        (
            ["replay", "--device", "meta"],
            "--device: the device must be there",
            "meta",
            "a device of this machine",
            "--device cpu, with --backend torch or --backend interpreter",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistake_is_told_with_place_rule_found_wanted_and_fix(
    capsys, arguments, place_and_rule, found, wanted, fix
):
    assert error_of(capsys, *arguments) == (
        f"kv-canary: {place_and_rule}\n  found:  {found}\n  wanted: {wanted}\n  fix:    {fix}\n"
    )


def test_compiled_kernels_on_a_cpu_are_refused(capsys, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert error_of(capsys, "replay", "--backend", "triton", "--device", "cpu") == (
        "kv-canary: --device: compiled Triton kernels need a GPU\n"
        "  found:  cpu\n"
        "  wanted: a GPU, or another backend\n"
        "  fix:    --backend interpreter, or --backend torch\n"
    )


def test_backend_that_the_launcher_does_not_know_is_told(capsys, monkeypatch):
    monkeypatch.setenv("KV_CANARY_BACKEND", "abacus")
    err = error_of(capsys, "replay", "--requests", "1", "--scale", "512")
    assert err.splitlines()[:2] == [
        "kv-canary: KV_CANARY_BACKEND must be one of torch, triton, got 'abacus'",
        "  rule: backend.name (argument KV_CANARY_BACKEND)",
    ]


def test_missing_generated_code_is_told(capsys, monkeypatch):
    """The name of the first module that is missing, and what brings it back."""
    from kv_canary.errors import GeneratedCodeMissingError

    def run_demo():
        raise GeneratedCodeMissingError(name="VerifyPlan", module="kv_canary_kernels")

    demo = ModuleType("kv_canary.demo")
    demo.run_demo = run_demo
    monkeypatch.setitem(sys.modules, "kv_canary.demo", demo)
    assert error_of(capsys, "demo") == (
        "kv-canary: kv_canary.VerifyPlan is generated code, and kv_canary_kernels cannot be found; "
        "run `python -m kv_canary generate` in the repository\n"
    )


# Being stopped -----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_interrupt_exits_with_130_and_no_traceback(tmp_path):
    """The command reads its trace from a pipe that stays open, so it is sure to be running."""
    pipe = tmp_path / "trace.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "kv_canary", "replay", str(pipe)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w"):  # waits until the command has opened its end
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "")


def test_reader_that_has_gone_is_no_traceback():
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = subprocess.run(
        [sys.executable, "-m", "kv_canary", "--help"],
        env=environment(),
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write_end)
    assert (result.returncode, result.stderr) == (1, "")


# The demo ----------------------------------------------------------------------------------------


def test_demo_shows_a_clean_replay_a_fault_two_errors_and_an_explanation(capsys):
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    titles = [line for line in captured.out.splitlines() if line.startswith("== ")]
    assert titles == [
        "== 400 requests of a real chat service, a canary in every step, lengths / 64",
        "== The same, and a fault: slot-shared-other-positions",
        "== A caller's mistake: a verify_capacity that is not the plan's",
        "== Another one: lengths of the wrong dtype",
        "== kv-canary explain plan.verify_capacity_matches_plan",
    ]
    assert "\nfound         nothing\n" in captured.out
    assert "\nfound         1 finding in step " in captured.out
    assert "\nanother sequence's stamp is in the slot (another_owner, certain)\n" in captured.out
    assert (
        "ContractError: kv-canary: launch_canary_plan_kernels verify_capacity=2048 does not match "
        "verify_plan_out.verify_slot_indices.shape[0]=1024\n"
    ) in captured.out
    assert (
        "ContractError: kv-canary: prefix_lens must have dtype torch.int64, got torch.int32\n"
    ) in captured.out
