"""`python -m kv_canary_codegen`."""

import os
import sys

from kv_canary_codegen.cli import main


def run() -> int:
    """Run the command of this process; neither Ctrl-C nor a reader that has gone is a traceback."""
    try:
        status = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # As in `... explain | head`. What Python still wants to flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(run())
