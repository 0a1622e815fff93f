"""What a user asks of one function."""

from __future__ import annotations

from ..base.frozen import frozen
from ..ir.rounding import EXACT, Rounding


@frozen
class Options:
    """The options of `jit`.

    Parameters
    ----------
    threads : int, optional
        Most threads that kernels may use.
    donate : tuple of str
        Names of parameters whose arrays calls may overwrite.
    frozen : tuple of str
        Names of parameters whose arrays never change.
    on_plain : str, optional
        What happens when the plain function is about to run: "ignore", "warn" or "raise".
    rounding : Rounding
        In what results may differ from the plain function's.
    """

    threads: int | None = None
    donate: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    on_plain: str | None = None
    rounding: Rounding = EXACT


NO_OPTIONS = Options()
