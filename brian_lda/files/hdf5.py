"""HDF5 files, written so that a full disk is an error and no crash, and read with suspicion.

The HDF5 library is not made for damaged files (one kept it busy beyond 20 s) nor for full disks
(which end the process). So a file is made in memory and written in one go, and its user block, a
place that HDF5 leaves to applications, holds the SHA-256 of what follows: a file that was damaged,
cut or edited is refused before the library sees it. Any HDF5 tool reads these files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

USER_BLOCK = 512  # the smallest that HDF5 allows


def sealed_image(kind: str, write: Callable[[h5py.File], None]) -> bytes:
    """The bytes of an HDF5 file with what `write` puts into it, behind its seal.

    In memory: on a full disk the library fails when the file is closed, keeps it open and in the
    end takes the process down with a segmentation fault (seen with HDF5 2.0).
    """
    with h5py.File("image", "w", driver="core", backing_store=False) as file:
        write(file)
        file.flush()
        image = file.id.get_file_image()
    return _head(kind, hashlib.sha256(image).hexdigest()).ljust(USER_BLOCK, b"\0") + image


def check_seal(path: Path, kind: str) -> None:
    """Refuse a file that is not, byte for byte, what `sealed_image` made.

    Raises
    ------
    ValueError
        Says what is wrong; the caller knows what to do about it.
    """
    with open(path, "rb") as raw:
        user_block = raw.read(USER_BLOCK)
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    if not user_block.startswith(_head(kind, "")[:-1]):
        raise ValueError(f"it is not a {kind} of brian_lda")
    if user_block != _head(kind, digest).ljust(USER_BLOCK, b"\0"):
        raise ValueError("it is damaged: its content does not have the checksum in its head")


def _head(kind: str, digest: str) -> bytes:
    return f"brian_lda {kind}\nsha256 {digest}\n".encode()


def read_array(group: h5py.Group, name: str, path: Path) -> np.ndarray:
    """A numeric array, refused before allocation if the file does not really hold it.

    A file of a few bytes can claim a dataset of any shape, keep it in another file or behind a
    link to one, or compress it a thousandfold: we write none of these and read none.

    Raises
    ------
    ValueError
        Names the dataset; the caller knows which kind of file it is.
    """
    dataset = stored_dataset(group, name, path)
    if dataset.dtype.kind not in "fiub":
        raise ValueError(f"{name} holds {dataset.dtype}, expected numbers")
    return dataset[...]


def stored_dataset(group: h5py.Group, name: str, path: Path) -> h5py.Dataset:
    """The dataset itself, checked as in `read_array`."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is missing, or a link to somewhere else")
    dataset = group[name]
    if not isinstance(dataset, h5py.Dataset):
        raise ValueError(f"{name} is not a dataset")
    properties = dataset.id.get_create_plist()
    if dataset.is_virtual or properties.get_external_count() or properties.get_nfilters():
        raise ValueError(f"{name} is compressed or kept in another file")
    claimed = int(np.prod(dataset.shape, dtype=object)) * dataset.dtype.itemsize
    if claimed > min(dataset.id.get_storage_size(), path.stat().st_size):
        raise ValueError(
            f"{name} claims the shape {dataset.shape}, more than the file of "
            f"{path.stat().st_size} bytes holds"
        )
    return dataset


def read_arrays(group: h5py.Group, path: Path) -> dict[str, np.ndarray]:
    """All arrays of a group."""
    if not isinstance(group, h5py.Group):
        raise ValueError("state is not a group")
    return {name: read_array(group, name, path) for name in group}
