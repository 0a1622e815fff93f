"""What a user lets programs round in another way than NumPy."""

from __future__ import annotations

from ..base.frozen import frozen


@frozen
class Rounding:
    """Liberties that change results in their last places; `EXACT` takes none.

    Parameters
    ----------
    fastmath : bool
        Additions, subtractions, products and quotients of floating-point numbers may be rearranged as if they were
        those of real numbers, and a product and a sum rounded once; zeros may change their sign.
    wide_constants : bool
        What depends on constants alone is computed in double precision, and rounded once.
    """

    fastmath: bool = False
    wide_constants: bool = False

    def __str__(self) -> str:
        return " ".join(name for name in ("fastmath", "wide_constants") if getattr(self, name))


EXACT = Rounding()
