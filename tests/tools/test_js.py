"""The bundles that pages load are made of the sources beside them, and a skipped check gives the reason."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

from tools import check, js, npm
from tools.npm import ROOT

RECORD = json.loads((ROOT / "tools" / "bundles.json").read_text(encoding="utf-8"))
REMEDY = "run .venv/bin/python tools/js.py build"


def sha256(*paths: str) -> str:
    return hashlib.sha256(b"".join((ROOT / path).read_bytes() for path in paths)).hexdigest()


@pytest.mark.parametrize("bundle", sorted(RECORD))
def test_a_bundle_is_made_of_its_present_sources(bundle):
    recorded = RECORD[bundle]
    assert sha256(*recorded["sources"]) == recorded["sources_sha256"], f"a source of {bundle} has changed: {REMEDY}"
    assert sha256(bundle) == recorded["sha256"], f"{bundle} was edited: {REMEDY}"


def test_every_script_in_a_js_folder_has_a_bundle_in_the_folder_beside_it():
    folders = {path.rpartition("/built/")[0] for path in RECORD}
    entries = {f"{folder}/built/{path.name}" for folder in folders for path in (ROOT / folder / "js").glob("*.js")}
    built = {str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder / "built").iterdir()}
    assert entries == built == set(RECORD)
    sources = {source for recorded in RECORD.values() for source in recorded["sources"]}
    scripts = {str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder / "js").rglob("*.js")}
    assert {path for path in scripts - sources if not path.endswith("-widget.js")} == set()


def test_the_pinned_esbuild_makes_the_bytes_of_the_committed_bundles():
    try:
        npm.link()
    except npm.MissingError as missing:
        pytest.skip(str(missing))
    ended = subprocess.run(["node", "tools/bundle.js", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_without_node_a_line_says_that_the_check_was_skipped(monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(npm, "ROOT", tmp_path)  # without node_modules
    for name in npm.FILES:
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    assert js.main([]) == 0
    assert capfd.readouterr().out.startswith("skipped: JavaScript needs node")
    assert js.main(["build"]) == 1


def test_a_skipped_step_gives_the_reason(monkeypatch, capfd):
    skipping = ["python", "-c", "print('skipped: no tool')"]
    monkeypatch.setattr(check, "STEPS", {"js": skipping})
    monkeypatch.setattr(check, "test", lambda *, everything: 0)
    assert check.main([]) == 0
    assert "js: skipped: no tool" in capfd.readouterr().out


def test_the_scripts_of_the_project_are_checked_and_bundles_are_not():
    sources = js.sources()
    assert {"tools/bundle.js", "book/live/editor.js", "_ext/book_pages/theme/js/page.js"} <= set(sources)
    assert not [path for path in sources if "/built/" in path or "node_modules" in path]


def test_the_command_explains_itself():
    ended = subprocess.run([sys.executable, "tools/js.py", "polish"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 2 and "python tools/js.py build" in ended.stdout
