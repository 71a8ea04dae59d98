"""SuperStAR: recovery of image classifiers from distribution shift, online and as a black box."""

import os

__version__ = "0.1.0"

# OpenMP's threads wait for one another by spinning. Where other work has a core, each step then
# takes a time slice, and an image 100 times as long. GNU's library reads this when PyTorch loads.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
