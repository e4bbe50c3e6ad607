"""Compiled spiking networks for workers without a compiler.

The networks of a sweep are built once per shape, on the submitting side, and travel to the workers
as archives of the program, its static arrays and the map of its variables. A worker unpacks them
into its own cache, where the simulator finds them (`brian_lda.simulation.standalone`).

A program is compiled for the CPU of the submitting machine. A worker whose CPU lacks one of that
CPU's instructions says so instead of dying from it: submit from the oldest machine of the cluster.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brian_lda.errors import BuildError
from brian_lda.runs import RunConfig, make_model, run_split
from brian_lda.sweeps.task import TRAIN, Task

# What a run may vary without another network: values, not equations or sizes.
_NO_PART_OF_THE_NETWORK = ("seed", "prior", "word_prior", "iterations", "evaluate_every")


def build_programs(tasks: Sequence[Task]) -> dict[str, Path]:
    """Compile the networks of all spiking runs, each shape once: portable key to folder.

    Also worth it before several local processes start, which would all compile the same network.
    """
    shapes: dict[str, Task] = {}
    for task in tasks:
        if task.function == TRAIN and task.config.get("backend") == "brian2":
            shape = {k: v for k, v in task.config.items() if k not in _NO_PART_OF_THE_NETWORK}
            shapes.setdefault(json.dumps(shape, sort_keys=True), task)
    if not shapes:
        return {}
    from brian_lda.simulation.standalone import programs_used  # imports Brian2: seconds

    with programs_used() as programs:
        for task in shapes.values():
            config = RunConfig(**task.config, data_dir=task.data_dir)
            train = run_split(config).train
            make_model(config)._make_trainer(train, config.seed)  # compiles, if need be
    return dict(programs)


def pack_programs(programs: Mapping[str, Path]) -> dict[str, Any]:
    """Program folders as plain data, with the CPU that they were compiled for."""
    archives = {}
    for key, folder in programs.items():
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            archive.add(folder, arcname=".")
        archives[key] = buffer.getvalue()
    return {"archives": archives, "machine": platform.machine(), "flags": sorted(cpu_flags())}


def install_programs(packed: Mapping[str, Any]) -> None:
    """Unpack programs into this machine's cache, unless they are there."""
    if not packed["archives"]:
        return
    from brian_lda.simulation.standalone import shipped_folder

    for key, archive in packed["archives"].items():
        target = shipped_folder() / key
        if (target / "manifest.json").is_file():
            continue
        lacking = set(packed["flags"]) - cpu_flags()
        if packed["machine"] != platform.machine() or lacking:
            what = ", ".join(sorted(lacking)) or "that architecture"
            raise BuildError(
                f"the network was compiled for a {packed['machine']} CPU; this worker "
                f"({platform.machine()}) lacks {what}. "
                "Submit the sweep from the oldest machine of the cluster."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=target.parent))
        try:
            with tarfile.open(fileobj=io.BytesIO(archive)) as file:
                file.extractall(scratch, filter="data")
            os.chmod(scratch, 0o755)
            os.rename(scratch, target)
        except OSError:
            if not (target / "manifest.json").is_file():  # else another run was first
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def cpu_flags() -> set[str]:
    """Instruction sets of this CPU, as Linux names them; empty elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    for line in text.splitlines():
        if line.lower().startswith(("flags", "features")):
            return set(line.partition(":")[2].split())
    return set()
