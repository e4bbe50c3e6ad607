r"""Learns lambda, the Dirichlet prior of theta, from the topic counts C_zd of documents.

Given the counts, documents are draws from a Dirichlet-multinomial distribution, and the logarithm
of their probability is, up to a constant (Minka, "Estimating a Dirichlet distribution", 2000;
Wallach, PhD thesis, Cambridge 2008, Sec. 2.3), with Lambda = sum_z lambda_z,

.. math:: \sum_d \Big[\log\frac{\Gamma(\Lambda)}{\Gamma(N_d + \Lambda)}
          + \sum_z \log\frac{\Gamma(C_{zd} + \lambda_z)}{\Gamma(\lambda_z)}\Big]

Minka's fixed point raises it in every step. With a Gamma prior on each lambda_z, of this shape and
this rate, it is

.. math:: \lambda_z \leftarrow \frac{\mathrm{shape} - 1 + S_z}{\mathrm{rate} + R}, \qquad
          S_z = \sum_d \lambda_z [\psi(C_{zd} + \lambda_z) - \psi(\lambda_z)], \qquad
          R = \sum_d [\psi(N_d + \Lambda) - \psi(\Lambda)]

S_z is what a Chinese restaurant would expect: the number of tables that serve dish z if document d
seats C_zd guests (Antoniak 1974). The prior adds one table per topic. It is weak, and bounds lambda
on both sides: a topic that no document uses keeps lambda_z = (shape - 1)/(rate + R) > 0, which the
samplers need, and documents that are all alike, for which the likelihood grows for ever, give at
most (shape - 1 + sum_d C_zd)/rate.

With Lambda given only the proportions lambda_z / Lambda are free, and the step is

.. math:: \lambda_z \leftarrow \Lambda \frac{\mathrm{shape} - 1 + S_z}
          {\sum_{z'} [\mathrm{shape} - 1 + S_{z'}]}

which lies between 0 and Lambda.

The sums run over distinct counts, not over documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

SHAPE, RATE = 2.0, 10.0  # the most probable lambda_z without any document is 0.1, our default
TOLERANCE = 1e-4  # largest relative change of a lambda_z in the last step
MAX_STEPS = 200


@dataclass(frozen=True)
class CountHistogram:
    """How many documents have which counts.

    Attributes
    ----------
    counts : int array [m]
        The distinct values of C_zd, over all topics.
    n_docs : float array [topic, m]
        Documents in which topic z has counts[i] tokens.
    lengths : int array [l]
        The distinct values of N_d.
    n_docs_of_length : float array [l]
    """

    counts: np.ndarray
    n_docs: np.ndarray
    lengths: np.ndarray
    n_docs_of_length: np.ndarray

    @classmethod
    def of(cls, C_zd: np.ndarray) -> CountHistogram:
        """Of the documents with these counts, int array [doc, topic]."""
        C_zd = np.asarray(C_zd, np.int64)
        n_topics, width = C_zd.shape[1], int(C_zd.max(initial=0)) + 1
        cells = C_zd + width * np.arange(n_topics)
        n_docs = np.bincount(cells.ravel(), minlength=n_topics * width).reshape(n_topics, width)
        counts = np.flatnonzero(n_docs.any(axis=0))
        lengths, n_docs_of_length = np.unique(C_zd.sum(axis=1), return_counts=True)
        return cls(counts, n_docs[:, counts].astype(float), lengths, n_docs_of_length.astype(float))

    def tables(self, lamda: np.ndarray) -> np.ndarray:
        """S_z, float array [topic]."""
        lamda = lamda[:, None]
        return np.sum(self.n_docs * lamda * (digamma(self.counts + lamda) - digamma(lamda)), axis=1)

    def exposure(self, lamda: np.ndarray) -> float:
        """R: how much of lambda the documents have tried."""
        total = lamda.sum()
        per_document = digamma(self.lengths + total) - digamma(total)
        return float(np.sum(self.n_docs_of_length * per_document))


def most_probable_lambda(
    histogram: CountHistogram,
    lamda: np.ndarray,
    *,
    shape: float = SHAPE,
    rate: float = RATE,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> np.ndarray:
    """Minka's fixed point, from where lambda is now.

    Parameters
    ----------
    histogram : CountHistogram
    lamda : float array [topic]
        Where to start, > 0.
    shape, rate : float
        Of the Gamma prior of each lambda_z; 1 and 0 for the likelihood alone.
    tolerance : float
        Stop when no lambda_z changes by more than this, relative to itself.
    max_steps : int

    Returns
    -------
    float array [topic]
    """
    for _ in range(max_steps):
        before = lamda
        lamda = fixed_point_step(histogram.tables(lamda), histogram.exposure(lamda), shape, rate)
        if np.all(np.abs(lamda - before) <= tolerance * before):
            break
    return lamda


def fixed_point_step(
    tables: np.ndarray, exposure: float, shape: float = SHAPE, rate: float = RATE
) -> np.ndarray:
    """The next lambda [topic], from S_z [topic] and R."""
    return (shape - 1.0 + tables) / (rate + exposure)


def proportions_step(tables: np.ndarray, total: float, shape: float = SHAPE) -> np.ndarray:
    """The next lambda [topic] with a given sum Lambda, from S_z [topic]."""
    shares = shape - 1.0 + tables
    return total * shares / shares.sum()
