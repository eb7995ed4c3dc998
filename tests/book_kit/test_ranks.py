"""Test running cells on several ranks: their output, the record that replaces MPI, and lost ranks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import minitensor as mt
from book_kit import ranks
from book_kit.magics.ranks_magic import RanksMagic, joined
from book_kit.ranks.cluster import _Ends
from tests.support.chapters.chapter import FOLDER, ROOT, Chapter
from tests.support.waiting import until

RECORD = ROOT / "facts" / "ranks.json"
KILLED = "import os, signal\nif rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.barrier()"


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Start four ranks for all tests of this file."""
    if missing := ranks.why_not():
        pytest.skip(f"{missing}: pip install ipyparallel mpi4py mpich")
    ranks.start(4)
    yield ranks
    ranks.stop()


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.register_magics(RanksMagic)
    yield shell
    shell.reset()


@pytest.fixture
def written(tmp_path):
    """Write a record of two programs, in the form that `save` writes, and return its file."""
    said = {
        ranks.key_of("print(rank)", 2): {"said": [{"printed": f"{r}\n", "value": r, "error": None} for r in range(2)]},
        ranks.key_of("leave()", 2): {"lost": [1], "text": "Rank 1 ended while the cell ran. All are ended."},
    }
    file = tmp_path / "ranks.json"
    file.write_text(json.dumps({"with": "mpich 5", "date": "2026-01-02", "programs": said}))
    return file


@pytest.fixture
def without_mpi(monkeypatch):
    """Simulate a machine without mpi4py. The ranks of the other tests are restored afterwards."""
    monkeypatch.setattr(ranks, "_state", ranks._State())
    monkeypatch.setattr(ranks, "_missing", lambda: "mpi4py is not installed")


# ---- with ranks ------------------------------------------------------------------------------------------------------


def test_a_program_runs_on_the_requested_number_of_ranks(four):
    source = "x = mt.ones([2]) * (rank + 1.0)\ndist.all_reduce(x)\nprint(rank, size)\nx.tolist()"
    for count in (1, 2, 4):
        answers = four.run(source, count)
        assert [each.value for each in answers] == [[sum(range(1, count + 1))] * 2] * count
        assert [each.printed for each in answers] == [f"{rank} {count}\n" for rank in range(count)]


def test_names_that_a_cell_binds_on_the_ranks_exist_in_later_cells(four):
    four.run("mine = rank * 10")
    assert [each.value for each in four.run("mine + 1")] == [1, 11, 21, 31]


def test_an_error_mentions_its_rank(four, shell):
    with pytest.raises(RuntimeError, match=r"failed on 1 of 2 ranks\n  rank 0: ZeroDivisionError"):
        shell.run_cell_magic("ranks", "2", "1 / rank")
    with pytest.raises(ValueError, match="must be from 1 to 4, not 5"):
        four.run("rank", 5)


def test_values_of_the_ranks_are_assigned_in_the_notebook(four, shell):
    shell.run_cell_magic("ranks", "3 --into squares", "rank ** 2")
    assert shell.user_ns["squares"] == [0, 1, 4]


def test_without_mpi_the_recorded_answers_are_returned(four, tmp_path, monkeypatch):
    before = four.run("print('rank', rank)\nsize", 2)
    four.save(tmp_path / "ranks.json")
    monkeypatch.setattr(ranks, "_state", ranks._State())
    monkeypatch.setattr(ranks, "_missing", lambda: "mpi4py is not installed")
    ranks.start(4, recorded=tmp_path / "ranks.json")
    assert ranks.run("print('rank', rank)\nsize", 2) == before


def without_checksums(printed: str) -> str:
    """Replace different checksums by 0, 1, ..., because the last bits of trained weights depend on the processor."""
    seen: dict[str, str] = {}
    return re.sub(r"checksum \w+", lambda found: seen.setdefault(found[0], f"checksum {len(seen)}"), printed)


def test_the_recorded_programs_of_the_chapter_print_the_recorded_text_again(four):
    """Each recorded program prints the recorded text again, except for the digits of checksums."""
    programs = json.loads(RECORD.read_text(encoding="utf-8"))["programs"].values()
    with_output = 0
    for entry in programs:
        if "said" in entry:
            answers = four.run(entry["source"], entry["ranks"])
            assert [each.error for each in answers] == [None] * entry["ranks"]
            printed = [without_checksums(each.printed) for each in answers]
            assert printed == [without_checksums(each["printed"]) for each in entry["said"]]
            with_output += any(each.printed for each in answers)
    assert with_output >= 3


def test_a_killed_rank_is_named_and_no_process_remains(four):
    """This is the last test with these ranks, because it ends them."""
    pids = list(ranks._state.cluster.pids)
    controller = ranks._state.cluster._cluster.controller.pid
    with pytest.raises(ranks.RankLostError, match="Rank 1 ended while the cell ran") as lost:
        four.run(KILLED)
    assert lost.value.ranks == [1]
    assert len(pids) == 4
    assert not any(is_running(pid) for pid in (*pids, controller))
    with pytest.raises(RuntimeError, match="have been stopped"):
        four.run("rank")


needs_reports = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="only Linux reports in which order processes end"
)


@needs_reports
def test_the_process_that_ended_first_is_known_even_after_others_have_ended():
    programs = [subprocess.Popen(["sleep", "60"]) for _ in range(4)]
    ends = _Ends([each.pid for each in programs])
    assert ends.first_of([0, 1, 2, 3]) == []
    for which in (2, 0, 3):
        programs[which].kill()
        programs[which].wait()
    assert ends.first_of([0, 2, 3]) == [2]
    assert ends.first_of([0, 3]) == [0]
    assert ends.first_of([1]) == []
    programs[1].kill()
    programs[1].wait()
    assert ends.first_of([1]) == [1]
    ends.close()


#: A program whose first thread ends, so that its process is a zombie, although a second thread runs.
FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@needs_reports
def test_a_process_with_a_thread_that_runs_has_not_ended():
    """mpiexec kills the other ranks when it notices that a process has ended. The first threads of the killed
    processes may then end before that process is reported.
    """
    programs = [subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS]), subprocess.Popen(["sleep", "60"])]
    ends = _Ends([each.pid for each in programs])
    try:
        assert until(lambda: not is_running(programs[0].pid))
        assert ends.first_of([0, 1]) == []
        programs[1].kill()
        programs[1].wait()
        assert ends.first_of([0, 1]) == [1]
    finally:
        for each in programs:
            each.kill()
            each.wait()
        ends.close()


def test_without_reports_all_processes_that_have_ended_are_named(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    programs = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    ends = _Ends([each.pid for each in programs])
    assert ends.first_of([0, 1, 2]) == []
    for which in (2, 0):
        programs[which].kill()
        programs[which].wait()
    assert ends.first_of([0, 1, 2]) == [0, 2]
    programs[1].kill()
    programs[1].wait()
    ends.close()


def is_running(pid: int) -> bool:
    """True if the process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


ONE_ALONE = """
import json, os, signal, sys
from book_kit import ranks
from book_kit.ranks.cluster import _Ends
ranks.start(1)
try:
    ranks.run("import time; time.sleep(60)", timeout=0.5)
except ranks.RankLostError as error:
    late = str(error)
ranks.start(1)
cluster = ranks._state.cluster
print(json.dumps([late, *cluster.pids, cluster._cluster.controller.pid]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_rank_that_does_not_finish_is_named_and_no_rank_outlives_its_notebook():
    if missing := ranks.why_not():
        pytest.skip(f"{missing}: pip install ipyparallel mpi4py mpich")
    program = subprocess.run([sys.executable, "-c", ONE_ALONE], stdout=subprocess.PIPE, text=True, check=False)
    late, *pids = json.loads(program.stdout)
    assert late == "Rank 0 did not finish in 0.5 s. All are ended."
    # the process of a rank checks once a second if its notebook is running
    assert until(lambda: not any(map(is_running, pids))), [pid for pid in pids if is_running(pid)]


# ---- without ranks ---------------------------------------------------------------------------------------------------


def test_a_cell_shows_the_record_and_says_that_it_is_recorded(without_mpi, written, shell, capsys):
    assert str(ranks.start(4, recorded=written)).startswith("Recorded: mpich 5, on 2026-01-02. Here mpi4py is not")
    shell.run_cell_magic("ranks", "2 --into numbers", "print(rank)")
    assert shell.user_ns["numbers"] == [0, 1]
    shell.run_cell_magic("ranks", "2 --loses 1", "leave()")
    printed = capsys.readouterr().out
    assert "2 ranks, recorded with mpich 5, on 2026-01-02" in printed
    assert "rank 0: 0\nrank 1: 1" in printed
    assert "Rank 1 ended while the cell ran" in printed


def test_a_program_that_is_not_in_the_record_raises_an_error(without_mpi, written):
    ranks.start(4, recorded=written)
    for source, count in (("print(rank + 1)", 2), ("print(rank)", 4)):
        with pytest.raises(RuntimeError, match="does not contain this program"):
            ranks.run(source, count)


def test_without_mpi_and_record_the_message_says_how_to_install_it(without_mpi):
    with pytest.raises(ImportError, match=r"mpi4py is not installed.*pip install ipyparallel mpi4py mpich"):
        ranks.start(2)
    with pytest.raises(RuntimeError, match="no ranks have been started"):
        ranks.run("rank")


def test_the_message_mentions_the_missing_package(monkeypatch):
    monkeypatch.setattr(ranks.importlib.util, "find_spec", lambda name: None if name == "mpi4py" else object())
    assert ranks.why_not() == "mpi4py is not installed"
    monkeypatch.setattr(ranks.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(ranks.shutil, "which", lambda *args, **named: None)
    assert ranks.why_not() == "there is no mpiexec"
    monkeypatch.setattr(sys, "platform", "win32")
    assert "Windows" in ranks.why_not()


@pytest.mark.parametrize(
    "printed, right",
    [
        (["a\n", "a\n"], "all ranks: a"),
        (["a\nb\n", "a\nb\n"], "all ranks:\n  a\n  b"),
        (["a\n", "b\n", "a\n"], "ranks 0, 2: a\nrank 1: b"),
        (["a\n", "", ""], "rank 0: a"),
        (["a\n"], "a"),
        (["", ""], ""),
    ],
)
def test_ranks_that_print_the_same_are_grouped(printed, right):
    assert joined(printed) == right


def test_a_cell_that_expects_to_lose_a_rank_fails_if_it_loses_none_or_another(without_mpi, written, shell):
    ranks.start(4, recorded=written)
    with pytest.raises(AssertionError, match="has to lose rank 0, but all 2 ranks answered"):
        shell.run_cell_magic("ranks", "2 --loses 0", "print(rank)")
    with pytest.raises(AssertionError, match=r"has to lose rank 0, but it lost \[1\]"):
        shell.run_cell_magic("ranks", "2 --loses 0", "leave()")


@pytest.mark.parametrize("line", ["many", "2 --out x", "2 'open"])
def test_invalid_arguments_of_the_magic_are_refused(shell, line):
    with pytest.raises(UsageError, match="%%ranks"):
        shell.run_cell_magic("ranks", line, "rank")


def test_the_chapter_about_ranks_runs_from_its_record(without_mpi, monkeypatch, capsys):
    """Every program of the chapter is recorded word for word, and the page says that it is a record."""
    monkeypatch.chdir(FOLDER)
    shell = InteractiveShell()
    try:
        for cell in Chapter.read("14_many_ranks").code:
            shell.run_cell(cell.source).raise_error()
    finally:
        mt.set_device("cpu")
    said = capsys.readouterr().out
    assert said.count("4 ranks, recorded with mpich") >= 5
    assert "Expected error, recorded with mpich" in said
    assert "Recorded: mpich" in said
    assert "rank 2 differs" in said
