"""Caches what a function returned for a value for as long as the value exists.

What is computed from an epoch does not change, and every look at a weighing needs it of all epochs
again. The values hold dictionaries and so have no hash; they are compared by identity.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def memoize_by_identity(function: Callable[..., R]) -> Callable[..., R]:
    """The function, called once for each first argument and the other arguments together.

    The first argument is frozen and can be weakly referenced; the others are hashable.
    """
    memo: dict[int, tuple[weakref.ref[object], dict[tuple[Hashable, ...], R]]] = {}

    @wraps(function)
    def remembered(value: object, *others: Hashable) -> R:
        key = id(value)
        if key not in memo:
            memo[key] = weakref.ref(value, lambda _: memo.pop(key, None)), {}
        answers = memo[key][1]
        if others not in answers:
            answers[others] = function(value, *others)
        return answers[others]

    return remembered
