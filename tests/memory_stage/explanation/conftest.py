"""Fixtures of the tests of `explain`: every test runs on each device, with default modes, as the engine's tests do."""

from tests.support.engine.fixtures import (  # noqa: F401  (fixtures and a hook)
    base,
    default_modes,
    device,
    no_collector,
    pytest_generate_tests,
)
