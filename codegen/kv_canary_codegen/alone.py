"""A command run by itself, as its own module, beside the command line that has them all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from kv_canary_codegen.source import SpecError
from kv_canary_codegen.write import CommandError

BAD_INPUT = 2


def run_alone(
    name: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
    argv: Sequence[str] | None,
) -> int:
    """What a command returns; of bad input 2, after saying what is wrong with it."""
    parser = argparse.ArgumentParser(prog=f"python -m kv_canary_codegen.{name}")
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except SpecError as error:
        print(str(error), file=sys.stderr)
    except CommandError as error:
        print(f"{name}: {error}", file=sys.stderr)
    return BAD_INPUT
