r"""ed-SpikePLSI (paper's appendix) at rate level: ed-SpikeLDA without a prior of theta.

For each token (w, d): z ~ softmax(M^alpha_zw + M^beta_zd) [Alg. 1]; M^alpha learns as in
`event_driven`, and, with kappa = 1,

.. math::
    M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\,x_d\big[h_z e^{-M^\beta_{zd}} - 1\big]
    \qquad \forall z
"""

from __future__ import annotations

from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.event_driven import EventDrivenTwin


class EdSpikePLSIReference(EventDrivenTwin):
    """Rate-level twin of the ed-SpikePLSI network; parameters as in `EventDrivenTwin`.

    `doc_topic_prior` must be None.
    """

    @staticmethod
    def _check_prior(parameters: EventDrivenParameters) -> None:
        if parameters.doc_topic_prior is not None:
            raise ParameterError(
                "ed-SpikePLSI has no prior of theta: doc_topic_prior must be None; found "
                f"{parameters.doc_topic_prior}. With a prior it is EdSpikeLDAReference."
            )
