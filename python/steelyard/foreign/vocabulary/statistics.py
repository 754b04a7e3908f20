"""Says which statistic the words of a cell name: "Std. dev.", "Mean (n=10)", "95% CI", "Ø"."""

from __future__ import annotations

import re

from steelyard.foreign.number import is_missing

_STATISTICS = {
    word: statistic
    for statistic, words in {
        "mean": "mean avg average averages avrg mittelwert mittel durchschnitt schnitt ø moyenne "
        "media promedio μ mu arithmetic",
        "geomean": "geomean geometric gmean geo",
        "median": "median med mediana médiane zentralwert",
        "stddev": "std stddev stdev stdv sd sdev sigma σ deviation standardabweichung stdabw "
        "standardabw écart desviación",
        "spread": "variance var varianz cv rsd sem stderr ci confidence se range iqr mad "
        "spannweite streuung",
        "min": "min minimum mín",
        "max": "max maximum máx",
        "sum": "sum total totals subtotal summe gesamt gesamtsumme σum suma somme ∑",
        "overall": "overall aggregate aggregated insgesamt",
        "count": "count anzahl nobs",
        "derived": "speedup ratio diff difference delta change improvement differenz verhältnis",
    }.items()
    for word in words.split()
}
_FILLERS = {
    *("of", "the", "all", "in", "time", "times", "runtime", "dev", "standard", "grand", "value"),
    *("values", "runs", "run", "queries", "mean", "rows", "row", "type", "elapsed", "ms", "s"),
    *("tps", "total", "query", "und", "aller", "der", "die", "alle", "wert", "zeit", "std"),
    *("interval", "lower", "upper", "bound", "half", "width", "limit", "error", "low", "high"),
}
_OF_ROWS = re.compile(
    r"\s*\(\s*n\s*=?\s*[0-9]+\s*\)|\s+\([^()]*[0-9][^()]*\)|\s+n\s*=\s*[0-9]+"
    r"|\s+(?:of|over|from|von|aus|über)\s+(?:all\s+|the\s+)?[0-9]+(?:\s+[^\W\d_]+)?",
    re.IGNORECASE,
)
"""Behind a statistic: how much it is of, "(n=10)", "of 10 runs"."""
_LEVEL = re.compile(
    r"^[0-9.]+\s*%\s*(?=[^\W\d_])|(?<=[^\W\d_])\s*\(?[0-9.]+\s*%\)?|(?<=\bci)\s*[0-9]{2}$",
    re.IGNORECASE,
)
"""Of an interval: "95% CI"."""
_WORD = re.compile(r"[^\W\d_]+|[∑Ø]")


def statistic_of(cell: str) -> str:
    """The statistic that the words of a cell name: "Std. dev.", "Mean (n=10)", "95% CI", "Ø"; ""
    for others."""
    if is_missing(cell):
        return ""
    text = _LEVEL.sub(" ", _OF_ROWS.sub(" ", cell.strip())).strip()
    if text in ("Σ", "∑"):
        return "sum"
    words = [word.casefold() for word in _WORD.findall(text)]
    if re.search(r"\d", text) or not words or len(words) > 4:
        return ""
    if any(word not in _STATISTICS and word not in _FILLERS for word in words):
        return ""
    named = [_STATISTICS[word] for word in words if word in _STATISTICS]
    # "Total average" is a mean, "mean of all" too.
    return next((statistic for statistic in named if statistic != "sum"), "".join(named[:1]))
