# Generated from spec/project.yaml by `kv-canary generate`; do not edit.
# Template: markers.py.jinja.
"""Markers of the generated tests, for projects that do not declare them."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Declare what the tests are marked with."""
    config.addinivalue_line("markers", "gpu: needs a GPU that Triton supports")
    config.addinivalue_line("markers", "compiles: needs Triton's compiler, not its interpreter")
    config.addinivalue_line("markers", "soak: a long count")
