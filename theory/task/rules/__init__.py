"""The rules that a mapping can have: importing the modules of this folder fills ``RULES``."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
