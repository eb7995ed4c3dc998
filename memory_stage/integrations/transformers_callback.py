"""A callback for Transformers that explains a training which ``Trainer.train`` runs.

    from memory_stage.integrations.transformers_callback import TransformersExplanation

    Trainer(model, arguments, train_dataset=data, callbacks=[TransformersExplanation()]).train()

``with memory_stage.explain():`` around ``train`` does more: it also explains errors outside of backward passes. The
callback cannot, because the trainer calls no callback when the training ends with an error.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from memory_stage.explanation.whole_run.explanation import Explanation
from memory_stage.integrations.watched_training import WatchedTraining


class TransformersExplanation(TrainerCallback):
    """Explain each training that a trainer of Transformers runs, and print a fault as soon as it is found."""

    def __init__(self) -> None:
        super().__init__()
        self._training = WatchedTraining()

    @property
    def explanation(self) -> Explanation | None:
        """The explanation of the latest training; None before the first."""
        return self._training.explanation

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Watch the training. At its end, the model is searched for graphs that it keeps alive."""
        model = given.get("model")
        self._training.begin(model, {"model": model})

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Stop watching."""
        self._training.end()
