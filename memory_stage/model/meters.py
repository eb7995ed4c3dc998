"""The memory meters of a recording: of the computer's own memory, and of the GPU that the program uses, if it does.

Which of the two a trace shows is known only when the run is over: the GPU's, as soon as one storage lay on it.
"""

from __future__ import annotations

from memory_stage.engines.protocol import Engine, Meter

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
        self._others: dict[int, int] = {}  # by id of a GPU's meter: bytes there that the trace does not show
        self._others_freed: dict[int, int] = {}  # of these, those that went during the run
        self._known: list[Meter] = []  # so that the ids stay theirs

    def begin(self) -> None:
        """Note what is allocated now."""
        self.start = self.peak = self._engine.allocated()
        for gpu in self._engine.gpus():
            self._known.append(gpu)
            self._others[id(gpu)] = self._others.get(id(gpu), 0) + gpu.counters().allocated
        if self._gpu is None and self._known:
            self._gpu = self._known[-1]  # it may give back what it holds before the first tensor
        if self._gpu is not None:
            self._gpu_peak = self._now(self._gpu)

    def meet(self, gpu: Meter | None) -> str:
        """A storage on ``gpu``, or on none, takes part; the name of its device."""
        if gpu is None:
            return CPU
        self.used = True
        if gpu is not self._gpu:
            self._gpu = gpu
            self._known.append(gpu)
            self._gpu_peak = self._now(gpu)
        return gpu.name

    def was_there(self, gpu: Meter, counted: int) -> None:
        """A storage of the trace lay on ``gpu`` before the first step."""
        self._others[id(gpu)] = self._others.get(id(gpu), 0) - counted

    def other_freed(self, gpu: Meter, counted: int) -> None:
        """A storage on ``gpu`` goes that the trace does not show."""
        self._others_freed[id(gpu)] = self._others_freed.get(id(gpu), 0) + counted

    def _now(self, gpu: Meter) -> int:
        """What is allocated there, as if what the trace does not show had stayed."""
        return gpu.counters().allocated + self._others_freed.get(id(gpu), 0)

    def heard(self, others_freed: int) -> None:
        """Something has happened; ``others_freed``: bytes in the computer's memory that the run did not know."""
        self.peak = max(self.peak, self._engine.allocated() + others_freed)
        if self._gpu is not None:
            self._gpu_peak = max(self._gpu_peak, self._now(self._gpu))

    def reading(self) -> dict[str, int]:
        """``allocated``, ``peak`` and ``reserved`` of the GPU; nothing before the program uses one.

        The first two with what the trace does not show: see :meth:`shown`.
        """
        if self._gpu is None:
            return {"allocated": 0, "peak": 0, "reserved": 0}
        return {"allocated": self._now(self._gpu), "peak": self._gpu_peak, "reserved": self._gpu.counters().reserved}

    def shown(self, reading: dict[str, int]) -> dict[str, int]:
        """A reading without the bytes that the trace does not show; known when the run is over."""
        others = self._others.get(id(self._gpu), 0)
        return {**reading, **{name: max(0, reading[name] - others) for name in ("allocated", "peak")}}

    @property
    def device(self) -> str:
        """The device whose memory the trace shows."""
        return self._gpu.name if self.used and self._gpu is not None else CPU
