"""Words that the baseline version of a procedure and the process share, by which the optimised one is asked for."""

from __future__ import annotations

# Of the trampoline in front of a procedure: how many turns of loops are left until the optimised version is asked for,
# whether it is, the address of the version to be run, that of the baseline one, and that of the words of the process.
TRAMPOLINE = ("turns", "asked", "code", "baseline", "process")
# Of the process: whether its thread has been told, the lock that this thread waits for, and what releases locks.
PROCESS = ("pending", "lock", "release")
