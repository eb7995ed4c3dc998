"""Write and read an archive of named arrays and of the structure that combines them, completely or not at all.

Every array has a checksum in the archive. Sizes are checked before memory is allocated: an array is never larger than
the file that contains it.
"""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from minitensor.engine.device.arrays import host_array
from minitensor.engine.dtypes import bfloat16

try:
    from lzma import LZMAError
except ImportError:  # Python in a browser has no lzma, which zipfile does not need
    LZMAError = RuntimeError  # type: ignore[assignment, misc]  # the error that zipfile raises without lzma

STRUCTURE = "structure.json"
#: Errors that reading raises if bytes are damaged.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, struct.error, ValueError, TypeError, KeyError, IndexError),
    *(EOFError, OSError, NotImplementedError, RuntimeError, OverflowError, SyntaxError, MemoryError),
)
#: The kinds of numpy dtypes that can be read without running code: numbers and bools.
KINDS = "biufc"
#: The suffix for arrays of bfloat16, which are written as 16-bit integers.
BFLOAT16 = ".bfloat16.npy"


class Unreadable(Exception):
    """A file cannot be loaded. The message is one line, with which callers raise their own error."""


# ---------- writing ----------


def write(target: Any, arrays: list[tuple[str, Any]], structure: dict[str, Any]) -> None:
    """Write named ``arrays`` (host or GPU) and ``structure`` into a path or an open file.

    At any time, the path contains either the old file or the new one.
    """
    if hasattr(target, "write"):
        whole = io.BytesIO()
        _write_entries(whole, arrays, structure)
        target.write(whole.getbuffer())
        return
    path = os.path.realpath(os.fspath(target))
    # A device or a pipe cannot be replaced, so it is opened. If the path is a folder, `open` raises an error.
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            _write_entries(file, arrays, structure)
        return
    with _replacing(path) as file:
        _write_entries(file, arrays, structure)


@contextmanager
def _replacing(path: str | bytes) -> Iterator[BinaryIO]:
    """Open a temporary file next to ``path``. It replaces ``path`` at the end; after an error, it is deleted."""
    folder, name = os.path.split(os.fsdecode(path))
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(6).hex()}")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:  # remove the temporary file after an interrupt, too
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    _sync(folder)


def _sync(folder: str) -> None:
    """Write the folder itself to the disk, on systems that can open a folder."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _write_entries(file: Any, arrays: list[tuple[str, Any]], structure: dict[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays:
            array, suffix = host_array(array), ".npy"
            if array.dtype.name == "bfloat16":  # numpy's format cannot name this dtype
                array, suffix = array.view(np.uint16), BFLOAT16
            # Every file has the same date, so that the same data gives the same bytes.
            entry = zipfile.ZipInfo(f"{name}{suffix}")
            with archive.open(entry, "w", force_zip64=array.nbytes >= 1 << 30) as member:
                npy.write_array(member, array, allow_pickle=False)
        archive.writestr(zipfile.ZipInfo(STRUCTURE), json.dumps(structure))


# ---------- reading ----------


def read(source: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the named arrays and the structure from a path, or from the current position of an open file.

    Raises:
        OSError: if there is no such file.
        Unreadable: if it was not written by :func:`write`, or is damaged.
    """
    if hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, (bytes, bytearray)):
            raise Unreadable(f"the file returns {type(content).__name__} instead of bytes; open it in the mode 'rb'")
        return _read(io.BytesIO(content), "the file")
    with open(source, "rb") as file:
        return _read(file, f"'{os.fsdecode(source)}'")


def _read(file: Any, called: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    _check_start(file.read(2), length, called)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_names([entry.filename for entry in entries], called)
            if min(entry.header_offset for entry in entries) != 0 or any(entry.compress_type for entry in entries):
                raise Unreadable(f"{called} is damaged: its list of contents does not fit its contents")
            arrays = {
                entry.filename.removesuffix(BFLOAT16).removesuffix(".npy"): _array(archive, entry, length)
                for entry in entries
                if entry.filename != STRUCTURE
            }
            structure = json.loads(archive.read(STRUCTURE))
    except (Unreadable, ImportError):
        raise
    except BROKEN as error:
        raise Unreadable(f"{called} is damaged or was cut short ({_first_line(error)}); nothing was loaded") from None
    if not isinstance(structure, dict) or structure.get("version") != 1:
        raise Unreadable(f"{called} was written by another version of minitensor, or is damaged; nothing was loaded")
    return arrays, structure


def _check_start(start: bytes, length: int, called: str) -> None:
    """Raise Unreadable if a file that begins with the bytes ``start`` is not a zip archive."""
    if not length:
        raise Unreadable(
            f"{called} has no bytes after its position; to read a buffer that was written, call buffer.seek(0)"
        )
    if start[:1] == b"\x80" and start[1:2] <= b"\x05":
        raise Unreadable(
            f"{called} is a pickle, as Paddle and older versions of PyTorch write it. Reading one runs whatever code "
            "is in it, so minitensor does not read it. Load it in the framework that wrote it, write its arrays with "
            "numpy.savez(path, **{name: value.numpy() for name, value in state.items()}), and read these with "
            "numpy.load(path)"
        )
    if start != b"PK":
        raise Unreadable(f"{called} is not a file that `save` wrote, or its beginning is damaged; nothing was loaded")


def _check_names(names: list[str], called: str) -> None:
    """Raise Unreadable if an archive with entries of these names was not written by :func:`write`."""
    if any(name.rpartition("/")[2] == "data.pkl" for name in names):
        raise Unreadable(
            f"{called} was written by PyTorch's torch.save: it is a pickle in a zip archive. Reading one runs whatever "
            "code is in it, so minitensor does not read it. In PyTorch, write its arrays with numpy.savez(path, "
            "**{name: value.numpy() for name, value in torch.load(file).items()}), and read these with "
            "numpy.load(path)"
        )
    if STRUCTURE not in names:
        what = "was written by numpy.savez: read it with numpy.load" if names and all(
            name.endswith(".npy") for name in names
        ) else "is an archive that `save` did not write"  # fmt: skip
        raise Unreadable(f"{called} {what}")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, length: int) -> np.ndarray:
    """Read one array and verify its checksum."""
    with archive.open(entry) as member:
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(member)]
        shape, by_columns, dtype = header(member)
        nbytes = math.prod(shape) * dtype.itemsize
        if dtype.kind not in KINDS or nbytes > length or nbytes != entry.file_size - member.tell():
            raise ValueError("the length of an array differs from its header")
        array = np.empty(shape, dtype, order="F" if by_columns else "C")
        cells: Any = array.reshape(-1, order="A").view(np.uint8)
        filled = 0
        while part := member.read(1 << 20):  # zipfile compares the checksum at the end
            cells[filled : filled + len(part)] = np.frombuffer(part, np.uint8)
            filled += len(part)
    if filled != nbytes:
        raise ValueError("an array ends too early")
    return array.view(bfloat16.numpy) if entry.filename.endswith(BFLOAT16) else array


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:100]
