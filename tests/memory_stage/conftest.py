"""Fixtures of the stage's tests. Every recorder is strict: its failure fails the test."""

from tests.support.stage.fixtures import cell, shell, strict_recorder  # noqa: F401  (fixtures)
