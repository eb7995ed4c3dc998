"""Compare values and gradients of nan, inf, -0.0, equal and empty inputs with facts/special-values.json.gz.

`python -m tests.support.vocabulary.special_values` prints the differences.
"""

from __future__ import annotations

import numpy as np
import pytest

from minitensor.engine.operations import FUNCTIONS
from tests.support.vocabulary import special_values


@pytest.fixture(scope="module", params=["torch", "paddle"])
def compared(request):
    """Return the library, and each question with its recorded answers and minitensor's answer."""
    library = request.param
    return library, {
        question: special_values.answers(library, question) for question in special_values.questions(library)
    }


def differing(library, answers):
    return {
        question: pair
        for question, pair in answers.items()
        if not any(special_values.alike(then, pair[1], special_values.gradients_of(question)) for then in pair[0])
    }


def test_the_records_of_all_versions_contain_the_same_questions():
    for library, versions in special_values.VERSIONS.items():
        assert versions
        for version in versions:
            assert list(special_values.RECORDS[version]) == special_values.questions(library)


def test_every_answer_equals_that_of_the_framework_or_its_difference_has_a_listed_kind(compared):
    library, answers = compared
    unlike = {
        question: f"recorded {then}, here {here}"
        for question, (then, here) in differing(library, answers).items()
        if special_values.kind_of(library, question, then, here) is None
    }
    assert not unlike


def test_every_listed_kind_of_difference_occurs(compared):
    library, answers = compared
    found = {
        special_values.kind_of(library, question, then, here)
        for question, (then, here) in differing(library, answers).items()
    }
    of_library = [kind for kind in special_values.KINDS if kind.pattern.startswith((library, "(torch|paddle)", ".*"))]
    assert [kind.why for kind in of_library if kind not in found] == []


@pytest.mark.parametrize(
    ("then", "here"),
    [
        (["float32 [1] 0"], ["float32 [1] -0"]),
        (["float32 [1] nan"], ["float32 [1] 0"]),
        (["float32 [1] inf"], ["float32 [1] 1e+30"]),
        (["float32 [1] 1"], ["int64 [1] 1"]),
        (["float32 [] 1"], ["float32 [1] 1"]),
        (["float32 [1] 1", None], ["float32 [1] 1", "float32 [1] 0"]),
        ("ValueError", ["float32 [1] 1"]),
    ],
)
def test_different_answers_do_not_count_as_equal(then, here):
    assert special_values.alike(then, then)
    assert not special_values.alike(then, here)


def test_gradients_that_differ_in_the_sign_of_zero_count_as_equal():
    assert special_values.alike(["float32 [1] 1", "float32 [1] 0"], ["float32 [1] 1", "float32 [1] -0"], gradients=1)


def test_the_gradient_of_bce_with_logits_at_logit_0_is_that_of_the_sigmoid():
    # The loss is max(x, 0) - x * y + log(1 + exp(-|x|)), whose terms have kinks at 0. The rules of the separate terms
    # would not add up to this gradient.
    import minitensor as mt

    logit, label = mt.to_tensor([0.0, 0.0], stop_gradient=False), mt.to_tensor([0.0, 1.0])
    mt.nn.functional.binary_cross_entropy_with_logits(logit, label, reduction="sum").backward()
    assert logit.grad.tolist() == [0.5, -0.5]


def test_in_place_and_normal_operations_agree_at_special_values():
    import minitensor as mt

    points = mt.to_tensor(special_values.asked.POINTS)
    for name in (
        "log_sigmoid",
        "acosh",
        "atanh",
        "logit",
        "erfinv",
        "lgamma",
        "leaky_relu",
        "elu",
        "relu6",
        "hardtanh",
    ):
        if f"{name}_" in FUNCTIONS:
            with np.errstate(all="ignore"):
                written, made = FUNCTIONS[f"{name}_"](points.clone()), FUNCTIONS[name](points)
            assert repr(written.tolist()) == repr(made.tolist()), name
