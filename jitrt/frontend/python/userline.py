"""Where in the user's code something happens."""

from __future__ import annotations

import os
import sys
import types

import numpy as np

_PACKAGE = os.path.abspath(os.path.join(__file__, *[os.pardir] * 3))
_NUMPY = os.path.dirname(os.path.abspath(np.__file__))


def user_frame(ours: tuple[str, ...] = (_PACKAGE, _NUMPY)) -> types.FrameType | None:
    """The innermost frame that is neither jitrt's nor NumPy's, or of no file in the folders `ours`."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    return frame


def calling_frame() -> types.FrameType | None:
    """The innermost frame that is not jitrt's: the user's, or of a source of NumPy's that is traced."""
    return user_frame((_PACKAGE,))


def is_ours(frame: types.FrameType) -> bool:
    """Whether a frame is one of jitrt's or NumPy's."""
    return frame.f_code.co_filename.startswith((_PACKAGE, _NUMPY))


def user_line() -> str:
    """``file:line`` of that frame."""
    frame = user_frame()
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
