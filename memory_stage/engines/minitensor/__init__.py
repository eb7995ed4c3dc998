"""The engine that answers the questions of the recorder for minitensor."""

from minitensor.engine.core.storage import engine_packages

engine_packages.own.add("memory_stage")
engine_packages.clear()
