"""Write the generated documentation page: ``python -m theory.symbolic docs/theory/derivations.md``."""

import sys
from pathlib import Path

from theory.symbolic import derivations_page

if len(sys.argv) != 2:
    sys.exit("usage: python -m theory.symbolic FILE, such as docs/theory/derivations.md")
Path(sys.argv[1]).write_text(derivations_page(), encoding="utf-8")
