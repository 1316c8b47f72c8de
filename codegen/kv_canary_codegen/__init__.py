"""Turns a spec folder into kernels, validators, launchers, tests and pages."""
