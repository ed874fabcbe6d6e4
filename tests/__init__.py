"""The tests' matrices are small: threads that share two cores cost three times the processor time.

The environment reaches libraries loaded later and every process that a test starts; ``threadpool_limits``
reaches those that a plugin of pytest has loaded already.
"""

import os

from threadpoolctl import threadpool_limits

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
threadpool_limits(1)
