"""Brian's settings while our networks run, put back afterwards."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from brian2 import BrianObject, Network

ORDER_LOGGERS = ("brian2.codegen.generators.base", "brian2.codegen.generators.numpy_generator")


def mark_as_used(brian_object: BrianObject, network: Network) -> None:
    """Let Brian know that an object belongs to a network that may never run.

    Brian warns of objects that are deleted before they ran. A circuit may be made only to find its
    compiled program, or to be audited. Brian has no public way to say so (tested with 2.9 to 2.11).
    """
    if brian_object._network is None:
        brian_object._network = network.id


@contextmanager
def without_order_warnings() -> Iterator[None]:
    """Silence Brian's warning that statements may depend on the order of spikes.

    Ours are minima, and assignments of one neuron's spike: they do not.
    """
    loggers = [logging.getLogger(name) for name in ORDER_LOGGERS]
    for logger in loggers:
        logger.addFilter(_not_about_order)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_not_about_order)


def _not_about_order(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return "order of execution" not in message and "Failed to vectorise" not in message
