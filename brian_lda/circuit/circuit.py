"""The circuit that all networks of the paper share (Fig. 1), as an ordinary Brian `Network`.

A tick has phases, in this order (`Network.schedule`):

=============  ==================================================================================
start          the pacer points at the current token; topic neurons forget the last tick
clamp          the word and the document neuron of the token fire (and the token's own neuron, in
               networks that remember assignments)
recall         negative phase of those networks: the topic neuron of the last assignment fires
excite         their spikes reach the topic neurons: rate = exp(u) [Alg. 1, line 5]
groups         topic neurons try to fire [Alg. 1, line 6]
inhibit        the inhibitory neuron hears them, spikes, and its spike reaches them
thresholds     the winner's spike passes; it is recorded
learn          synapses change; every right-hand side reads the values before the token
resets         the winner's and the document's own counters advance
end            what happens once a mini-batch; housekeeping of the weights
=============  ==================================================================================

A monitor that should see `u` or `rate` in the tick in which they act records with `when="end"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from brian2 import (
    BrianObject,
    Clock,
    Network,
    NetworkOperation,
    NeuronGroup,
    SpikeMonitor,
    Synapses,
    get_device,
    linked_var,
    ms,
    second,
)
from brian2.core.variables import Variable
from brian2.devices.device import RuntimeDevice

from brian_lda.circuit.brian_settings import mark_as_used, without_order_warnings
from brian_lda.circuit.clamped_layer import ClampedLayer, make_pacer
from brian_lda.errors import ParameterError, SimulationError
from brian_lda.parameters import PrunedWords

SCHEDULE = ["start", "clamp", "recall", "excite", "groups", "inhibit", "thresholds", "learn"]
SCHEDULE += ["resets", "end"]
LAST = 1000  # order of what comes after everything else in a tick
TICK = 1e-3  # s
STALLED_AFTER = 100_000  # ticks without a winner, inside Python: minutes
Values = Mapping[str, np.ndarray | float]  # "object.variable": its value
Tokens = Sequence[int] | np.ndarray


@dataclass(frozen=True)
class Sizes:
    """Sizes that are compiled into a network.

    Attributes
    ----------
    n_words, n_docs, n_topics : int
        V, D, K.
    n_tokens : int
        Tokens whose assignment the network remembers; ed-SpikeLDA and others remember none.
    capacity : int
        Longest token sequence of one run; a run may be shorter.
    n_blocks : int
        B, blocks of words with topic neurons of their own (`brian_lda.circuit.split`).
    pruned : PrunedWords or None
        Which words have a synapse onto which topic neuron; None: all onto all.
    """

    n_words: int
    n_docs: int
    n_topics: int
    n_tokens: int = 1
    capacity: int = 2**20
    n_blocks: int = 1
    pruned: PrunedWords | None = None

    def __post_init__(self) -> None:
        for size in fields(self):
            value = getattr(self, size.name)
            if size.name == "pruned":
                continue
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ParameterError(
                    f"{size.name} must be an integer of at least 1; found {value!r}."
                )


@dataclass
class Circuit:
    """A network under construction, and then the network with its parts by name.

    Parameters
    ----------
    sizes : Sizes
    prefix : str
        Begins the names of all Brian objects: two networks in one `Network` need two prefixes.

    Attributes
    ----------
    network : Network
        Holds everything below; any monitor can be added to it.
    clock : Clock
    pacer : NeuronGroup
    words, documents, topics, inhibition : NeuronGroup
    tokens : NeuronGroup
        One neuron per token, in networks that remember assignments.
    alpha, beta : Synapses
        From words and from documents to topics.
    winners : SpikeMonitor
        Every topic spike: `i` is the winner, `t` its time.
    sparse : dict of str to int
        Synapses that do not connect all to all, by name: how many there are.
    recorded : list of str
        "object.variable" of what monitors of ours have recorded in a run.
    recorded_windows : NeuronGroup
        Windows of the tokens that those monitors are to hear, if there are any.
    listening : list of BrianObject
        Those monitors.
    first_values : list of (str, str or int)
        "object.variable" and an expression, evaluated when a run starts and values are set.
    """

    sizes: Sizes
    prefix: str = ""
    sparse: dict[str, int] = field(default_factory=dict)
    recorded: list[str] = field(default_factory=list)
    listening: list[BrianObject] = field(default_factory=list)
    first_values: list[tuple[str, str | int]] = field(default_factory=list)

    words: ClampedLayer = field(init=False)
    documents: ClampedLayer = field(init=False)
    tokens: ClampedLayer = field(init=False)
    topics: NeuronGroup = field(init=False)
    inhibition: NeuronGroup = field(init=False)
    alpha: Synapses = field(init=False)
    beta: Synapses = field(init=False)
    winners: SpikeMonitor = field(init=False)
    recorded_windows: NeuronGroup = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(dt=TICK * second, name=f"{self.prefix}clock_tick")
        self.network = Network(name=f"{self.prefix}circuit")
        self.network.schedule = SCHEDULE
        self.pacer = make_pacer(self.sizes.capacity, clock=self.clock, name=f"{self.prefix}pacer")
        self.add(pacer=self.pacer)
        self.first_values.append(("pacer.token", -1))  # before the first token

    def clamped_layer(
        self, layer: str, n_neurons: int, model: str = "", reset: str | None = None
    ) -> ClampedLayer:
        """Add the word, document or token layer; see `ClampedLayer`."""
        group = ClampedLayer(
            n_neurons,
            model,
            self.pacer,
            self.sizes.capacity,
            layer=layer,
            reset=reset,
            name=f"{self.prefix}{layer}",
        )
        self.add(**{layer: group})
        return group

    def add(self, **objects: BrianObject) -> None:
        """Add Brian objects to the network and make them attributes."""
        for name, brian_object in objects.items():
            setattr(self, name, brian_object)
            self.network.add(brian_object)

    def __del__(self) -> None:
        """Brian need not warn of objects that never ran.

        Only now: as long as the circuit lives, its objects may be put into another `Network`.
        """
        for brian_object in getattr(self.network, "objects", ()):
            mark_as_used(brian_object, self.network)

    def connect_words(self, synapses: Synapses) -> None:
        """Connect words to topics, all to all; in a pruned network where a word is private."""
        if self.sizes.pruned is None:
            synapses.connect()
            return
        words, topics = np.nonzero(self.sizes.pruned.private.T)  # by word, then by topic
        synapses.connect(i=words, j=topics)
        self.sparse[synapses.name] = len(words)

    def join(self, network: Network) -> None:
        """Move into another Brian `Network`, with other circuits and objects.

        `present` then runs that network. Of several circuits in it, one is shown tokens and the
        others wait. They need different prefixes.
        """
        network.schedule = SCHEDULE
        network.add(*self.network.objects)
        self.network = network

    def listen(self, topics: NeuronGroup) -> None:
        """Record the winners; the pacer goes on to the next token when there is one more."""
        self.add(topics=topics, winners=SpikeMonitor(topics, name=f"{self.prefix}winners"))
        self.pacer.n_winners = linked_var(self.winners, "N")

    def race(self, draw: str, fire: str) -> None:
        """Let the topic neurons try to fire, in the phase "groups".

        Random numbers are drawn in a loop of their own, which leaves the compiler one without state
        to vectorise.
        """
        name = self.topics.name
        self.topics.run_regularly(draw, when="groups", name=f"{name}_chance")
        self.topics.run_regularly(fire, when="groups", order=1, name=f"{name}_fire")

    @property
    def layers(self) -> dict[str, ClampedLayer]:
        """The clamped layers by name."""
        names = ("words", "documents", "tokens", "axons")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def variable(self, path: str) -> Variable:
        """The Brian variable "object.variable" (without the prefix)."""
        owner, name = path.split(".")
        return self.network[self.prefix + owner].variables[name]

    def set(self, values: Values) -> None:
        """Set variables by "object.variable"; weights [source, topic] may be matrices."""
        for path, value in values.items():
            owner, name = path.split(".")
            flat = np.ravel(value) if np.ndim(value) > 1 else value
            setattr(self.network[self.prefix + owner], f"{name}_", flat)  # a rate is in Hz

    def present(
        self,
        words: Tokens,
        docs: Tokens,
        tokens: Tokens | None = None,
        *,
        before_token: Callable[[int], None] | None = None,
    ) -> np.ndarray:
        """Show a sequence of tokens: the network infers the topic of each and learns.

        Inside Python it runs until every token has its winner. In standalone mode it runs as many
        ticks as there are tokens, which a `Race` needs.

        Parameters
        ----------
        words, docs : sequence of int [token]
        tokens : sequence of int [token], optional
            Which token each is, in networks that remember assignments.
        before_token : callable, optional
            Called with the position of each token before it is shown; inside Python only.

        Returns
        -------
        int array [token]
            The winners; in standalone mode they are in `winners.i` once the program has run.
        """
        index: dict[str, Tokens] = {"words": words, "documents": docs}
        if "tokens" in self.layers:
            index["tokens"] = np.arange(len(words)) if tokens is None else tokens
        length = checked_length(self, index)
        if "axons" in self.layers:
            index["axons"] = axons_of_tokens(words, docs, self.sizes.n_blocks)
        in_python = isinstance(get_device(), RuntimeDevice)
        before = self.winners.num_spikes if in_python else 0
        for name, neurons in index.items():
            padded = np.zeros(self.sizes.capacity, np.int32)
            padded[:length] = neurons
            self.layers[name].feed.variables["neuron_index"].set_value(padded)
        self.pacer.n_tokens, self.pacer.n_winners_before = length, before
        for path, expression in self.first_values:
            owner, name = path.split(".")
            setattr(self.network[self.prefix + owner], name, expression)
        # A neuron without input has rate 0 and waits for ever: 1/0 is meant.
        with without_order_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            if not in_python:
                self.network.run(length * self.clock.dt, namespace={})
                return np.empty(0, np.int32)
            self._run_until(before + length, before_token)
        return np.array(self.winners.i[before:])

    def _run_until(self, n_winners: int, before_token: Callable[[int], None] | None) -> None:
        """Tick inside Python until every token has its winner."""
        before = shown = self.winners.num_spikes
        if before_token is not None:
            before_token(0)

        def stop_when_done() -> None:
            nonlocal shown
            if self.winners.num_spikes >= n_winners:
                self.network.stop()
            elif before_token is not None and self.winners.num_spikes > shown:
                before_token(self.winners.num_spikes - before)
            shown = self.winners.num_spikes

        stop = NetworkOperation(stop_when_done, clock=self.clock, when="end", order=LAST)
        self.network.add(stop)
        try:
            while (found := self.winners.num_spikes) < n_winners:
                self.network.run(STALLED_AFTER * self.clock.dt, namespace={})
                if self.winners.num_spikes == found:
                    raise SimulationError(stalled_message(STALLED_AFTER))
        finally:
            self.network.remove(stop)


def checked_length(circuit: Circuit, index: Mapping[str, Tokens]) -> int:
    """Number of tokens of a sequence, if the network can show it."""
    found = {name: len(neurons) for name, neurons in index.items()}
    n_tokens, capacity = found["words"], circuit.sizes.capacity
    if len({*found.values()}) != 1:
        raise ParameterError(f"a sequence has one word and one document per token; found {found}.")
    if not 1 <= n_tokens <= capacity:
        raise ParameterError(
            f"this network takes 1 to {capacity} tokens at a time; found {n_tokens}. Show them in "
            "parts, or build it with a larger `capacity`."
        )
    for name, neurons in index.items():
        size = len(circuit.layers[name])
        if not 0 <= np.min(neurons) <= np.max(neurons) < size:
            raise ParameterError(
                f"{name} must be in [0, {size}); found {np.min(neurons)} to {np.max(neurons)}."
            )
    return n_tokens


def axons_of_tokens(words: Tokens, docs: Tokens, n_blocks: int) -> np.ndarray:
    """The axon (document, block of the word) of each token, in networks that are split.

    Word w belongs to block w mod B. Vocabularies are often sorted by frequency: dealt out like
    cards, the frequent words come to all blocks alike, and no block is larger than the others by
    more than one word.
    """
    return np.asarray(docs) * n_blocks + np.asarray(words) % n_blocks


def stalled_message(ticks: int) -> str:
    """What to do when no topic neuron fires."""
    return (
        f"no topic neuron has won in {ticks} ticks: the firing rates are too low. Raise `rate`, "
        "or use Poisson() without a rate, which finds one, or Race()."
    )


def no_delay(*pathways: str) -> dict[str, object]:
    """Brian's `delay` argument for pathways that deliver within the tick."""
    return {pathway: 0 * ms for pathway in pathways}
