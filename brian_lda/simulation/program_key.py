"""The name of a compiled network in the cache: what must differ for a program to differ.

Two networks with the same key run the same program. Values that are set when a run starts (weights,
priors, step sizes, rates, seeds) are no part of it; everything else is.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

import brian2
import numpy as np
from brian2 import TimedArray, get_device, prefs
from brian2.core.base import BrianObject
from brian2.core.variables import Constant
from brian2.devices.cpp_standalone.device import CPPStandaloneDevice

import brian_lda.circuit
from brian_lda.circuit.circuit import Circuit

SERVE = Path(__file__).with_name("serve.h")  # goes into every program
TEMPLATES = Path(__file__).with_name("templates")  # ... and so does what these make
MAKERS = ("program_key.py", "compile_program.py", "circuit_device.py", "prefetch.py")
TELLING = ["equations", "events", "event_codes"]  # of groups
TELLING += ["code", "abstract_code", "user_code", "method_choice", "event", "record"]  # of the rest


def compiler() -> str:
    """The C++ compiler that is called."""
    return os.environ.get("CXX", "g++")


def _compiler_version() -> str:
    if shutil.which(compiler()) is None:
        return ""
    command = [compiler(), "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def program_key(circuit: Circuit, outputs: tuple[str, ...], *, portable: bool = False) -> str:
    """Hash that names a compiled network: of everything that the program is made from.

    The objects of the network are described one by one (`description`), so that no choice can be
    forgotten. The files that make them count as well, for what no object shows: functions in C++.

    Parameters
    ----------
    circuit : Circuit
    outputs : tuple of str
    portable : bool
        The same on every machine.
    """
    versions: tuple[str, ...] = (brian2.__version__, platform.machine())
    versions += tuple(prefs.codegen.cpp.extra_compile_args_gcc)
    if not portable:  # -march=native: a program belongs to the machine that compiled it
        versions += (_compiler_version(), platform.node())
    content = [_files(), description(circuit), outputs, versions]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


@cache
def _files() -> str:
    """Hash of the files that make circuits and programs, comments left out.

    Read once: a file that is edited while a process runs is not what the process has imported.
    """
    here, circuit = Path(__file__).parent, Path(brian_lda.circuit.__file__).parent
    digest = hashlib.sha256()
    for file in (*sorted(circuit.glob("*.py")), *(here / name for name in MAKERS)):
        digest.update(ast.dump(ast.parse(file.read_text(encoding="utf-8"))).encode())
    for file in (SERVE, *sorted(TEMPLATES.glob("*.cpp"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def description(circuit: Circuit) -> list[object]:
    """Everything that a network's objects say about themselves, as plain data."""
    objects = list(circuit.network.objects)
    for brian_object in objects:
        objects += brian_object.contained_objects
    return [
        list(circuit.network.schedule),
        circuit.first_values,
        circuit.recorded,
        sorted(
            _description_of(brian_object) for brian_object in {id(o): o for o in objects}.values()
        ),
        _description_of_start(),
    ]


def _description_of(brian_object: BrianObject) -> list[str]:
    told = [brian_object.name, type(brian_object).__name__, brian_object.when]
    told += [str(brian_object.order), str(getattr(brian_object, "template", ""))]
    told.append(brian_object.clock.name)
    for attribute in TELLING:
        told.append(str(getattr(brian_object, attribute, "")))
    namespace = getattr(brian_object, "namespace", None) or {}
    for name, value in sorted(namespace.items()):  # functions: in the files
        told.append(name if callable(value) else f"{name} = {np.array(value).tolist()!r}")
        if isinstance(value, TimedArray):
            told.append(f"{np.array(value.values).tolist()!r} every {float(value.dt)!r}")
    for name, variable in sorted(getattr(brian_object, "variables", {}).items()):
        told += [name, type(variable).__name__, str(getattr(variable, "dtype", ""))]
        told += [str(getattr(variable, "size", "")), str(getattr(variable, "expr", ""))]
        owner = getattr(variable, "owner", None)  # another object, if the variable is linked
        told += [getattr(variable, "name", ""), getattr(owner, "name", "")]
        told += [repr(variable.value) if isinstance(variable, Constant) else ""]
    return told


def _description_of_start() -> list[object]:
    """What was set and connected while the network was assembled: part of a program as well.

    Inside Python there is no program, and nothing to tell.
    """
    device = get_device()
    if not isinstance(device, CPPStandaloneDevice):
        return []
    told: list[object] = []
    for action, arguments in device.main_queue:
        if action == "run_code_object":
            code_object = arguments[0]
            code = str(code_object.code).replace(code_object.name, "")  # it may have been counted
            told.append(sorted(code.splitlines()))  # the order of some lines is left to chance
        elif "defaultclock" not in str(arguments):  # no part of our networks
            told.append([action, str(arguments)])
    for name, values in sorted(device.static_arrays.items()):
        told.append([name, hashlib.sha256(np.asarray(values).tobytes()).hexdigest()])
    return told
