"""Test the digits, the network that reads them, and the bytes that in-place activations save."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import minitensor as mt
import minitensor.nn.functional as F
from book_kit.data.bundled import digits, photographs
from book_kit.data.lenet import LeNet, accuracy, train
from book_kit.data.progress import progress
from minitensor import memory


def test_the_package_contains_the_data_and_holds_out_a_fifth_of_the_digits():
    scans, labels = digits()
    held, their_labels = digits(held_out=True)
    assert scans.shape == (1437, 1, 8, 8) and held.shape == (360, 1, 8, 8) and scans.dtype == np.float32
    assert sorted(set(labels.tolist())) == sorted(set(their_labels.tolist())) == list(range(10))
    assert (scans.min(), scans.max()) == (0.0, 1.0)
    assert photographs().shape == (2, 3, 427, 640) and photographs().max() == 1.0


def test_the_data_equal_those_of_scikit_learn():
    from sklearn import datasets

    whole = datasets.load_digits()
    fifth = np.arange(1797) % 5 == 0
    for part, rows in (digits(held_out=True), fifth), (digits(), ~fifth):
        np.testing.assert_array_equal(part[0][:, 0] * 16, whole.images[rows])
        np.testing.assert_array_equal(part[1], whole.target[rows])
    pictures = np.stack(datasets.load_sample_images().images).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(photographs() * 255, pictures, rtol=1e-6)


def test_without_scikit_learn_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        digits()


@pytest.fixture(scope="module")
def trained():
    found = {}
    for inplace in (False, True):
        mt.seed(0)
        network = LeNet(inplace)
        found[inplace] = train(network, bar=False), accuracy(network)
    return found


def test_the_network_reads_97_percent_of_the_held_out_digits(trained):
    assert trained[False][1] >= 0.97


def test_a_network_with_in_place_activations_has_exactly_the_same_losses(trained):
    (losses, right), (in_place, as_right) = trained[False], trained[True]
    assert len(losses) == 8 * 45 and losses == in_place and right == as_right
    assert losses[-1] < 0.1 * losses[0]


def step(inplace: bool, forward=None):
    """Return the bytes of a training step on 128 scans: allocated after forward, the peak, and all allocations."""
    mt.seed(0)
    network = LeNet(inplace)
    x, label = (mt.to_tensor(each[:128]) for each in digits())
    with memory.measure() as meter:
        loss = F.cross_entropy((forward or LeNet.forward)(network, x), label)
        held = meter.allocated
        loss.backward()
    return held, meter.peak, meter.extra_bytes


def unnamed(network, x):
    """Run the forward pass without names for intermediate results, so that each is freed after its last use."""
    x = F.max_pool2d(network.relu(network.norm1(network.conv1(x))), 2)
    x = F.max_pool2d(network.relu(network.norm2(network.conv2(x))), 2)
    return network.linear2(network.relu(network.linear1(x.flatten(1))))


def test_in_place_activations_allocate_fewer_bytes():
    _, peak, made = step(inplace=False)
    _, peak_in_place, made_in_place = step(inplace=True)
    # the bytes of the outputs that an out-of-place ReLU allocates in addition to its inputs
    activations = 128 * (16 * 64 + 32 * 16 + 64) * 4
    assert made - made_in_place == activations
    assert peak - peak_in_place >= 0.5 * activations


def test_in_place_activations_save_no_memory_if_no_name_keeps_intermediate_results():
    """Without a name, ReLU's input is freed as soon as ReLU has read it, so a step reaches its peak at another line."""
    held, peak, _ = step(inplace=False, forward=unnamed)
    held_in_place, peak_in_place, _ = step(inplace=True, forward=unnamed)
    assert held == held_in_place and peak == peak_in_place < step(inplace=False)[1]


def test_in_evaluation_in_place_activations_lower_the_peak_by_one_activation():
    x = mt.to_tensor(digits()[0][:128])

    def peak(inplace):
        network = LeNet(inplace)
        network.eval()
        with memory.measure() as meter, mt.no_grad():
            network(x)
        return meter.peak

    assert peak(False) - peak(True) >= 128 * 16 * 64 * 4


# ---------- the progress bar ----------


def test_a_text_bar_shows_progress_and_leaves_one_line(capsys):
    seen = []
    assert [seen.append(i) or i for i in progress(range(4), "training", lambda: f"loss {seen[-1]}")] == [0, 1, 2, 3]
    assert capsys.readouterr().out == f"training [{'=' * 30}] 4/4 loss 3\n"


def test_on_a_terminal_the_line_of_a_progress_bar_is_overwritten(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for _ in progress("ab"):
        pass
    out = capsys.readouterr().out
    assert out.split("\r")[1:] == [f"[{'=' * 15}{' ' * 15}] 1/2", f"[{'=' * 30}] 2/2\n"]


def test_a_progress_bar_for_a_generator_is_refused():
    with pytest.raises(TypeError, match="items must have a length, and a generator has none"):
        next(progress(x for x in "ab"))


def test_in_a_notebook_the_progress_bar_is_a_widget_and_at_the_end_a_line(monkeypatch, capsys):
    import ipywidgets
    from IPython import core

    class Shell:
        kernel = object()

    shown = []
    monkeypatch.setattr("IPython.get_ipython", Shell)
    monkeypatch.setattr(core.display_functions, "display", shown.append)
    monkeypatch.setattr("IPython.display.display", shown.append)
    loop = progress(range(2), "training")
    next(loop), next(loop)
    (box,) = shown
    assert isinstance(box.children[0], ipywidgets.IntProgress)
    assert (box.children[0].value, box.children[0].max) == (1, 2)
    assert list(loop) == [] and capsys.readouterr().out == f"training [{'=' * 30}] 2/2\n"


def test_a_page_of_the_book_has_only_the_last_line_of_a_progress_bar(monkeypatch, capsys):
    """A widget would store its state in the page, in the form of a script."""

    class Shell:
        kernel = object()

    shown = []
    monkeypatch.setattr("IPython.get_ipython", Shell)
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    assert list(progress(range(2), "training")) == [0, 1]
    assert shown == [] and capsys.readouterr().out == f"training [{'=' * 30}] 2/2\n"
