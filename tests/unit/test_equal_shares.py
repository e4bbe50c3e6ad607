"""Documents dealt out to threads and circuits."""

import numpy as np

from brian_lda.equal_shares import deal_out


def test_nobody_waits_for_another_where_that_can_be_helped():
    def tokens(lengths, n_parts):
        part = deal_out(np.array(lengths), n_parts)
        return np.bincount(part, lengths, minlength=n_parts).tolist()

    assert sorted(tokens([5, 5, 4, 4, 4], 2)) == [10, 12]  # one by one: 13 and 9
    assert sorted(tokens([8, 7, 6, 5, 4], 2)) == [15, 15]  # 17 and 13
    assert sorted(tokens([10, 10, 10, 10, 10], 2)) == [20, 30]  # five do not divide by two
    assert sorted(tokens([9, 4, 1, 1], 2)) == [6, 9]  # nor does the longest
    rng = np.random.default_rng(0)
    # one by one: 3.8, 5.0 and 2.5 % more than an equal share
    for n_docs, n_parts, above in [(11, 2, 0.01), (11, 3, 0.02), (27, 4, 0.01)]:
        excess = []
        for _ in range(50):
            lengths = rng.negative_binomial(8, 8 / 1300, n_docs)
            dealt = tokens(lengths, n_parts)
            assert sum(dealt) == lengths.sum()
            excess.append(max(dealt) / (lengths.sum() / n_parts) - 1)
        assert np.mean(excess) < above


def test_every_document_is_dealt_out_once():
    assert deal_out(np.array([3, 0, 7]), 1).tolist() == [0, 0, 0]
    assert sorted(deal_out(np.array([3, 1]), 4).tolist()) == [0, 1]  # two parts have none
    assert deal_out(np.array([], np.int64), 2).tolist() == []
