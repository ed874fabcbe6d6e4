"""Write the generated documentation page: ``python -m theory.symbolic docs/theory/derivations.md``."""

import sys
from pathlib import Path

from theory.symbolic import derivations_page

Path(sys.argv[1]).write_text(derivations_page(), encoding="utf-8")
