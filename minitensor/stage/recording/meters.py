"""The memory meters of a recording: of the computer's own memory, and of the GPU that the program uses, if it does.

Which of the two a trace shows is known only when the run is over: the GPU's, as soon as one storage lay on it.
"""

from __future__ import annotations

from minitensor.stage.engines.engine import Engine, Meter

CPU = "cpu"


class Meters:
    """Counters since :meth:`begin`, in bytes; the program's own peaks are left as they are.

    Attributes:
        start: what was allocated in the computer's own memory at the beginning.
        peak: the most that was allocated there since then.
        used: whether a storage of the run lay on a GPU.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.start = self.peak = 0
        self.used = False
        self._gpu: Meter | None = None
        self._gpu_peak = 0

    def begin(self) -> None:
        """Note what is allocated now."""
        self.start = self.peak = self._engine.allocated()
        self._follow(self._engine.gpu())

    def meet(self, gpu: Meter | None) -> str:
        """A storage on ``gpu``, or on none, takes part; the name of its device."""
        if gpu is None:
            return CPU
        self.used = True
        self._follow(gpu)
        return gpu.name

    def _follow(self, gpu: Meter | None) -> None:
        if gpu is not None and gpu is not self._gpu:
            self._gpu = gpu
            self._gpu_peak = gpu.counters().allocated

    def heard(self, others_freed: int) -> None:
        """Something has happened; ``others_freed``: bytes in the computer's memory that the run did not know."""
        self.peak = max(self.peak, self._engine.allocated() + others_freed)
        if self._gpu is not None:
            self._gpu_peak = max(self._gpu_peak, self._gpu.counters().allocated)

    def reading(self) -> dict[str, int]:
        """``allocated``, ``peak`` and ``reserved`` of the GPU; nothing before the program uses one."""
        if self._gpu is None:
            return {"allocated": 0, "peak": 0, "reserved": 0}
        counters = self._gpu.counters()
        return {"allocated": counters.allocated, "peak": self._gpu_peak, "reserved": counters.reserved}

    @property
    def device(self) -> str:
        """The device whose memory the trace shows."""
        return self._gpu.name if self.used and self._gpu is not None else CPU
