"""Variables that some ways assign and others do not: where they are read, a flag says whether they are assigned.

Staging begins without such flags, and again with those of a variable that is read where it may not be assigned.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...values.functions import MISSING
from .recorder import Recorder
from .values import BOOL, ListChanges, NotStaged, Unassigned, Unbound
from .variables import Variable

UNBOUND = "unbound"  # among what changes, with a name: it is read where it may not be assigned
LOST = Unbound(None, "")
"""Of a variable that some ways have assigned, and others not: what it holds is known with flags alone."""


def need_unbound(r: Recorder, name: str, reason: NotStaged | None = None) -> NoReturn:
    """Begin again, with flags that say where a variable is assigned; if there are such, raise `reason`."""
    if (UNBOUND, name) in r.changing:
        raise Unassigned(name) if reason is None else reason
    r.changing.add((UNBOUND, name))
    raise ListChanges("a variable that may not be assigned")


def put_unbound(r: Recorder, variable: Variable, ran: str, value: Any) -> None:
    """Let a variable hold a value that may not be assigned; MISSING if it is not."""
    is_assigned = r.get(value.ran, BOOL) if isinstance(value, Unbound) else r.literal(value is not MISSING, BOOL)
    if value is not MISSING:
        variable.put(r, value.value if isinstance(value, Unbound) else value)
    r.put(ran, is_assigned, BOOL)
