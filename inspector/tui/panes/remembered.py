"""Results that are kept for the graph they were made of: the very object, as a graph may hold what has no hash."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from inspector.model.run import Graph

Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def remembered(
    most: int,
) -> Callable[[Callable[Concatenate[Graph, Rest], Result]], Callable[Concatenate[Graph, Rest], Result]]:
    """Keep the last `most` results of a function of a graph and of arguments that have a hash."""

    def decorate(function: Callable[Concatenate[Graph, Rest], Result]) -> Callable[Concatenate[Graph, Rest], Result]:
        kept: OrderedDict[object, tuple[Graph, Result]] = OrderedDict()

        def remembering(graph: Graph, /, *rest: Rest.args, **named: Rest.kwargs) -> Result:
            # The graph is kept with its result, so that no other one can have its number meanwhile.
            key = (id(graph), rest, tuple(named.items()))
            if key not in kept:
                kept[key] = graph, function(graph, *rest, **named)
                if len(kept) > most:
                    kept.popitem(last=False)
            kept.move_to_end(key)
            return kept[key][1]

        return remembering

    return decorate
