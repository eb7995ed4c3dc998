"""Test the logs of a watched program (lines, nodes and writes). No test needs a framework."""

from __future__ import annotations

import sys

from memory_stage.watch import node_log, write_log
from memory_stage.watch.lines import UNKNOWN_LINE, Lines, ProgramLine
from memory_stage.watch.node_log import BackwardPass, NodeLog
from memory_stage.watch.paddle.graph_log import GraphLog, LoggedNode
from memory_stage.watch.write_log import WriteLog


def test_the_line_of_a_function_is_found_even_if_a_builtin_called_the_function():
    lines = Lines()
    frame = sys._getframe()
    number = lines.number_of(frame)
    found = lines[number]
    assert (found.file, found.function) == (
        __file__,
        "test_the_line_of_a_function_is_found_even_if_a_builtin_called_the_function",
    )
    assert "lines.number_of(frame)" in found.text
    seen = []
    sorted([2, 1], key=lambda n: seen.append(lines.number_of(sys._getframe())) or n)
    assert lines[seen[0]].function == "<lambda>" and seen[0] == seen[1] != number
    assert lines[lines.number_of(None)] == UNKNOWN_LINE and UNKNOWN_LINE.text == ""


def test_a_call_inside_this_package_gets_the_line_of_the_programs_call():
    lines = Lines()
    names = {"__name__": "memory_stage.watch.example", "sys": sys, "lines": lines}
    exec(compile("def ask():\n    return lines.number_of(sys._getframe())", __file__, "exec"), names)
    assert lines[names["ask"]()].function == "test_a_call_inside_this_package_gets_the_line_of_the_programs_call"
    names["__name__"] = "program"
    exec(compile("def ask_again():\n    return lines.number_of(sys._getframe())", __file__, "exec"), names)
    assert lines[names["ask_again"]()] == ProgramLine(__file__, 2, "ask_again")


def test_a_node_belongs_to_the_line_of_the_last_entry_that_begins_at_or_before_it():
    log = NodeLog()
    assert log.find(3) == (0, node_log.NO_TIME)
    log.add(0, 3, 5, 0)
    log.add(3, 4, 7, 2)
    assert log.find(0) == log.find(2) == (5, 0)
    assert log.find(3) == (7, 2) and log.find(4) == (0, node_log.NO_TIME)


def test_a_node_between_two_entries_has_no_line_and_the_time_of_the_later_entry():
    log = NodeLog()
    log.add(0, 3, 5, 0)
    log.add(6, 7, 8, 4)
    assert log.find(2) == (5, 0) and log.find(3) == log.find(5) == (0, 4) and log.find(6) == (8, 4)


def test_the_node_log_merges_the_nodes_of_one_line_until_a_write_changes_the_time():
    log = NodeLog()
    for sequence in range(100):
        log.add(sequence, sequence + 1, 5, 0)
    assert len(log) == 1
    log.add(100, 101, 5, 1)
    assert len(log) == 2 and log.find(99) == (5, 0) and log.find(100) == (5, 1)


def test_the_node_log_drops_the_older_half_of_its_entries_at_its_limit(monkeypatch):
    monkeypatch.setattr(node_log, "MOST_ENTRIES", 10)
    log = NodeLog()
    for sequence in range(11):
        log.add(sequence, sequence + 1, sequence, sequence)
    assert len(log) == 6 and log.find(4) == (0, node_log.NO_TIME) and log.find(5) == (5, 5) and log.find(10) == (10, 10)


def test_the_write_log_merges_the_writes_of_a_line_and_stores_the_first_and_last_time():
    log = WriteLog()
    for time in range(1, 1001):
        log.add(1, time % 2, "add_", time, time)
    odd, even = log.since(1, 0)
    assert (odd.line, odd.count, odd.first, odd.last, odd.version) == (1, 500, 1, 999, 999)
    assert (even.line, even.count, even.first, even.last, even.version) == (0, 500, 2, 1000, 1000)
    assert log.since(1, 999) == [even] and log.since(1, 1000) == [] and log.since(2, 0) == []


def test_the_write_log_stores_the_time_of_the_last_write_that_no_version_counted():
    log = WriteLog()
    log.add(1, 4, "add_", 1, 1)
    assert log.last_uncounted == -1
    log.add(1, 4, "add_", 2, 1, is_counted=False)
    assert log.last_uncounted == 2 and [each.is_counted for each in log.since(1, 0)] == [True, False]


def test_the_write_log_drops_the_storage_and_the_line_that_were_written_longest_ago(monkeypatch):
    monkeypatch.setattr(write_log, "MOST_STORAGES", 3)
    monkeypatch.setattr(write_log, "MOST_LINES", 2)
    log = WriteLog()
    for time, storage in enumerate((1, 2, 3, 1, 4), 1):
        log.add(storage, 0, "add_", time, time)
    assert sorted(log) == [1, 3, 4]
    for time, line in enumerate((0, 1, 0, 2), 10):
        log.add(4, line, "mul_", time, time)
    assert [each.line for each in log.since(4, 9)] == [0, 2]


def test_a_node_log_grows_by_20_bytes_an_entry_up_to_its_limit(monkeypatch):
    log = NodeLog()
    columns = (log._first, log._line, log._time)
    assert sum(column.itemsize for column in columns) == 20
    monkeypatch.setattr(node_log, "MOST_ENTRIES", 1000)
    sizes = []
    for node in range(5000):
        log.add(node, node + 1, 1 + node % 2, node)
        sizes.append(sum(len(column) * column.itemsize for column in columns))
    assert sizes[999] == 20_000 == max(sizes) and min(sizes[1000:]) == 10_020


def test_a_new_node_of_paddle_replaces_the_freed_node_at_its_address():
    log = GraphLog()
    old, new = (LoggedNode("ExpGradNode", "exp", "", line, 0, line, {}, {}, 0) for line in (1, 2))
    log.add(64, old)
    passed = BackwardPass(3, 0, 2, keeps_graph=False)
    log.free(64, passed)
    assert log.find(64) is None and log.find_freed(64) is old and old.freed_by is passed
    log.add(64, new)
    assert log.find(64) is new and log.find_freed(64) is None
