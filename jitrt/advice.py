"""What to change in a function so that more of it is compiled: from the reason that is given to a rewrite."""

from __future__ import annotations

import re

from .base.frozen import frozen


@frozen
class Advice:
    """A kind of reasons, and what helps.

    Parameters
    ----------
    title : str
        What such reasons have in common; the heading in the documentation.
    pattern : str
        A regular expression that is found in them.
    rewrite : str
        What to change; empty where nothing is to be gained.
    """

    title: str
    pattern: str
    rewrite: str

    @property
    def page(self) -> str:
        """Where the documentation lists such reasons."""
        return f"docs: reasons.html#{re.sub('[^a-z ]', '', self.title.lower()).replace(' ', '-')}"


# What helps where NumPy takes the time, by a pattern of the function's name; the first one that fits is given.
HOSTS = (
    ("sort|median|percentile|quantile|unique|partition", "np.partition is enough if only the order statistics count, "
     "float32 and int32 sort sooner; otherwise nothing is to be gained here"),
    ("histogram", "np.bincount of computed bin numbers is compiled"),
    ("convolve|correlate", "a loop over the shorter array, with slices of the longer one, is compiled"),
    (r"^(inv|pinv|solve|lstsq|det|slogdet|eig|svd|qr|cholesky)", "call it once for a stack of matrices instead of "
     "in a loop; np.linalg.solve in place of inv, eigh in place of eig for symmetric matrices"),
    ("fft", "one call with axis= in place of a loop, rfft for real data, lengths of small factors, or scipy.fft with "
     "workers="),
    ("matmul|dot|einsum|^inner$|^outer$", "NumPy's BLAS is fast; float32 takes half of the time"),
    ("polyval", "Horner's scheme, written as arithmetic, is compiled"),
    ("take|put|choose|delete|insert|ravel_multi|unravel", "indexing with arrays, as x[i, j], is compiled"),
    ("vectorize|apply_along|apply_over", "write the loop out, or use operations on whole arrays: both are compiled"),
    ("", "write it as arithmetic or loops if it is short; otherwise only what is around it gains"),
)  # fmt: skip

# The first one that fits is given.
ADVICE = (
    Advice(
        "Nothing to gain",
        "so small|too small|too short|is set$|NumPy does most of it|little more than to write|computes too little"
        "|most of it are calls|no loops|never runs",
        "",
    ),
    Advice(
        "New arguments in every call",
        "of new shapes or values|was something else in|different from call to call",
        "give what changes in every call as an array or a number that the function computes with",
    ),
    Advice(
        "An error of jitrt's own",
        "internal error|compiled code has ended",
        "please report it; results are right",
    ),
    Advice(
        "Arrays of text",
        r"array of [<>|=]?[US]\d",
        "give numbers in place of texts, for example np.unique(texts, return_inverse=True)[1]",
    ),
    Advice(
        "Objects and other types of elements",
        r"array of (object|Python objects|objects|long double|\S*datetime|\{|\S+, which has no)"
        r"|gives an array of|makes an array of|arrays of |conversion to|long doubles|\bM8|\bm8",
        "convert to float64, an integer type or bool in front of the call, for example by .to_numpy() or .astype",
    ),
    Advice(
        "Random numbers",
        "random|draws",
        "draw outside, or take a numpy.random.Generator as an argument",
    ),
    Advice(
        "Effects beside the result",
        r"assigns a global|prints|opens a file|asks for input|side effects|logs a message|\.\w+ of a logger"
        r"|runs text as code|warnings\.|changes the process|outlives|variables by name|set[s]? .* error|logger"
        r"|of a list from outside",
        "do this in front of the call or behind it, or in a function without decorator that calls this one",
    ),
    Advice(
        "The error state",
        "errstate|error state|catch_warnings|floating-point exception",
        "put np.errstate around the call of the function; what it ignores is compiled",
    ),
    Advice(
        "Generators and coroutines",
        "generator|coroutine|asynchronous",
        "return an array or a list",
    ),
    Advice(
        "A loop that is unrolled, or left to Python",
        r"unrolled|a loop over|loop of \d+ iterations|body of a loop|While|For |loop over many",
        "write the loop over indices and arrays, or replace it by an operation on whole arrays",
    ),
    Advice(
        "Strings that are chosen",
        "string that values decide on|text of values|array of strings|of a str",
        "let the loop work with a number in its place, and look the string up behind it",
    ),
    Advice(
        "Values that decide what is computed",
        "looked at|looks at|truth value|depends on|compared with|is chosen|shapes depend on values|catches "
        "|value chosen|assertion|may raise",
        "use np.where, masks or jitrt.cond in place of `if` on the value of an array",
    ),
    Advice(
        "Bodies of loops as functions",
        "runs once",
        "hand it from one iteration to the next, as a part of the state",
    ),
    Advice(
        "Lists and dicts",
        "list|dict|membership|append|setdefault|key of|tuple|unpacking|starred|comprehension|values in its",
        "make an array of the right size first, and assign to its elements",
    ),
    Advice(
        "Objects and attributes",
        "attribute|object of type|of type|instance|class|method|item of|has no|no argument",
        "take the arrays and numbers that are needed as arguments, and write into other objects behind the loop",
    ),
    Advice(
        "Memory that is shared or written",
        "overlap|share|memory|writes into|read-only|view|aligned|copy|out that|shape of an|flags|pickled"
        "|in place|order",
        "let the function work on contiguous arrays of its own, and return new ones",
    ),
    Advice(
        "Names from outside",
        "reads |is not assigned|may not be assigned|is not defined|nonlocal|replaced|default that|keeps"
        "|outside|source is|name that it makes",
        "take it as an argument, or assign it once in front of the first call",
    ),
    Advice(
        "Statements",
        r"expression|statement|pattern|definition|call themselves|calls itself|a call of"
        r"|decorator|too long",
        "put this part into a function of its own, without decorator",
    ),
    Advice(
        "Arguments and results",
        "argument|result|returns|keyword|parameters",
        "take and return arrays, numbers, and tuples or dicts of them",
    ),
    Advice(
        "Integers",
        "integer|extent|range|step|bounds|64 bits",
        "let indices and extents be Python integers that fit into 64 bits",
    ),
    Advice(
        "Numbers of changing kinds",
        "kind|settle|types|Python's|conversion|does not fit|complex|float|number|different",
        "give each variable one type from its first assignment on, for example 0.0 for a sum of floats",
    ),
    Advice(
        "Indices and axes",
        "ind(ex|ices)|slice|axes|axis|mask|subscript|diagonal|place|reshape|stacked|joined|roll",
        "index with integers, slices, or one mask or one array of indices",
    ),
    Advice(
        "Operations that have no kernel",
        "",
        "put the loops around it into a function of their own: NumPy runs the rest",
    ),
)


# Titles of reasons behind which there is another one, if the function has loops.
_FROM_LOOPS = ("Values that decide what is computed", "A loop that is unrolled, or left to Python", ADVICE[-1].title)


def host_advice(name: str) -> str:
    """What to do about a function that NumPy executes.

    Examples
    --------
    >>> host_advice("histogramdd")
    'np.bincount of computed bin numbers is compiled'
    """
    return next(text for pattern, text in HOSTS if re.search(pattern, name.rpartition(".")[2]))


def advice(reason: str, loops: str = "") -> Advice:
    """What to do about a reason.

    Parameters
    ----------
    reason : str
    loops : str, optional
        Why the function's loops are no procedure, which matters more where they are what the reason is about.

    Examples
    --------
    >>> advice("prints (model.py:12)").rewrite
    'do this in front of the call or behind it, or in a function without decorator that calls this one'
    """
    bare = re.sub(r"`.*`| at line \d+$", "", reason)  # without what the user wrote
    found = next(a for a in ADVICE if re.search(a.pattern, bare))
    return advice(loops) if loops and found.title in _FROM_LOOPS else found
