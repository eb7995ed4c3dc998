"""Fixtures of the engine's tests: every test runs on each device, with default modes."""

from tests.support.engine.fixtures import base, default_modes, device, no_collector, pytest_generate_tests  # noqa: F401  (fixtures and a hook)
