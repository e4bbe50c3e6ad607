r"""ed-SpikeLDA (Alg. 3) at rate level.

For each token (w, d): z ~ softmax(M^alpha_zw + M^beta_zd) [Alg. 1]; M^alpha learns as in
`event_driven`, and

.. math::
    M^\beta_{zd} \leftarrow M^\beta_{zd} + \eta\,x_d\big[(h_z + \tfrac{\lambda_z-1}{N_d})
    e^{-M^\beta_{zd}} - \tfrac1\kappa - \tfrac1{N_d}\big] \qquad \forall z

with kappa = sum(lambda - 1) (`EventDrivenParameters.doc_drive`).
"""

from __future__ import annotations

from brian_lda.errors import ParameterError
from brian_lda.parameters import EventDrivenParameters
from brian_lda.reference.event_driven import EventDrivenTwin


class EdSpikeLDAReference(EventDrivenTwin):
    """Rate-level twin of the ed-SpikeLDA network; parameters as in `EventDrivenTwin`.

    Every lambda must be > 1.
    """

    @staticmethod
    def _check_prior(parameters: EventDrivenParameters) -> None:
        if parameters.doc_topic_prior is None:
            raise ParameterError(
                "ed-SpikeLDA needs a doc_topic_prior (lambda > 1); found None, which is "
                "ed-SpikePLSI: use EdSpikePLSIReference."
            )
