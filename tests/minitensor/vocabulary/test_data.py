"""Test data sets and loaders in both vocabularies: their samples, whether a batch is a copy, and refused arguments."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import minitensor as mt
from facts.loading import CASES, REFUSED, WORKERS, answers, epochs
from minitensor import io, torch
from tools.build import ROOT

RECORD = json.loads((ROOT / "facts" / "loading.json").read_text(encoding="utf-8"))["answers"]

PADDLE = SimpleNamespace(
    Dataset=io.Dataset,
    IterableDataset=io.IterableDataset,
    Loader=io.DataLoader,
    Subset=io.Subset,
    split=io.random_split,
    rows=lambda *tensors, **named: io.TensorDataset(list(tensors), **named),
    tensor=lambda x: mt.to_tensor(x),
    seed=mt.seed,
    version=lambda x: x.inplace_version,
    no_grad=(mt.no_grad,),
    recording=mt.is_grad_enabled,
)
TORCH = SimpleNamespace(
    Dataset=torch.utils.data.Dataset,
    IterableDataset=torch.utils.data.IterableDataset,
    Loader=torch.utils.data.DataLoader,
    Subset=torch.utils.data.Subset,
    split=torch.utils.data.random_split,
    rows=torch.utils.data.TensorDataset,
    tensor=lambda x: torch.tensor(x),
    seed=torch.manual_seed,
    version=lambda x: x._version,
    no_grad=(torch.no_grad, torch.inference_mode),
    recording=torch.is_grad_enabled,
)
both = pytest.mark.parametrize("v", [PADDLE, TORCH], ids=["paddle", "torch"])


def six(v, **named):
    numbers = np.arange(12, dtype=np.float32).reshape(6, 2)
    return v.rows(v.tensor(numbers), v.tensor(np.arange(6)), **named)


@pytest.fixture(scope="module")
def here():
    return answers(torch)


@pytest.mark.parametrize("case", CASES)
def test_a_loader_returns_the_samples_recorded_from_pytorch(case, here):
    assert json.loads(json.dumps(here[case])) == RECORD[case]


@pytest.mark.parametrize("case", REFUSED)
def test_a_loader_refuses_wrong_arguments_with_the_messages_of_pytorch(case, here):
    assert here[case].startswith(RECORD[case])


def test_a_data_set_that_writes_into_itself_changes_as_in_pytorch_without_workers():
    assert epochs(torch) == RECORD["no worker"]
    # In PyTorch a worker process writes into a copy of the data set, so the data remain unchanged.
    assert RECORD["no worker"][-1] != [1.0, 1.0] == RECORD["one worker by fork"][-1]
    assert set(WORKERS) <= set(RECORD)


@both
def test_a_shuffled_loader_returns_every_sample_once_in_an_order_set_by_the_seed(v):
    loader = v.Loader(six(v), batch_size=4, shuffle=True)

    def epochs():
        v.seed(5)
        return [[n for _, numbers in loader for n in numbers.tolist()] for _ in range(4)]

    found = epochs()
    assert all(sorted(epoch) == list(range(6)) for epoch in found)
    assert len({tuple(epoch) for epoch in found}) > 1 and epochs() == found


@both
def test_a_batch_is_a_copy_so_a_write_into_it_does_not_change_the_data(v, device):
    data = six(v)
    before = data.tensors[0].tolist()
    for x, _ in v.Loader(data, batch_size=2):
        x.zero_()
    for x, _ in v.Loader(v.Subset(data, [4, 1]), batch_size=2):
        x.zero_()
    assert data.tensors[0].tolist() == before and v.version(data.tensors[0]) == 0


@both
def test_a_batch_is_a_view_if_share_is_true(v, device):
    data = six(v)
    for x, numbers in v.Loader(data, batch_size=4, share=True):
        assert x.shape[0] == numbers.shape[0] and x.is_contiguous()
        x.zero_()
    assert data.tensors[0].tolist() == [[0.0, 0.0]] * 6 and v.version(data.tensors[0]) == 2


@both
@pytest.mark.parametrize("rows", [[], [0, 1, 2], [5], [-1], [-3, -2], [-2, -1]], ids=str)
def test_a_batch_as_a_view_has_the_same_rows_as_a_batch_as_a_copy(v, rows):
    copied, shared = (list(v.Loader(six(v), batch_sampler=[rows], share=share)) for share in (None, True))
    assert [[x.tolist() for x in batch] for batch in shared] == [[x.tolist() for x in batch] for batch in copied]


@both
@pytest.mark.parametrize("share", [None, True])
def test_a_batch_with_a_row_beyond_the_data_is_refused(v, share):
    with pytest.raises(IndexError):
        list(v.Loader(six(v), batch_sampler=[[5, 6]], share=share))


@both
def test_a_batch_as_a_view_is_refused_if_its_rows_are_not_consecutive(v):
    with pytest.raises(ValueError, match="the rows of a batch must be consecutive"):
        list(v.Loader(six(v), batch_sampler=[[-1, 0]], share=True))
    with pytest.raises(ValueError, match=r"the rows of a batch must be consecutive; this batch has the rows \[5, 0\]"):
        list(v.Loader(six(v), batch_sampler=[[5, 0]], share=True))
    with pytest.raises(TypeError, match="views of the tensors of a TensorDataset; the data set is a list"):
        v.Loader([1, 2], share=True)


@both
def test_a_single_sample_is_a_view_so_a_write_into_it_changes_the_data(v):
    """A program that normalizes a sample in place therefore normalizes the data again in each epoch."""
    data = six(v)
    first_epoch = [x.tolist() for x, _ in v.Loader(data, batch_size=None)]
    for _ in range(2):
        for x, _ in v.Loader(data, batch_size=None):
            x.multiply_(0.5) if v is PADDLE else x.mul_(0.5)
    assert [x.tolist() for x, _ in v.Loader(data, batch_size=None)] == (np.array(first_epoch) / 4).tolist()
    assert v.version(data.tensors[0]) == 12  # two epochs, each with one write to each of six samples


@both
@pytest.mark.parametrize("how", ["loader", "data set"])
def test_with_share_false_writes_into_single_samples_do_not_change_the_data(v, how):
    data = six(v, share=how == "loader")
    before = data.tensors[0].tolist()
    for x, _ in v.Loader(data, batch_size=None, share=False if how == "loader" else None):
        x.zero_()
    assert data.tensors[0].tolist() == before and v.version(data.tensors[0]) == 0


@both
def test_with_share_false_a_loader_copies_samples_before_it_calls_collate_fn(v):
    data = six(v)
    for batch in v.Loader(data, batch_size=2, collate_fn=lambda samples: {"x": samples[0][0]}, share=False):
        batch["x"].zero_()
    assert v.version(data.tensors[0]) == 0
    shared = next(iter(v.Loader(data, batch_size=2, collate_fn=lambda samples: samples[0][0])))
    shared.zero_()
    assert v.version(data.tensors[0]) == 1


@both
def test_a_loop_over_a_loader_runs_in_the_grad_mode_around_it_even_after_a_break(v):
    weight = v.tensor([2.0, 3.0])
    weight.stop_gradient = False
    for mode in v.no_grad:
        with mode():
            for x, _ in v.Loader(six(v), batch_size=2):
                assert (x * weight).stop_gradient and not v.recording()
                break
        assert v.recording()
    for x, _ in v.Loader(six(v), batch_size=2):
        assert not (x * weight).stop_gradient
        break


@both
def test_a_custom_data_set_defines_len_and_getitem(v):
    class Squares(v.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return np.float32(i), {"square": np.float32(i * i)}

    batches = list(v.Loader(Squares(), batch_size=2, drop_last=True))
    assert [x.tolist() for x, _ in batches] == [[0.0, 1.0], [2.0, 3.0]]
    assert batches[1][1]["square"].tolist() == [4.0, 9.0]
    assert [len(part) for part in v.split(Squares(), [3, 2])] == [3, 2]
    with pytest.raises(NotImplementedError, match="Dataset has no __getitem__; define"):
        v.Dataset()[0]


@both
def test_samples_of_an_iterable_data_set_are_collected_into_batches(v):
    class Counting(v.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [x.tolist() for x in v.Loader(Counting(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="shuffle"):
        v.Loader(Counting(), shuffle=True)


@both
def test_the_error_about_worker_processes_advises_num_workers_0(v):
    with pytest.raises(ValueError, match=r"num_workers=2 is not supported: .* Leave it out, or use num_workers=0"):
        v.Loader(six(v), num_workers=2)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: io.TensorDataset(mt.ones([2])), TypeError, r"takes a list of tensors: TensorDataset\(\[x, y\]\)"),
        (lambda: io.TensorDataset([mt.ones([2]), mt.ones([3])]), AssertionError, r"shapes are \[\(2,\), \(3,\)\]"),
        (lambda: io.BatchSampler(), ValueError, "give either dataset"),
        (lambda: io.BatchSampler([1, 2], batch_size=0), ValueError, "positive integer value, but got batch_size=0"),
        (lambda: io.DataLoader(six(PADDLE), batch_size=0), ValueError, "a positive value .* it is 0"),
        (lambda: io.DataLoader([1], batch_sampler=[[0]], shuffle=True), ValueError, "should not be set when batch_sam"),
        (lambda: io.random_split([1, 2], [0.5, 0.6]), ValueError, "are to sum to 2, or to 1 as shares"),
        (lambda: io.DataLoader(six(PADDLE), share="yes"), TypeError, "share must be True, False or None, not 'yes'"),
    ],
)
def test_data_sets_and_loaders_in_paddle_refuse_wrong_arguments(make, error, words):
    with pytest.raises(error, match=words):
        make()
