"""Test random PyTorch programs: they run unchanged, predictions are right, and both engines have equal traces.

The counts are small. `facts/torch_recording.py` runs many more programs and records the results.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.support.peers import both_engines, predicting, undisturbed  # noqa: E402
from tests.support.vocabulary.aliases.generator import program  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("first", range(2000, 2160, 40))
def test_backward_raises_exactly_for_the_predicted_stale_tensors(first):
    counts, wrong = predicting.run(first, first + 40)
    assert wrong == [] and not counts["recordings that ended early"] and counts["roots"] > 50
    assert counts["roots right"] == counts["roots"]
    assert counts["at the very node"] == counts["raised"] > 0


@pytest.mark.parametrize("first", range(3000, 3060, 20))
def test_numbers_versions_errors_and_gradients_equal_those_without_a_recorder(first):
    sources = [undisturbed.source_of(number) for number in range(first, first + 20)]
    assert {source: found for source in sources if (found := undisturbed.differences(source, False))} == {}


def test_requests_to_torchs_allocator_equal_those_without_a_recorder():
    undisturbed.outcome(undisturbed.unwatched, "x = torch.ones(2)", True)  # the profiler allocates at its first use
    sources = [undisturbed.source_of(number) for number in (8, 9, 18, 4010, 4020)]
    assert {source: found for source in sources if (found := undisturbed.differences(source))} == {}


@pytest.mark.parametrize("first", range(1000, 1060, 20))
def test_both_engines_agree_except_for_differences_of_a_named_kind(first):
    kinds = {number: both_engines.kind(program(number)) for number in range(first, first + 20)}
    assert {number: kind for number, kind in kinds.items() if kind == both_engines.UNKNOWN} == {}
    assert sum(kind == both_engines.SAME for kind in kinds.values()) > 10
