"""Test the text of an explanation of a whole run."""

from __future__ import annotations

from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.one_screen import as_text
from memory_stage.watch.lines import ProgramLine


def test_control_characters_of_names_messages_and_source_are_escaped(tmp_path):
    hostile = "\x1b[2J\x1b]0;owned\x07\u202e\r"
    program = tmp_path / f"a{hostile[:4]}.py"
    program.write_text(f"x = 1  # {hostile}\ny = 2\n", encoding="utf-8", newline="")
    line = ProgramLine(str(program), 1, "<module>")
    fix = Fix(f"Do {hostile}.", str(program), (Edit(2, 1, (f"y = 3  # {hostile}",)),))
    fault = Fault("overwritten", f"`{hostile}` is overwritten.", (Evidence(line, f"saves {hostile}"),), hostile, (fix,))
    text = as_text([fault], [f"{hostile} was not watched."], hostile)
    assert "\\x1b[2J" in text and "\\u202e" in text
    assert all(character == "\n" or character.isprintable() for character in text)


def test_a_long_line_is_cut_and_ends_with_three_dots(tmp_path):
    program = tmp_path / "long.py"
    program.write_text(f"x = {'1 + ' * 40}1\n", encoding="utf-8")
    fault = Fault("leak", "Something.", (Evidence(ProgramLine(str(program), 1, "<module>"), "adds"),))
    (row,) = [line for line in as_text([fault], []).splitlines() if "# adds" in line]
    assert row.endswith("...  # adds") and len(row) < 80
