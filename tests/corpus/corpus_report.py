"""Which functions of the corpus run compiled: the tests note it, and the summary of the run prints it."""

STATES: dict[str, str] = {}
LOOPS: dict[str, str] = {}  # of functions with loops: why these are not compiled as such; empty if they are


def lines() -> list[str]:
    """The report; nothing if no function was tried."""
    plain = {name: reason for name, reason in STATES.items() if reason}
    if not STATES:
        return []
    head = f"corpus: {len(STATES) - len(plain)} of {len(STATES)} functions run compiled; these run plain:"
    return [head, *(f"  {name}: {reason}" for name, reason in sorted(plain.items())), *_lines_of_loops()]


def _lines_of_loops() -> list[str]:
    names: dict[str, list[str]] = {}
    for name, reason in sorted(LOOPS.items()):
        names.setdefault(reason, []).append(name)
    compiled = len(names.pop("", []))
    head = f"corpus: loops of {compiled} of {len(LOOPS)} functions are compiled as such; of these they are not:"
    return [head, *(f"  {reason}: {', '.join(found)}" for reason, found in sorted(names.items()))]
