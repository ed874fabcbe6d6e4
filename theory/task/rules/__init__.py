"""The rules that a mapping can have: every file in this folder is read, and its classes enter ``RULES``."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
