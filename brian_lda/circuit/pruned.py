r"""The synapses of a pruned network besides its private ones (paper's appendix "Network pruning").

Topic neuron z has a synapse from each of its n private words (`Circuit.connect_words`), m from
documents, and one that stands for all other words:

=============  ==================================================================================
`others`       one neuron that fires with every token
`sharing`      its synapse onto each topic neuron, fixed; a private word's own synapse, which
               delivers later in the tick, takes the place of what it brought
`backing`      with `PrunedWords.word_bias` only: a constant of each private synapse
=============  ==================================================================================

With unigram back-off a word brings exp(shared_z) f_w where it is not private. f_w is common to all
topics, and a race does not change if all rates are divided by it: so the shared synapse brings
exp(shared_z) for every word, and the private synapse brings exp M/f_w. A chip would store
M - log f_w there. `backing` is that constant, no further synapse.
"""

from __future__ import annotations

import numpy as np
from brian2 import NeuronGroup, Synapses, linked_var
from brian2.core.variables import Subexpression

from brian_lda.circuit.circuit import Circuit, no_delay
from brian_lda.errors import ParameterError
from brian_lda.parameters import PrunedWords


def add_shared_synapses(net: Circuit) -> None:
    """Give each topic neuron the one synapse that stands for the words without their own."""
    if net.alpha.name not in net.sparse:
        raise ParameterError(
            "only ed-SpikeLDA and ed-SpikePLSI can be pruned; this network connects all words to "
            "all topics."
        )
    in_rates = isinstance(net.topics.variables["u"], Subexpression)  # inputs make rate, or u
    others = NeuronGroup(
        1,
        "clamped : integer (linked)            # a token is there",
        threshold="clamped > 0",
        reset="",
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}others",
    )
    others.clamped = linked_var(net.pacer, "clamped")
    others.thresholder["spike"].when = "clamp"
    sharing = Synapses(
        others,
        net.topics,
        "shared_rate : 1                       # exp(shared_z)",
        on_pre={"share": "rate_post = shared_rate" if in_rates else "u_post = log(shared_rate)"},
        delay=no_delay("share"),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}sharing",
    )
    sharing.connect()
    sharing.share.when, sharing.share.order = "excite", -1  # before the private synapses
    net.add(others=others, sharing=sharing)
    if not has_back_off(net.sizes.pruned):
        return
    backing = Synapses(
        net.words,
        net.topics,
        "share : 1                             # f_w",
        on_pre={"back": "rate_post /= share" if in_rates else "u_post -= log(share)"},
        delay=no_delay("back"),
        clock=net.clock,
        namespace={},
        name=f"{net.prefix}backing",
    )
    net.connect_words(backing)
    backing.back.when, backing.back.order = "excite", 2  # before the document's factor
    net.add(backing=backing)


def has_back_off(pruned: PrunedWords | None) -> bool:
    """Whether words that are not private weigh more or less than each other."""
    return pruned is not None and bool(np.any(pruned.word_bias))


def shared_values(pruned: PrunedWords) -> dict[str, np.ndarray | float]:
    """Values of the variables above, by "object.variable"."""
    values: dict[str, np.ndarray | float] = {"sharing.shared_rate": np.exp(pruned.shared)}
    if has_back_off(pruned):
        assert pruned.word_bias is not None
        share = np.broadcast_to(np.exp(pruned.word_bias)[:, None], pruned.private.T.shape)
        values["backing.share"] = share[pruned.private.T]
    return values
