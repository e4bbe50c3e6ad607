"""What a comparison of twins rests on: the equivalence test and the test of the winners' law."""

import numpy as np
import pytest

from brian_lda import CollapsedGibbsLDA, EdSpikeLDA, compare_twins
from brian_lda.comparison import compare_perplexities, judge_winners
from brian_lda.corpus import load_corpus
from brian_lda.errors import ParameterError

RNG = np.random.default_rng(0)
N_TOKENS, K = 4000, 6


def runs(n, centre=2000.0, spread=0.02, rng=RNG):
    return centre * np.exp(rng.normal(0.0, spread, n))


def test_equal_networks_are_called_equivalent_with_five_seeds():
    rng = np.random.default_rng(1)
    passed = [compare_perplexities(runs(5, rng=rng), runs(20, rng=rng)) for _ in range(300)]
    assert np.mean([found.p_equivalent < 0.05 for found in passed]) > 0.9
    assert np.mean([found.p_different < 0.01 for found in passed]) < 0.03


def test_the_level_is_kept_at_the_margin():
    """Networks that lie apart by exactly the margin are called equivalent in 5 % of all cases."""
    rng = np.random.default_rng(2)
    apart = 2000.0 * np.exp(2 * 0.02)
    found = [
        compare_perplexities(runs(5, apart, rng=rng), runs(20, rng=rng)).p_equivalent < 0.05
        for _ in range(2000)
    ]
    assert 0.035 < np.mean(found) < 0.065  # three standard errors


def test_one_seed_decides_little_and_the_margin_is_the_twins_spread():
    twin = runs(20, rng=np.random.default_rng(3))
    found = compare_perplexities(twin[:1] * 1.02, twin)
    assert found.spread == pytest.approx(np.log(twin).std(ddof=1))
    assert found.margin == pytest.approx(2 * found.spread)
    assert found.p_equivalent > 0.05 and found.p_different > 0.01
    far = compare_perplexities(twin[:5] * 1.3, twin)
    assert far.p_different < 1e-6 and far.ratio > 1.2


def test_a_margin_of_one_percent_says_yes_and_no():
    """Made-up perplexities that scatter by 0.3 %, three seeds each."""
    rng = np.random.default_rng(7)
    equal, apart = [], []
    for _ in range(300):
        twin = runs(3, spread=0.003, rng=rng)
        equal.append(
            compare_perplexities(runs(3, spread=0.003, rng=rng), twin, relative_margin=0.01)
        )
        other = runs(3, 2000.0 * 1.03, spread=0.003, rng=rng)
        apart.append(compare_perplexities(other, twin, relative_margin=0.01))
    assert np.mean([found.p_equivalent < 0.05 for found in equal]) > 0.8
    assert not [found for found in apart if found.p_equivalent < 0.5]
    assert np.mean([found.p_different < 0.01 for found in apart]) > 0.9
    assert {found.margin for found in equal} == {np.log1p(0.01)}


@pytest.mark.parametrize("side", [1.01, 1 / 1.01])
def test_the_level_is_kept_at_a_margin_of_one_percent(side):
    rng = np.random.default_rng(8)
    found = [
        compare_perplexities(
            runs(3, 2000.0 * side, 0.003, rng), runs(5, 2000.0, 0.003, rng), relative_margin=0.01
        ).p_equivalent
        < 0.05
        for _ in range(2000)
    ]
    assert 0.035 < np.mean(found) < 0.065  # three standard errors


def test_a_margin_of_one_percent_is_students_test():
    from scipy import stats

    rng = np.random.default_rng(9)
    spikes, twin = runs(4, spread=0.01, rng=rng), runs(5, 2010.0, spread=0.01, rng=rng)
    found = compare_perplexities(spikes, twin, relative_margin=0.01)
    logs, margin = (np.log(spikes), np.log(twin)), np.log(1.01)
    below = stats.ttest_ind(logs[0] - margin, logs[1], alternative="less").pvalue
    above = stats.ttest_ind(logs[0] + margin, logs[1], alternative="greater").pvalue
    assert found.p_equivalent == pytest.approx(max(below, above), rel=1e-9)
    assert found.p_different == pytest.approx(stats.ttest_ind(*logs).pvalue, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.01, float("nan")])
def test_a_margin_is_a_share(share):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        compare_perplexities([1.0] * 3, [1.0] * 3, relative_margin=share)


def test_runs_that_are_all_alike_are_equal_or_not():
    same = np.full(4, 100.0)
    assert compare_perplexities(same, same).p_equivalent < 0.05
    assert compare_perplexities(1.001 * same, same).p_different < 1e-6


def test_a_spread_needs_three_runs():
    with pytest.raises(ParameterError, match="3 of the twin"):
        compare_perplexities([100.0], [100.0, 101.0])


@pytest.fixture(scope="module")
def law():
    """Probabilities [token, topic], last topics, and winners that follow them."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(K, 0.5), N_TOKENS)
    last = rng.integers(0, K, N_TOKENS)
    return p, last, drawn(p, rng)


def drawn(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1)) * p.sum(axis=1, keepdims=True)).sum(axis=1)


def test_true_winners_pass(law):
    p, last, winners = law
    found = judge_winners("now", p, winners, last)
    assert found.p > 0.01 and found.observed.sum() == found.n_tokens == N_TOKENS
    np.testing.assert_allclose(found.expected, p.sum(axis=0))
    assert judge_winners("now", p, winners).p_stay is None


def test_p_values_of_true_winners_are_uniform():
    rng = np.random.default_rng(5)
    small = []
    for _ in range(200):
        p = rng.dirichlet(np.full(K, 0.5), 500)
        found = judge_winners("now", p, drawn(p, rng), rng.integers(0, K, 500))
        small.append([found.p_topics, found.p_surprise, found.p_stay])
    share = (np.array(small) < 0.1).mean(axis=0)
    assert (share > 0.04).all() and (share < 0.17).all()  # 0.1 +- three standard errors


@pytest.mark.parametrize("fault", ("p_topics", "p_surprise", "p_stay"))
def test_each_fault_shows_where_it_should(law, fault):
    p, last, _ = law
    wrong = p.copy()
    if fault == "p_topics":
        wrong[:, 0] *= 1.5
    elif fault == "p_surprise":
        wrong = np.sqrt(p)  # too flat
    else:
        wrong[np.arange(N_TOKENS), last] += 0.1  # a token's own count was not taken away
    wrong /= wrong.sum(axis=1, keepdims=True)
    found = judge_winners("now", p, drawn(wrong, np.random.default_rng(6)), last)
    assert getattr(found, fault) < 1e-6 and found.p < 1e-5


def test_topics_that_cannot_win_break_nothing():
    p = np.zeros((50, 4))
    p[:, 0] = 1.0
    assert judge_winners("now", p, np.zeros(50, int)).p == 1.0
    assert judge_winners("now", p, np.full(50, 3)).p == 0.0


def test_what_cannot_be_compared_is_refused():
    corpus = load_corpus("bars", grid=2, n_docs=12, doc_length=20, seed=0)
    with pytest.raises(ParameterError, match="no spiking network"):
        compare_twins(CollapsedGibbsLDA(), corpus)
    with pytest.raises(ParameterError, match="without constraints"):
        compare_twins(EdSpikeLDA(constraints={"weight_bits": 8}), corpus)
    with pytest.raises(ParameterError, match="twin_seeds must be an integer of at least 3"):
        compare_twins(EdSpikeLDA(), corpus, twin_seeds=2)
