"""The package ``theory`` under the project's name: this module replaces itself with it."""

import sys
from typing import TYPE_CHECKING

from anchorflow._packages import load

if TYPE_CHECKING:
    from theory import *  # noqa: F403

sys.modules[__name__] = load("theory")
