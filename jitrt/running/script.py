"""``python -m jitrt run``: a script or module as Python runs it, with its own functions compiled."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import signal
import sys
import types
from collections.abc import Sequence

from . import importing


class NoProgram(Exception):
    """There is no such script or module."""


def run(target: str, arguments: Sequence[str], is_module: bool, wants_report: bool) -> int:
    """Run a program in this process.

    Parameters
    ----------
    target : str
        A file, or the name of a module.
    arguments : sequence of str
        Of the program.
    is_module : bool
        Which of both.
    wants_report : bool
        Whether a report is printed to stderr at the end.

    Returns
    -------
    int
        1 if the program ended with an exception, else 0.

    Raises
    ------
    SystemExit
        If the program does.
    NoProgram
        If there is none of that name.
    """
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if is_module:
        importing.install(os.getcwd(), wants_report)
        spec = _spec_of(target)
        path = spec.origin or ""
        main.__spec__, main.__package__, main.__loader__ = spec, spec.parent, spec.loader
        sys.argv[:] = [path, *arguments]
        code = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    else:
        path = os.path.abspath(target)
        try:
            with open(path, "rb") as file:
                source = file.read()
        except OSError as error:
            raise NoProgram(str(error)) from None
        folder = os.path.dirname(os.path.realpath(path))
        importing.install(folder, wants_report)
        sys.argv[:] = [target, *arguments]
        if not sys.flags.safe_path:
            sys.path[0] = folder
        code = None
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__file__ = path
    sys.modules["__main__"] = main
    ended: type[BaseException] | None = None
    try:
        if code is None:
            code = importing.code_of(path, source)
        exec(code, vars(main))
    except SystemExit:
        raise
    except BaseException as error:
        traceback = error.__traceback__ and error.__traceback__.tb_next  # without the line above
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        ended = type(error)
    finally:
        if wants_report:
            from . import report

            sys.stdout.flush()
            print(report.report(), file=sys.stderr)
    if ended is not None and issubclass(ended, KeyboardInterrupt):  # as Python ends: others see by which signal
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 0 if ended is None else 1


def _spec_of(name: str) -> importlib.machinery.ModuleSpec:
    """What is known of a module that is to be run; for a package, of the ``__main__`` in it."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise NoProgram(str(error)) from None
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.loader is None or not hasattr(spec.loader, "get_code"):
        raise NoProgram(f"there is no module {name} that can be run")
    return spec
