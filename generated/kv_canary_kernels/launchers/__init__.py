# Generated from spec/project.yaml by `kv-canary generate`; do not edit.
# Template: package_init.py.jinja.
"""Launchers, one a kernel."""
