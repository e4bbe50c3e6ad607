"""Figures show the data that they are given; each function returns its Axes."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from brian_lda import plotting
from brian_lda.errors import ParameterError
from brian_lda.simulation.recording import Spikes


@pytest.fixture
def ax():
    figure = Figure(figsize=(plotting.COLUMN_WIDTH, 3))
    axes = figure.add_subplot()
    yield axes
    figure.savefig("/dev/null", format="png")  # what was drawn can be rendered


@pytest.fixture
def spikes():
    """Three tokens in clocked time: words 2, 0, 2 of documents 1, 1, 0; winners 4, 1, 4.

    The tick at 3 ms has two attempts, which are rejected.
    """
    ms = 1e-3 * np.arange(6)
    return Spikes(
        index={
            "word": np.array([2, 2, 0, 0, 0, 2]),
            "document": np.array([1, 1, 1, 1, 1, 0]),
            "attempt": np.array([4, 1, 4, 1, 4]),
            "topic": np.array([4, 1, 4]),
        },
        time={
            "word": ms,
            "document": ms,
            "attempt": ms[[1, 3, 3, 4, 5]],
            "topic": ms[[1, 4, 5]],
        },
    )


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def points(collection):
    return [tuple(point) for point in np.asarray(collection.get_offsets()).round(6)]


def test_raster_of_all_layers(spikes, ax):
    assert plotting.plot_raster(spikes, ["war", "sea", "oil"], ax) is ax
    assert labels(ax) == ["oil", "war", "document 1", "document 0", "topic 1", "topic 4"]
    words, documents, rejected, winners, links = ax.collections
    assert points(words) == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 0)]
    assert points(documents) == [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 3)]
    assert points(rejected) == [(3, 4), (3, 5)]
    assert points(winners) == [(1, 5), (4, 4), (5, 5)]
    token = [0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(words.get_facecolor(), winners.get_facecolor()[token])
    spans = [segment[:, 1].tolist() for segment in links.get_segments()]
    assert spans == [[0, 5], [1, 4], [0, 5]]  # from the token's word to its winner


def test_raster_without_documents_and_attempts(spikes, ax):
    for layer in ("document", "attempt"):
        del spikes.index[layer], spikes.time[layer]
    plotting.plot_raster(spikes, ["war", "sea", "oil"], ax)
    assert labels(ax) == ["oil", "war", "topic 1", "topic 4"]


def test_rasters_of_one_layer(spikes):
    above, below = Figure().subplots(2)
    assert plotting.plot_word_raster(spikes, ["war", "sea", "oil"], above) is above
    assert labels(above) == ["oil", "war"]
    assert plotting.plot_topic_raster(spikes, below) is below
    assert labels(below) == ["topic 1", "topic 4"]
    assert points(below.collections[-1]) == [(1, 1), (4, 0), (5, 1)]


def test_topic_colours_do_not_depend_on_the_company():
    alone, together = (plotting.topic_colours(np.array(z)) for z in ([5], [0, 3, 5]))
    np.testing.assert_array_equal(alone[0], together[2])
    assert len(np.unique(plotting.topic_colours(np.arange(21)), axis=0)) == 21
    np.testing.assert_array_equal(
        plotting.topic_colours(np.array([2]))[0], to_rgba(plotting.PALETTE[2])
    )


def test_race_marks_the_earliest(ax):
    latency = np.array([3.0, 0.2, 1.0])
    assert plotting.plot_race(latency, 1, ax) is ax
    silenced, winner, *_ = ax.lines
    assert silenced.get_xdata().tolist() == [3.0, 1.0]
    assert (winner.get_xdata(), winner.get_ydata()) == ([0.2], [1])


def test_potentials_are_the_sum_of_both_layers(ax):
    u__alpha, u__beta = np.array([-1.0, -2.0]), np.array([-3.0, -0.5])
    assert plotting.plot_potentials(u__alpha, u__beta, 1, ax) is ax
    assert points(ax.collections[0]) == [(0, -4.0), (1, -2.5)]
    assert ax.lines[-1].get_ydata() == [-2.5]


def test_topic_images(ax):
    phi = np.array([[1.0, 0, 0, 0], [0, 0, 0, 0.5], [0.25, 0.25, 0.25, 0.25]])
    assert plotting.plot_topic_images(phi, ax, n_columns=2) is ax
    image = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert image.shape == (7, 7)
    assert image[1:3, 1:3].tolist() == [[1, 0], [0, 0]]
    assert image[1:3, 4:6].tolist() == [[0, 0], [0, 1]]  # each scaled to its own maximum
    assert image[4:6, 1:3].tolist() == [[1, 1], [1, 1]]
    assert np.isnan(image[3]).all() and np.isnan(image[:, 3]).all()
    with pytest.raises(ParameterError, match="shape="):
        plotting.plot_topic_images(np.ones((2, 6)), ax)


def test_topic_words_are_the_most_probable(ax):
    assert plotting.plot_topic_words(np.array([0.1, 0.6, 0.3]), ["a", "b", "c"], ax, n=2) is ax
    assert labels(ax) == ["b", "c"]
    assert [bar.get_width() for bar in ax.patches] == [0.6, 0.3]


def test_document_mixtures_fill_the_bar(ax):
    theta = np.array([[0.7, 0.27, 0.03], [0.0, 0.5, 0.5]])
    assert plotting.plot_document_mixtures(theta, ax) is ax
    for d in (0, 1):
        bars = [bar for bar in ax.patches if round(bar.get_y() + bar.get_height() / 2) == d]
        assert sum(bar.get_width() for bar in bars) == pytest.approx(1.0)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "1", "2"]  # 0.03 is "the rest"


def test_learning_curves_show_mean_and_range(ax):
    runs = np.array([[4.0, 2.0], [6.0, 3.0], [8.0, 4.0]])
    assert plotting.plot_learning_curves({"CGS": runs, "one": runs[:1]}, ax, x=[10, 20]) is ax
    assert ax.lines[0].get_ydata().tolist() == [6.0, 3.0]
    (band,) = ax.collections  # a single run has none
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].min() == 2.0 and corners[:, 1].max() == 8.0
    assert corners[:, 0].min() == 10 and corners[:, 0].max() == 20


def test_curves_with_the_place_where_they_should_end(ax):
    assert plotting.plot_curves({"rate": [3.0, 2.0]}, ax, ylabel="zeta", reference=1) is ax
    assert ax.lines[-1].get_ydata() == [1, 1]


def test_manifold_is_at_one_for_both_layers(ax):
    zeta__alpha, zeta__beta = np.array([[9.0, 3, 5], [1, 1, 1]]), np.array([[4.0], [0.5]])
    assert plotting.plot_manifold(np.array([0, 1]), zeta__alpha, zeta__beta, 0.5, ax) is ax
    alpha, beta, manifold = ax.lines
    assert alpha.get_ydata().tolist() == [5, 1] and beta.get_ydata().tolist() == [8, 1]
    assert manifold.get_ydata() == [1, 1]


def test_chips_hold_their_topics(ax):
    assert plotting.plot_chip_placement(np.array([0, 2, 2]), ax) is ax
    at = {text.get_text().strip(): text.get_position() for text in ax.texts}
    assert (int(at["0"][0]), int(at["0"][1])) == (0, 0)
    assert all(int(at[z][0]) == 0 and int(at[z][1]) == 1 for z in "12")  # chip 2 of a 2 x 2 mesh
    with pytest.raises(ParameterError, match="mesh"):
        plotting.plot_chip_placement(np.array([0, 1, 2]), ax, mesh=(1, 2))


def test_traffic_leaves_out_what_stays_on_a_chip(ax):
    traffic = np.array([[9.0, 1.0], [0.25, 9.0]])
    assert plotting.plot_traffic(traffic, ax) is ax
    assert [text.get_text() for text in ax.texts] == ["1", "0.25"]
    assert traffic[0, 0] == 9.0  # the caller's array is untouched
    with pytest.raises(ParameterError, match="chip"):
        plotting.plot_traffic(np.ones((2, 3)), ax)


def test_matched_topics_best_first(ax):
    assert plotting.plot_matched_topics(np.array([0.2, 0.8]), ax) is ax
    assert [bar.get_height() for bar in ax.patches] == [0.8, 0.2]
