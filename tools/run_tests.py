"""Run the tests on several processes, the longest first: the last step of `make test`.

    python tools/run_tests.py [-j PROCESSES] [--every SECONDS] [--record] [path ...] [-- options of pytest]

Each process is a pytest that receives one file after another (or a share of a long file) and collects only that file.
With pytest-xdist, each process would collect all tests and, because they are many and short, spend as much time on
messages as on the tests. A process starts a browser once and uses it for all its tests. The book is built at the start,
while the tests that do not need it run. There is one process more than cores, because a test of a page sometimes waits
for the page. Every half minute a line lists the running files and how long they have run.

`tests/longest.txt` lists the files that take long; `--record` updates it.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import build  # noqa: E402
from tools.taking_turns import CONNECTION, NOW, SHARED, Unit  # noqa: E402

LONGEST = ROOT / "tests" / "longest.txt"
EVERY = 30  # the seconds between two lines that list the running files
POLL = 0.2  # the seconds between two checks of the process that builds the book
SHARE = 30  # a file that takes more seconds is divided into shares
RECORDED = 3  # a file that takes fewer seconds is not listed
FIRST = ("tests/in_the_browser/test_in_the_browser.py", "tests/site/test_live_")  # files that take long with LIVE=1
NEED_THE_BOOK = ("tests/site/", "tests/chapters/test_run.py")  # files that run after the book is built
# exceptions in these folders: files that run without the book
DO_WITHOUT = ("tests/site/test_build.py", "tests/site/test_notebooks.py", "tests/site/test_tools.py")


@dataclass
class Process:
    """A pytest that receives units or, if it has no connection, the process that builds the book."""

    name: str
    popen: subprocess.Popen[str]
    connection: Connection | None = None
    output: Path | None = None
    now: Path | None = None  # the file to which the process writes the name of its current test
    unit: Unit | None = None  # the unit that the process runs
    since: float = field(default_factory=time.perf_counter)  # the time at which the process or its unit started
    done: bool = False
    waiting: bool = False  # True if it waits, because all units that are left need the book


@dataclass
class Run:
    """All processes of one run, the units that are left, and the results of the units that have run."""

    folder: Path
    units: list[Unit]
    options: Sequence[str]
    every: float = EVERY
    processes: list[Process] = field(default_factory=list)
    builder: Process | None = None
    counts: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start ``count`` processes. If a unit needs the book and the book is not fresh, one builds it first."""
        if any(needs_the_book(path) for path, _, _ in self.units):
            if build.is_fresh(ROOT):
                self.note_book("kept")
            else:
                command = [sys.executable, "tools/build.py", "--quiet"]
                environment = {**os.environ, **build.share_compiled(self.folder)}
                popen = subprocess.Popen(command, cwd=ROOT, env=environment, text=True)
                self.builder = Process("the book", popen)
        for number in range(count - (self.builder is not None)):
            self.start_worker(number)

    def start_worker(self, number: int) -> None:
        ours, theirs = Pipe()
        name = f"process {number}"
        output, now = self.folder / f"{number}.txt", self.folder / f"{number}.now"
        environment = {**os.environ, **build.share_compiled(self.folder)}
        environment |= {CONNECTION: str(theirs.fileno()), SHARED: str(self.folder), NOW: str(now)}
        # Other installed plugins (xdist, anyio) are not needed, and they would process every test.
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        command = [sys.executable, "-m", "pytest", "-p", "tools.taking_turns", "-p", "no:cacheprovider", "-q"]
        command += ["-p", "no:logging"]  # no test reads log records, and the plugin installs two handlers in each phase
        command += [f"--basetemp={self.folder / f'tmp{number}'}", *self.options]
        command += dict.fromkeys(path for path, _, _ in self.units)
        with output.open("w") as written, theirs:
            popen = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                text=True,
            )
        self.processes.append(Process(name, popen, ours, output, now))

    def note_book(self, outcome: str) -> None:
        """Write the state of the book to a file that tests read: "kept", "done" or "failed"."""
        (self.folder / "building").write_text(outcome)

    def distribute(self) -> None:
        """Assign units until all are done or no process is left; regularly print a line with the running units."""
        began = last = time.perf_counter()
        while any(not process.done for process in self.processes) or self.builder:
            left = max(0.0, last + self.every - time.perf_counter())
            open_ones = [process.connection for process in self.processes if not process.done]
            if not open_ones:
                time.sleep(min(POLL, left))
            for ready in wait(open_ones, timeout=min(POLL, left) if self.builder else left):
                self.receive(next(process for process in self.processes if process.connection is ready))
            if time.perf_counter() >= last + self.every:
                last = time.perf_counter()
                log(f"after {last - began:.0f} s: {self.running(last)}")
            if self.builder and self.builder.popen.poll() is not None:
                self.note_book("failed" if self.builder.popen.returncode else "done")
                log(f"the book is {'not ' if self.builder.popen.returncode else ''}built")
                self.builder = None
                self.start_worker(len(self.processes))
            for process in self.processes:
                if process.waiting:
                    self.assign(process)
        self.lost += [f"{path} was not run: no process was left." for path, _, _ in self.units]

    def running(self, now: float) -> str:
        """Return the running units with their times, the longest first, and the number of units still to run."""
        busy = [each for each in (*self.processes, self.builder) if each and not each.done and not each.waiting]
        ordered = sorted(busy, key=lambda each: each.since)
        lines = [f"{title(each.unit) if each.unit else each.name} for {now - each.since:.0f} s" for each in ordered]
        return f"{', '.join(lines) or 'nothing runs'}; {len(self.units)} to come"

    def receive(self, process: Process) -> None:
        try:
            kind, *details = process.connection.recv()
        except (EOFError, OSError):
            self.record_loss(process)
            return
        if kind == "next":
            self.assign(process)
        elif kind == "failed":
            log(f"FAILED {details[0]}")
        elif kind == "ran":
            unit, counts, seconds = details
            process.unit = None
            self.counts += counts
            self.seconds[unit[0]] += seconds
            log(f"{title(unit)}: {summary(counts)} in {seconds:.1f} s")
        elif kind == "done":
            process.done = True
            process.popen.wait()

    def assign(self, process: Process) -> None:
        """Assign the longest unit that can run now; if all units wait for the book, the process waits too."""
        ready = [unit for unit in self.units if not (self.builder and needs_the_book(unit[0]))]
        process.waiting = bool(self.units) and not ready
        if not process.waiting:
            if ready:
                self.units.remove(ready[0])
                process.unit, process.since = ready[0], time.perf_counter()
            try:
                process.connection.send(ready[0] if ready else None)
            except OSError:
                self.record_loss(process)

    def record_loss(self, process: Process) -> None:
        """Record that a process has ended early, and that the rest of its unit is lost. Other processes continue."""
        status = process.popen.wait()
        process.done, process.waiting = True, False
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        test = process.now.read_text().strip() if process.now.exists() else ""
        rest = f" The tests of {process.unit[0]} that came after it were not run." if process.unit else ""
        self.lost.append(f"{process.name} {how} while it ran {test}.{rest}" if test else f"{process.name} {how}.{rest}")
        log(f"LOST {self.lost[-1]}")

    def stop(self) -> None:
        """Terminate the processes that still run, and ignore further interrupts."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        started = [*self.processes, *([self.builder] if self.builder else [])]
        for process in started:
            if process.popen.poll() is None:
                process.popen.terminate()
        for process in started:
            process.popen.wait()


def needs_the_book(path: str) -> bool:
    return path.startswith(NEED_THE_BOOK) and path not in DO_WITHOUT


def title(unit: Unit) -> str:
    """Return the file of a unit, with the number of the share if there are several."""
    path, share, shares = unit
    return f"{path} ({share + 1} of {shares})" if shares > 1 else path


def log(line: str) -> None:
    print(line, flush=True)


def summary(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()) if count) or "no tests"


def longest() -> dict[str, float]:
    """Return the recorded seconds of each file in `tests/longest.txt`."""
    lines = LONGEST.read_text(encoding="utf-8").splitlines() if LONGEST.exists() else []
    return {path: float(seconds) for seconds, path in (line.split() for line in lines if not line.startswith("#"))}


def record(seconds: Counter[str]) -> None:
    """Write the files that took long, with their seconds, to `tests/longest.txt`."""
    lines = [f"{took:4.0f} {path}" for path, took in seconds.most_common() if took >= RECORDED]
    head = "# Files that take long, in seconds: python tools/run_tests.py --record"
    LONGEST.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def units(paths: Sequence[str]) -> list[Unit]:
    """Return the units of the tests under ``paths``: files in `FIRST` first, then the longest; long files in shares.

    Raises:
        SystemExit: if a path does not exist, or if it contains no tests.
    """
    took = longest()
    found: list[tuple[float, Unit]] = []
    for path in paths:
        given = (ROOT / path.rstrip("/")).resolve()
        files = sorted(given.rglob("test_*.py")) if given.is_dir() else [given] * given.is_file()
        if not files:
            sys.exit(f"{path} is neither a file nor a folder of tests; give a path like tests/minitensor/engine")
        for file in files:
            name = file.relative_to(ROOT).as_posix()
            shares = ceil(took.get(name, 0) / SHARE) or 1
            found += [(took.get(name, 0) / shares, (name, share, shares)) for share in range(shares)]
    ordered = sorted(found, key=lambda each: (not each[1][0].startswith(FIRST), -each[0]))
    return list(dict.fromkeys(unit for _, unit in ordered))


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(arguments: list[str]) -> int:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    own, options = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser(
        prog="python tools/run_tests.py", description="Run the tests on several processes."
    )
    parser.add_argument("paths", nargs="*", default=["tests"], help="files or folders (tests)")
    parser.add_argument("-j", "--jobs", type=int, default=cores() + 1, help="processes (one more than cores)")
    parser.add_argument("--every", type=float, default=EVERY, help="seconds between lines on what is running (30)")
    parser.add_argument("--record", action="store_true", help="write tests/longest.txt again")
    chosen = parser.parse_args(own)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="minitensor-tests-") as folder:
        run = Run(Path(folder), units(chosen.paths), options, chosen.every)
        try:
            run.start(max(1, chosen.jobs))
            run.distribute()
        except KeyboardInterrupt:
            log("interrupted")
            return 130
        finally:
            run.stop()
        status = report(run)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # browsers are missing in these figures, because no process waits for their end
    cores_used = f"{used.ru_utime + used.ru_stime:.0f} s of one core, without browsers"
    log(f"{summary(run.counts)} in {time.perf_counter() - began:.0f} s; {cores_used}")
    if chosen.record and status == 0:
        record(run.seconds)
    return status


def report(run: Run) -> int:
    """Print pytest's output about failures, warnings and skipped tests, and return the exit status."""
    for process in run.processes:
        lines = process.output.read_text(encoding="utf-8", errors="replace").splitlines()
        begins = next((number for number, line in enumerate(lines) if line.startswith("=====")), None)
        bad = process.popen.wait() not in (0, 5)
        if begins is not None or bad:
            log("\n".join(lines[begins if begins is not None else -40 :]))
    for line in run.lost:
        log(f"LOST {line}")
    bad = any(process.popen.returncode not in (0, 5) for process in run.processes)
    return 1 if bad or run.lost or not run.counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
