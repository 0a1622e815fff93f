"""Programs in files: the expressions, and the machine code that calls of given types run.

A file is a ZIP archive: ``program.json`` has the expressions, ``code/`` has files as the disk cache has them. Loading
puts these into the disk cache, where the first call finds them: it links them, and needs no compiler. What all
programs have in common, the native driver, is compiled once for each disk cache.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import programs
from ..call.site import ServedFunction
from ..call.tree import Plain
from ..codegen import cachefiles
from ..codegen.fingerprint import fingerprint
from .missing import Optional
from .program import Program, compile, example, function_of
from .serial import from_json, to_json
from .transform import expanded

_VERSION = 3


def save(program: Program, path: str | os.PathLike[str], *calls: Sequence[Any]) -> None:
    """Write a program to a file.

    Parameters
    ----------
    program : Program
        Its loader and its listener are not written.
    path : path
    *calls : sequence
        Examples of arguments, by position, for whose types machine code is written; by default one for the types of
        the leaves, where these are known and there can be machine code.

    Raises
    ------
    ValueError
        If there is no disk cache, one of `calls` runs as plain NumPy, or constants take more than a megabyte.
    TypeError
        If the name of an output is something else than a text, a number, or a tuple of these.

    Notes
    -----
    Operators that are made of expressions are written as what they are made of. Others (`operator` of a function that
    numba has compiled) are found by name, and have to be made before the program is loaded.

    Examples
    --------
    >>> import os, tempfile
    >>> from jitrt import expr
    >>> x = expr.leaf("x", "f8", ndim=0)
    >>> path = os.path.join(tempfile.mkdtemp(), "square.zip")
    >>> expr.save(expr.compile(x * x), path)
    >>> expr.load(path)(3.0)
    np.float64(9.0)
    """
    leaves = program._leaves
    files: dict[str, bytes] = {}
    for args in calls:
        files |= _code(program, args)
    if not calls and all(leaves[name].type.is_complete for name in program.inputs):
        with contextlib.suppress(ValueError):
            files = _code(program, tuple(example(leaves[name]) for name in program.inputs))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        outputs = _described(program.outputs)
        side = _described(program.side_outputs)
        head = {"version": _VERSION, "fingerprint": fingerprint(), "outputs": outputs, "side_outputs": side}
        archive.writestr("program.json", json.dumps(head))
        for name, data in files.items():
            archive.writestr(f"code/{name}", data)


def load(path: str | os.PathLike[str]) -> Program:
    """The program that `save` has written.

    Parameters
    ----------
    path : path
        As a pickle, it can run anything: load only what you trust.

    Returns
    -------
    Program
        Where the file was written on another kind of machine or by another version, it is compiled anew.

    Raises
    ------
    ValueError
        If the file is something else, or has operations of the user's that are not made of expressions, and that this
        process does not have.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        head = json.loads(files["program.json"])
    except (zipfile.BadZipFile, KeyError, ValueError):
        raise ValueError(f"{path} is no program") from None
    if head.get("version") != _VERSION:
        raise ValueError(f"{path} is a program of another version")
    if head["fingerprint"] == fingerprint():
        for name, data in files.items():
            own = Path(name).name
            if name == f"code/{own}" and cachefiles.is_name(own) and not cachefiles.exists(own):
                cachefiles.write(own, data)
    try:
        outputs, side = _restored(head["outputs"]), _restored(head["side_outputs"])
    except KeyError as error:
        raise ValueError(f"{path} needs an operation of yours: {error.args[0]}") from None
    programs.note_call(function_of(outputs))  # so that nobody gets the compiler ready
    return compile(outputs, side)


def _code(program: Program, args: Sequence[Any]) -> dict[str, bytes]:
    """The files of the disk cache that a call with these arguments reads."""
    function = ServedFunction(program._function)
    with programs.nothing_known(), cachefiles.recorded() as names:
        call = function._traced.taken(tuple(args), {})
        made = function._specialisations.find_for_calls(call.leaves, call.structure)
    if isinstance(made, Plain):
        raise made.error or ValueError(f"such calls run as plain NumPy: {made.reason}")
    found: dict[str, bytes] = {}
    for name in names:
        data = cachefiles.read(name)
        if data is None or not name.endswith(".program"):
            continue
        found[name] = data
        for module, *_ in json.loads(data.partition(b"\n")[0] or b"[]"):
            code = cachefiles.read(f"{module}.module")
            if code is not None:
                found[f"{module}.module"] = code
    if not found:
        why = "its constants are too large" if cachefiles.folder() else "there is none"
        raise ValueError(f"machine code is written to the disk cache first, and {why}")
    return found


def _described(outputs: Any) -> Any:
    if isinstance(outputs, dict):
        return {"dict": [[_key_text(key), _described(value)] for key, value in outputs.items()]}
    if isinstance(outputs, Optional):
        return {"optional": [to_json(expanded(outputs.value)), to_json(expanded(outputs.present))]}
    return {"expression": to_json(expanded(outputs))}


def _key_text(key: Any) -> str:
    text = repr(key)
    with contextlib.suppress(ValueError, SyntaxError):
        if ast.literal_eval(text) == key:
            return text
    raise TypeError(f"{text} is no name of an output that can be written")


def _restored(given: Any) -> Any:
    ((kind, value),) = given.items()
    if kind == "dict":
        return {ast.literal_eval(key): _restored(part) for key, part in value}
    return Optional(*map(from_json, value)) if kind == "optional" else from_json(value)
