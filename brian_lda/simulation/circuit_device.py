"""Brian's C++ standalone device: synapses without queues, and one file to compile.

Brian puts the synapses of every spike into a queue, K numbers a spike, copies them, and then looks
up where each begins and ends. All pathways of our circuits connect all to all and deliver without
delay, in the phase of the tick in which they run. For such a pathway the synapses of a spike are
known: those of source s are s K ... s K + K - 1. `templates/synapses.cpp` runs over them in place,
and the compiler vectorises the loop; `templates/synapses_push_spikes.cpp` looks at the wiring when
the program starts. Every other pathway goes through Brian's queue. Same synapses, same statements;
the objects of the network do not know. The order is Brian's but for pathways on_post, which go word
by word and not topic by topic; whatever adds up at either end still does so in the same order.

Both templates stand in for those of Brian 2.9 to 2.11, which are the same in all three.

Brian writes every code object into a file of its own, ten lines behind 30 000 of headers. In one
file they compile in a fifth of the time. Only the helper functions, of which each file has its own
copies, must then be kept apart.
"""

from __future__ import annotations

from typing import Any

from brian2.devices.cpp_standalone.codeobject import CPPStandaloneCodeObject
from brian2.devices.cpp_standalone.device import CPPStandaloneDevice, CPPWriter


class CircuitCodeObject(CPPStandaloneCodeObject):
    """A code object that finds our templates before Brian's."""

    templater = CPPStandaloneCodeObject.templater.derive("brian_lda.simulation")


class CircuitDevice(CPPStandaloneDevice):
    """The device of circuits; no part of a user's standalone project."""

    def code_object_class(
        self, codeobj_class: Any = None, fallback_pref: str | None = None
    ) -> type[CPPStandaloneCodeObject]:
        """Ours, unless another is asked for."""
        return codeobj_class or CircuitCodeObject

    def generate_codeobj_source(self, writer: CPPWriter) -> None:
        """Brian's files of code objects, joined to one."""
        joined = _JoiningWriter(writer)
        super().generate_codeobj_source(joined)
        writer.write("code_objects/joined.cpp", "\n".join(joined.parts))


class _JoiningWriter:
    """Takes what is written to C++ files together; passes headers on."""

    def __init__(self, writer: CPPWriter) -> None:
        self._writer, self.parts = writer, []  # type: ignore[var-annotated]

    def write(self, filename: str, contents: str) -> None:
        if not filename.endswith(".cpp"):
            self._writer.write(filename, contents)
            return
        helpers = f"helpers_{len(self.parts)}"
        contents = contents.replace("\nnamespace {", f"\nnamespace {helpers} {{")
        contents = contents.replace(
            "using namespace brian;", f"using namespace brian;\nusing namespace {helpers};"
        )
        self.parts.append(contents)
