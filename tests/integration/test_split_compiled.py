"""The split ed-SpikeLDA as a compiled program: the winners of the whole network."""

import numpy as np
import pytest

from brian_lda.constraints import Constraints
from brian_lda.external_memory import count_swaps
from brian_lda.parameters import EventDrivenParameters
from brian_lda.simulation import EventDrivenSpiking, SplitSpiking
from brian_lda.simulation.streams import seeds_of
from brian_lda.step_rules import RobbinsMonro

V, D, K, N_TOKENS, SEED = 203, 40, 7, 100_000, 3
LIMITS = Constraints(word_synapses=20, document_slots=8)


@pytest.mark.complete
def test_same_winners_for_100_000_tokens_and_fan_in_as_brian_counts_it():
    rng = np.random.default_rng(0)
    words = rng.integers(0, V, N_TOKENS) * rng.integers(0, 2, N_TOKENS)  # one frequent word
    docs = np.sort(rng.integers(0, D, N_TOKENS))
    steps = RobbinsMonro(0.5, 20), RobbinsMonro(0.1, power=0)
    parameters = EventDrivenParameters(K, np.full(K, 1.1), *steps, topic_word_prior=0.05)
    arguments = parameters, V, np.bincount(docs)
    split = SplitSpiking(*arguments, seed=SEED, constraints=LIMITS)
    starts, present = [], split.network.present

    def note(words, docs, *, position):
        starts.append(position)
        return present(words, docs, position=position)

    split.network.present = note
    simulator = split.network._simulator(None)
    ask, counted = simulator.run, {}

    def note_fan_in(*values, **options):
        result = ask(*values, **options)
        counted.update({name: result[f"{name}.N_incoming"] for name in ("alpha", "beta")})
        return result

    simulator.run = note_fan_in
    winners = split.present(words, docs)
    whole = EventDrivenSpiking(*arguments, seed=SEED)
    seeds = np.concatenate([seeds_of([SEED, 1, start], 1) for start in starts])
    expected = whole.network.present(words, docs, streams=(np.array(starts), seeds))
    assert np.array_equal(winners, expected) and len(np.unique(winners)) == K
    np.testing.assert_allclose(np.exp(split.J__alpha), np.exp(whole.J__alpha), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(split.M__beta), np.exp(whole.M__beta), rtol=1e-9, atol=1e-9)
    # 203 words in 11 blocks: 19 or 18 a part
    assert len(counted["alpha"]) == 11 * K and set(counted["alpha"]) == {18, 19}
    assert set(counted["beta"]) == {8}
    swaps = count_swaps(docs, 8, 1.0)
    assert (split.slots.reads, split.slots.writes) == (swaps.reads, swaps.writes) == (40, 32)
