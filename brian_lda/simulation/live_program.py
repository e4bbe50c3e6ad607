"""Compiled networks as processes that stay alive between runs.

Starting a program, wiring its synapses and handing all weights over costs more than many a
mini-batch. So a program is started once and then takes orders (`serve.h`): arrays to set, a run,
arrays to give back. Orders go through pipes, arrays through memory that both see (`SharedMemory`).

Nothing outlives its use. A program ends when its pipe ends, also in mid-run, so that it cannot
outlive this process however that ends; and it is ended when nobody refers to it any more, at the
exit of the interpreter, and when too many others were used since (`MOST_ALIVE`). A forked process
lets go of its parent's programs, and a pickled one comes back without a process: both start their
own when they need one.
"""

from __future__ import annotations

import logging
import os
import signal
import struct
import subprocess
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from brian_lda.errors import SimulationError
from brian_lda.simulation.shared_memory import SharedMemory

logger = logging.getLogger(__name__)

MOST_ALIVE = 16  # idle programs of one process; what runs is never ended
MEMORY = "BRIAN_LDA_MEMORY"  # tells the program its descriptor
# Synapses are read at random places of arrays of many megabytes: glibc's large pages spare the
# address look-ups (8 % at V = 69 060). Other C libraries ignore the variable.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

_registry = threading.Lock()
_alive: dict[int, weakref.ref[LiveProgram]] = {}  # by id, the least recently used first


class ProgramEnded(Exception):
    """The process has ended while it was needed.

    Attributes
    ----------
    code : int
        Its exit code; negative: the signal that ended it.
    message : str
        What it had to say.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message

    def as_error(self) -> SimulationError:
        """What the user is told."""
        if self.code < 0:
            return SimulationError(
                f"the compiled network was stopped by {signal.Signals(-self.code).name} in "
                "mid-run, twice. The weights are those from before the run; present the tokens "
                "again (SIGKILL often means out of memory)."
            )
        return SimulationError(
            f"the compiled network failed (exit code {self.code}): {self.message[-500:]}. The "
            "weights are those from before the run; if it goes on, remove the compiled networks "
            "with `brian-lda cache --clear`."
        )


class LiveProgram:
    """One compiled network; its process is started by the first order.

    Parameters
    ----------
    folder : Path
        Holds the program `main` and its static arrays.

    Attributes
    ----------
    holds : dict of str to array or None
        For whoever gives the orders: what the arrays of the process hold, where that is remembered.
        Empty when there is no process.
    in_use : Lock
        Held by whoever gives an order.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._memory: SharedMemory | None = None  # there is one as long as there is a process
        self._arguments: tuple[str, ...] = ()
        self.holds: dict[str, np.ndarray | None] = {}
        self.in_use = threading.Lock()

    def __reduce__(self) -> tuple[type[LiveProgram], tuple[Path]]:
        return LiveProgram, (self._folder,)

    def __deepcopy__(self, memo: object) -> LiveProgram:
        return LiveProgram(self._folder)

    @property
    def process_id(self) -> int | None:
        """Of the process, if there is one."""
        return self._process.pid if self._process is not None else None

    def wake(self, *arguments: str) -> None:
        """Make sure that there is a process that was started with these arguments."""
        if self._process is not None:
            if self._process.poll() is None and arguments == self._arguments:
                with _registry:  # the last is the one most recently used
                    _alive[id(self)] = _alive.pop(id(self), weakref.ref(self))
                return
            self.end()
        make_room()
        memory = SharedMemory()
        try:
            self._process = self._start(arguments, memory)
        except BaseException:
            memory.close()
            raise
        self._memory, self._arguments = memory, arguments
        assert self._process.stderr is not None
        os.set_blocking(self._process.stderr.fileno(), False)
        with _registry:
            _alive[id(self)] = weakref.ref(self)
        self._finalizer = weakref.finalize(self, _end, id(self), self._process, memory, os.getpid())

    def _start(self, arguments: tuple[str, ...], memory: SharedMemory) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(self._folder / "main"), *arguments],
            cwd=self._folder,  # its static arrays are there
            env={**HUGE_PAGES, **os.environ, MEMORY: str(memory.descriptor)},
            pass_fds=(memory.descriptor,),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def order(
        self, sets: Sequence[tuple[int, np.ndarray]], asked: Sequence[tuple[int, str]]
    ) -> tuple[int, list[np.ndarray]]:
        """Set arrays, run, get arrays back.

        Parameters
        ----------
        sets : sequence of (int, array)
            Number of the array, and what it is to hold.
        asked : sequence of (int, str)
            Number of the array, and its dtype.

        Returns
        -------
        int, list of array
            Status; if it is 0, what was asked for. The arrays cannot be written to.
        """
        process, memory = self._process, self._memory
        assert process is not None and process.stdin is not None and memory is not None
        order = [len(sets)]
        for number, array in sets:
            order += [number, array.nbytes]
        order += [len(asked), *(number for number, _ in asked)]
        try:
            memory.put([array for _, array in sets])
            _write(process.stdin.fileno(), struct.pack(f"={len(order)}Q", *order))
            (status,) = self._read_numbers(1)
            lengths = self._read_numbers(len(asked) if status == 0 else 0)
            arrays = memory.take(lengths, [dtype for _, dtype in asked][: len(lengths)])
        except (BrokenPipeError, EOFError):
            code, message = process.wait(), self._complaints()
            self.end()
            raise ProgramEnded(code, message) from None
        except BaseException:  # Ctrl-C, say: the rest of the answer is still in the pipe
            self.end()
            raise
        if message := self._complaints():
            self.end()
            raise ProgramEnded(0, message)
        return status, arrays

    def end(self) -> None:
        """End the process, if there is one; the next order starts another."""
        if self._process is not None:
            self._finalizer()
            self._process, self._memory, self.holds = None, None, {}

    def _read_numbers(self, n: int) -> tuple[int, ...]:
        numbers = bytearray(8 * n)
        self._read(memoryview(numbers))
        return struct.unpack(f"={n}Q", numbers)

    def _read(self, target: memoryview) -> None:
        assert self._process is not None and self._process.stdout is not None
        while target:
            n = os.readv(self._process.stdout.fileno(), [target])
            if not n:
                raise EOFError
            target = target[n:]

    def _complaints(self) -> str:
        assert self._process is not None and self._process.stderr is not None
        return (self._process.stderr.read() or b"").decode(errors="replace").strip()

    def _let_go(self) -> None:
        """In a forked process: this program is the parent's."""
        self.in_use, self.holds = threading.Lock(), {}
        if self._process is not None:
            self._finalizer()
            self._process = self._memory = None


def make_room() -> None:
    """End the programs that were not used for longest, so that one more may be started."""
    with _registry:
        programs = [found for reference in _alive.values() if (found := reference()) is not None]
    for program in programs[: max(len(programs) + 1 - MOST_ALIVE, 0)]:
        if program.in_use.acquire(blocking=False):
            try:
                program.end()
            finally:
                program.in_use.release()


def _end(key: int, process: subprocess.Popen[bytes], memory: SharedMemory, owner: int) -> None:
    _alive.pop(key, None)
    memory.close()
    if owner == os.getpid():
        process.kill()
        process.wait()
    else:  # forked from the owner: it is not ours to end, nor to wait for
        process.returncode = 0
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _write(descriptor: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _after_fork_in_child() -> None:
    global _registry
    _registry = threading.Lock()
    for reference in list(_alive.values()):
        program = reference()
        if program is not None:
            program._let_go()
    _alive.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
