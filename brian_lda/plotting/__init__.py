"""Figures: functions that take data and an Axes, draw, and return the Axes.

=============  ==================================================================================
rasters        who fired when
race           membrane potentials and latencies of one token
topics         topics as images and words, documents as mixtures
learning       learning curves, and zeta on its way to the manifold
network        layers as boxes, synapses as arrows
chips          placement of topics on chips, and the traffic between them
palette        the colours of all figures, and sizes for a column of 8.5 cm (`column_style`)
=============  ==================================================================================
"""

from brian_lda.plotting.chips import plot_chip_placement, plot_traffic
from brian_lda.plotting.learning import plot_curves, plot_learning_curves, plot_manifold
from brian_lda.plotting.network import plot_network
from brian_lda.plotting.palette import COLUMN_WIDTH, PALETTE, column_style, topic_colours
from brian_lda.plotting.race import plot_potentials, plot_race
from brian_lda.plotting.rasters import plot_raster, plot_topic_raster, plot_word_raster
from brian_lda.plotting.topics import (
    plot_document_mixtures,
    plot_matched_topics,
    plot_topic_images,
    plot_topic_words,
)

__all__ = [
    "COLUMN_WIDTH",
    "PALETTE",
    "column_style",
    "plot_chip_placement",
    "plot_curves",
    "plot_document_mixtures",
    "plot_learning_curves",
    "plot_manifold",
    "plot_matched_topics",
    "plot_network",
    "plot_potentials",
    "plot_race",
    "plot_raster",
    "plot_topic_images",
    "plot_topic_raster",
    "plot_topic_words",
    "plot_traffic",
    "plot_word_raster",
    "topic_colours",
]
