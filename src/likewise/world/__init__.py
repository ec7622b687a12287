"""A world whose truth is known: the toy occupant of every slot, and the ground on which estimators are judged."""

from likewise.world.model import World

__all__ = ["World"]
