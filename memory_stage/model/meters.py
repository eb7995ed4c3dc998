"""Memory meters of a recording, for the host's memory and for the GPU that the program uses.

A trace shows the GPU's meter if at least one of its storages is on a GPU, which is known only at the end of the run.
"""

from __future__ import annotations

from memory_stage.engines.protocol import Engine, GpuMeter

CPU = "cpu"


class Meters:
    """Counters in bytes since :meth:`begin`. They do not reset the peak that the program can read.

    Attributes:
        start: the bytes that were allocated in host memory at the beginning.
        peak: the most bytes that were allocated in host memory since then.
        used: True if at least one storage of the run is on a GPU.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.start = self.peak = 0
        self.used = False
        self._gpu: GpuMeter | None = None
        self._gpu_peak = 0
        self._others: dict[int, int] = {}  # bytes on a GPU that the trace does not show, by the id of the GPU's meter
        self._others_freed: dict[int, int] = {}  # the part of these bytes that was freed during the run
        self._registered: list[GpuMeter] = []  # references to the meters, so that their ids stay valid

    def begin(self) -> None:
        """Read the meters at the start of the run."""
        self.start = self.peak = self._engine.allocated()
        for gpu in self._engine.gpus():
            self._registered.append(gpu)
            self._others[id(gpu)] = self._others.get(id(gpu), 0) + gpu.counters().allocated
        if self._gpu is None and self._registered:
            # An allocator may release reserved bytes before the program makes a tensor.
            self._gpu = self._registered[-1]
        if self._gpu is not None:
            self._gpu_peak = self._allocated_on(self._gpu)

    def register(self, gpu: GpuMeter | None) -> str:
        """Register the meter of the GPU that a storage is on. Return the device's name; None for the host."""
        if gpu is None:
            return CPU
        self.used = True
        if gpu is not self._gpu:
            self._gpu = gpu
            self._registered.append(gpu)
            self._gpu_peak = self._allocated_on(gpu)
        return gpu.name

    def add_existing(self, gpu: GpuMeter, counted: int) -> None:
        """Count a storage that the trace shows and that was on ``gpu`` before the first step."""
        self._others[id(gpu)] = self._others.get(id(gpu), 0) - counted

    def free_other(self, gpu: GpuMeter, counted: int) -> None:
        """Count a freed storage on ``gpu`` that the trace does not show."""
        self._others_freed[id(gpu)] = self._others_freed.get(id(gpu), 0) + counted

    def _allocated_on(self, gpu: GpuMeter) -> int:
        """Return the bytes allocated on ``gpu``, plus those of freed storages that the trace does not show."""
        return gpu.counters().allocated + self._others_freed.get(id(gpu), 0)

    def update(self, others_freed: int) -> None:
        """Update the peaks after an event.

        Args:
            others_freed: the freed bytes of host memory that belong to storages that the trace does not show.
        """
        self.peak = max(self.peak, self._engine.allocated() + others_freed)
        if self._gpu is not None:
            self._gpu_peak = max(self._gpu_peak, self._allocated_on(self._gpu))

    def reading(self) -> dict[str, int]:
        """Return ``allocated``, ``peak`` and ``reserved`` of the GPU; zeros before the program uses one.

        The first two include bytes that the trace does not show: :meth:`shown` subtracts them.
        """
        if self._gpu is None:
            return {"allocated": 0, "peak": 0, "reserved": 0}
        allocated = self._allocated_on(self._gpu)
        return {"allocated": allocated, "peak": self._gpu_peak, "reserved": self._gpu.counters().reserved}

    def shown(self, reading: dict[str, int]) -> dict[str, int]:
        """Return a reading less the bytes that the trace does not show. These are known only when the run is over."""
        others = self._others.get(id(self._gpu), 0)
        return {**reading, **{name: max(0, reading[name] - others) for name in ("allocated", "peak")}}

    @property
    def device(self) -> str:
        """The name of the device whose memory the trace shows."""
        return self._gpu.name if self.used and self._gpu is not None else CPU
