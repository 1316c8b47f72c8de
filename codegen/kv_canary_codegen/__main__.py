"""`python -m kv_canary_codegen`."""

import sys

from kv_canary_codegen.cli import main

if __name__ == "__main__":
    sys.exit(main())
