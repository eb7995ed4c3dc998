"""Serve the built book to this machine only, compressed and with a content security policy, like a real server.

    python tools/serve.py [folder] [--port 8000] [--page slides/]

If the port is in use, the next free one is taken.
"""

from __future__ import annotations

import argparse
import errno
import gzip
import io
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
TRIES = 20  # the number of ports to try
# A page runs only scripts from the book's files, and loads nothing from other hosts.
POLICY = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # style attributes place pictures and tables
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
}
# Pages run Python as WebAssembly in a worker, which this policy permits. Neither policy permits a page to evaluate text
# as a script.
LIVE_POLICY = {**POLICY, "script-src": "'self' 'wasm-unsafe-eval'", "worker-src": "'self'"}
LIVE = Path("_static", "live", "live.json")
NOT_FOUND = "404.html"
COMPRESSIBLE = ("text/", "application/json", "application/javascript", "application/wasm", "image/svg+xml")


@lru_cache(maxsize=64)
def compressed(path: Path, changed: int) -> bytes:
    """Return the compressed content of a file, cached by the path of the file and the time of its last change.

    Compressing the files with which pages run Python takes half a second.
    """
    return gzip.compress(path.read_bytes(), compresslevel=6)


class Handler(SimpleHTTPRequestHandler):
    """Serve the files of one folder, with text gzip-compressed if the browser accepts it."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> io.IOBase | None:
        path = Path(self.translate_path(self.path))
        kind = self.guess_type(str(path))
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (accepts and path.is_file() and kind.startswith(COMPRESSIBLE)):
            return super().send_head()
        body = compressed(path, path.stat().st_mtime_ns)
        self.send_response(200)
        # Browsers compile WebAssembly during the download only if the type is application/wasm without a charset.
        self.send_header("Content-Type", kind if kind == "application/wasm" else f"{kind}; charset=utf-8")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")  # the book may have been built again since the last request
        policy = LIVE_POLICY if (Path(self.directory) / LIVE).is_file() else POLICY
        self.send_header("Content-Security-Policy", "; ".join(map(" ".join, policy.items())))
        super().end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send the book's page `404.html` for an unknown address, as a host of books does."""
        page = Path(self.directory) / NOT_FOUND
        if code != 404 or not page.is_file():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


def open_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of `folder` on `port` or, if it is in use, on the next free one of TRIES ports.

    If none is free, or if `port` is 0, the system chooses a port.
    """
    handler = partial(Handler, directory=str(folder))
    for candidate in range(port, port + TRIES):
        try:
            return ThreadingHTTPServer((HOST, candidate), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    return ThreadingHTTPServer((HOST, 0), handler)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the built book on this machine.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--page", default="", help="the page whose address is printed (the first one)")
    options = parser.parse_args()
    if not (options.folder / "index.html").exists():
        parser.error(f"{options.folder} has no index.html: build the book first")
    with open_server(options.folder, options.port) as server:
        print(f"The book is at http://{HOST}:{server.server_port}/{options.page} (Ctrl+C stops)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
