"""The package ``sim`` under the project's name: this module replaces itself with it."""

import sys
from typing import TYPE_CHECKING

from anchorflow._packages import load

if TYPE_CHECKING:
    from sim import *  # noqa: F403

sys.modules[__name__] = load("sim")
