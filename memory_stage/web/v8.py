"""JavaScript without a browser: one V8 that has loaded one script.

The pictures of a page are drawn by the page's own script. Run here, the same script draws the picture that stands in
a page for readers without JavaScript, so there is one drawing and no second one to drift away from it.
"""

from __future__ import annotations

import atexit
import json
import threading
from typing import Any


class Script:
    """A script loaded into a V8 of its own. Calls are made one at a time.

    Args:
        source: a classic script that leaves its functions in one global object.
        name: of that object.

    Raises:
        ImportError: without the package mini-racer.
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
        # left to the interpreter's end, V8 and its thread wait for each other
        atexit.register(self._context.close)
        self._context.eval(source)
        self._context.eval(f"const call = (name, args) => {name}[name](...JSON.parse(args));")

    def call(self, function: str, *arguments: Any) -> Any:
        """What ``function`` answers to ``arguments``; both pass through JSON."""
        # JSON twice: the arguments as text, and that text as a JavaScript string
        given = json.dumps(json.dumps(arguments))
        with self._lock:
            result: Any = self._context.eval(f"JSON.stringify(call({json.dumps(function)}, {given}))")
        return json.loads(result)
