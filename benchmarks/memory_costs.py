"""Measure how much time devices, counters and events add to an operation, without and with a listener.

``python -m benchmarks.memory_costs`` times the cases of :mod:`benchmarks.rows.dispatch` in three engines, alternately
and in fresh processes: the present engine; a copy without the lines that check the device (``DEVICES`` lists them); and
a copy that also lacks the lines that count and emit events (``COUNTERS_AND_EVENTS``). Then it times the present engine
again, in this process, with a listener.

If there is a git history, ``--against REVISION`` also times the engine of an older revision. 1b8f645 is the last
revision without devices. It counted and emitted the same events, so the difference is the cost of the later code. A
part of that cost is not due to devices: the older engine did not yet record which operation saved a tensor.

Each figure is the fastest burst of all rounds, because load on the machine only adds time.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks.rows.dispatch import CASES

ROOT = Path(__file__).parents[1]
RESULT = Path("_build/bench/memory_costs.json")

#: The limits in the table: nanoseconds that devices may add to an operation that allocates, and to one that does not.
LIMITS = {"allocates": 60, "in place or a view": 20}
#: Cases that allocate a storage, for the result or for the copy that ``sin_`` saves.
ALLOCATING = ("add", "add, recording", "sin_, recording")

_EVENTS = """
    if watch.listener is not None:
        watch.listener({})
"""

#: Maps a file to pairs of a text in the file and its replacement.
Cuts = dict[str, list[tuple[str, str]]]

DEVICES: Cuts = {
    "minitensor/engine/operations/templates.py": [
        (
            """
    if type({a}) is not ndarray:
        check_on_device({name!r}, {x}, ({as_},))
""",
            "\n",
        )
    ]
}

COUNTERS_AND_EVENTS: Cuts = {
    "minitensor/engine/operations/templates.py": [
        (
            """
        meter.allocated = now = meter.allocated + nbytes
        if now > meter.peak:
            meter.peak = now
""",
            "\n",
        ),
        (
            """
    listener = watch.listener
    if listener is not None:
        listener(StorageCreated(storage))
        listener(TensorCreated(result, {name!r}, ({operands})))
""",
            "\n",
        ),
        (_EVENTS.format("TensorWritten({x}, {name!r}, ({operands}), {where})"), "\n"),
    ],
    "minitensor/engine/core/storage.py": [
        (
            """
    def __del__(self, _meter: Meter = cpu_meter, _watch: Watch = watch) -> None:
        _meter.allocated -= self.nbytes
        if _watch.listener is not None:
            _watch.listener(StorageReleased(self))
""",
            "\n",
        ),
        (
            """
    cpu_meter.allocated = now = cpu_meter.allocated + nbytes
    if now > cpu_meter.peak:
        cpu_meter.peak = now
""",
            "\n",
        ),
        (_EVENTS.format("StorageCreated(storage)"), "\n"),
    ],
    "minitensor/engine/views/making.py": [(_EVENTS.format("ViewCreated(out, op.name, (x,))"), "\n")],
}


def engines(folder: Path, revision: str | None) -> dict[str, Path]:
    """Copy each engine with these benchmarks into a subfolder of ``folder``. Return the subfolder of each engine."""
    folders = {"with": folder / "with", "no devices": folder / "no_devices", "bare": folder / "bare"}
    for path in folders.values():
        shutil.copytree(ROOT / "minitensor", path / "minitensor", ignore=shutil.ignore_patterns("__pycache__"))
    for name, cuts in (("no devices", DEVICES), ("bare", DEVICES), ("bare", COUNTERS_AND_EVENTS)):
        cut_out(folders[name], cuts)
    if revision is not None:
        folders[revision] = folder / "older"
        command = ["git", "archive", revision, "minitensor"]
        archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folders[revision], filter="data")
    for path in folders.values():
        shutil.copytree(ROOT / "benchmarks", path / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    return folders


def cut_out(folder: Path, cuts: Cuts) -> None:
    """Replace texts in the engine in ``folder``.

    Raises:
        SystemExit: if a file does not contain a text exactly once.
    """
    for file, texts in cuts.items():
        source = (folder / file).read_text()
        for text, replacement in texts:
            if source.count(text) != 1:
                raise SystemExit(f"{file} has changed: it has to contain this text exactly once:{text}")
            source = source.replace(text, replacement)
        (folder / file).write_text(source)


def fastest(folders: dict[str, Path], rounds: int) -> dict[str, dict[str, float]]:
    """Return, for each engine, the fewest seconds that each case took in any round."""
    found: dict[str, dict[str, float]] = {name: {} for name in folders}
    for done in range(rounds):
        for name, path in folders.items():
            print(f"\rround {done + 1} of {rounds}: {name:12}", end="", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "benchmarks.worker", "dispatch", "minitensor"]
            answer = subprocess.run(command, cwd=path, check=True, capture_output=True, text=True)
            for case, seconds in json.loads(answer.stdout.splitlines()[-1]).items():
                found[name][case] = min(seconds, found[name].get(case, seconds))
    print("\r" + " " * 40, end="\r", file=sys.stderr)
    return found


def with_listeners() -> dict[str, dict[str, float]]:
    """Return the seconds of each case with each kind of listener, in this process."""
    from benchmarks.rows.dispatch import seconds
    from minitensor import memory

    profiled = memory.profile(lambda: seconds("minitensor"), show=False)
    with memory.measure():
        measured = seconds("minitensor")
    with memory.record(limit=1000):
        recorded = seconds("minitensor")
    return {"measure": measured, "profile": profiled(), "record": recorded}


def table(found: dict[str, dict[str, float]], watched: dict[str, dict[str, float]]) -> str:
    """Return the figures as text, in nanoseconds."""
    older = [name for name in found if name not in ("with", "no devices", "bare")]
    heads = ["now", "devices", "limit", "counters", *(f"over {name}" for name in older), *watched]
    lines = [" " * 22 + "".join(f"{head:>14}" for head in heads)]
    for case in CASES:
        ours, without_devices, bare = (found[name][case.name] * 1e9 for name in ("with", "no devices", "bare"))
        limit = LIMITS["allocates" if case.name in ALLOCATING else "in place or a view"]
        line = f"{case.name:22}{ours:14.0f}{ours - without_devices:+14.0f}{limit:14}{without_devices - bare:+14.0f}"
        line += "".join(f"{ours - found[name][case.name] * 1e9:+14.0f}" for name in older)
        lines.append(line + "".join(f"{each[case.name] * 1e9:14.0f}" for each in watched.values()))
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--against", metavar="REVISION", help="an older engine, from the history of this repository")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = fastest(engines(Path(folder), options.against), options.rounds)
    watched = with_listeners()
    print("3x4 float32, nanoseconds: an operation now; the time that devices add to it, and its limit; the time that")
    print("counters and events add; and an operation while a measure, a profile or a recording is open")
    print(table(found, watched))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "rounds": options.rounds,
        "seconds": found,
        "seconds with a listener": watched,
    }
    RESULT.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
