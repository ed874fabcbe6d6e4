"""The claims of the ledger: each module here has a tuple ``CLAIMS``; a new module is found by itself."""
