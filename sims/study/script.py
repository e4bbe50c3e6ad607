"""What the scripts of the paper's figures and tables share.

Each script says which runs it needs and what to draw of them; this layer has the options, decides
which corpora are at hand, carries the runs out, and writes figure, numbers and metadata:

    OUT/NAME.png, OUT/NAME.svg   the figure
    OUT/NAME.csv                 the numbers in it
    OUT/NAME.json                parameters, seeds, versions, commit, wall time, peak memory
    OUT/runs/                    one folder per run, shared by all scripts with the same --out
    OUT/runs/unfinished/         checkpoints of long runs that are under way, or were killed
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brian_lda.corpus import NAMED_CORPORA
from brian_lda.corpus.load import require_corpus
from brian_lda.corpus.locate import find_on_disk
from brian_lda.errors import BrianLDAError
from brian_lda.files.json_files import write_json
from brian_lda.runs import versions
from brian_lda.sweeps.sweep import SweepReport, run_sweep
from brian_lda.sweeps.tables import write_csv
from brian_lda.sweeps.task import RESULT_KEY, TRAIN, Task, peak_memory_mib, train_tasks
from study.arguments import positive
from study.backend import SUFFIX, in_backend
from study.options import add_engine_options, open_engine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = ("tiny", "small", "paper")
SEEDS = 3  # "All results are averaged from 3 different runs of the algorithms" (Sec. 4)


class Study:
    """One figure or table in the making.

    Parameters
    ----------
    name : str
        Of the script, and of the files that it writes; in spikes NAME_spikes.
    options : Namespace
        See `study_parser`.
    """

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.script, self.options = name, options
        self.backend: str | None = getattr(options, "backend", None)
        self.name = name + (SUFFIX if self.backend == "brian2" else "")
        self.out: Path = options.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.seeds = list(range(options.seeds))
        self.skipped: list[str] = []
        self.has_written = False
        self._started = time.perf_counter()
        self._reports: list[SweepReport] = []

    def at_hand(self, corpora: Iterable[str]) -> list[str]:
        """Those of the corpora (or of --corpora) that are on disk; a line about each other one."""
        found = []
        for name in self.options.corpora or corpora:
            if is_at_hand(name, self.options.data_dir) or self.options.download:
                found.append(name)
            else:
                self.skipped.append(name)
                print(how_to_get(name), file=sys.stderr)
        return found

    def task(
        self, config: Mapping[str, Any], function: str = TRAIN, backend: str | None = None
    ) -> Task:
        """A run, as fields of `RunConfig` and what else the function takes.

        `backend` is the script's own choice, which --backend overrules.
        """
        simulator = getattr(self.options, "simulator", "standalone")
        config = in_backend(config, self.backend or backend, simulator)
        if function != TRAIN:
            return Task(config, function, self.options.data_dir)
        in_spikes = config.get("backend") == "brian2"  # takes long
        unfinished = self.unfinished if in_spikes else None
        return train_tasks([config], self.options.data_dir, unfinished)[0]

    def sweep(
        self, tasks: Sequence[Task], each: Callable[[SweepReport], object] | None = None
    ) -> SweepReport:
        """Carry the runs out, or find them in OUT/runs; `each`: see `run_sweep`."""

        def seen(report: SweepReport) -> None:
            if not any(known is report for known in self._reports):
                self._reports.append(report)
            if each is not None:
                each(report)

        with open_engine(self.options) as engine:
            return run_sweep(
                tasks, self.out / "runs", engine=engine, quiet=self.options.quiet, each=seen
            )

    @property
    def unfinished(self) -> str | None:
        """Where training runs keep checkpoints; workers of other machines keep none."""
        on_dask = self.options.engine == "dask" or self.options.scheduler
        return None if on_dask else str((self.out / "runs" / "unfinished").resolve())

    def write(
        self,
        rows: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any],
        figure: Figure | None = None,
    ) -> None:
        """Write the numbers, the figure and the metadata; earlier ones stay if there are none."""
        from matplotlib import pyplot

        if not rows:
            return
        self.has_written = True
        write_csv(self.out / f"{self.name}.csv", rows)
        if figure is not None:
            for suffix in ("png", "svg"):
                figure.savefig(self.out / f"{self.name}.{suffix}", dpi=150)
            pyplot.close(figure)
        write_json(self.out / f"{self.name}.json", self.metadata(parameters))

    def metadata(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What NAME.json holds."""
        made = [
            result[RESULT_KEY] for report in self._reports for result in report.results.values()
        ]
        memory = [peak_memory_mib(), *(run["peak_memory_mib"] for run in made)]
        return {
            "script": f"sims/{self.script}.py",
            "scale": self.options.scale,
            "backend": self.backend,
            "parameters": dict(parameters),
            "seeds": self.seeds,
            "skipped_corpora": self.skipped,
            "runs": sum(len(report.results) for report in self._reports),
            "runs_made_earlier": sum(report.n_reused for report in self._reports),
            "runs_failed": sum(len(report.failures) for report in self._reports),
            "wall_seconds": time.perf_counter() - self._started,
            "wall_seconds_of_all_runs": sum(run["wall_seconds"] for run in made),
            "peak_memory_mib": max(memory),
            "versions": versions(),
            "platform": platform.platform(),
            "commit": commit(),
        }

    @property
    def n_failed(self) -> int:
        return sum(len(report.failures) for report in self._reports)


def study_parser(description: str) -> argparse.ArgumentParser:
    """The options of every figure and table."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="where everything goes; "
        "runs found there are not repeated (default: results)",
    )  # fmt: skip
    add(
        "--scale", choices=SCALES, default="small", help="tiny: seconds, bundled or generated "
        "corpus; small: minutes to an hour on two cores; paper: the paper's sizes (default: small)",
    )  # fmt: skip
    add("--corpora", nargs="+", metavar="NAME", help="instead of the scale's own")
    add(
        "--seeds", type=positive, default=SEEDS, metavar="N",
        help=f"runs of each kind; default {SEEDS}",
    )  # fmt: skip
    add("--download", action="store_true", help="fetch corpora that are not on disk")
    add_engine_options(parser)
    return parser


def run_study(
    name: str,
    description: str,
    make: Callable[[Study], None],
    arguments: Sequence[str] | None = None,
    *,
    add_options: Callable[[argparse.ArgumentParser], object] | None = None,
) -> int:
    """Body of a script: parse the options, make the figure or table, return the exit code.

    `add_options` adds the script's own to those of every study.
    """
    import matplotlib

    matplotlib.use("Agg")
    parser = study_parser(description)
    if add_options is not None:
        add_options(parser)
    options = parser.parse_args(arguments)
    try:
        study = Study(name, options)
        make(study)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if study.has_written:
        print(f"written: {study.out / study.name}.*")
    else:
        print(f"{study.name}: no run has a result; nothing was written.", file=sys.stderr)
    return 1 if study.n_failed else 0


def is_at_hand(name: str, data_dir: str | None) -> bool:
    """Whether a corpus is there without a download; one that nobody knows is refused."""
    require_corpus(name)
    return (
        name not in NAMED_CORPORA
        or find_on_disk(NAMED_CORPORA[name], data_dir=data_dir) is not None
    )


def how_to_get(name: str) -> str:
    """The line about a corpus that is skipped."""
    corpus = NAMED_CORPORA[name]
    files = " and ".join(file.name for file in corpus.files)
    place = (
        f"put {files} from {corpus.base_url} into DIR/{corpus.folder}/ and pass --data-dir DIR, or "
        if corpus.unpack is None
        else ""
    )
    return f"skipped: {name} is not at hand; {place}pass --download."


def commit() -> str:
    """Of the source tree, with a mark if it was changed since; "unknown" outside of one."""
    folder = Path(__file__).parent
    try:
        named = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=folder, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return named.stdout.strip()
