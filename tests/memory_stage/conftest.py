"""Fixtures for the stage's tests. Recorders are strict: an error inside a recorder fails the test."""

from tests.support.stage.fixtures import cell, shell, strict_recorder  # noqa: F401  (fixtures)
