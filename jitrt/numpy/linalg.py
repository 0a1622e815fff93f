"""NumPy's linear algebra over lazy arrays (`numpy.linalg`)."""

from __future__ import annotations

import numpy as np

from .namespace import contents

globals().update(contents(np.linalg))
__all__ = list(np.linalg.__all__)
