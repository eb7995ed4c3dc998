"""Answer the questions of the recorder for minitensor.

May import: ``minitensor``, and the protocol in ``engines``.
"""

from minitensor.engine.core.storage import of_engine

of_engine.own.add("memory_stage")
of_engine.clear()
