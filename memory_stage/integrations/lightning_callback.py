"""A callback for Lightning that explains a training which ``Trainer.fit`` runs.

    from memory_stage.integrations.lightning_callback import LightningExplanation

    Trainer(callbacks=[LightningExplanation()]).fit(module)

``with memory_stage.explain():`` around ``fit`` does the same. The callback is for programs that do not call ``fit``
themselves, such as programs of LightningCLI, which list their callbacks in a configuration file.
"""

from __future__ import annotations

from typing import Any

from memory_stage.explanation.whole_run.explanation import Explanation
from memory_stage.integrations.watched_training import WatchedTraining

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class LightningExplanation(Callback):
    """Explain each training that a trainer of Lightning runs, and print a fault as soon as it is found."""

    def __init__(self) -> None:
        super().__init__()
        self._training = WatchedTraining()

    @property
    def explanation(self) -> Explanation | None:
        """The explanation of the latest training; None before the first."""
        return self._training.explanation

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Watch the training. At its end, the module is searched for graphs that it keeps alive."""
        self._training.begin(pl_module, {"self": pl_module})

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Stop watching."""
        self._training.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Stop watching, and explain the error that ended the training."""
        self._training.end(exception)
