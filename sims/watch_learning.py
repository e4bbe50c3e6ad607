"""ed-SpikeLDA as a plain Brian2 script: build it, put monitors on it, show tokens, look.

Ten topic neurons learn the bars of 5 x 5 images. Writes watch_learning.png.
"""

from brian2 import SpikeMonitor, StateMonitor, ms, prefs
from brian_lda.models import add_probe, ed_spike_lda
from matplotlib import pyplot as plt

from brian_lda.corpus import load_corpus, shuffled_passes

prefs.codegen.target = "numpy"  # inside Python; after set_device("cpp_standalone") it is compiled
corpus = load_corpus("bars", grid=5, n_docs=100, doc_length=25, seed=0)
net = ed_spike_lda.build(25, 100, 10, doc_lengths=corpus.doc_lengths)

u = StateMonitor(net.topics, "u", record=True, when="end")  # in the tick in which it acts
weights = StateMonitor(add_probe(net, words=[0, 6, 12], topics=[0, 0, 0]), "M__alpha", record=True)
groups = {"words": net.words, "documents": net.documents, "topics": net.topics}
groups["inhibition"] = net.inhibition
spikes = {name: SpikeMonitor(group) for name, group in groups.items()}
net.network.add(u, weights, *spikes.values())

for words, docs in shuffled_passes(corpus, 2, seed=0):
    net.present(words, docs)

rows = {"height_ratios": [3, 3, 3, 0.6, 3, 4]}
figure, axes = plt.subplots(6, 1, figsize=(9, 11), layout="constrained", gridspec_kw=rows)
for axis, (name, monitor) in zip(axes, spikes.items(), strict=False):
    axis.plot(monitor.t / ms, monitor.i, "|", ms=4, color="black")
    axis.set(ylabel=name, xlim=(4900, 5000), xticklabels=[])
axes[3].set(yticks=[], ylabel="inh.")
axes[4].plot(u.t / ms, u.u.T, "_", ms=4)
axes[4].set(ylabel="u of the topics", xlim=(4900, 5000), xlabel="the last 100 tokens (ms)")
axes[5].plot(weights.t / ms, weights.M__alpha.T, label=["word 0", "word 6", "word 12"])
axes[5].legend(loc="upper right", title="onto topic 0")
axes[5].set(ylabel=r"$M^\alpha$", xlabel="the whole run, one token a tick (ms)")
figure.savefig("watch_learning.png", dpi=150)
