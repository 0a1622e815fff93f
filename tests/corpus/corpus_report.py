"""Which functions of the corpus run compiled: the tests note it, and the summary of the run prints it."""

STATES: dict[str, str] = {}


def lines() -> list[str]:
    """The report; nothing if no function was tried."""
    plain = {name: reason for name, reason in STATES.items() if reason}
    if not STATES:
        return []
    head = f"corpus: {len(STATES) - len(plain)} of {len(STATES)} functions run compiled; these run plain:"
    return [head, *(f"  {name}: {reason}" for name, reason in sorted(plain.items()))]
