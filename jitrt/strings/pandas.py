"""``engine="jitrt"`` of ``pandas.eval``, ``DataFrame.eval`` and ``DataFrame.query``."""

from __future__ import annotations

from .evaluation import evaluate


def register_pandas_engine() -> None:
    """Make ``engine="jitrt"`` known to ``pandas.eval``, ``DataFrame.eval`` and ``DataFrame.query``.

    Raises
    ------
    ImportError
        If pandas is not installed, or its engines are not where they are in pandas 3.

    Notes
    -----
    pandas parses the expression and aligns its objects, and gives the columns and an expression of these to `evaluate`.
    It has no public way to register an engine: its table of engines gets one more.

    Examples
    --------
    >>> import pandas as pd
    >>> import jitrt
    >>> jitrt.register_pandas_engine()
    >>> df = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    >>> df.eval("a * b + sqrt(a + 2 * a)", engine="jitrt").round(3).tolist()
    [4.732, 10.449]
    """
    from pandas.api.extensions import ExtensionDtype
    from pandas.core.computation.engines import ENGINES, AbstractEngine

    class Engine(AbstractEngine):
        def evaluate(self) -> object:
            terms = self.expr.terms
            dtypes = [terms.return_type, *(getattr(terms, "operand_types", None) or ())]
            if any(isinstance(d, ExtensionDtype) for d in dtypes):  # text, missing values: pandas computes these itself
                return self.expr()
            return super().evaluate()

        def _evaluate(self) -> object:
            return evaluate(self.convert(), local_dict=self.expr.env.full_scope, global_dict={})

    ENGINES["jitrt"] = Engine
