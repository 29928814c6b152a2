"""Who invoked the function, told by the shape of the event, before anything in it is checked."""

from collections.abc import Mapping

# What schedules and rules, the audit log, and a fleet's state machine send.
_OF_MACHINES = frozenset({"detail-type", "awslogs", "clusters_for", "event", "summary_of"})


def is_by_hand(event: object) -> bool:
    """Return whether somebody waits for the answer."""
    return not isinstance(event, Mapping) or not _OF_MACHINES & event.keys()


def is_summary(event: object) -> bool:
    """Return whether a fleet's state machine asks for the sum, after every cluster had its run."""
    return isinstance(event, Mapping) and "summary_of" in event
