"""Test the benchmarks: every program runs, all libraries compute the same, the arithmetic of the table is right.

No test here measures time.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from benchmarks import report, running
from benchmarks.__main__ import RECORD, SUBJECTS, options
from benchmarks.peers import PEERS, Library
from benchmarks.running import Failed, measure
from benchmarks.table import Curve, Limit, Ratio, fit_line

pytestmark = pytest.mark.cpu_only

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "benchmarks/record.schema.json").read_text())
HERE = [Library(name, sys.executable, {"python": "3"}) for name in ("minitensor", "numpy")]


# ---------- the programs ----------

EVERY_PROGRAM = """
import importlib, json, sys
from benchmarks import worker
found = {}
for name in sys.argv[1:]:
    subject = importlib.import_module(f"benchmarks.rows.{name}")
    for library in ("minitensor", "numpy"):
        if library in (subject.FIGURES if hasattr(subject, "FIGURES") else subject.PROGRAMS):
            figures = found.setdefault(name, {})[library] = {}
            for part in getattr(subject, "PARTS", [None]):
                figures |= worker.seconds(subject, library, *filter(None, [part]))
            if hasattr(subject, "PEAKS"):
                figures |= worker.peaks(subject, library)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def quick() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Run all programs of minitensor and numpy once on small tensors. Keys of the figures: subject, library, name."""
    environment = {**os.environ, "MINITENSOR_BENCH_QUICK": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", EVERY_PROGRAM, *SUBJECTS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        subject: {library: {name: [each] for name, each in figures.items()} for library, figures in libraries.items()}
        for subject, libraries in found.items()
    }


def rows_of(subject: str) -> list:
    return importlib.import_module(f"benchmarks.rows.{subject}").ROWS


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_row_names_a_figure_that_is_measured(quick, subject):
    for row in rows_of(subject):
        if isinstance(row, Ratio) and row.of in PEERS:
            continue  # only another library measures this, and it may not be installed
        if isinstance(row, Ratio) and row.over in PEERS:
            # The other library may not be installed, so only minitensor's figure has to exist.
            assert (row.ours or row.name) in quick[subject]["minitensor"], row
        else:
            assert row.line(quick[subject]) is not None, row


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_library_of_a_row_has_programs(subject):
    module = importlib.import_module(f"benchmarks.rows.{subject}")
    programs = module.FIGURES if hasattr(module, "FIGURES") else module.PROGRAMS
    assert {row.over for row in module.ROWS if isinstance(row, Ratio)} <= set(programs)
    assert set(programs) <= {"minitensor", "numpy", *PEERS}


@pytest.mark.parametrize("subject", ["mlp", "cnn"])
def test_networks_written_by_hand_and_with_layers_have_the_same_loss(quick, subject):
    (by_hand,) = quick[subject]["numpy"]["step, result"]
    (ours,), (layers,) = (quick[subject]["minitensor"][f"{name}, result"] for name in ("step", "step with layers"))
    assert ours == pytest.approx(by_hand, rel=1e-4)
    assert layers == pytest.approx(by_hand, rel=1e-4)
    assert 0 < by_hand < 2  # the network has learned: guessing among ten classes gives 2.3


def test_limits_that_do_not_depend_on_time_or_size_hold(quick):
    for subject in ("held", "collector"):
        for row in rows_of(subject):
            if row.name.endswith(
                ("tensor bytes a step", "objects in cycles", "more than Paddle or PyTorch", "all together")
            ):
                line = row.line(quick[subject])
                assert line.met, (subject, line)


# ---------- the arithmetic of the table ----------


def test_each_round_has_a_ratio_and_their_median_is_compared_with_the_target():
    figures = {"minitensor": {"add": [2.0, 9.0, 3.0]}, "torch": {"add": [4.0, 10.0, 3.0]}}
    line = Ratio("add", over="torch", most=0.9).line(figures)
    assert (line.ratio.median, line.ratio.low, line.ratio.high) == (0.9, 0.5, 1.0)
    assert (line.ours.median, line.theirs.median) == (3.0, 4.0)
    assert line.met is True
    assert Ratio("add", over="torch", most=0.89).line(figures).met is False
    assert Ratio("add", over="torch").line(figures).met is None


def test_a_row_can_compare_figures_with_different_names():
    figures = {"minitensor": {"with layers": [3.0]}, "numpy": {"by hand": [2.0]}}
    assert Ratio("x", over="numpy", ours="with layers", theirs="by hand").line(figures).ratio.median == 1.5


@pytest.mark.parametrize("ours, ratio", [(0, 1.0), (5, float("inf"))])
def test_the_ratio_of_zero_bytes_to_zero_bytes_is_1_and_any_other_ratio_to_zero_is_infinite(ours, ratio):
    line = Ratio("peak", over="numpy", most=1.0).line({"minitensor": {"peak": [ours]}, "numpy": {"peak": [0]}})
    assert line.ratio.median == ratio
    assert line.met is (ours == 0)


@pytest.mark.parametrize(
    "figures", [{}, {"minitensor": {"add": [1.0]}}, {"torch": {"add": [1.0]}}, {"minitensor": {}, "torch": {}}]
)
def test_a_figure_that_was_not_measured_has_no_row(figures):
    assert Ratio("add", over="torch").line(figures) is None
    assert Curve("add", "s", "byte").line(figures) is None
    assert Limit("mul", "s").line(figures) is None


def test_a_figure_that_equals_its_limit_meets_it():
    figures = {"minitensor": {"bytes": [0, 0, 1]}}
    assert Limit("bytes", "bytes", most=0).line(figures).met is True
    assert Limit("bytes", "bytes", most=0).line({"minitensor": {"bytes": [1]}}).met is False


def test_a_straight_line_is_fitted_exactly_for_points_of_any_spacing():
    points = [(10.0**k, 3e-7 + 2e-10 * 10.0**k) for k in range(1, 9)]
    assert fit_line(points) == pytest.approx((3e-7, 2e-10))
    points[3] = (points[3][0], points[3][1] * 10)  # an outlier by a factor of 10 changes the line by a factor below 3
    assert fit_line(points)[0] / 3e-7 < 3 and 1 < fit_line(points)[1] / 2e-10 < 3


def test_a_fitted_line_does_not_begin_below_0_and_the_farthest_point_is_reported():
    figures = {"minitensor": {f"t @ {x}": [2 * y, y] for x, y in ((1, 1.0), (10, 20.0), (100, 200.0))}}
    curve = Curve("t", "s", "byte").line(figures)
    assert curve.points == ((1, 1.0), (10, 20.0), (100, 200.0))  # each point has the smallest figure of the rounds
    # The line begins at 0, so its slope is the geometric mean of 1, 2 and 2.
    assert curve.fixed == pytest.approx(0, abs=1e-6)
    assert curve.slope == pytest.approx(4 ** (1 / 3))
    assert curve.worst == pytest.approx(1 - 1 / 4 ** (1 / 3), abs=0.3)


def test_bytes_that_are_always_0_fit_a_line():
    figures = {"minitensor": {f"b @ {x}": [0] for x in (1, 10, 100)}}
    curve = Curve("b", "bytes", "byte").line(figures)
    assert (curve.fixed, curve.slope, curve.worst) == (0, 0, 0)


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (1.274e-6, "s", "1.27 us"),
        (4.6e-8, "s", "46.0 ns"),
        (0.0155, "s", "15.5 ms"),
        (123.4, "s", "123 s"),
        (0, "s", "0"),
        (4_000_000, "bytes", "3.81 MiB"),
        (225, "bytes", "225 B"),
        (69, "operations", "69"),
    ],
)
def test_figures_are_shown_with_three_digits_in_a_unit_that_suits_them(value, unit, text):
    assert report.shown(value, unit) == text


def test_the_summary_counts_targets_and_names_those_that_are_missed():
    figures = {"minitensor": {"add": [1.0], "sub": [1.0], "mul": [1.0]}, "torch": {"add": [2.0], "sub": [0.5]}}
    rows = Ratio("add", "torch", 0.6), Ratio("sub", "torch", 1.5), Ratio("sub", "torch"), Limit("mul", "s", 2.0)
    text = report.summary({"small": [row.line(figures) for row in rows]})
    assert text.splitlines() == ["2 of 3 targets are met", "missed:", "  small: sub over torch: 2x, target 1.5x"]


# ---------- processes ----------


@pytest.fixture
def answers(monkeypatch):
    """Return a function that takes the figures or the failure of each library, and returns a list of the later calls.

    The benchmark then uses these figures and failures, and starts no process.
    """
    calls = []

    def answer(figures: dict) -> list:
        def once(subject: str, library: Library, *more: str) -> dict[str, float]:
            calls.append((library.name, *more))
            given = figures[library.name]
            if isinstance(given, Exception):
                raise given
            return given

        monkeypatch.setattr(running, "once", once)
        return calls

    return answer


def test_every_round_runs_all_libraries_and_begins_with_another_library(answers):
    calls = answers({"minitensor": {"add": 1.0}, "numpy": {"add": 2.0}})
    found = measure("million", HERE, 3)
    assert [name for (name,) in calls] == ["minitensor", "numpy", "numpy", "minitensor", "minitensor", "numpy"]
    assert found.figures == {"minitensor": {"add": [1.0] * 3}, "numpy": {"add": [2.0] * 3}}


def test_a_peer_that_fails_is_named_and_left_out(answers):
    calls = answers({"minitensor": {"add": 1.0}, "numpy": {"add": 2.0}, "torch": Failed("RuntimeError: no device")})
    found = measure("million", [*HERE, Library("torch", "python", {})], 2)
    assert found.failures == {"torch": "RuntimeError: no device"}
    assert calls.count(("torch",)) == 1
    text = report.text("additions", [], found.failures)
    assert text.splitlines()[-1] == "  torch did not run: RuntimeError: no device"


def test_a_failure_of_minitensor_ends_the_benchmark(answers):
    answers({"minitensor": Failed("killed by SIGSEGV"), "numpy": {}})
    with pytest.raises(SystemExit, match="million: minitensor failed: killed by SIGSEGV"):
        measure("million", HERE, 1)


def test_libraries_that_compute_different_numbers_are_not_compared(answers):
    answers({"minitensor": {"step, result": 0.5}, "numpy": {"step, result": 0.51}})
    with pytest.raises(SystemExit, match=r"mlp: step, result is 0\.5 in minitensor, 0\.51 in numpy"):
        measure("mlp", HERE, 1)


def test_a_process_that_dies_reports_its_last_line():
    with pytest.raises(Failed, match=r"ModuleNotFoundError: No module named 'benchmarks.rows.nothing'"):
        running.once("nothing", HERE[0])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--rows", "everything"], "invalid choice: 'everything'"),
        (["--rounds", "0"], "--rounds must be 1 or more"),
        (["--record", "--quick"], "--record needs all rows"),
    ],
)
def test_wrong_options_are_refused_with_a_reason(capsys, arguments, message):
    with pytest.raises(SystemExit):
        options(arguments)
    assert message in capsys.readouterr().err


# ---------- records ----------


def test_a_written_record_fits_its_schema(quick):
    subjects = {}
    for name in SUBJECTS:
        lines = [line for row in rows_of(name) if (line := row.line(quick.get(name, {}))) is not None]
        subjects[name] = report.subject(name, lines, {"torch": "killed by SIGSEGV"})
    record = report.record("python -m benchmarks", 1, {library.name: library for library in HERE}, subjects)
    jsonschema.validate(json.loads(json.dumps(record)), SCHEMA)
    assert record["subjects"]["million"]["rows"] and record["subjects"]["curves"]["curves"]


@pytest.mark.skipif(not RECORD.exists(), reason="nothing was recorded yet")
def test_the_recorded_benchmarks_fit_their_schema_and_the_current_rows():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    jsonschema.validate(record, SCHEMA)
    left_out = set(SUBJECTS) - set(record["subjects"])
    assert left_out <= {"recording", "watching"}  # these subjects need another library, or more time
    assert list(record["subjects"]) == [name for name in SUBJECTS if name not in left_out]
    for name, subject in record["subjects"].items():
        today = {(row.name, getattr(row, "over", None)): getattr(row, "most", None) for row in rows_of(name)}
        for row in subject["rows"]:
            assert today[row["name"], row["over"]] == row["most"], row
