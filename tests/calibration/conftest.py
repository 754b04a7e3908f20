"""Gives the tests of broken balances the story in memory and weighings on real servers."""

from postgres.conftest import start, start_shared, weighing_cache
from story.conftest import weigh_in

__all__ = ["start", "start_shared", "weigh_in", "weighing_cache"]
