"""Fixtures for the tests of `explain`. As in the engine's tests, each test runs on every device with default modes."""

from tests.support.engine.fixtures import base, default_modes, device, no_collector, pytest_generate_tests  # noqa: F401  (fixtures and a hook)
