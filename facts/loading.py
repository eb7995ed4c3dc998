"""Record in loading.json the samples of PyTorch's loaders and samplers after one seed, and the errors that they raise.

python facts/loading.py        in an environment that has PyTorch
"""

from __future__ import annotations

from pathlib import Path


class Halving:
    """A data set of two numbers, which halves a number in place when a loader reads it."""

    def __init__(self, numbers) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, i: int):
        return self.numbers[i].mul_(0.5)


#: Maps the name of a loader of `Halving` to the arguments of the loader, which has no worker or one.
WORKERS = {
    "no worker": {},
    "one worker by fork": {"num_workers": 1, "multiprocessing_context": "fork"},
    "one worker by fork, kept": {"num_workers": 1, "multiprocessing_context": "fork", "persistent_workers": True},
    "one worker by spawn": {"num_workers": 1, "multiprocessing_context": "spawn"},
}

NAMES = [
    *("BatchSampler", "ConcatDataset", "DataLoader", "RandomSampler", "SequentialSampler", "SubsetRandomSampler"),
    *("TensorDataset", "WeightedRandomSampler", "default_collate", "random_split"),
]
#: Expressions that use `data`, a data set of six numbered rows. Each is evaluated after `torch.manual_seed(7)`.
CASES = [
    "[numbers.tolist() for _, numbers in DataLoader(data, 4)]",
    "[numbers.tolist() for _, numbers in DataLoader(data, batch_size=4, drop_last=True)]",
    "[numbers.tolist() for _, numbers in DataLoader(data, 2, shuffle=True)]",
    "[[n.tolist() for _, n in loader] for loader in [DataLoader(data, 4, shuffle=True)] for _ in range(3)]",
    "[n.tolist() for _, n in DataLoader(data, 4, shuffle=True, generator=torch.Generator().manual_seed(3))]",
    "[n.tolist() for _, n in DataLoader(data, 4, sampler=RandomSampler(data, replacement=True, num_samples=40))]",
    "[n.tolist() for _, n in DataLoader(data, batch_sampler=[[5, 0], [1, 2, 3]])]",
    "[n.tolist() for _, n in DataLoader(data, batch_size=None, shuffle=True)]",
    "[list(part.indices) for part in random_split(data, [4, 2])]",
    "[list(part.indices) for part in random_split(data, [0.5, 0.25, 0.25])]",
    "[list(sampler) for sampler in (RandomSampler(data), SubsetRandomSampler([1, 3, 5]), SequentialSampler(data))]",
    "list(WeightedRandomSampler([0.1, 0.2, 0.7], 5))",
    "[list(BatchSampler(range(5), 2, drop)) for drop in (False, True)]",
    "[len(DataLoader(data, 4)), len(DataLoader(data, 4, drop_last=True)), len(data + data)]",
    "[ConcatDataset([data, data])[i][1].item() for i in (0, 5, 6, -1)]",
    "[x.tolist() for x in DataLoader([1.5, 2.5, 3.5], 2)]",
    "str(default_collate([(1, 2.0, 'a', {'k': torch.ones(2)}), (3, 4.0, 'b', {'k': torch.zeros(2)})])[:2])",
    "[(list(DataLoader(data, 2, shuffle=True)), torch.rand(2).tolist())[1]]",
    "[x.mul_(0.5).tolist() for d in [TensorDataset(torch.ones(2))] for _ in range(2) for x, in DataLoader(d, 2)]",
    "[x.mul_(0.5).tolist() for d in [TensorDataset(torch.ones(2))] for _ in range(2) for x, in "
    "DataLoader(d, batch_size=None)]",
]
#: Expressions that raise an error.
REFUSED = [
    "DataLoader(data, batch_size=0)",
    "DataLoader(data, batch_size=2.5)",
    "DataLoader(data, sampler=[0], shuffle=True)",
    "DataLoader(data, batch_sampler=[[0]], batch_size=2)",
    "DataLoader(data, batch_size=None, drop_last=True)",
    "DataLoader(data, num_workers=-1)",
    "TensorDataset(torch.ones(2), torch.ones(3))",
    "random_split(data, [1, 1])",
    "RandomSampler([])",
    "BatchSampler([1], 0, False)",
    "ConcatDataset([])",
    "list(DataLoader([torch.ones(1), torch.ones(2)], batch_size=2))",
    "list(DataLoader([None, None], batch_size=2))",
    "list(DataLoader([[1], [1, 2]], batch_size=2))",
]


def answers(torch) -> dict:
    """Return the value of each expression in CASES, and the type and text of the error of each in REFUSED."""
    data = torch.utils.data
    names = {name: getattr(data, name) for name in NAMES}
    names |= {"torch": torch, "data": data.TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))}
    found = {}
    for case in CASES:
        torch.manual_seed(7)
        found[case] = eval(case, names)
    for case in REFUSED:
        try:
            eval(case, names)
        except Exception as error:
            found[case] = f"{type(error).__name__}: {error}"
    return found


def epochs(torch, **loading) -> list:
    """Load the numbers 1 and 1 with `Halving` for three epochs. Return all samples, and then the numbers of the data
    set.
    """
    data = Halving(torch.ones(2))
    loader = torch.utils.data.DataLoader(data, 2, **loading)
    return [*(batch.tolist() for _ in range(3) for batch in loader), data.numbers.tolist()]


def main() -> None:
    import torch
    import torch.utils.data
    from recording import write_cases

    with_workers = {how: epochs(torch, **loading) for how, loading in WORKERS.items()}
    write_cases(Path(__file__).with_suffix(".json"), "torch", answers(torch) | with_workers)


if __name__ == "__main__":
    main()
