"""Holds how a study is answered in words, and the groups that built-in studies are listed by."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from steelyard.study.values import StudyModel

GROUPS = {
    "yours": "two settings, versions, builds or servers of yours",
    "pages": "PostgreSQL: pages, checksums, memory and reads",
    "log": "PostgreSQL: commits and the write-ahead log",
    "queries": "PostgreSQL: tables, queries and vacuum",
    "sessions": "PostgreSQL: connecting and watching",
    "tuning": "PostgreSQL: profiles of settings",
    "others": "MySQL, MariaDB and SQL Server",
    "balance": "the balance itself",
}
"""Groups of built-in studies, with their titles, in the order in which they are listed."""
Group = Literal["yours", "pages", "log", "queries", "sessions", "tuning", "others", "balance"]


class Answer(StudyModel):
    """The words in which a contrast answers its study's question: `data checksums cost 2.7 %`."""

    subject: str
    """What costs or gains; `{arm}` and `{control}` stand for their names."""
    plural: bool = False
    lacks: bool = False
    """Whether it is the arm that is without the subject, and the control that has it."""
    against: bool = False
    """Whether what it is compared with is said too."""
    reads: bool = False
    """Whether the subject is what is compared, and the answer its reading: of equal arms, and of
    known weights."""

    @field_validator("subject")
    @classmethod
    def _fills(cls, subject: str) -> str:
        left = subject.replace("{arm}", "").replace("{control}", "").strip()
        if not subject.strip() or "{" in left or "}" in left:
            raise ValueError("accepted: words, {arm}, {control}")
        return subject
