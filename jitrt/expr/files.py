"""Programs in files: the expressions, and the machine code that calls of given types run.

A file is a ZIP archive: ``program.json`` has the expressions, ``code/`` has files as the disk cache has them. Loading
puts these into the disk cache, where the first call finds them: it links them, and needs no compiler. What all
programs have in common, the native driver, is compiled once for each disk cache.
"""

from __future__ import annotations

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

_VERSION = 2


def save(program: Program, path: str | os.PathLike[str], *calls: Sequence[Any]) -> None:
    """Write a program to a file.

    Parameters
    ----------
    program : Program
        Its loader and its listener are not written.
    path : path
    *calls : sequence
        Examples of arguments, by position, for whose types machine code is written; by default one for the types of
        the leaves, where these are known.

    Raises
    ------
    ValueError
        If there is no disk cache, or a call runs as plain NumPy.

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
    if not calls and all(leaves[name].type.is_complete for name in program.inputs):
        calls = (tuple(example(leaves[name]) for name in program.inputs),)
    files: dict[str, bytes] = {}
    for args in calls:
        files |= _code(program, args)
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
        If the file is something else.
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
    outputs, side = _restored(head["outputs"]), _restored(head["side_outputs"])
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
        raise ValueError("machine code is written to the disk cache first, and there is none")
    return found


def _described(outputs: Any) -> Any:
    if isinstance(outputs, dict):
        return {"dict": {key: _described(value) for key, value in outputs.items()}}
    if isinstance(outputs, Optional):
        return {"optional": [to_json(outputs.value), to_json(outputs.present)]}
    return {"expression": to_json(outputs)}


def _restored(given: Any) -> Any:
    ((kind, value),) = given.items()
    if kind == "dict":
        return {key: _restored(part) for key, part in value.items()}
    return Optional(*map(from_json, value)) if kind == "optional" else from_json(value)
