"""Run a JavaScript file without a browser, in V8."""

from __future__ import annotations

import atexit
import json
import threading
from typing import Any


class Script:
    """A script in a separate instance of V8, which runs one call at a time.

    Args:
        source: a classic script that defines its functions in one global object.
        name: the name of this global object.

    Raises:
        ImportError: if the package mini-racer is not installed.
    """

    def __init__(self, source: str, name: str) -> None:
        try:
            from py_mini_racer import MiniRacer
        except ImportError as error:
            raise ImportError(
                "pictures outside a browser need the package mini-racer: pip install mini-racer"
            ) from error
        self._lock = threading.Lock()
        self._context = MiniRacer()
        # Close V8 at exit. If the interpreter's shutdown closed V8, V8 and its thread would wait for each other.
        atexit.register(self._context.close)
        self._context.eval(source)
        self._context.eval(f"const call = (name, args) => {name}[name](...JSON.parse(args));")

    def call(self, function: str, *arguments: Any) -> Any:
        """Return the result of ``function(*arguments)``. The arguments and the result must be convertible to JSON."""
        # The arguments are encoded twice: as JSON, and that text as a JavaScript string.
        encoded = json.dumps(json.dumps(arguments))
        with self._lock:
            result: Any = self._context.eval(f"JSON.stringify(call({json.dumps(function)}, {encoded}))")
        return json.loads(result)
