"""The steps of `make check`: checks that do not run the code, and the tests that concern the changes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import yaml

from tools import changed, check
from tools.build import ROOT

print_line = print  # the original, for the test that replaces ``print``


def checked(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "tools/check.py", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_a_failing_step_is_named_with_its_output_and_no_test_runs(monkeypatch, capfd):
    steps = {"good": ["python", "--version"], "bad": ["python", "nothing.py"]}
    monkeypatch.setattr(check, "STEPS", steps)
    monkeypatch.setattr(check, "test", lambda *, everything: pytest.fail("tests were run"))
    assert check.main([]) == 1
    reported = capfd.readouterr().out
    assert "good: well" in reported and "bad: failed" in reported and "nothing.py" in reported
    assert reported.splitlines()[-1] == "failed: bad"


@pytest.mark.parametrize("status", [0, 1])
def test_types_are_checked_while_the_tests_run_and_can_fail_the_check(monkeypatch, capfd, status):
    monkeypatch.setattr(check, "STEPS", {"good": ["python", "--version"], "types": ["python", "nothing.py"]})
    monkeypatch.setattr(check, "test", lambda *, everything: print("the tests run") or status)
    assert check.main(["--all"]) == 1
    reported = capfd.readouterr().out
    assert reported.index("good: well") < reported.index("the tests run") < reported.index("types: failed")
    assert reported.splitlines()[-1] == ("failed: types, tests" if status else "failed: types")


def test_a_step_that_takes_long_is_named_while_it_runs(monkeypatch, capfd, tmp_path):
    """The step runs until the line about it is printed."""
    seen = tmp_path / "seen"
    waits = f"import pathlib, select\nwhile not pathlib.Path({str(seen)!r}).exists(): select.select([], [], [], 0.01)"
    monkeypatch.setattr(check, "STEPS", {"long": ["python", "-c", waits]})
    monkeypatch.setattr(check.run_tests, "EVERY", 0.05)
    monkeypatch.setattr("builtins.print", lambda *args, **more: (seen.touch(), print_line(*args, **more)))
    assert check.main(["long"]) == 0
    assert re.search(r"^after \d+ s: long is running$", capfd.readouterr().out, re.MULTILINE)


def test_the_check_fails_if_a_test_fails(monkeypatch, capfd):
    monkeypatch.setattr(check, "STEPS", {"good": ["python", "--version"]})
    for status in (0, 1):
        monkeypatch.setattr(check, "test", lambda *, everything, status=status: status)
        assert check.main(["--all"]) == status
        assert capfd.readouterr().out.splitlines()[-1] == ("failed: tests" if status else "good, tests: all well")


def test_steps_can_be_chosen_and_an_unknown_one_is_refused():
    done = checked("lint", "polish")
    assert done.returncode == 2 and "there is no step polish" in done.stderr


def test_make_pre_commit_and_continuous_integration_run_the_same_steps():
    makefile = (ROOT / "Makefile").read_text()
    assert "tools/check.py --all" in makefile.partition("\ntest:")[2].partition("\n\n")[0]
    hook, _ = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert hook["entry"].split()[1:] == ["tools/check.py", "--no-tests"]
    steps = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]["steps"]
    assert ".ci/run" in [step.get("run") for step in steps]
    assert "make test" in (ROOT / ".ci/run").read_text()


# ---- changed files ---------------------------------------------------------------------------------------------------


def test_every_file_of_the_cross_section_and_of_the_rules_exists():
    named = {*changed.CROSS_SECTION, *(test for tests in changed.RULES.values() for test in tests)}
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []
    assert all(any(ROOT.glob(f"{begin}*")) for begin in changed.RULES)


def test_a_test_that_has_changed_is_run_before_all_others():
    found = changed.tests(["minitensor/engine/core/storage.py", "tests/minitensor/engine/test_printing.py"])
    assert found.chosen[0] == "tests/minitensor/engine/test_printing.py"


def test_a_file_of_a_package_selects_tests_that_import_it_or_detect_its_planted_faults():
    found = changed.tests(["minitensor/engine/device/host_buffer_cache.py"])
    assert "tests/minitensor/engine/test_buffer_reuse.py" in found.chosen
    assert changed.tests(["minitensor/engine/modes.py"]).chosen != ()


def test_a_changed_helper_selects_the_tests_that_import_it():
    found = changed.tests(["tests/support/web/drawing.py"])
    shares = re.compile(r"^from tests\.support\.web(\.drawing import | import .*\bdrawing\b)", re.MULTILINE)
    direct = {path for path in ROOT.glob("tests/**/test_*.py") if shares.search(path.read_text(encoding="utf-8"))}
    direct = {path.relative_to(ROOT).as_posix() for path in direct}
    assert direct and direct <= {*found.chosen, *found.omitted}


def test_tests_that_do_not_fit_into_the_time_are_listed_as_omitted():
    everything = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    found = changed.tests(everything)
    assert sorted((*found.chosen, *found.omitted)) == sorted(everything)
    took = changed.longest()
    assert sum(took.get(path, changed.UNLISTED) for path in found.chosen) <= changed.largest_sum()
    assert "tests/site/test_pages.py" in found.omitted  # it needs the book


def test_a_deleted_file_or_one_without_tests_selects_no_test():
    assert changed.tests(["tests/minitensor/engine/test_gone.py", "LICENSE"]) == changed.Selection((), ())


def test_the_cross_section_fits_into_the_time():
    took = changed.longest()
    assert sum(took.get(path, changed.UNLISTED) for path in changed.CROSS_SECTION) <= changed.largest_sum()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_a_new_file_counts_as_changed(tmp_path):
    new = ROOT / "tests" / "tools" / f"new_{tmp_path.name}.txt"
    new.touch()
    try:
        assert new.relative_to(ROOT).as_posix() in changed.files()
    finally:
        new.unlink()
