"""dask: what it has fused to one task of an array graph is compiled as one function.

    Task(key, _execute_subgraph, {y: exp(x), z: y + 1}, z, (x,), x)  →  Task(key, call, fused, x, 1)

The function stands in the graph as data, so that a worker gets it once, and each process compiles it once. What differs
from block to block, data and constants, are arguments.
"""

from __future__ import annotations

from typing import Any

import dask.config
from dask._task_spec import DataNode, GraphNode, Task, TaskRef
from dask.array.optimization import optimize as optimized_by_dask
from dask.utils import ensure_dict, key_split

from .fused import Fused, fused
from .tasks import written

__all__ = ["optimize", "optimize_graph"]


def optimize() -> dask.config.set:
    """Compile the tasks of dask arrays, in a ``with`` block or from now on.

    Returns
    -------
    dask.config.set
        dask's configuration with ``array_optimize`` set to `optimize_graph`. The end of its block restores what was.

    Notes
    -----
    It is asked for when a computation starts. With ``distributed`` the scheduler and the workers need jitrt, too.

    Examples
    --------
    >>> import dask.array as da
    >>> import jitrt.dask
    >>> x = da.arange(8, chunks=4, dtype="f8")
    >>> with jitrt.dask.optimize():
    ...     print(((x - x.mean()) ** 2 / 2 + 1).compute())
    [7.125 4.125 2.125 1.125 1.125 2.125 4.125 7.125]
    """
    return dask.config.set(array_optimize=optimize_graph)


def optimize_graph(dsk: Any, keys: Any, **options: Any) -> dict[Any, GraphNode]:
    """dask's own optimisation of an array graph, and then its tasks compiled where that may gain.

    Parameters
    ----------
    dsk : HighLevelGraph or mapping
    keys : key, or nested lists of them
        What is computed.
    **options
        For dask's optimisation.

    Returns
    -------
    dict
        A graph with the same keys, and one for each compiled function.
    """
    graph = dict(ensure_dict(optimized_by_dask(dsk, keys, **options)))
    functions: dict[Any, Fused] = {}
    for key, task in list(graph.items()):
        found = written(task) if isinstance(task, Task) else None
        if found is None:
            continue
        same = found.text, tuple(map(id, found.functions))  # the graph keeps them alive
        if same not in functions:
            functions[same] = fused(found.text, found.functions, key_split(key))
        function = functions[same]
        graph[function.key] = DataNode(function.key, function)
        graph[key] = Task(key, _call, TaskRef(function.key), *found.arguments, _data_producer=task.data_producer)
    return graph


def _call(function: Fused, *arguments: Any) -> Any:
    return function(*arguments)
