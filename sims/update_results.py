"""Put the numbers and figures of finished studies into docs/results.md.

    python sims/update_results.py --out results

Run the figure and table scripts with the same --out first. Tables whose numbers are not there stay
as they are.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from brian_lda.errors import BrianLDAError
from study.results_page import fill_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        filled = fill_page(options.page, options.out)
    except BrianLDAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{options.page}: {', '.join(filled) or 'nothing to fill'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
