"""NumPy's Fourier transforms over lazy arrays (`numpy.fft`)."""

from __future__ import annotations

import numpy as np

from . import standard
from .namespace import contents

globals().update(contents(np.fft) | {"fftfreq": standard.fftfreq, "rfftfreq": standard.rfftfreq})
__all__ = list(np.fft.__all__)
