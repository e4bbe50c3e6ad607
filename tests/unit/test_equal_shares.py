"""Documents dealt out to threads and circuits."""

import numpy as np

from brian_lda.equal_shares import deal_out


def test_nobody_waits_for_another_where_that_can_be_helped():
    def tokens(lengths, n_parts):
        part = deal_out(np.array(lengths), n_parts)
        return np.bincount(part, lengths, minlength=n_parts).tolist()

    assert sorted(tokens([6, 5, 4, 4, 4, 3], 2)) == [13, 13]  # one by one: 14 and 12
    assert sorted(tokens([10, 10, 10, 10, 10], 2)) == [20, 30]  # five do not divide by two
    assert sorted(tokens([9, 4, 1, 1], 2)) == [6, 9]  # nor does the longest
    rng = np.random.default_rng(0)
    for n_docs, n_parts in [(11, 2), (11, 3), (27, 4), (200, 5)]:
        lengths = rng.negative_binomial(8, 8 / 1300, n_docs)
        dealt = tokens(lengths, n_parts)
        assert sum(dealt) == lengths.sum() and max(dealt) < 1.1 * lengths.sum() / n_parts


def test_every_document_is_dealt_out_once():
    assert deal_out(np.array([3, 0, 7]), 1).tolist() == [0, 0, 0]
    assert sorted(deal_out(np.array([3, 1]), 4).tolist()) == [0, 1]  # two parts have none
    assert deal_out(np.array([], np.int64), 2).tolist() == []
