"""What work is expected to cost, how much is kept, and when what has failed is tried again: one table.

Times are nanoseconds, estimated from graphs and never measured during a call: by the clock it would depend on the
moment which calls run compiled, and with it the last bits of their results. All limits of one function are here; those
of one trace, of a pass or of native code stand where they belong.
"""

from __future__ import annotations

SMALL_ARRAY = 1 << 15  # elements of lazy arrays that NumPy computes at once: it is done before they were recorded
KNOWN_FOLD = 1 << 18  # elements of a known array that NumPy folds before a program for that alone would have

# When a program that is run gets the compiler, and when its functions get compiled: `running.deferred`.
LOADING = 600_000_000  # of work of its functions: importing it, and linking the first kernels, takes about as long
# Of work of one function, for each instruction of its bytecode. To compile that takes ten times as long; but a function
# that makes its arrays itself may have as much more work than is expected.
COMPILED_INSTRUCTION = 300_000
INSTRUCTION = 50  # of Python's bytecode
ELEMENT = 0.1  # of an array, and an instruction: one out of eight or so is an operation on arrays
FEWEST_TURNS = 64  # of a loop of which nothing is known

# What a trace costs, from the call to the program.
TRACE = 800_000
TRACED_NODE = 30_000  # and each operation of it
TRACE_AGAIN = 250_000  # where most of it is as it was in the call before
TRACED_NODE_AGAIN = 10_000
SIZED_FRAME = 150_000  # a frame for sizes that are new to a program of which NumPy executes some steps
SLOW_CALL = 2.0  # seconds after which people are told of a compile

LONG_TRACE = 0.005  # seconds after which one that was in vain is worth a note on disk

SMALL_CALL = 2048  # bytes of arrays of calls that the plain function serves at first: there may be no further ones,
SMALL_CALLS = 2  # so many of a kind, and one more for each trace that has not paid;
SMALL_WORK = 1_000_000  # where there are loops, if all of them together are expected to take NumPy less than that,
FEW_TURNS = 16  # with so many turns of a loop of which nothing is known

# Calls that run plain while a thread compiles what serves later ones, if NumPy is done with all of them by then: so
# many of a kind, since the clock shall not say which calls run compiled.
PUT_OFF_CALLS = 2
PUT_OFF_BYTES = 4 << 20  # of the largest array: NumPy makes a new one for each operation
COMPILED_KERNEL, COMPILED_STATEMENT = 8_000_000, 300_000  # what LLVM takes for one, and for each statement in it

# Of arguments of a function of numba's that native code calls; for more, a step of Python's costs nothing.
NATIVE_BYTES = 1 << 21

FOLDED_BYTES = 4096  # a constant may grow to this size by folding; beyond, only if it does not grow at all

# Whether another trace pays: `call.budget`.
USUAL_OPERATIONS = 50  # of a trace: one of more operations counts for several, and so do new kernels in it
CREDIT = 64  # traces that are made before any of them has paid
CREDIT_FOR_SMALL = 8  # for calls with small arrays, of which hundreds pay for one trace
CREDIT_FOR_SEEN = 16  # further ones for arguments that have come again
FAILED = 4  # traces that one counts for which ends with the plain function: the next one may end so, too,
FAILED_AGAIN = 8  # and that it counts for if it ends so for the same reason at the same line as the one before
COMPILE = 3  # traces that new kernels count for, which take more if they are not in the disk cache,
FEW_KERNELS = 8  # but not the first ones
GAINING = 4  # NumPy has to take so many times as long as what a trace costs: compiled calls save about half of that
PAID_BY_LOOK = 1 / 16  # of a trace; looks are made about as often
LOOK = 1_000_000  # of NumPy's time between two looks, which take some 20,000 to 80,000
FEWEST_BETWEEN, MOST_BETWEEN = 16, 4096  # calls between two looks

# When calls that run plain are looked at again.
PLAIN_CALLS = 16  # of one kind in a row, all looked at; and of a function that always runs plain, until that is native
CALLS_TO_TABLE = 4  # of one kind that run plain, until native code looks at them: a table takes as long as some looks
RELAPSES = 8  # that each double the calls until the first look
SLOW_CALLS = 64  # of a program that Python serves, until it is asked whether native code has served any
NEW_PATHS = 8  # calls in a row that see other values than all before: the values are different every time
TRIED_CALLS = 2  # after which it is known well enough what segments compute in vain
COMPILES = 8  # calls in a row of a function traced at every call that have something to compile: it gains nothing
FEW_VALUES = 3  # that an integer, or the length of a list, has before one program shall serve all
STOPS = 8  # of a procedure; if it stops oftener, and more often than not, it costs more than it saves
RENEWALS, RARELY = 64, 0.1  # times in a row that tables are made anew, with less than these seconds in between
REFUSALS = 4  # types of arguments in a row for which loops are not compiled, before others are tried more rarely
PROCEDURE_RENEWALS = 8  # times that a procedure's table is made anew

SHARED_WORK = 512_000  # additions of two elements, of a loop of a procedure that is worth several threads

MUCH_WORK = 1 << 20  # trips of loops after which, or where so many are expected, optimised code pays: some 10 ms
QUICK_STATEMENTS = 128  # of a procedure, which takes LLVM a tenth of a second; a longer one needs as much more work
MOST_STATEMENTS = 512  # of a procedure that a thread optimises before it has run: others wait for that thread

# Which calls are so short that the plain function may be faster than native code.
LITTLE_WORK = 64  # trips of loops over the arguments
LITTLE_SECONDS = 5e-5  # of a call in native code, in which other loops run
TRIALS = 5  # calls that are timed: both give the same bits
CLEARLY_FASTER = 0.95  # of the time of compiled code: within the noise, that stays
CLEARLY_SLOWER = 4.0  # times what the other took: one trial is enough
SERVED_BETWEEN = 16  # calls between two that may be timed

# How much one function keeps.
KINDS = 64  # of calls of which it is known that they run plain
GUARDED_ELEMENTS = 32  # of a list or a text that is an argument of a function that native code calls plain
STEPS_SECONDS = 1e-2  # of calls in which NumPy executes steps: what loops around them save may not pay for these
SHORT_SECONDS = 3e-4  # of calls with lists, or whose ends Python makes: the plain function may be faster
READING_LISTS = 8  # times what it takes to read lists: calls that take less may be faster plain
LEAVES = 4096  # arrays and numbers in the arguments: each would be an input of the program
SPECIALISATIONS = 256
FRAME_BYTES = 256 << 20
SIZED_FRAMES, SIZED_FRAME_BYTES = 64, 16 << 20  # for sizes of a program of which NumPy executes some steps
CAPTURES = 3  # sets of values that it has read from outside before, and may read again
RAISED = 3  # of them, since the function itself raises an exception: then others are traced at their second call
FAILURES = 256  # signatures whose traces failed
SEEN = 256  # signatures that were not traced
PROGRAMS = 512  # by their graphs
SEGMENTS = 4096
REMEMBERED = 1 << 14  # nodes of a function that is traced at every call
PROCEDURES = 32  # for types of arguments and values of the outside
PROCEDURES_BY_VALUE = 8  # for arguments of the same types
TRIED_SHAPES = 64  # of arguments for which it is learnt whether the plain function is faster
TRIED_STEPS = 4  # of those where NumPy executes steps: a trial may take as long as the plain function
TABLES = 16  # for native code, of one specialisation: for as many threads that call it at once
CROWD = 8  # specialisations with one hash, which native code tries one after the other


class Backoff:
    """Exponential back-off: when what has failed is tried again.

    After each failure in a row twice as many calls are spared as after the one before. Native tables count in the same
    way.

    Parameters
    ----------
    free : int
        Failures in a row after which no call is spared.
    longest : int
        Binary logarithm of the most calls that are spared in a row.

    Examples
    --------
    >>> backoff = Backoff()
    >>> tried = []
    >>> for call in range(30):
    ...     if not backoff.spares():
    ...         tried.append(call)
    ...         backoff.note(failed=True)
    >>> tried
    [0, 1, 4, 11, 26]
    """

    __slots__ = ("failures", "free", "longest", "spared")

    def __init__(self, free: int = 0, longest: int = 10):
        self.free, self.longest = free, longest
        self.failures = self.spared = 0

    def spares(self) -> bool:
        """Whether this call is not tried."""
        self.spared -= 1
        return self.spared >= 0

    def note(self, failed: bool, most: int = 1 << 62) -> None:
        """What a try has come to; at most `most` calls are spared now."""
        self.failures = min(self.failures + 1, self.free + self.longest) if failed else 0
        self.spared = min(max((1 << max(self.failures - self.free, 0)) - 2, 0), most)
