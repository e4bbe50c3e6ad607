"""A trained network on simulators and mappers of others, beside our own figures.

    python sims/other_engines.py nest --run runs/kos
    python sims/other_engines.py spynnaker --corpus kos --data-dir DATA --topics 50
    python sims/other_engines.py sanafe --tokens 500

nest: do the winners of its stochastic neurons follow softmax(u)? Twenty draws of weights, a control
with one weight changed, the trained network; then theta of test documents from its winners beside
the MAP fold-in. spynnaker: cores, chips and routing entries of a virtual board beside our report's;
perplexity through the fixed-point arithmetic of a core. sanafe: energy on its Loihi beside ours.

--run takes a folder that sims/train.py wrote. Without it ed-SpikeLDA is trained here, at rate
level. Each engine is a package of its own: pip install 'brian_lda[nest]', [spynnaker], [sanafe].
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
from scipy import stats

from brian_lda import EdSpikeLDA, TopicModel
from brian_lda.comparison.winner_law import judge_winners
from brian_lda.corpus import Corpus, HoldoutSplit, holdout_split, load_corpus
from brian_lda.errors import BrianLDAError
from brian_lda.evaluation import heldout_perplexity
from brian_lda.hardware import load_chip
from brian_lda.hardware.energy import energy_per_token, token_events
from brian_lda.hardware.engines import sanafe as sanafe_engine
from brian_lda.hardware.engines.exported import (
    Tokens,
    doc_weights,
    fold_in_by_winners,
    tokens_of,
    word_weights,
)
from brian_lda.hardware.engines.fixed_point import BoardArithmetic, fold_in_on_board, phi_on_board
from brian_lda.hardware.engines.nest import NestNetwork, fold_in_nest
from brian_lda.hardware.engines.spynnaker import map_network
from brian_lda.hardware.pruning import PAPER_PRIVATE_WORDS, prune_words
from brian_lda.runs import read_finished_run
from brian_lda.runs.run import read_config, run_split
from study.arguments import positive, whole

DRAWS = 20
TAUS = (1.0, 1 / 4, 1 / 16, 1 / 64)  # of the fixed-point model


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="engine", required=True, metavar="nest|spynnaker|sanafe")
    for name in ("nest", "spynnaker", "sanafe"):
        add = commands.add_parser(name).add_argument
        add("--run", type=Path, metavar="DIR", help="folder that sims/train.py wrote")
        add("--corpus", default="reuters", help="without --run: name or path (default: reuters)")
        add("--data-dir", metavar="DIR", help="where corpora are looked for")
        add("--topics", type=positive, default=20, help="without --run: K (default: 20)")
        add("--passes", type=positive, default=20, help="without --run (default: 20)")
        add("--documents", type=positive, default=20, help="test documents (default: 20)")
        add("--seed", type=whole, default=0)
        if name == "nest":
            add("--races", type=positive, default=5000, help="of each draw (default: 5000)")
            add("--sweeps", type=positive, default=60, help="of the fold-in (default: 60)")
        else:
            add("--tokens", type=positive, default=500, help="shown (default: 500)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    numba.config.THREADING_LAYER = "workqueue"  # NEST crashes beside numba's threads on OpenMP
    try:
        model, split = trained(options)
        {"nest": nest, "spynnaker": spynnaker, "sanafe": sanafe}[options.engine](
            options, model, split
        )
    except (BrianLDAError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def trained(options: argparse.Namespace) -> tuple[TopicModel, HoldoutSplit]:
    """The run's model, or one that is trained here."""
    if options.run:
        run = read_finished_run(options.run, data_dir=options.data_dir)
        config, _ = read_config(options.run)
        data_dir = options.data_dir or config.data_dir
        return run.model, run_split(replace(config, data_dir=data_dir))
    corpus = load_corpus(options.corpus, data_dir=options.data_dir)
    split = holdout_split(corpus, seed=options.seed)
    model = EdSpikeLDA(n_topics=options.topics, max_iter=options.passes, random_state=options.seed)
    return model.fit(split.train), split


def nest(options: argparse.Namespace, model: TopicModel, split: HoldoutSplit) -> None:
    p_values = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([options.seed, draw])
        M__alpha, M__beta = rng.normal(size=(8, 6)), rng.normal(size=(4, 8))
        tokens = Tokens(rng.integers(6, size=options.races), rng.integers(4, size=options.races))
        p, winners = raced(M__alpha, M__beta, tokens, seed=1 + draw)
        p_values.append(judge_winners("draw", p, winners).p_topics)
        if draw == 0:  # the control: NEST with one weight changed, judged by the law without
            M__alpha[M__alpha[:, 0].argmax(), 0] += 1.0
            _, winners = raced(M__alpha, M__beta, tokens, seed=1)
            control = judge_winners("control", p, winners).p_topics
    print(f"NEST: {DRAWS} draws of weights (K = 8), {options.races:,} races each")
    print("  p-values    " + " ".join(f"{p:.2f}" for p in np.sort(p_values)))
    print(f"  uniform     p = {stats.kstest(p_values, 'uniform').pvalue:.3f} (Kolmogorov-Smirnov)")
    print(f"  control     p = {control:.1e} with one weight changed by 1")

    observed, heldout = first(split, options.documents)
    theta = model.transform(observed)
    tokens = tokens_of(observed.counts)
    p, winners = raced(word_weights(model.components_), doc_weights(theta), tokens, seed=1)
    verdict = judge_winners("trained", p, winners)
    print(f"trained network, K = {model.n_topics}: {len(tokens):,} tokens of {observed.n_docs} "
          f"test documents, p = {verdict.p_topics:.2f}")  # fmt: skip
    prior = model._pseudo_count()
    found = fold_in_nest(
        model.components_, observed.counts, prior, n_sweeps=options.sweeps, seed=options.seed + 1
    )
    rng = np.random.default_rng(options.seed)

    def draw_exactly(M__beta: np.ndarray) -> np.ndarray:
        return drawn(law(word_weights(model.components_), M__beta, tokens), rng)

    exact = fold_in_by_winners(draw_exactly, tokens, theta.shape, prior, options.sweeps)
    print(f"  theta after {options.sweeps} sweeps, and how far from the MAP solution of `fold_in` "
          "(total variation, mean and largest)")  # fmt: skip
    for name, value in (("`fold_in`", theta), ("NEST's winners", found), ("exact draws", exact)):
        distance = 0.5 * np.abs(value - theta).sum(axis=1)
        score = heldout_perplexity(model.components_, observed.counts, heldout.counts, theta=value)
        print(f"    {name:<15} {distance.mean():.4f} {distance.max():.4f}   held-out perplexity "
              f"{score.perplexity:.1f}")  # fmt: skip


def raced(
    M__alpha: np.ndarray, M__beta: np.ndarray, tokens: Tokens, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The law of each token [token, topic], and NEST's winners."""
    network = NestNetwork(M__alpha, M__beta, seed=seed)
    return law(M__alpha, M__beta, tokens), network.race(tokens)


def law(M__alpha: np.ndarray, M__beta: np.ndarray, tokens: Tokens) -> np.ndarray:
    """softmax(u) of each token."""
    u = M__alpha[:, tokens.words].T + M__beta[tokens.docs]
    return np.exp(u - np.logaddexp.reduce(u, axis=1)[:, None])


def drawn(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A winner of each token, at rate level."""
    return (p.cumsum(axis=1) < rng.random(len(p))[:, None]).sum(axis=1).clip(max=p.shape[1] - 1)


def spynnaker(options: argparse.Namespace, model: TopicModel, split: HoldoutSplit) -> None:
    phi = model.components_
    observed, heldout = first(split, options.documents)
    prior = model._pseudo_count()
    theta = model.transform(observed)
    tokens = cut(tokens_of(observed.counts), options.tokens)
    use = map_network(phi, theta, tokens)
    K, V = phi.shape
    print(f"sPyNNaker, virtual board of 48 chips: K = {K}, V = {V:,}, {len(theta)} documents, "
          f"{use.cpu_seconds:.0f} s of CPU time to map")  # fmt: skip
    ours = {"cores": use.our_cores, "chips": use.our_chips,
            "routing entries": use.our_routing_entries}  # fmt: skip
    theirs = {"cores": use.network_cores, "chips": use.chips,
              "routing entries": use.routing_entries}  # fmt: skip
    print(f"  {'':<16} {'sPyNNaker':>10} {'our report':>10}")
    for name, count in theirs.items():
        print(f"  {name:<16} {count:>10,} {ours[name]:>10,}")
    parts = ", ".join(f"{name} {n}" for name, n in use.cores.items())
    print(f"  cores: {parts}; a step of a weight is {use.weight_steps['excitatory']:g}")
    print("fixed-point model of a core, held-out perplexity")
    score = heldout_perplexity(phi, observed.counts, heldout.counts, pseudo_count=prior)
    print(f"  {'floating point':<40} {score.perplexity:8.1f}")
    # The last one: what sPyNNaker chooses for KOS if it is not told that words come singly.
    for board in [*(BoardArithmetic(tau=tau) for tau in TAUS), BoardArithmetic(shift=18)]:
        seen = phi_on_board(phi, board)
        theta = fold_in_on_board(phi, observed.counts, prior, board)
        score = heldout_perplexity(seen, observed.counts, heldout.counts, theta=theta)
        name = f"tau = 1/{1 / board.tau:g}, weights in steps of {board.step:g}"
        print(f"  {name:<40} {score.perplexity:8.1f}")


def sanafe(options: argparse.Namespace, model: TopicModel, split: HoldoutSplit) -> None:
    phi = model.components_
    observed, _ = first(split, options.documents)
    tokens = cut(tokens_of(observed.counts), options.tokens)
    p = law(word_weights(phi), doc_weights(model.transform(observed)), tokens)
    winners = drawn(p, np.random.default_rng(options.seed))
    private = prune_words(phi, PAPER_PRIVATE_WORDS).private
    replay = sanafe_engine.Replay(tokens, winners, private, topics_per_core=16)
    chip = load_chip("loihi1")
    own, profile = (
        sanafe_engine.coefficients_of_sanafe(),
        sanafe_engine.coefficients_of_chip(chip),
    )
    print(f"SANA-FE, Loihi: K = {len(phi)}, {PAPER_PRIVATE_WORDS} private words a topic, "
          f"{len(tokens):,} tokens; nJ a token")  # fmt: skip
    print(f"  {'coefficients':<14} {'part':<9} {'SANA-FE':>9} {'ours':>9}")
    for name, joules in (("loihi.yaml", own), (f"{chip.name}.toml", profile)):
        theirs = sanafe_engine.sanafe_energy(replay, joules)
        ours = sanafe_engine.our_energy(replay, joules)
        for part in ("synapse", "soma", "network", "total"):
            pair = [1e9 * getattr(energy, part) / len(tokens) for energy in (theirs, ours)]
            print(f"  {name:<14} {part:<9} {pair[0]:>9.4f} {pair[1]:>9.4f}")
    frequency = np.bincount(tokens.words, minlength=phi.shape[1])
    events = token_events(private, frequency)
    report = energy_per_token(events, chip, 1)
    shown = ("synaptic_event_joules", "neuron_active_joules", "neuron_idle_joules")
    total = sum(report.dynamic[field][0] for field in shown)
    theirs = sanafe_engine.sanafe_energy(replay, profile)
    found = (theirs.synapse + theirs.soma) / len(tokens) - profile.synapse  # of the teacher
    print(f"  hardware report, without plasticity and packets: {1e9 * total:.4f}; SANA-FE "
          f"synapse + soma without the teacher {1e9 * found:.4f} "
          f"({100 * (found / total - 1):+.2f} %)")  # fmt: skip


def first(split: HoldoutSplit, n_docs: int) -> tuple[Corpus, Corpus]:
    """The first test documents, both halves."""
    chosen = range(min(n_docs, split.observed.n_docs))
    return split.observed.subset(chosen), split.heldout.subset(chosen)


def cut(tokens: Tokens, n: int) -> Tokens:
    return Tokens(tokens.words[:n], tokens.docs[:n])


if __name__ == "__main__":
    sys.exit(main())
