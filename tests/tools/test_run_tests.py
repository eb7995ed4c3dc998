"""Test the command that runs tests on several processes: it runs each test once and reports every failure."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import run_tests
from tools.build import ROOT

#: An environment in which pytest loads no installed plugin, because their import takes longer than these runs.
BARE = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def project(tmp_path):
    """Return a function that writes files of tests to a separate project with the same tools, and runs them."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n')
    (tmp_path / "tests").mkdir()

    def run(files: dict[str, str], *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            (tmp_path / "tests" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "tests" / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "tools/run_tests.py", "-j2", *arguments]
        environment = {**BARE, **environment}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    return run


NOTE = "import pathlib\ndef note(name):\n    with pathlib.Path('ran').open('a') as ran: ran.write(name + '\\n')\n"
MANY = NOTE + "import pytest\n@pytest.mark.parametrize('n', range(7))\ndef test_many(n): note(f'many {n}')\n"


def test_every_test_runs_once_even_if_its_file_is_divided_into_shares(project, tmp_path):
    files = {f"test_{name}.py": f"{NOTE}def test_it(): note('{name}')\n" for name in "abcdef"}
    done = project({**files, "test_many.py": MANY, "longest.txt": "# head\n  99 tests/test_many.py\n"})
    assert done.returncode == 0, done.stdout + done.stderr
    ran = (tmp_path / "ran").read_text().splitlines()
    assert sorted(ran) == [*"abcdef", *(f"many {n}" for n in range(7))]
    assert "13 passed" in done.stdout.splitlines()[-1]
    assert "tests/test_many.py (4 of 4)" in done.stdout


def test_all_files_of_a_process_share_the_fixtures_of_the_session_and_the_folder(project, tmp_path):
    shared = (
        "import os\n\n@pytest.fixture(scope='session')\ndef once():\n    note('up ' + str(os.getpid()))\n    yield\n"
    )
    conftest = f"{NOTE}import pytest\n{shared}    note('down ' + str(os.getpid()))\n"
    files = {f"part/test_{name}.py": "def test_it(once): pass\n" for name in "abcdef"}
    done = project({"part/conftest.py": conftest, **files})
    assert "6 passed" in done.stdout.splitlines()[-1], done.stdout
    ran = (tmp_path / "ran").read_text().splitlines()
    assert len(ran) == len(set(ran)) <= 4


def test_options_after_two_dashes_are_passed_to_pytest(project, tmp_path):
    done = project({"test_many.py": MANY, "test_other.py": "def test_other(): assert False"}, "--", "-k", "many and 3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "ran").read_text() == "many 3\n"


NOTE_WHERE = (
    "import shared, pathlib\ndef test_it():\n    note(shared.__cached__, pathlib.Path(shared.__cached__).exists())\n"
)


@pytest.mark.parametrize("forbidden", ["1", ""])
def test_processes_share_compiled_modules_but_not_beside_the_sources_if_that_is_forbidden(project, tmp_path, forbidden):
    (tmp_path / "shared.py").write_text("value = 1\n")
    noting = NOTE.replace("name + '\\n'", "f'{name} {there}\\n'").replace("(name)", "(name, there)")
    files = {f"test_{name}.py": noting + NOTE_WHERE for name in "abc"}
    given = {"PYTHONDONTWRITEBYTECODE": forbidden, "PYTHONPYCACHEPREFIX": "", "PYTHONPATH": str(tmp_path)}
    done = project(files, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    (reported,) = set((tmp_path / "ran").read_text().splitlines())
    where, there = reported.rsplit(maxsplit=1)
    assert there == "True"
    assert Path(where).exists() == (not forbidden) == Path(where).is_relative_to(tmp_path)


def test_a_failure_is_printed_at_once_and_again_at_the_end(project):
    done = project({"test_bad.py": "def test_bad():\n    one = 1\n    assert one == 2\n", "test_good.py": MANY})
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines.index("FAILED tests/test_bad.py::test_bad") < lines.index("E       assert 1 == 2")
    assert "1 failed, 7 passed" in lines[-1]


@pytest.mark.parametrize("text", ["import nothing_of_this_name", "def test_it(fixture_of_no_name): pass", "1 +"])
def test_a_file_that_cannot_be_imported_and_a_test_that_cannot_be_set_up_are_errors(project, text):
    done = project({"test_bad.py": text, "test_good.py": MANY})
    assert done.returncode == 1
    assert re.search(r"1 error, 7 passed", done.stdout.splitlines()[-1]), done.stdout
    assert "FAILED tests/test_bad.py" in done.stdout


def test_a_process_that_dies_is_named_with_its_test_and_the_others_continue(project, tmp_path):
    ends = {
        "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        "crashed": ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        "ended": ("os._exit(0)", "ended with status 0"),
    }
    dying = {
        f"test_a_{name}.py": f"import os, signal\ndef test_last():\n    {end}\n" for name, (end, _) in ends.items()
    }
    files = {f"test_{name}.py": f"{NOTE}def test_it(): note('{name}')\n" for name in "bcdef"}
    done = project({**dying, **files}, "-j4")  # one process more than the three that die
    assert done.returncode == 1
    reported = {line for line in done.stdout.splitlines() if line.startswith("LOST")}
    assert len(reported) == len(ends), reported
    for name, (_, how) in ends.items():
        path = rf"tests/test_a_{name}\.py"
        rest = rf"The tests of {path} that came after it were not run\."
        line = rf"LOST process \d {how} while it ran {path}::test_last\. {rest}"
        assert [each for each in reported if re.fullmatch(line, each)] != [], (line, reported)
    assert sorted((tmp_path / "ran").read_text().split()) == [*"bcdef"]


def test_a_test_that_hangs_is_ended_and_its_line_is_shown(project, tmp_path):
    settings = (tmp_path / "pyproject.toml").read_text()
    real = (ROOT / "pyproject.toml").read_text()
    for line in re.findall(r"^faulthandler_.*$", real, re.MULTILINE):
        settings += re.sub("= [0-9]+", "= 1", line) + "\n"
    (tmp_path / "pyproject.toml").write_text(settings)
    done = project({"test_hanging.py": "import time\ndef test_it():\n    time.sleep(200)\n", "test_many.py": MANY})
    assert done.returncode == 1
    assert "while it ran tests/test_hanging.py::test_it" in done.stdout
    assert re.search(r"test_hanging\.py\", line 3 in test_it", done.stdout), done.stdout
    assert "7 passed" in done.stdout.splitlines()[-1]


def test_the_running_files_and_their_times_are_printed_regularly(project, tmp_path):
    """Two files run until the line is printed, and a third file waits for a process."""
    waiting = "import pathlib, select\ndef test_it():\n    while not pathlib.Path('seen').exists():\n"
    waiting += "        select.select([], [], [], 0.01)\n"
    files = {"test_a.py": waiting, "test_b.py": waiting, "test_c.py": "def test_it(): pass\n"}
    for name, text in files.items():
        (tmp_path / "tests" / name).write_text(text)
    command = [sys.executable, "tools/run_tests.py", "-j2", "--every", "0.2"]
    with subprocess.Popen(command, cwd=tmp_path, env=BARE, stdout=subprocess.PIPE, text=True) as run:
        both = r"after \d+ s: tests/test_[ab]\.py for \d+ s, tests/test_[ab]\.py for \d+ s; 1 to come\n"
        assert any(re.fullmatch(both, line) for line in iter(run.stdout.readline, ""))
        (tmp_path / "seen").touch()
        reported, _ = run.communicate(timeout=300)
    assert run.returncode == 0 and "3 passed" in reported.splitlines()[-1]


def test_files_that_did_not_run_because_every_process_died_are_named(project):
    dying = "import os\ndef test_last(): os._exit(3)\n"
    done = project({f"test_{name}.py": dying for name in "abcd"})
    assert done.returncode == 1
    assert "LOST tests/test_c.py was not run: no process was left." in done.stdout
    assert "LOST tests/test_d.py was not run: no process was left." in done.stdout


def test_a_run_without_a_test_fails(project):
    assert project({"test_many.py": MANY}, "--", "-k", "nothing").returncode == 1
    done = project({}, "tests/nowhere")
    assert done.returncode == 1
    assert "tests/nowhere is neither a file nor a folder of tests" in done.stderr


def test_a_run_that_is_interrupted_ends_all_its_processes(project, tmp_path):
    slow = "import os, time\ndef test_slow():\n    open(f'{os.getpid()}.pid', 'w').close()\n    time.sleep(99)\n"
    for name in ("a", "b"):
        (tmp_path / "tests" / f"test_{name}.py").write_text(slow)
    # Like background jobs of a shell, this process would otherwise ignore interrupts.
    own = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    own += "runpy.run_path('tools/run_tests.py', run_name='__main__')"
    command = [sys.executable, "-c", own, "-j2"]
    with subprocess.Popen(command, cwd=tmp_path, env=BARE, stdout=subprocess.PIPE, text=True) as run:
        while len(list(tmp_path.glob("*.pid"))) < 2:
            assert run.poll() is None
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        reported, _ = run.communicate(timeout=300)
    assert run.returncode == 130
    assert reported.splitlines()[-1] == "interrupted"
    for path in tmp_path.glob("*.pid"):
        assert not Path(f"/proc/{path.stem}").exists()


def test_long_files_run_first_and_very_long_ones_are_divided_into_shares():
    given = run_tests.units(["tests"])
    took = run_tests.longest()
    first = [path.startswith(run_tests.FIRST) for path, _, _ in given]
    assert first == sorted(first, reverse=True) and sum(first) > len(run_tests.FIRST)
    each = [took.get(path, 0) / shares for path, _, shares in given[sum(first) :]]
    assert each == sorted(each, reverse=True)
    assert max(each) <= run_tests.SHARE
    assert {path for path, _, _ in given} == {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")
    }


def test_the_files_that_are_listed_as_long_exist():
    assert [path for path in run_tests.longest() if not (ROOT / path).is_file()] == []


def test_the_option_operation_selects_the_tests_that_have_this_operation_as_parameter():
    def collected(*more: str) -> set[str]:
        file = "tests/minitensor/engine/test_in_place.py"
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", file, *more]
        reported = subprocess.check_output(command, cwd=ROOT, env=BARE, text=True)
        return set(re.findall(r"^tests\S+$", reported, re.MULTILINE))

    of_sin, of_all = collected("--operation", "sin"), collected()
    assert of_sin == {test for test in of_all if re.search(r"[\[-]sin_?[\]-]", test)} != set()


def test_an_unknown_operation_is_refused():
    command = [sys.executable, "-m", "pytest", "--operation", "sine", "tests/minitensor/engine"]
    done = subprocess.run(command, cwd=ROOT, env=BARE, capture_output=True, text=True)
    assert done.returncode == 4 and "no operation of that name" in done.stderr
