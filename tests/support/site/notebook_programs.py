"""Start JupyterLab and Notebook 7, run chapters in them, and find the faults of their layout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jupytext
from playwright.sync_api import Browser, Page

from tests.support.site.looks import FONTS, SIZES, Look, settle
from tests.support.waiting import PAGE_PATIENCE, until, wait_for_script
from tools.build import ROOT

sys.path.insert(0, str(ROOT / "tools" / "jupyter"))
from chapter_files import replace_sources, with_words

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/\S*\?token=(\w+)")
STARTING = 300  # seconds; generous, because the machine may be busy
KERNEL = "book"
#: Without these settings, JupyterLab asks whether it may fetch news.
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


@dataclass(frozen=True)
class Program:
    """A program that shows notebooks.

    Attributes:
        name: its name, which is also the `place` of a `Look`.
        command: the command that starts its server.
        application: the class of the Jupyter application, which is the prefix of its settings.
        path: the part of an address before the path of a notebook.
    """

    name: str
    command: tuple[str, ...]
    application: str
    path: str

    @property
    def lacking(self) -> str:
        """Return why the program cannot start, or an empty string."""
        if self.application == "LabApp":
            return ""
        found = shutil.which(self.command[0])
        if not found:
            return f"{self.command[0]} is not installed; see tools/peers.py"
        version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout.strip()
        return "" if version.startswith("7.") else f"{found} is Notebook {version}, not Notebook 7"


PROGRAMS = {
    program.name: program
    for program in (
        Program("JupyterLab", (sys.executable, "-m", "jupyterlab"), "LabApp", "lab/tree"),
        Program("Notebook 7", ("jupyter-notebook",), "JupyterNotebookApp", "notebooks"),
    )
}
SCROLLER = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer"


def own_folders(folder: Path) -> dict[str, str]:
    """Return environment variables that keep Jupyter from reading and writing the user's settings."""
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    return {**own, "IPYTHONDIR": str(folder / "ipython")}


def stop(server: subprocess.Popen) -> None:
    """End a server. Kill it if it does not end in ten seconds, because it may wait forever for a kernel that starts."""
    server.terminate()
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.kill()  # its kernels notice that their parent has ended, and end too
        server.wait()


def wait_for_address(log: Path) -> tuple[str, str]:
    """Wait until a server writes its address to the log. Return the address without a path, and the token."""
    started = until(lambda: ADDRESS.search(log.read_text()) is not None, patience=STARTING)
    assert started, f"the server did not start in {STARTING} s:\n{log.read_text()}"
    address, token = ADDRESS.search(log.read_text()).groups()
    return address, token


@contextmanager
def running(command: Sequence[str], folder: Path, **variables: str) -> Iterator[tuple[str, str]]:
    """Start a Jupyter server without the user's settings. Return its address without a path, and its token."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "MINITENSOR_"))}
    log = folder / "log"
    with log.open("w") as written:
        server = subprocess.Popen(
            [*command, "--no-browser", "--allow-root", "--ServerApp.port=0"],
            env=kept | own_folders(folder) | variables,
            stdout=written,
            stderr=written,
        )
    try:
        yield wait_for_address(log)
    finally:
        stop(server)


@dataclass(frozen=True)
class Server:
    """A running server of a program, with a copy of the chapters."""

    program: Program
    address: str
    token: str
    folder: Path

    def place(self, name: str) -> str:
        """Write a chapter, such as ``chapters/03_views``, as a notebook, and return its address."""
        notebook = jupytext.reads((ROOT / f"{name}.md").read_text(encoding="utf-8"), fmt="md:myst")
        replace_sources({"type": "notebook", "content": notebook}, with_words)
        notebook.metadata["kernelspec"] = {"name": KERNEL, "display_name": KERNEL, "language": "python"}
        jupytext.write(notebook, self.folder / f"{name}.ipynb")
        return f"{self.address}/{self.program.path}/{name}.ipynb?token={self.token}&reset"


@contextmanager
def serving(program: Program, folder: Path) -> Iterator[Server]:
    """Start the server of a program on a new folder that links to the facts and the files of the chapters' folders."""
    for place in ("chapters", "zh/chapters"):
        (folder / "book" / place).mkdir(parents=True)
        for file in (ROOT / place).iterdir():
            (folder / "book" / place / file.name).symlink_to(file)
    (folder / "book" / "facts").symlink_to(ROOT / "facts")
    kernel = folder / "data" / "kernels" / KERNEL / "kernel.json"
    kernel.parent.mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": start, "display_name": KERNEL, "language": "python"}), encoding="utf-8")
    settings = folder / "config" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
    command = [*program.command, str(folder / "book"), f"--{program.application}.expose_app_in_browser=True"]
    with running(command, folder) as (address, token):
        yield Server(program, address, token, folder / "book")


# ---- a notebook ------------------------------------------------------------------------------------------------------

IS_READY = """() => {
    const session = globalThis.jupyterapp?.shell.currentWidget?.sessionContext;
    return Boolean(session?.isReady && session.session?.kernel?.status === 'idle');
}"""
RUN = """async () => {
    await jupyterapp.commands.execute('notebook:run-all-cells');
    const { model } = jupyterapp.shell.currentWidget.content;
    const outputs = [...model.cells].flatMap(cell => cell.type === 'code' ? cell.outputs.toJSON() : []);
    return outputs.filter(each => each.output_type === 'error').map(each => `${each.ename}: ${each.evalue}`);
}"""
#: Returns true if each stage and figure in the notebook's outputs is drawn. The output of `book_kit`'s controls also
#: contains the figure that they change.
IS_DRAWN = """() => {
    const widget = 'application/vnd.jupyter.widget-view+json';
    const { model, node } = jupyterapp.shell.currentWidget.content;
    const codes = [...model.cells].filter(cell => cell.type === 'code');
    if (codes.some(cell => cell.sharedModel.getSource().trim() && !cell.executionCount)) return false;
    const outputs = codes.flatMap(cell => cell.outputs.toJSON()).filter(each => each.data?.[widget]);
    const shown = node.querySelectorAll('.jp-OutputArea-output:has(memory-stage, memory-figure)');
    const lives = [...node.querySelectorAll('memory-stage, memory-figure')];
    const isDrawn = one => one.shadowRoot?.querySelector('svg') && one.getBoundingClientRect().height > 0;
    return shown.length >= outputs.length && lives.every(isDrawn);
}"""
#: Pixels of the narrowest window with JupyterLab's list of files. A narrower one has no space for list and notebook.
FILES_FROM = 1000
SET_SIDEBAR = "isOpen => { jupyterapp.shell[isOpen ? 'expandLeft' : 'collapseLeft']?.(); }"
SET_THEME = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
HAS_THEME = "isLight => document.body.dataset.jpThemeLight === String(isLight)"
#: Sets the fonts and the text size as a reader's settings do, and draws the stages again with them.
SET_FONTS = """async ([fonts, scale]) => {
    const sheet = new CSSStyleSheet();
    const [sans, mono] = fonts ?? [];
    const family = fonts ? `--book-sans: "${sans}" !important; --book-mono: "${mono}" !important;
        --jp-content-font-family: "${sans}" !important; --jp-ui-font-family: "${sans}" !important;
        --jp-code-font-family: "${mono}" !important;` : '';
    const size = scale === 1 ? '' : `--jp-content-font-size1: ${14 * scale}px !important;
        --jp-ui-font-size1: ${13 * scale}px !important; --jp-code-font-size: ${13 * scale}px !important;`;
    sheet.replaceSync(`:root:root:root { ${family} ${size} }`);
    document.adoptedStyleSheets = [sheet];
    dispatchEvent(new Event('resize'));
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    for (const stage of document.querySelectorAll('memory-stage')) stage.trace = stage.data; // at its opening step
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}"""


@contextmanager
def run_notebook(browser: Browser, server: Server, name: str) -> Iterator[Page]:
    """Open a chapter as a notebook, run all its cells, and wait until its stages and figures are drawn."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    try:
        context.set_default_timeout(PAGE_PATIENCE)
        page = context.new_page()
        page.goto(server.place(name))
        assert until(lambda: page.evaluate(IS_READY), patience=STARTING), f"{name}: no kernel started"
        errors = page.evaluate(RUN)
        assert errors == [], f"{name}: {errors}"
        assert until(lambda: page.evaluate(IS_DRAWN), patience=STARTING), f"{name}: not all outputs are drawn"
        yield page
    finally:
        context.close()


def set_look(page: Page, look: Look) -> None:
    """Set the theme, fonts, text size and window of an open notebook."""
    page.set_viewport_size(look.viewport)
    page.evaluate(SET_SIDEBAR, look.viewport["width"] >= FILES_FROM)
    page.evaluate(SET_THEME, f"JupyterLab {look.scheme.title()}")
    wait_for_script(page, HAS_THEME, look.scheme == "light")
    settle(page, look)
    page.evaluate(SET_FONTS, [FONTS[look.font], int(SIZES[look.size][1].removesuffix("%")) / 100])
    wait_for_script(page, IS_DRAWN)
