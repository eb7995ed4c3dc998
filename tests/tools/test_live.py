"""The files that Python in a page needs are fetched and checked, or reported missing. A local host replaces the CDN."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools import live, npm, serve

NAME = "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl"


def a_zip(text: str) -> bytes:
    with zipfile.ZipFile(body := io.BytesIO(), "w") as packed:
        packed.writestr("numpy-2.2.5.dist-info/LICENSE.txt", text)
    return body.getvalue()


WHEEL = a_zip("The licence of numpy")


@pytest.fixture(autouse=True)
def without_cache_and_settings(tmp_path, monkeypatch):
    """Use an empty cache, and unset the variables that name a host or a wheel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("MINITENSOR_LIVE_NUMPY", "MINITENSOR_LIVE_FROM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def replaced_npm(monkeypatch):
    """Replace npm's installation by a function that writes only the files that `tools/live.py` reads."""

    def install(folder: Path) -> None:
        for name in ["pyodide", *live._bundled_packages()]:
            (folder / "node_modules" / name).mkdir(parents=True)
            reported = {"version": "0.29.3", "license": "MIT"}
            (folder / "node_modules" / name / "package.json").write_text(json.dumps(reported))
            (folder / "node_modules" / name / "LICENSE").write_text(f"The licence of {name}")
        numpy = {"file_name": NAME, "version": "2.2.5", "sha256": hashlib.sha256(WHEEL).hexdigest()}
        lock = {"info": {"python": "3.13.2"}, "packages": {"numpy": numpy}}
        for name in live.INTERPRETER:
            (folder / "node_modules" / "pyodide" / name).write_text(json.dumps(lock))

    def bundled_editor(modules: Path) -> Path:
        (modules.parent / "editor.js").write_text("export function makeEditor() {}")
        return modules.parent / "editor.js"

    monkeypatch.setattr(npm, "_install", install)
    monkeypatch.setattr(live, "bundled_editor", bundled_editor)


@pytest.fixture
def host(tmp_path):
    """Serve the distribution's files: yield the folder, its address, and the requested paths."""
    folder, asked = tmp_path / "distribution", []
    folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *arguments):
            asked.append(self.path)

    with ThreadingHTTPServer((serve.HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://{serve.HOST}:{server.server_port}/full/", asked
        server.shutdown()


@pytest.mark.usefixtures("replaced_npm")
def test_numpys_wheel_is_downloaded_once_and_again_if_the_cache_is_damaged(host, monkeypatch):
    folder, address, asked = host
    (folder / "full").mkdir()
    (folder / "full" / NAME).write_bytes(WHEEL)
    fetched = live.fetch_parts(host=address)
    assert fetched.numpy.read_bytes() == WHEEL
    assert fetched.is_distributed
    monkeypatch.setenv("MINITENSOR_LIVE_FROM", address)
    assert live.fetch_parts() == fetched
    assert asked == [f"/full/{NAME}"]
    fetched.numpy.write_bytes(b"half of i")  # a cache that another program has damaged
    assert live.fetch_parts().numpy.read_bytes() == WHEEL


@pytest.mark.usefixtures("replaced_npm")
def test_the_wheel_is_requested_from_the_address_of_the_pyodide_release(monkeypatch):
    asked = []

    def no_network(address, timeout):
        asked.append(address)
        raise OSError("no network")

    monkeypatch.setattr(live.urllib.request, "urlopen", no_network)
    with pytest.raises(live.MissingError, match=r"no network.*--from or MINITENSOR_LIVE_FROM.*--numpy"):
        live.fetch_parts()
    assert asked == [f"https://cdn.jsdelivr.net/pyodide/v0.29.3/full/{NAME}"]


@pytest.mark.usefixtures("replaced_npm")
def test_a_downloaded_wheel_with_another_hash_is_discarded(host):
    folder, address, _ = host
    (folder / "full").mkdir()
    (folder / "full" / NAME).write_bytes(a_zip("Something else"))
    with pytest.raises(live.MissingError, match="was discarded"):
        live.fetch_parts(host=address)
    assert not list(live.cache().glob("*.whl"))
    (folder / "full" / NAME).unlink()
    with pytest.raises(live.MissingError, match=r"(?i)not found"):
        live.fetch_parts(host=address)


@pytest.mark.usefixtures("replaced_npm")
def test_a_host_that_stops_in_the_middle_of_a_download_is_named():
    class Half(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(WHEEL)))
            self.end_headers()
            self.wfile.write(WHEEL[:50])

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer((serve.HOST, 0), Half) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(live.MissingError, match=f"{server.server_port}/{NAME}: IncompleteRead"):
            live.fetch_parts(host=f"http://{serve.HOST}:{server.server_port}")
        server.shutdown()
    assert not list(live.cache().glob("numpy*"))


@pytest.mark.usefixtures("replaced_npm")
def test_a_malformed_address_is_named():
    with pytest.raises(live.MissingError, match="nowhere/numpy"):
        live.fetch_parts(host="nowhere")


@pytest.mark.usefixtures("replaced_npm")
def test_a_local_wheel_is_used_and_a_differing_hash_is_reported(tmp_path, monkeypatch, capsys):
    given = tmp_path / NAME
    given.write_bytes(WHEEL)
    assert live.fetch_parts(given).is_distributed
    assert capsys.readouterr().err == ""
    given.write_bytes(a_zip("Repacked"))
    monkeypatch.setenv("MINITENSOR_LIVE_NUMPY", str(given))
    assert not live.fetch_parts().is_distributed
    assert hashlib.sha256(WHEEL).hexdigest() in capsys.readouterr().err


@pytest.mark.usefixtures("replaced_npm")
@pytest.mark.parametrize("name", ["numpy-2.2.5-cp311-cp311-manylinux_x86_64.whl", NAME])
def test_a_file_that_is_not_the_wheel_is_refused(tmp_path, name):
    with pytest.raises(live.MissingError, match="There is no file"):
        live.fetch_parts(tmp_path / name)
    (tmp_path / name).write_bytes(b"no zip")
    with pytest.raises(live.MissingError, match=f"a zip file named {NAME}"):
        live.fetch_parts(tmp_path / name)


def test_without_node_the_error_names_the_program_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(live.MissingError, match=r"needs node .*install Node\.js"):
        live.fetch_parts()
    assert not live.cache().exists()


def test_the_error_of_npm_is_shown_and_a_partial_installation_is_deleted(tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("node", "npm"):
        (tools / name).write_text("#!/bin/sh\necho 'npm warn of something' >&2\necho 'integrity differs' >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    with pytest.raises(live.MissingError, match=r"npm could not fetch its packages:\nintegrity differs$"):
        live.fetch_parts()
    assert list(live.cache().iterdir()) == []


@pytest.mark.usefixtures("replaced_npm")
def test_files_beside_the_pages_are_listed_with_bytes_and_licences(tmp_path):
    given = tmp_path / NAME
    given.write_bytes(WHEEL)
    folder = tmp_path / "live"
    reported = live.write_parts(live.fetch_parts(given), folder)
    assert json.loads((folder / "live.json").read_text()) == reported
    assert {*reported["files"], "live.json", "licences.txt"} == {path.name for path in folder.iterdir()}
    for name, file in reported["files"].items():
        body = (folder / name).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(body), hashlib.sha256(body).hexdigest())
        assert 0 < file["compressed"] <= file["bytes"]
    assert {reported["numpy"], reported["minitensor"]} < set(reported["files"])
    names = [package["name"] for package in reported["packages"]]
    assert names[:4] == ["minitensor", "Pyodide", "CPython", "NumPy"]
    assert {"@codemirror/view", "@lezer/python"} < set(names)
    assert not {"esbuild", "eslint", "typescript", "ws"} & set(names)
    licences = (folder / "licences.txt").read_text()
    for name in ("numpy", "@codemirror/view", "w3c-keyname"):
        assert f"The licence of {name}" in licences
    assert "https://github.com/pyodide/pyodide/tree/0.29.3" in licences


def test_versions_and_hashes_of_all_packages_are_pinned():
    lock = json.loads((live.ROOT / "package-lock.json").read_text())["packages"]
    asked = json.loads((live.ROOT / "package.json").read_text())
    assert lock[""]["dependencies"] == asked["dependencies"]
    assert all(version[0].isdigit() for version in {**asked["dependencies"], **asked["devDependencies"]}.values())
    assert all(entry["integrity"].startswith("sha512-") for name, entry in lock.items() if name)
    assert all(
        "resolved" not in entry for entry in lock.values()
    )  # any registry may provide it, because the hash is checked


def test_the_wheel_of_the_page_has_the_needed_files_and_the_same_bytes_each_time(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    wheel, again = (live.make_wheel(tmp_path / name) for name in ("one", "two"))
    assert wheel.read_bytes() == again.read_bytes()
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".js", ".css", ".schema.json"))]
    recorded = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("/RECORD"))).decode()
    assert sorted(line.split(",")[0] for line in recorded.splitlines()) == sorted(names)
    # Python imports the packages from the wheel, and nothing from the checkout.
    program = (
        f"import sys; sys.path.insert(0, {str(wheel)!r})\n"
        "import minitensor as mt, minitensor.torch, memory_stage.explanation.minitensor\n"
        "import memory_stage as stage\n"
        "from book_kit import check, predict\n"
        "assert '.whl' in mt.__file__\n"
        "def doubled(x): return x.scale_(2.0)\n"
        "report = check(doubled, cases=[(mt.ones([2]),)], against=lambda x: x.scale_(2.0))\n"
        "assert report.passed, report\n"
        "print(len(stage.record('x = mt.ones([3])\\nx.add_(1)').data['variants'][0]['steps']))\n"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ended.stdout == "2\n", ended.stderr
