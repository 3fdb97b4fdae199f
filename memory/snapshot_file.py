"""A file of arrays and plain values, each checked when it is read; written whole or not at all."""

import json
import os
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Any, BinaryIO

import numpy as np

_MAGIC = b"tcindex1"
_HEAD = struct.Struct("<8sQI")
"""Magic, length of the JSON that follows, and its CRC-32; then come the arrays, each at a multiple of 64."""
_ALIGNED = 64
TEMPORARY = ".tmp"
_ARRAY = "$array"

Tree = Mapping[str, Any]
"""Nested values with string keys: plain JSON and NumPy arrays."""


class Damaged(Exception):
    """The file is not one that `write` wrote, or not any more."""


def write(path: Path, tree: Tree) -> Path:
    """Writes a temporary file beside `path`, down to the disk, and returns it; renaming it is the caller's.

    Only the owner of the process can read it.
    """
    arrays: list[np.ndarray] = []
    plain = json.dumps({"tree": _without(tree, arrays), "arrays": [_described(one) for one in arrays]})
    text = plain.encode()
    number, name = mkstemp(dir=path.parent, prefix=f"{path.stem}-", suffix=TEMPORARY)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(_HEAD.pack(_MAGIC, len(text), zlib.crc32(text)) + text)
            for array in arrays:
                file.write(b"\0" * (-file.tell() % _ALIGNED))
                file.write(_bytes(array))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return Path(name)


def read(path: Path) -> dict[str, Any]:
    """What was written; arrays can be written to. Raises Damaged, FileNotFoundError."""
    with path.open("rb") as file:
        first = file.read(_HEAD.size)
        if len(first) < _HEAD.size:
            raise Damaged("too short")
        magic, length, check = _HEAD.unpack(first)
        if magic != _MAGIC or length > path.stat().st_size:
            raise Damaged("another kind of file")
        text = file.read(length)
        if zlib.crc32(text) != check:
            raise Damaged("the head is not what was written")
        head = json.loads(text)
        arrays = [_array(file, *described) for described in head["arrays"]]
    found: dict[str, Any] = _with(head["tree"], arrays)
    return found


def _array(file: BinaryIO, kind: str, shape: list[int], check: int) -> np.ndarray:
    file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    read = np.fromfile(file, np.uint8, size)
    if len(read) != size or zlib.crc32(read.data) != check:
        raise Damaged("an array is not what was written")
    return read.view(kind).reshape(shape)


def _described(array: np.ndarray) -> tuple[str, tuple[int, ...], int]:
    return array.dtype.str, array.shape, zlib.crc32(_bytes(array))


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _without(value: Any, arrays: list[np.ndarray]) -> Any:
    """`value` as plain JSON; its arrays, appended to `arrays`, are named by their place there."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, Mapping):
        return {name: _without(item, arrays) for name, item in value.items()}
    return value


def _with(value: Any, arrays: list[np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if _ARRAY in value:
        return arrays[value[_ARRAY]]
    return {name: _with(item, arrays) for name, item in value.items()}
