"""Create arguments for calls: values that fit a parameter of some name, and values that fit none.

Every value is created again for each call, so that a call cannot change the arguments of the next one.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor
from tests.support.vocabulary.wrong_arguments.hostile import HOSTILE, RefusedByCallback

Make = Callable[[], Any]


class Thing:
    """An object that no function of the package can use. The class itself is a callback that accepts every call."""

    def __init__(self, *given: Any, **named: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "Thing()"


def callback(*given: Any, **named: Any) -> Any:
    """Return the first argument. As a callback, this function accepts every call."""
    return given[0] if given else None


def failing_callback(*given: Any, **named: Any) -> Any:
    """Raise an error of the program."""
    raise RefusedByCallback("a callback of the program refused")


def in_itself() -> list[Any]:
    """Return a list that contains itself."""
    made: list[Any] = [1]
    made.append(made)
    return made


class Values:
    """Create arguments with the names and classes of one vocabulary."""

    def __init__(self, vocabulary: ModuleType, rng: Random) -> None:
        self.vocabulary, self.rng = vocabulary, rng
        self.is_torch = vocabulary.__name__.endswith("torch")
        self.wrong = self._wrong()
        self.by_name = self._by_name()

    # ---------- tensors ----------

    def tensor(self, data: Any, dtype: str = "float32", wants: bool = False) -> Tensor:
        """Return a tensor of the vocabulary."""
        if self.is_torch:
            dtype_of = getattr(self.vocabulary, dtype)
            return self.vocabulary.tensor(data, dtype=dtype_of, requires_grad=wants)
        return self.vocabulary.to_tensor(data, dtype, stop_gradient=not wants)

    def some_tensor(self) -> Tensor:
        """Return a small tensor of a usual kind."""
        rng = self.rng
        shape = rng.choice([[2, 3], [3], [3, 3], [2, 2], [4], [1, 3], [2, 3, 4], [], [1], [2, 3, 4, 4]])
        count = int(np.prod(shape))
        dtype = rng.choice(["float32"] * 6 + ["float64", "int64", "int32", "bool"])
        values = np.array([rng.choice([-1, 0, 1, 2, 0.5]) for _ in range(count)]).reshape(shape)
        values = values != 0 if dtype == "bool" else values.astype(dtype)
        return self.tensor(values.tolist(), dtype, wants=dtype.startswith("float") and rng.random() < 0.3)

    def elsewhere(self) -> Tensor:
        """Return a tensor on the simulated GPU."""
        import minitensor

        return self.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).to("cuda") if self.is_torch else minitensor.to_tensor(
            [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], place="gpu:sim"
        )  # fmt: skip

    # ---------- arguments that fit no parameter, or few ----------

    def _wrong(self) -> dict[str, Make]:
        nn = self.vocabulary.nn
        other = __import__("minitensor") if self.is_torch else __import__("minitensor.torch").torch
        numbers = [0, 1, -1, 2, -3, 7, 0.5, -1.5, 1e300, 2**31, 2**62, 2**63, 10**30, -(10**30)]
        numbers += [float("nan"), float("inf"), -float("inf"), 1j, True, False]
        made: dict[str, Make] = {repr(number): lambda number=number: number for number in numbers}  # type: ignore[misc]
        plain = [None, "a", "", "sum", "float32", "cpu", b"x", (), (1,), (0, 1), slice(None), Ellipsis, NotImplemented]
        made |= {repr(value): lambda value=value: value for value in plain}  # type: ignore[misc]
        made |= {
            "[]": list,
            "[1, 2]": lambda: [1, 2],
            "[-1]": lambda: [-1],
            "[0.5]": lambda: [0.5],
            "['a']": lambda: ["a"],
            "[None]": lambda: [None],
            "[[1, 2], [3, 4]]": lambda: [[1, 2], [3, 4]],
            "[[1], [2, 3]]": lambda: [[1], [2, 3]],
            "[2**40, 2**40]": lambda: [2**40, 2**40],
            "[10**30]": lambda: [10**30],
            "in_itself()": in_itself,
            "{}": dict,
            "{'a': 1}": lambda: {"a": 1},
            "{1: 'a'}": lambda: {1: "a"},
            "{1, 2}": lambda: {1, 2},
            "object()": object,
            "Thing()": Thing,
            "Thing": lambda: Thing,
            "callback": lambda: callback,
            "failing_callback": lambda: failing_callback,
            "generator": lambda: (n for n in (1, 2)),
            "iter([1, 2])": lambda: iter([1, 2]),
            "range(3)": lambda: range(3),
            "Path": lambda: pathlib.Path("no such file"),
            "bytearray": lambda: bytearray(b"ab"),
            "memoryview": lambda: memoryview(b"ab"),
            "np.array(object)": lambda: np.array([1, None], object),
            "np.array(str)": lambda: np.array(["a", "b"]),
            "np.array(datetime)": lambda: np.array(["2020-01-01"], "datetime64[D]"),
            "np.array(structured)": lambda: np.zeros(2, [("a", "f4")]),
            "np.array(complex)": lambda: np.array([1j, 2]),
            "np.array(uint8)": lambda: np.ones(3, np.uint8),
            "np.array(float64)": lambda: np.ones((2, 3)),
            "np.array(0-d)": lambda: np.array(1),
            "np.float32": lambda: np.float32(1.5),
            "np.int64": lambda: np.int64(2),
            "np.datetime64": lambda: np.datetime64("2020-01-01"),
            "tensor [5, 7]": lambda: self.tensor([[1.0] * 7] * 5),
            "tensor of int64": lambda: self.tensor([1, 2], "int64"),
            "tensor of int32": lambda: self.tensor([[1, 2, 0], [0, 1, 2]], "int32"),
            "tensor of bool": lambda: self.tensor([True, False, True], "bool"),
            "tensor without dimensions": lambda: self.tensor(1.5),
            "integer tensor without dimensions": lambda: self.tensor(1, "int64"),
            "tensor [0, 3]": lambda: self.vocabulary.zeros([0, 3]),
            "expanded tensor": lambda: self.tensor([1.0]).expand([3]),
            "leaf": lambda: self.tensor([[1.0, 2.0, 3.0]], wants=True),
            "tensor [2, 3, 4, 4]": lambda: self.vocabulary.ones([2, 3, 4, 4]),
            "tensor on another device": self.elsewhere,
            "tensor of nan": lambda: self.tensor([float("nan")] * 3),
            "list of tensors": lambda: [self.tensor([1.0, 2.0]), self.tensor([1.0])],
            "list of a tensor and None": lambda: [self.tensor([1.0, 2.0]), None],
            "tensor of the other vocabulary": lambda: other.ones([3]),
            "the other vocabulary's dtype": lambda: other.float32,
            "nn.Linear": lambda: nn.Linear(3, 2),
            "type of a layer": lambda: nn.Flatten,
            "module": lambda: np,
        }  # fmt: skip
        if self.is_torch:
            made["torch.device"] = lambda: self.vocabulary.device("cpu")
            made["torch.Size"] = lambda: self.vocabulary.Size([2, 3])
        return made | HOSTILE

    def any_wrong(self) -> tuple[str, Any]:
        """Return the label and the value of an argument that fits few parameters."""
        label = self.rng.choice(list(self.wrong))
        return label, self.wrong[label]()

    # ---------- arguments that fit parameters of a name ----------

    def _by_name(self) -> dict[str, Make]:
        rng, vocabulary = self.rng, self.vocabulary
        nn = vocabulary.nn

        def one_of(*values: Any) -> Make:
            return lambda: rng.choice(values)

        def index() -> Tensor:
            return self.tensor([rng.choice([0, 1]) for _ in range(rng.choice([1, 2, 3]))], "int64")

        def mask() -> Tensor:
            return self.tensor([[True, False, True], [False, True, False]], "bool")

        def parameters() -> list[Any]:
            return nn.Linear(3, 2).parameters()

        made: dict[str, Make] = {}
        for names, make in (
            ("x y input other self a b tensor src source values out_ image img tensor1 tensor2 mat1 mat2 batch1 batch2 "
             "end vec vec2 mat query key value label target logits logit arr weight_ data obj t grad_output "
             "inputs_ hidden states", self.some_tensor),
            ("index indices", index),
            ("mask condition", mask),
            ("axis dim dim0 dim1 axis1 axis2 start_axis stop_axis start_dim end_dim dims source_ destination",
             one_of(0, 1, -1, 0, None)),
            ("axes perm", one_of([0], [1, 0], [0, 1], 0)),
            ("shape size sizes repeats repeat_times output_size normalized_shape",
             one_of([2, 3], [3, 2], [6], [-1], 3)),
            ("dtype", one_of(vocabulary.float32, vocabulary.int64, None, "float64") if not self.is_torch
             else one_of(vocabulary.float32, vocabulary.int64, None)),
            ("device place", one_of("cpu", None)),
            ("n m k num size_ steps num_classes in_features out_features num_channels in_channels out_channels "
             "num_features num_embeddings embedding_dim hidden_size input_size num_groups num_heads embed_dim chunks "
             "num_samples batch_size step_size T_max total_iters warmup_steps diagonal offset length groups n_head "
             "kernel_size stride padding dilation num_layers nlayers p q decimals num_rows num_columns",
             one_of(1, 2, 3)),
            ("low min lower start from_ begin", one_of(0, -1, 0.0, None)),
            ("high max upper stop to end_", one_of(1, 5, 2.0)),
            ("alpha beta eps epsilon scale bias_ lr learning_rate momentum rho weight_decay gamma std mean "
             "negative_slope threshold delta max_norm clip_norm p_ label_smoothing rate norm_type lambd probs dropout "
             "eta_min",
             one_of(0.1, 0.5, 1.0, 0)),
            ("keepdim keepdims unbiased largest sorted descending stable inplace training bias affine shuffle "
             "drop_last retain_graph create_graph requires_grad stop_gradient trainable share log_target soft_label "
             "nesterov",
             one_of(True, False)),
            ("reduction", one_of("mean", "sum", "none")),
            ("parameters params parameter_list", parameters),
            ("optimizer", lambda: self.optimizer()),
            ("dataset data_source datasets", lambda: self.dataset()),
            ("path f file filename", one_of("saved", "no/such/folder/file")),
            ("func function fn hook closure lr_lambda collate_fn forward", lambda: callback),
            ("module layer sublayer model", lambda: nn.Linear(3, 2)),
            ("tensors inputs xs operands outputs", lambda: [self.some_tensor() for _ in range(rng.choice([1, 2]))]),
            ("name", one_of("weight", "bias", "some", None)),
            ("generator", lambda: vocabulary.Generator() if self.is_torch else None),
            ("out", lambda: None),
            ("state_dict", lambda: nn.Linear(3, 2).state_dict()),
            ("milestones", one_of([1, 2])),
            ("weight", lambda: self.tensor(rng.choice([[[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]], [1.0, 2.0, 3.0]]))),
            ("sampler", lambda: None),
            ("loc", one_of(0.0, 1.0)),
            ("device_type", one_of("cpu", "cuda")),
            ("equation", one_of("ij,jk->ik", "ii->i", "...i,...i->...")),
            ("level", one_of("O1", "O0")),
            ("enable enabled use_promote use_dynamic_loss_scaling validate_args cache_enabled", one_of(True, False)),
            ("custom_white_list custom_black_list", one_of(None, ["exp"], {"sum", "mean"})),
            ("init_scale init_loss_scaling new_scale temperature", one_of(2.0, 1024.0)),
            ("growth_factor incr_ratio", one_of(2.0, 4.0)),
            ("backoff_factor decr_ratio", one_of(0.5, 0.25)),
            ("growth_interval incr_every_n_steps decr_every_n_nan_or_inf", one_of(1, 2)),
            ("sample_shape batch_shape event_shape", one_of([2], (), [2, 3])),
            ("var", lambda: self.tensor([1.0, 2.0], wants=True)),
            ("kl_divergence.p kl_divergence.q other_distribution", self.distribution),
        ):  # fmt: skip
            made |= dict.fromkeys(names.split(), make)
        return made

    def optimizer(self) -> Any:
        """Return an optimizer of a small layer."""
        parameters = list(self.vocabulary.nn.Linear(3, 2).parameters())
        if self.is_torch:
            return self.vocabulary.optim.SGD(parameters, lr=0.1)
        return self.vocabulary.optimizer.SGD(learning_rate=0.1, parameters=parameters)

    def distribution(self, name: str = "") -> Any:
        """Return a distribution of the class of this name, or of any class."""
        name = name or self.rng.choice(["Normal", "Categorical", "Bernoulli", "Uniform"])
        module = self.vocabulary.distributions if self.is_torch else self.vocabulary.distribution
        shares = self.tensor([[0.25, 0.75], [0.5, 0.5]])
        parameters = {"Normal": (0.0, shares), "Uniform": (0.0, shares)}.get(name, (shares,))
        return getattr(module, name)(*parameters)

    def scaler(self) -> Any:
        """Return a gradient scaler."""
        return self.vocabulary.amp.GradScaler()

    def dataset(self) -> Any:
        """Return a data set of four rows."""
        rows = self.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
        if self.is_torch:
            return self.vocabulary.utils.data.TensorDataset(rows)
        return self.vocabulary.io.TensorDataset([rows])

    def fitting(self, name: str, function: str = "") -> tuple[str, Any]:
        """Return the label and the value of an argument that may fit the parameter ``name`` of ``function``."""
        make = self.by_name.get(f"{function}.{name}") or self.by_name.get(name)
        if make is None:
            make = self.rng.choice([self.some_tensor, lambda: self.rng.choice([1, 2, 0.5, [2, 3], None])])
        return f"<{name}>", make()
