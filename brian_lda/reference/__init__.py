"""The rate-level twins: the same algorithms without spikes, drawing from exactly the same law."""

from pathlib import Path

from brian_lda.reference.kernel_cache import drop_stale_kernels

_HERE = Path(__file__).parent
drop_stale_kernels([_HERE, _HERE.parent / "evaluation"])
