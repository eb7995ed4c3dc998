"""The engine that answers the questions of the recorder for minitensor."""

from minitensor.engine.core.storage import of_engine

of_engine.own.add("memory_stage")
of_engine.clear()
