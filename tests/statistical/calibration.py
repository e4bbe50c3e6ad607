"""Two tests that every sampler of LDA must pass, from its draws alone.

Simulation-based calibration (Talts et al. 2018): draw parameters, assignments z and words w from
the model, let the sampler draw from p(z | w), and rank a statistic of the true z among those draws.
The ranks of an exact sampler are uniform.

Geweke's joint-distribution test (2004): from a draw (z, w) of the model, alternate z ~ sampler
given w and w ~ model given z. The pair keeps the model's law, if the sampler is exact. Many
independent pairs after a few rounds are compared with fresh draws of the model.

Phi of `Semi` is sharp, because a chain without negative phase all but keeps the right law where phi
is even (there it is reversible). Averaged over corpora, as here, the collapsed chain does so
anyway: in `Collapsed` only the enumerated posterior of a single corpus shows that fault.

`Collapsed`: Phi and theta are drawn anew each time and integrated out. `Semi`: Phi is fixed.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import gammaln

N_DRAWS = 9  # posterior draws to a rank: 10 ranks


def choose(p, rng):
    """One index for each row of probabilities [..., option]."""
    return (
        (rng.random((*p.shape[:-1], 1)) > p.cumsum(axis=-1)).sum(axis=-1).clip(0, p.shape[-1] - 1)
    )


class Collapsed:
    """Two documents, five tokens; both priors uneven, so that topics are told apart."""

    lamda, varphi = np.array([0.1, 0.3, 0.6]), np.array([0.2, 0.4])
    docs = np.array([0, 0, 0, 1, 1])
    statistics = ("topic 0", "topic 2", "log p(z, w)")

    def draw(self, n, rng):
        theta = rng.dirichlet(self.lamda, (n, 2))
        z = choose(theta[:, self.docs], rng)
        return z, self.words_given(z, rng)

    def words_given(self, z, rng):
        phi = rng.dirichlet(self.varphi, (len(z), 3))
        return choose(phi[np.arange(len(z))[:, None], z], rng)

    def statistic(self, name, z, w):
        """One number for each z [..., token] and w, broadcast against it."""
        if name != "log p(z, w)":
            return (z == int(name[-1])).sum(axis=-1)
        log_p = 0.0
        for k in range(3):
            for d in range(2):
                log_p += gammaln((z[..., self.docs == d] == k).sum(axis=-1) + self.lamda[k])
            for v in range(2):
                log_p += gammaln(((z == k) & (w == v)).sum(axis=-1) + self.varphi[v])
            log_p -= gammaln((z == k).sum(axis=-1) + self.varphi.sum())
        return np.round(log_p, 9)


class Semi:
    """One document of four tokens."""

    lamda = np.array([0.1, 0.3, 0.2])
    phi = np.array([[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.1, 0.2, 0.7]])
    n_tokens = 4
    statistics = ("topic 0", "topic 1", "log p(z, w)")

    def draw(self, n, rng):
        theta = rng.dirichlet(self.lamda, n)
        z = choose(np.repeat(theta[:, None], self.n_tokens, axis=1), rng)
        return z, self.words_given(z, rng)

    def words_given(self, z, rng):
        return choose(self.phi[z], rng)

    def statistic(self, name, z, w):
        C_z = np.stack([(z == k).sum(axis=-1) for k in range(3)], axis=-1)
        if name != "log p(z, w)":
            return C_z[..., int(name[-1])]
        log_p = np.log(self.phi[z, w]).sum(axis=-1) + gammaln(C_z + self.lamda).sum(axis=-1)
        return log_p.round(9)


class SemiCounts(Semi):
    """For a sampler that tells C_z [..., topic] rather than which token has which topic."""

    statistics = ("topic 0", "topic 1", "topic 2")

    def statistic(self, name, z, w):
        if z.shape[-1] == self.n_tokens:
            return super().statistic(name, z, w)
        return z[..., int(name[-1])]


def calibration_p_values(model, sampler, n, seed):
    """p-value of uniform ranks for each statistic of the model.

    Parameters
    ----------
    model : Collapsed or Semi
    sampler : callable
        `sampler(w [n, token], n_draws, seed)` returns draws [n, draw, token], or of counts.
    """
    rng = np.random.default_rng([seed, 1])
    z, w = model.draw(n, rng)
    draws = sampler(w, N_DRAWS, seed)
    assert draws.shape[:2] == (n, N_DRAWS)
    found = {}
    for name in model.statistics:
        true = model.statistic(name, z, w)[:, None]
        drawn = model.statistic(name, draws, w[:, None])
        below, equal = (drawn < true).sum(axis=1), (drawn == true).sum(axis=1)
        rank = below + rng.integers(0, equal + 1)  # ties fall anywhere
        found[name] = stats.chisquare(np.bincount(rank, minlength=N_DRAWS + 1)).pvalue
    return found


def joint_p_values(model, sampler, n, seed, n_rounds=8):
    """p-value of equal laws for each statistic of the model (arguments as above).

    `sampler(w, 1, seed, z)` may go on from the assignments z [n, token].
    """
    rng = np.random.default_rng([seed, 2])
    z, w = model.draw(n, rng)
    for i in range(n_rounds):
        z = sampler(w, 1, seed * 1000 + i, z)[:, 0]
        w = model.words_given(z, rng)
    fresh = model.draw(4 * n, rng)
    found = {}
    for name in model.statistics:
        one, two = (model.statistic(name, *pair) for pair in ((z, w), fresh))
        values = np.concatenate([one, two])
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, 11)[1:-1]))
        table = [np.bincount(np.digitize(x, cuts), minlength=len(cuts) + 1) for x in (one, two)]
        table = np.array(table)[:, np.sum(table, axis=0) > 0]
        found[name] = stats.chi2_contingency(table).pvalue
    return found
