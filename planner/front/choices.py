"""What a front chooses from: the document as it is, or a graph with alternatives that were asked for.

These follow from the graph alone. So a front says no more of them than that they were asked for, and whoever
reads it adds them to the graph that they have; the digest of the front is that of the graph with them.
"""

from memstow.planner.model.front import FrontOptions
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Problem


def with_choices(document: Problem | Graph, asked: FrontOptions) -> Problem | Graph:
    """The document that the plans of such a front are plans of; one that is such already stays as it is.

    Raises InputError for a graph that contradicts itself.
    """
    if isinstance(document, Problem) or "channels" not in (asked.generators or ()):
        return document
    # Other fronts do not wait for this import.
    from memstow.planner.graph.channels import with_channels

    return with_channels(document)
