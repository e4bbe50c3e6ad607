"""The two twins of an algorithm side by side: the spiking network and the rate level.

=============  ==================================================================================
twins          `compare_twins`: trains both over seeds, asks all questions, gives a verdict
winner_law     do the winners of the spiking network follow the law of the twin?
equivalence    are the perplexities equal, measured by how far the twin's own seeds lie apart?
page           the figure
=============  ==================================================================================
"""

from brian_lda.comparison.equivalence import Equivalence, compare_perplexities
from brian_lda.comparison.twins import TwinComparison, compare_twins
from brian_lda.comparison.winner_law import WinnerLaw, judge_winners

__all__ = [
    "Equivalence",
    "TwinComparison",
    "WinnerLaw",
    "compare_twins",
    "compare_perplexities",
    "judge_winners",
]
