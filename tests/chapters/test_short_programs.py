"""Test chapter 15: its programs, its judge in plain numpy, and the recorded results of the frameworks."""

from __future__ import annotations

import json

import numpy as np
import pytest

import minitensor as mt
from facts import short_programs
from facts.short_programs import DIRECTION, OVERLAP, answer, exact, meant, programs, spelled, verdict

RECORDS = json.loads(short_programs.FILE.read_text(encoding="utf-8"))
ALL = list(programs())
LEAF_NOT_WRITTEN = [(program, names) for program, names in ALL if names is not None]


def moved(program: tuple[str, ...], by: float) -> float:
    """Run a program in minitensor from the leaf plus ``by * DIRECTION``; return the weighted sum of all tensors."""
    x = mt.to_tensor(np.array(short_programs.X) + by * DIRECTION, dtype="float64")
    names = {"x": x, "a": x * 1.0}
    for statement in program:
        exec(statement, {}, names)
    return sum(
        float((tensor.numpy() * short_programs.weights(number, tuple(tensor.shape))).sum())
        for number, tensor in enumerate(names.values())
    )


def test_the_exact_derivative_equals_finite_differences():
    """Programs with detach are left out: a detached number changes with the leaf, but its derivative counts as 0."""
    followed = [(program, names) for program, names in LEAF_NOT_WRITTEN if "detach" not in "".join(program)]
    assert len(followed) > 400
    for program, names in followed[::9]:
        found = (moved(program, 1e-6) - moved(program, -1e-6)) / 2e-6
        assert np.isclose(found, exact(names)[1], rtol=1e-6), program


def test_every_program_occurs_once_and_writes():
    texts = ["; ".join(program) for program, _ in ALL]
    assert len(texts) == len(set(texts)) > 700
    assert all(any(map(short_programs.writes, program)) for program, _ in ALL)
    for text in ("a.exp_()", "b = a[:2]; b.exp_()", "b = x[0]; b.scale_(2.0, 0.5)", "b = a * x; a[:] = b"):
        assert text in texts


@pytest.mark.parametrize(
    "program, leaf", [(("x.exp_()",), True), (("b = x[1:]", "b.add_(b)"), True), (("b = x * x", "b.exp_()"), False)]
)
def test_a_program_that_overwrites_the_leaf_can_only_be_refused(program, leaf):
    names = dict(ALL)[program]
    assert (names is None) == leaf
    assert verdict({"refused": program[-1]}, names) == "refused"
    if leaf:
        assert verdict({"sum": 1.0, "gradient": [1.0] * 4}, names) == "wrong"


@pytest.mark.parametrize("policy", ["2.5", "2.6", "copy_on_write"])
def test_minitensor_gets_no_short_program_wrong(policy):
    with mt.set_inplace_policy(policy):
        judged = [verdict(answer(mt, program), names) for program, names in ALL]
    assert "wrong" not in judged
    refused = judged.count("refused") - (
        len(ALL) - len(LEAF_NOT_WRITTEN)
    )  # without the programs that overwrite the leaf
    assert refused == 0 if policy == "copy_on_write" else 0 < refused < len(LEAF_NOT_WRITTEN) / 2


def test_the_judge_notices_a_wrong_number_and_a_wrong_gradient():
    program, names = LEAF_NOT_WRITTEN[20]
    good = answer(mt, program)
    assert verdict(good, names) == "right"
    assert verdict({**good, "sum": good["sum"] + 1e-6}, names) == "wrong"
    for i in range(4):
        gradient = [g + 1e-6 * (k == i) for k, g in enumerate(good["gradient"])]
        assert verdict({**good, "gradient": gradient}, names) == "wrong"


@pytest.mark.parametrize("key", RECORDS)
def test_the_record_has_every_program_for_every_framework(key):
    record = RECORDS[key]
    expected = ["; ".join(program) for program, _ in ALL] + ["; ".join(map(str, OVERLAP))]
    assert list(record["answers"]) == expected
    assert key == f"{record['library']} {record['version']}"
    longer = next(iter(record["counts"].values()))
    short = [verdict(record["answers"]["; ".join(program)], names) for program, names in LEAF_NOT_WRITTEN]
    for kind in ("right", "refused", "wrong"):  # the record also counts longer programs
        assert longer["leaf kept"][kind] >= short.count(kind)
    assert "/" not in json.dumps(record["answers"])  # no path of the machine that recorded them


def test_the_record_of_minitensor_counts_as_many_programs_as_that_of_pytorch_and_none_wrong():
    (longer,) = json.loads(short_programs.OWN.read_text(encoding="utf-8")).values()
    (theirs,) = RECORDS["torch 2.13.0"]["counts"].values()
    for counts in longer.values():
        for which, those in counts.items():
            assert sum(those.values()) == sum(theirs[which].values())
            assert those["wrong"] == 0
    assert longer["copy_on_write"]["leaf kept"]["refused"] == 0 < longer["2.6"]["leaf kept"]["refused"]


def test_two_records_agree_on_which_frameworks_are_right_about_a_write_through_a_slice():
    """Both ``short-programs.json`` and ``view-gradients.json`` record a write through a slice."""
    text = "b = a[:2]; b.scale_(2.0, 0.5)"
    names = dict(ALL)[tuple(text.split("; "))]
    views = json.loads(short_programs.FILE.with_name("view-gradients.json").read_text(encoding="utf-8"))
    for key, record in RECORDS.items():
        question = views[key]["answers"]["write through a slice, backward from the whole"]
        there = question["values"]["gradient"] == [10.0, 10.0, 1.0]
        assert (verdict(record["answers"][text], names) == "right") == there


def test_minitensor_is_right_where_pytorch_reads_elements_that_the_same_copy_has_overwritten():
    there = RECORDS["torch 2.13.0"]["answers"]["; ".join(map(str, OVERLAP))]
    names = meant(OVERLAP)
    assert verdict(there, names) == "wrong" and not np.allclose(there["b"], names["b"].real)
    here = answer(mt, OVERLAP, "b")
    assert verdict(here, names) == "right" and np.allclose(here["b"], names["b"].real)


def test_pytorch_spells_a_scale_as_two_operations():
    assert spelled(("b = a[:2]", "b.scale_(2.0, 0.5)"), "torch") == ("b = a[:2]", "b.mul_(2.0).add_(0.5)")
    assert spelled(("b.scale_(2.0, 0.5)",), "paddle") == ("b.scale_(2.0, 0.5)",)
