"""One self-contained HTML page about a run folder: `python -m brian_lda report RUNDIR`.

=============  ==================================================================================
collect        what the folder and its corpus tell, as plain data
page           that data as a page
raster.js      the raster that the reader can zoom and hover
=============  ==================================================================================
"""

from brian_lda.runs.report.collect import RunData, collect_run
from brian_lda.runs.report.page import report_page, write_report

__all__ = ["RunData", "collect_run", "report_page", "write_report"]
