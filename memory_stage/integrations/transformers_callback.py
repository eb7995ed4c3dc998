"""A callback of Transformers: explain a training that ``Trainer.train`` runs.

    from memory_stage.integrations.transformers_callback import TransformersExplanation

    Trainer(model, arguments, train_dataset=data, callbacks=[TransformersExplanation()]).train()

``with memory_stage.explain():`` around ``train`` does the same, and more: the trainer calls no hook if the training
ends by an error. The error of a backward pass is explained when it is raised, but no other error.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from memory_stage.explanation.whole_run.explanation import Explanation
from memory_stage.integrations.watched_training import WatchedTraining


class TransformersExplanation(TrainerCallback):
    """Explain each training that a trainer of Transformers runs, and print a fault when it is found."""

    def __init__(self) -> None:
        super().__init__()
        self._training = WatchedTraining()

    @property
    def explanation(self) -> Explanation | None:
        """The explanation of the training that began last; None before the first."""
        return self._training.explanation

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Watch the training. Graphs that the model keeps are searched at its end."""
        model = given.get("model")
        self._training.begin(model, {"model": model})

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Stop watching."""
        self._training.end()
