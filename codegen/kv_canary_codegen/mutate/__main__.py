"""`python -m kv_canary_codegen.mutate`."""

from kv_canary_codegen.mutate.command import main

if __name__ == "__main__":
    raise SystemExit(main())
