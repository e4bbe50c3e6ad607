r"""The mean-limit ODEs (ML-ODEs) of the networks that climb a likelihood, with exact expectations.

A stochastic rule M <- M + eta g(M) with small steps follows dM/ds = E[g(M)] [Eq. (continuous ODE)].
The paper's theorems say that this flow first falls monotonically onto the manifold
zeta(M^alpha_z.) = 1, zeta(M^beta_.d) = kappa, with zeta(x) = sum_j exp(x_j), and then climbs the
objective along the natural gradient [appendix, "Proofs of Thm. ..."]. Here the expectations are
computed, not sampled, so that the theorems can be seen and tested on small problems.

With pi^(w, d, z) = pi(w, d) p(h_z = 1 | w, d; M), p the softmax of u_z = M^alpha_zw + M^beta_zd:

.. math::
    \tfrac{d}{ds} M^\alpha_{zw} &= \hat\pi(w, z)\,e^{-M^\alpha_{zw}} - \hat\pi(z) \\
    \tfrac{d}{ds} M^\beta_{zd} &= \big[\hat\pi(d, z) + \pi(d) \tfrac{\lambda_z - 1}{N_d}\big]
        e^{-M^\beta_{zd}} - \pi(d)\,\big(\tfrac1\kappa + \tfrac1{N_d}\big)
        \qquad\text{(SpikeLDA; pLSI: } \hat\pi(d, z)\,e^{-M^\beta_{zd}} - \pi(d)) \\
    \tfrac{d}{ds} M^\alpha_{zw} &= \mathbb{E}_{\pi(d)} \mathbb{E}_{p(z_d|w_d)}
        \big[C_{d,z,w}\,e^{-M^\alpha_{zw}} - C_{d,z}\big] \qquad\text{(semi-SpikeLDA)}

One time unit s is one token (event-driven) or one document (semi) at step size 1.

The prior on Phi, ours, is Dirichlet(varphi + 1) on each phi_z. Here M^alpha stands for log P_zw,
all that a topic neuron sees (J in the networks). With N tokens or D documents and
Vbar = sum_w varphi_w, its equation gets the term that M^beta has from lambda:

.. math::
    \tfrac{d}{ds} M^\alpha_{zw} &= \big[\hat\pi(w, z) + \tfrac{\varphi_w}{N}\big]\,
        e^{-M^\alpha_{zw}} - \hat\pi(z) - \tfrac{\bar V}{N} \\
    \tfrac{d}{ds} M^\alpha_{zw} &= \big[\mathbb{E}\,C_{d,z,w} + \tfrac{\varphi_w}{D}\big]\,
        e^{-M^\alpha_{zw}} - \mathbb{E}\,C_{d,z} - \tfrac{\bar V}{D}
        \qquad\text{(semi-SpikeLDA)}

The sum over words gives d zeta/ds = -(pi^(z) + Vbar/N) (zeta - 1): it falls onto 1 as before, and
faster. On zeta = 1 write g_w = (pi^(w, z) + varphi_w/N)/P_zw. This is dF/dP_zw of

.. math:: F = L + \tfrac1N \sum_{z, w} \varphi_w \log \phi_{zw}

by Fisher's identity, and the flow is dP_zw/ds = P_zw (g_w - sum_v P_zv g_v): the natural gradient.
So dF/ds = sum_z Var_{w ~ P_z}(g_w) >= 0 (and M^beta adds its own share), with equality only where
P_zw = (n_zw + varphi_w)/(N_z + Vbar), n_zw = N pi^(w, z): the equations of the MAP.
`docs/smoothing.md` has the rule of a spike of which this is the mean.

Where we differ: the appendix prints L^semi = E_q[C_dzw] log p(w|z) with q = p(z_d|w_d; M) and calls
the rest of log p(W|Phi, lambda), the entropy of q included, a constant [appendix, "Derivation of
Eq. (semi ELBO)"]. It is constant only for fixed q, and q moves with M^alpha. Both have the same
gradient at fixed q (Fisher's identity), so the ODE stands, but what rises along it is the
semi-collapsed log-likelihood itself: that is `SemiMeanLimit.objective`. The printed sum is
`SemiMeanLimit.expected_log_likelihood`; it may fall.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple, Protocol

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import gammaln, logsumexp

from brian_lda.errors import ParameterError
from brian_lda.initial_weights import word_prior_vector
from brian_lda.parameters import EventDrivenParameters, check_word_prior, dirichlet_vector

LARGEST_ENUMERATION = 100_000  # assignments of one document, K ** N_d


class Weights(NamedTuple):
    """M^alpha [topic, word] and M^beta [doc, topic] (no rows in semi-SpikeLDA)."""

    M__alpha: np.ndarray
    M__beta: np.ndarray


class MeanLimit(Protocol):
    """What `solve` needs to know of an ML-ODE."""

    def derivative(self, M: Weights) -> Weights:
        """dM/ds = E[g(M)]."""

    def objective(self, M: Weights) -> float:
        """What rises on the manifold."""


class Trajectory(NamedTuple):
    """A solution of an ML-ODE.

    Attributes
    ----------
    times : float array [time]
    weights : Weights
        [time, topic, word] and [time, doc, topic].
    zeta__alpha : float array [time, topic]
        zeta(M^alpha_z.) = sum_w exp M^alpha_zw; 1 on the manifold.
    zeta__beta : float array [time, doc]
        zeta(M^beta_.d) = sum_z exp M^beta_zd; kappa on the manifold.
    objective : float array [time]
    """

    times: np.ndarray
    weights: Weights
    zeta__alpha: np.ndarray
    zeta__beta: np.ndarray
    objective: np.ndarray


def zeta(M: np.ndarray) -> np.ndarray:
    """zeta(x) = sum_j exp(x_j) along the last axis: words of a topic, or topics of a document."""
    return np.exp(M).sum(axis=-1)


class EventDrivenMeanLimit:
    """ML-ODE of ed-SpikeLDA and, without a prior, of ed-SpikePLSI.

    Parameters
    ----------
    parameters : EventDrivenParameters
        K, lambda (None: pLSI), varphi and N; the step rules play no part.
    counts : array [doc, word]
        The environment: pi(w, d) = counts / sum of counts, N_d = row sums. At least one token per
        document.
    """

    def __init__(self, parameters: EventDrivenParameters, counts: np.ndarray) -> None:
        counts = np.asarray(counts, np.float64)
        if counts.ndim != 2 or counts.sum(axis=1).min(initial=np.inf) <= 0 or counts.min() < 0:
            raise ParameterError(
                "counts must be a matrix [doc, word] of non-negative numbers with a token in every "
                f"document; found shape {counts.shape} with row sums "
                f"{counts.sum(axis=-1).tolist()}."
            )
        self.parameters = parameters
        self.kappa = parameters.kappa
        self.pi = counts / counts.sum()
        self._pi_d = self.pi.sum(axis=1)
        self._doc_lengths = counts.sum(axis=1)
        self._a, self._c = parameters.doc_drive(self._doc_lengths)
        varphi = word_prior_vector(parameters.topic_word_prior, counts.shape[1])
        self._varphi = varphi / parameters.n_tokens(self._doc_lengths)  # a token

    def posterior(self, M: Weights) -> np.ndarray:
        """p(h_z = 1 | w, d; M), the softmax of u [Eq. (topic inference)]; [doc, word, topic]."""
        u = M.M__alpha.T[None, :, :] + M.M__beta[:, None, :]
        return np.exp(u - logsumexp(u, axis=2, keepdims=True))

    def derivative(self, M: Weights) -> Weights:
        """Eq. (proof ML ML-ODE) for pLSI, Eq. (proof MAP ML-ODE) for SpikeLDA."""
        pi_hat = self.pi[:, :, None] * self.posterior(M)
        pi_zw, pi_dz = pi_hat.sum(axis=0).T, pi_hat.sum(axis=1)
        drive = pi_dz + self._pi_d[:, None] * self._c
        drive__alpha = pi_zw + self._varphi
        return Weights(
            _over_exp(drive__alpha, M.M__alpha) - drive__alpha.sum(axis=1, keepdims=True),
            _over_exp(drive, M.M__beta) - (self._pi_d * self._a)[:, None],
        )

    def objective(self, M: Weights) -> float:
        r"""L^plsi or L^lda, with the log-partition A of Eq. (SNN ML), so defined for every M.

        L^lda = E_pi(w,d) [ log p(x_w = 1 | x_d = 1; M) + 1/N_d log p(M^beta_.d; lambda) ], where
        log p(M^beta_.d; lambda) = sum_z (lambda_z - 1) M^beta_zd - exp M^beta_zd up to a constant.
        L^plsi has no prior. With varphi > 0 also 1/N sum_zw varphi_w log phi_zw.
        """
        log_phi = M.M__alpha - logsumexp(M.M__alpha, axis=1, keepdims=True)
        log_theta = M.M__beta - logsumexp(M.M__beta, axis=1, keepdims=True)
        log_p = logsumexp(log_phi.T[None, :, :] + log_theta[:, None, :], axis=2)
        seen = self.pi > 0
        value = float(self.pi[seen] @ log_p[seen]) + _log_prior_of(log_phi, self._varphi)
        if self.parameters.doc_topic_prior is not None:
            lamda = self.parameters.doc_topic_prior
            log_prior = ((lamda - 1.0) * M.M__beta - np.exp(M.M__beta)).sum(axis=1)
            value += float((self._pi_d / self._doc_lengths) @ log_prior)
        return value


class SemiMeanLimit:
    """ML-ODE of semi-SpikeLDA for tiny documents, by enumeration of their assignments.

    Parameters
    ----------
    documents : list of int sequences
        The words w_d of each document; pi(d) is uniform.
    n_topics : int
    doc_topic_prior : float or float array [topic]
        lambda > 0.
    topic_word_prior : float or float array [word]
        varphi >= 0.
    """

    def __init__(
        self,
        documents: list[list[int]],
        n_topics: int,
        doc_topic_prior: float | np.ndarray,
        topic_word_prior: float | np.ndarray = 0.0,
    ) -> None:
        self.n_topics = n_topics
        check_word_prior(topic_word_prior)
        self._varphi = np.asarray(topic_word_prior, np.float64) / len(documents)  # a document
        self.lamda = dirichlet_vector(doc_topic_prior, n_topics, "doc_topic_prior")
        self._documents = []
        for d, words in enumerate(documents):
            if n_topics ** len(words) > LARGEST_ENUMERATION:
                raise ParameterError(
                    f"document {d} has {n_topics}**{len(words)} assignments, at most "
                    f"{LARGEST_ENUMERATION} can be enumerated; pass shorter documents."
                )
            z = np.array(list(product(range(n_topics), repeat=len(words))), np.int64)
            self._documents.append((np.asarray(words, np.int64), z, self._log_prior(z)))
        self._is_topic = [z[:, :, None] == np.arange(n_topics) for _, z, _ in self._documents]

    def _log_prior(self, z: np.ndarray) -> np.ndarray:
        """log p(z_d | lambda) of each row of z [assignment, token]: Dirichlet-multinomial."""
        C_z = (z[:, :, None] == np.arange(self.n_topics)).sum(axis=1)
        total = self.lamda.sum()
        per_topic = (gammaln(C_z + self.lamda) - gammaln(self.lamda)).sum(axis=1)
        return per_topic + gammaln(total) - gammaln(total + z.shape[1])

    def posterior(self, d: int, M__alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All assignments z_d [assignment, token] and p(z_d | w_d; M^alpha, lambda) of each."""
        words, z, log_prior = self._documents[d]
        log_joint = log_prior + M__alpha[z, words].sum(axis=1)
        return z, np.exp(log_joint - logsumexp(log_joint))

    def expected_counts(self, M__alpha: np.ndarray) -> np.ndarray:
        """E_pi(d) E_p(z_d|w_d) [C_dzw], [topic, word]."""
        C = np.zeros_like(M__alpha)
        for d, (words, _, _) in enumerate(self._documents):
            _, p = self.posterior(d, M__alpha)
            np.add.at(C.T, words, np.tensordot(p, self._is_topic[d], axes=1))  # p(z_di = z | w_d)
        return C / len(self._documents)

    def derivative(self, M: Weights) -> Weights:
        """Mean of Eq. (semi-likelihood discrete dynamics)."""
        drive = self.expected_counts(M.M__alpha) + self._varphi
        return Weights(
            _over_exp(drive, M.M__alpha) - drive.sum(axis=1, keepdims=True),
            np.zeros_like(M.M__beta),
        )

    def objective(self, M: Weights) -> float:
        """E_pi(d) log p(w_d | Phi, lambda) + 1/D sum varphi_w log phi_zw, Phi ~ exp M^alpha."""
        log_phi = M.M__alpha - logsumexp(M.M__alpha, axis=1, keepdims=True)
        documents = [logsumexp(p + log_phi[z, w].sum(axis=1)) for w, z, p in self._documents]
        return float(np.mean(documents)) + _log_prior_of(log_phi, self._varphi)

    def expected_log_likelihood(self, M: Weights) -> float:
        """L^semi as the appendix prints it (see the top of this file); it need not rise."""
        log_phi = M.M__alpha - logsumexp(M.M__alpha, axis=1, keepdims=True)
        return float((self.expected_counts(M.M__alpha) * log_phi).sum())


def solve(
    mean_limit: MeanLimit,
    M__alpha: np.ndarray,
    M__beta: np.ndarray | None = None,
    *,
    times: np.ndarray,
    rtol: float = 1e-9,
    atol: float = 1e-10,
) -> Trajectory:
    """Follow an ML-ODE from the given weights with scipy's LSODA.

    Parameters
    ----------
    mean_limit : EventDrivenMeanLimit or SemiMeanLimit
    M__alpha : float array [topic, word]
    M__beta : float array [doc, topic], optional
        Left out for semi-SpikeLDA, whose M^beta counts and does not learn.
    times : increasing float array [time]
        The first is the time of the initial weights.
    rtol, atol : float
        Of the integrator.
    """
    M__alpha = np.asarray(M__alpha, np.float64)
    if M__beta is None:
        M__beta = np.empty((0, M__alpha.shape[0]))
    M__beta = np.asarray(M__beta, np.float64)
    times = np.asarray(times, np.float64)
    n_alpha = M__alpha.size

    def unpack(y: np.ndarray) -> Weights:
        return Weights(y[:n_alpha].reshape(M__alpha.shape), y[n_alpha:].reshape(M__beta.shape))

    def right_hand_side(_: float, y: np.ndarray) -> np.ndarray:
        g = mean_limit.derivative(unpack(y))
        return np.concatenate([g.M__alpha.ravel(), g.M__beta.ravel()])

    solution = solve_ivp(
        right_hand_side,
        (times[0], times[-1]),
        np.concatenate([M__alpha.ravel(), M__beta.ravel()]),
        method="LSODA",  # exp(-M) makes the first moments stiff, the rest is not
        t_eval=times,
        rtol=rtol,
        atol=atol,
    )
    if not solution.success:
        raise ArithmeticError(f"the mean-limit ODE could not be integrated: {solution.message}")
    path = [unpack(y) for y in solution.y.T]
    weights = Weights(np.stack([M.M__alpha for M in path]), np.stack([M.M__beta for M in path]))
    return Trajectory(
        solution.t,
        weights,
        zeta(weights.M__alpha),
        zeta(weights.M__beta),
        np.array([mean_limit.objective(M) for M in path]),
    )


def _log_prior_of(log_phi: np.ndarray, varphi: np.ndarray) -> float:
    """sum_zw varphi_w log phi_zw; words without a prior may have phi = 0."""
    log_phi, varphi = np.broadcast_arrays(log_phi, varphi)
    return float(varphi[varphi > 0] @ log_phi[varphi > 0])


def _over_exp(numerator: np.ndarray, M: np.ndarray) -> np.ndarray:
    """numerator * exp(-M), 0 where the numerator is 0 however negative M is."""
    with np.errstate(divide="ignore"):
        return np.exp(np.log(numerator) - M)
