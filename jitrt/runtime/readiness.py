"""Readiness: what calls need that does not depend on the function, made before the first of them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .. import config
from ..base.once import once
from . import dispatch, errstate, results, threads

_log = logging.getLogger("jitrt.cache")


@once
def get_ready() -> None:
    """Link the native driver, and make what finds its way through it, if the disk cache has the driver.

    That takes some milliseconds, once a process. Where it fails, the call that needs the driver says why.
    """
    _try_driver(threads.driver_is_cached)


@once
def get_ready_to_compile() -> None:
    """The same if the disk cache has no driver yet: it is compiled, in some 50 milliseconds, once on a machine.

    Without a disk cache it would be once a process, for which the first call is early enough.
    """
    _try_driver(threads.driver_can_be_cached)


def _try_driver(is_wanted: Callable[[], bool]) -> None:
    try:
        if is_wanted():
            get_driver_ready()
    except Exception as error:
        _log.debug("the native driver is not linked yet (%s: %s)", type(error).__name__, error)


def get_driver_ready() -> None:
    """Link or compile the native driver, and make what finds its way through it."""
    threads.driver()
    results.handler()
    errstate.errors()
    dispatch.install()
    if config.shows_calls():
        from .visible import show_in_profilers

        show_in_profilers()
