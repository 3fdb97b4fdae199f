"""The metrics as one self-contained HTML page: a plot of shares, one of times, tables; it loads nothing."""

from collections.abc import Sequence
from html import escape

from thoughtcycle.evals.dialogue_file import Line
from thoughtcycle.evals.metrics import Metric, Source, shown
from thoughtcycle.evals.retrieval_page import html_page
from thoughtcycle.prompts.forms import number
from thoughtcycle.prompts.loader import Language, Texts, texts

_LABELS, _BARS, _VALUES, _ROW = 230, 200, 100, 24
"""Sizes of a plot, in units of its view box."""

_STYLE = "td:last-child { text-align: left; } tbody tr:last-child > * { font-weight: 400; }"

Miss = tuple[Line, list[str], list[str]]


def metrics_page(metrics: Sequence[Metric], wrong: Sequence[Miss], *, title: str, language: Language) -> str:
    """The page; `wrong` are the messages of the file that went wrong."""
    words = texts(language, "metrics")
    sources: tuple[Source, ...] = ("store", "file")
    sections = "".join(
        _section(language, source, of)
        for source in sources
        if (of := [one for one in metrics if one.source == source])
    )
    head = f'<h1>{escape(words["title"])}</h1><p class="soft">{escape(title)}</p>\n'
    body = f"{head}{sections}{_wrong(words, wrong)}"
    return html_page(body, title=title, style=_STYLE, language=language)


def _section(language: Language, source: Source, metrics: Sequence[Metric]) -> str:
    words = texts(language, "metrics")
    plots = "".join(
        f"<figure><figcaption>{escape(words[f'plot.{unit}'])}</figcaption>{plot(of, language)}</figure>"
        for unit in ("share", "ms")
        if (of := [one for one in metrics if one.unit == unit and one.value is not None])
    )
    rows = "".join(
        f"<tr><th>{escape(words[f'name.{one.name}'])}</th><td>{escape(shown(one, language))}</td>"
        f"<td>{number(one.count, language)}</td>"
        f"<td>{escape(words[f'what.{one.name}'])}</td></tr>"
        for one in metrics
    )
    head = "".join(f"<th>{escape(cell)}</th>" for cell in words["columns"].split(", "))
    return (
        f'<section><h2>{escape(words[f"source.{source}"])}</h2><div class="plots">{plots}</div>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</section>\n"
    )


def plot(metrics: Sequence[Metric], language: Language) -> str:
    """Bars as SVG: shares from 0 to 100 %, times from 0 to the longest; each metric has a value."""
    words = texts(language, "metrics")
    values = [one.value or 0.0 for one in metrics]
    most = 1.0 if metrics[0].unit == "share" else max(values) or 1.0
    parts = []
    for place, (one, value) in enumerate(zip(metrics, values, strict=True)):
        top, width = place * _ROW, _BARS * value / most
        middle = top + _ROW / 2 + 4
        name = escape(words[f"name.{one.name}"])
        parts.append(
            f'<text x="{_LABELS - 8}" y="{middle:g}" text-anchor="end">{name}</text>'
            f'<rect x="{_LABELS}" y="{top + 5}" width="{width:.1f}" height="{_ROW - 10}"/>'
            f'<text x="{_LABELS + width + 6:.1f}" y="{middle:g}">{escape(shown(one, language))}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(words["title"])}" '
        f'viewBox="0 0 {_LABELS + _BARS + _VALUES} {len(metrics) * _ROW}">{"".join(parts)}</svg>'
    )


def _wrong(words: Texts, wrong: Sequence[Miss]) -> str:
    if not wrong:
        return ""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in words["wrong_columns"].split(", "))
    rows = "".join(
        f"<tr><th>{escape(line.message)}</th><td>{escape(', '.join(missing)) or '–'}</td>"
        f"<td>{escape(', '.join(came)) or '–'}</td></tr>"
        for line, missing, came in wrong
    )
    return (
        f'<section><h2>{escape(words["wrong"])}</h2><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>\n"
    )
