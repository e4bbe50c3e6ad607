"""Free memory: of the machine, of the container, and where nobody tells."""

import os

import pytest

from brian_lda import available_memory as module
from brian_lda.available_memory import available_memory


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GB free and a container with 3 of 4 GB left."""
    monkeypatch.setattr(module, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(module, "CGROUP", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable:  8000000 kB\n")
    (tmp_path / "memory.max").write_text("4000000000\n")
    (tmp_path / "memory.current").write_text("1000000000\n")
    return tmp_path


def test_the_smaller_of_machine_and_container_counts(system):
    assert available_memory() == 3_000_000_000
    (system / "memory.max").write_text("max\n")
    assert available_memory() == 8_192_000_000
    (system / "memory.max").unlink()
    assert available_memory() == 8_192_000_000


def test_without_meminfo_all_that_is_there_counts(system, monkeypatch):
    (system / "memory.max").unlink()
    (system / "meminfo").write_text("nothing of the kind")
    sizes = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert available_memory() == 4_096_000
    monkeypatch.delattr(os, "sysconf")
    assert available_memory() is None
