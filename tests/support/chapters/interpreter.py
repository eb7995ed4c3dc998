"""Run notebooks with the Python that runs the tests."""

from __future__ import annotations

import sys

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager


class ThisInterpreter(KernelSpecManager):
    """A kernel manager with one kernel: the Python that runs the tests, whatever is installed for the user."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")
