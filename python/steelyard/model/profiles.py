"""Names what a profile of settings is made by, for which kind of work, and its groups."""

from __future__ import annotations

from typing import Literal

ProfileName = Literal["ours", "theirs", "theirs-literal"]
WorkKind = Literal["oltp", "olap", "mixed"]
"""Short transactions of many clients; long queries of few; both."""
Group = Literal["memory", "log", "planner", "storage", "workers"]
"""Settings that act together: an ablation sets a whole group back."""
