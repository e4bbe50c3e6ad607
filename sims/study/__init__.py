"""What the scripts beside this folder share, and only they: the study of the paper's experiments.

==============  ===================================================================================
arguments       numbers on the command line
options         where runs take place: --engine, --workers, --scheduler
backend         in spikes or at rate level: --backend
script          body of a figure's or a table's script: options, runs, files
comparison      the two kinds of perplexity figure
paper_settings  the paper's numbers, and smaller ones
classification  runs of the classification tables
online_peers    one pass of scikit-learn's and gensim's online LDA
priors          one lambda for all algorithms
results_page    numbers into docs/results.md
peer            tomotopy, beside which the benchmarks stand
many_topics     benchmark at a thousand topics
==============  ===================================================================================

Functions that run in worker processes are no part of it: a worker finds `brian_lda` alone
(`brian_lda.sweeps.experiments`).
"""
