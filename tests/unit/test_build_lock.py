"""The lock of the build cache: one builder at a time, whatever happens to it."""

from __future__ import annotations

import os
import signal
import time
import traceback

import pytest

from brian_lda.simulation import build_lock
from brian_lda.simulation.build_lock import sole_builder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and kills")


def in_child(work, *arguments):
    child = os.fork()
    if child:
        return child
    try:
        work(*arguments)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def build(folder, log, patience):
    """Waits this long for another builder of the same network, and notes it if there is one."""
    with sole_builder(folder) as scratch:
        (scratch / "program").touch()
        mark, deadline = folder.parent / f"at_work_{os.getpid()}", time.monotonic() + patience
        mark.touch()
        while time.monotonic() < deadline and not list(log.glob("overlap_*")):
            if len(list(folder.parent.glob("at_work_*"))) > 1:
                (log / f"overlap_{os.getpid()}").touch()
            time.sleep(0.005)
        mark.unlink()


def overlaps(folder, n_processes, patience):
    networks = folder / "networks"
    children = [in_child(build, networks / "key", folder, patience) for _ in range(n_processes)]
    codes = [os.waitpid(child, 0)[1] for child in children]
    assert codes == [0] * n_processes
    assert not list(networks.glob("build_*"))
    return len(list(folder.glob("overlap_*")))


def test_one_builder_at_a_time(tmp_path):
    assert overlaps(tmp_path, 6, patience=0.1) == 0


def test_without_locks_builders_overlap_and_leave_each_other_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(build_lock, "fcntl", None)
    assert overlaps(tmp_path, 3, patience=60) > 0


def test_a_file_system_without_locks_is_no_error(tmp_path, monkeypatch):
    def unsupported(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(build_lock.fcntl, "flock", unsupported)
    other = tmp_path / "build_key_of_another"
    other.mkdir()
    with sole_builder(tmp_path / "key") as scratch:
        assert scratch.is_dir()
    assert other.exists()  # it may be at work


def test_a_killed_builder_neither_blocks_nor_leaves_anything(tmp_path):
    folder, other = tmp_path / "key", tmp_path / "build_other_123"
    other.mkdir()

    def stuck():
        with sole_builder(folder) as scratch:
            (scratch / "half").write_text("half a program")
            time.sleep(600)

    child = in_child(stuck)
    while not list(tmp_path.glob("build_key_*/half")):
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert list(tmp_path.glob("build_key_*/half"))
    with sole_builder(folder) as scratch:
        assert list(tmp_path.glob("build_key_*")) == [scratch]
    assert not list(tmp_path.glob("build_key_*"))
    assert other.exists()  # of another network


def test_the_scratch_folder_goes_when_a_build_fails(tmp_path):
    with pytest.raises(ZeroDivisionError), sole_builder(tmp_path / "key"):
        raise ZeroDivisionError
    assert not list(tmp_path.glob("build_*"))
