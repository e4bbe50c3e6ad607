"""A page about a network: a drawing, its layers, its pathways, and what a tick does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from brian_lda.files.html_page import HtmlPage
from brian_lda.plotting import plot_network

if TYPE_CHECKING:
    from brian_lda.simulation.description import NetworkDescription


def write_network_page(network: NetworkDescription, path: str | Path) -> Path:
    """Write the page, one file that needs nothing beside it.

    Parameters
    ----------
    network : NetworkDescription
        Of `brian_lda.simulation.description`.
    path : str or Path
    """
    page = HtmlPage(network.title, "The network as it runs, read from its Brian objects.")
    page.section("Layers and synapses")
    page.figure(drawing(network), caption="Boxes: layers and their neurons. Arrows: synapses.")
    for layer in network.layers:
        page.section(f"{layer.name}, {layer.neurons}", level=3)
        if layer.equations:
            page.preformatted("\n".join(layer.equations))
        rows = [{"event": name, "when": condition} for name, condition in layer.told_events]
        page.table(rows)
    page.section("Pathways")
    for connection in network.connections:
        page.section(f"{connection.name}: {connection.source} → {connection.target}", level=3)
        if connection.equations:
            page.preformatted("\n".join(connection.equations))
        page.table(
            [
                {"pathway": p.name, "at": f"{p.event} of {p.layer}", "statements": p.code}
                for p in connection.pathways
            ]
        )
    page.section("A tick").paragraph(" → ".join(network.schedule))
    page.table(
        [
            {"phase": step.phase, "order": step.order, "object": step.name, "does": step.code}
            for step in network.steps
        ]
    )
    return page.save(path)


def drawing(network: NetworkDescription) -> Figure:
    """Layers that are connected by synapses; those that only pace and remember stay out."""
    connections = [(c.name, c.source, c.target) for c in network.connections]
    connected = {end for _, *ends in connections for end in ends}
    layers = {layer.name: layer.n_neurons for layer in network.layers if layer.name in connected}
    figure = Figure(figsize=(9.0, 4.6))
    plot_network(layers, connections, figure.subplots())
    return figure
