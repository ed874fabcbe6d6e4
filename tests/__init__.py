"""The tests' matrices are small: threads that share two cores cost three times the processor time.

Set here, before NumPy and torch are imported, and inherited by every process that a test starts.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
