"""`python -m brian_lda`."""

import sys

from brian_lda.command_line import main

sys.exit(main())
