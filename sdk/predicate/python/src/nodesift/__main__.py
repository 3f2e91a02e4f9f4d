"""`python -m nodesift build [DIR] [-o FILE]`: makes a component of a predicate."""

import sys

from .build import main

sys.exit(main())
