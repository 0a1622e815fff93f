"""NumPy's Fourier transforms over lazy arrays (`numpy.fft`)."""

from __future__ import annotations

import numpy as np

from .namespace import contents

globals().update(contents(np.fft))
__all__ = list(np.fft.__all__)
