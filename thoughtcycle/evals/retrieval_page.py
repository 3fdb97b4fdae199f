"""An evaluation as one self-contained HTML page: tables, and plots drawn as SVG; it loads nothing."""

from collections.abc import Mapping
from dataclasses import asdict
from html import escape

from thoughtcycle.evals.retrieval import ALL, Report, Score, scores

_METRICS = {
    "recall_at_5": ("R@5", "share of the evidence in the first 5 results"),
    "recall_at_10": ("R@10", "share of the evidence in the first 10 results"),
    "recall_at_20": ("R@20", "share of the evidence in the first 20 results"),
    "hit_at_10": ("hit@10", "questions with any evidence in the first 10"),
    "all_at_10": ("all@10", "questions with all evidence in the first 10"),
    "mrr": ("MRR", "1 / rank of the first evidence, 0 beyond rank 20"),
}
_LABELS, _BARS, _VALUES, _ROW, _GAP, _AXIS = 168, 200, 44, 22, 8, 20
"""Sizes of a plot, in units of its view box."""
_LABEL = 26
"""Characters of a label that fit in `_LABELS`."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

STYLE = """
:root { color-scheme: light dark; --ground: #fcfcfb; --ink: #1c1c1a; --soft: #63625d; --line: #dddcd6;
  --ours: #2a6fbb; --plain: #b5541c; }
@media (prefers-color-scheme: dark) { :root { --ground: #191918; --ink: #ecebe6; --soft: #a3a29b; --line:
  #3a3a37; --ours: #5b9be0; --plain: #eb9a60; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; background: var(--ground); color:
  var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.75rem; }
h2 { margin: 3rem 0 .25rem; font-size: 1.25rem; }
p, dd, dt { margin: 0; }
.soft, dt { color: var(--soft); }
dl { display: flex; flex-wrap: wrap; gap: 1.25rem 2.5rem; margin: 1.5rem 0 0; }
dd { font-size: 1.375rem; font-variant-numeric: tabular-nums; }
dd small { font-size: .875rem; color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap:
  1.5rem 2rem; margin: 1.25rem 0 2rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; font-size: .8125rem; color: var(--soft); }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .axis { fill: var(--soft); font-size: 11px; }
svg .sum { font-weight: 600; }
svg line { stroke: var(--line); }
svg rect { fill: var(--ours); }
svg line.halo { stroke: var(--ground); stroke-width: 5; }
svg line.plain { stroke: var(--plain); stroke-width: 2.5; }
.key i { display: inline-block; width: .875rem; height: .75rem; margin-right: .4rem; background:
  var(--ours); }
.key i.plain { width: .1875rem; margin-left: 1.25rem; background: var(--plain); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space:
  nowrap; }
th:first-child { text-align: left; font-weight: 400; }
thead th { color: var(--soft); font-weight: 400; }
tbody tr:last-child > * { font-weight: 600; }
td small { margin-left: .4rem; font-weight: 400; color: var(--plain); }
"""

Categories = Mapping[str, Score]


def html_page(body: str, *, title: str, style: str = "", language: str = "en") -> str:
    """A self-contained page, well-formed XML too; title as text, body as markup."""
    return (
        f'<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="{language}"><head>'
        '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head>\n<body>{body}</body></html>\n"
    )


def page(report: Report) -> str:
    """The report as one HTML file."""
    ours, plain = scores(report.asked), scores(report.baseline)
    halves = "".join(_half(half, ours[half], plain[half]) for half in ours)
    body = (
        f"<h1>{escape(report.data)}</h1>"
        f'<p class="soft">Embeddings: {escape(report.embeddings)}. Small coloured figures and marks: '
        "the same questions answered by BM25 over stems of each text alone.</p>"
        f"<dl>{_summary(ours, plain, report)}</dl>\n{halves}"
    )
    return html_page(body, title=f"{report.data}, embeddings: {report.embeddings}")


def _summary(ours: Mapping[str, Categories], plain: Mapping[str, Categories], report: Report) -> str:
    figures = [
        (f"R@10, {half}", f"{part[ALL].recall_at_10:.3f}", f"BM25 {plain[half][ALL].recall_at_10:.3f}")
        for half, part in ours.items()
    ]
    for name, field in (("search", "seconds"), ("query embedding", "embedding_seconds")):
        seconds = sorted(getattr(one, field) for one in report.asked)
        middle, late = (seconds[int(share * (len(seconds) - 1))] * 1_000 for share in (0.5, 0.95))
        figures.append((f"{name}, median", f"{middle:.1f} ms", f"p95 {late:.1f} ms"))
    return "".join(
        f"<div><dt>{escape(name)}</dt><dd>{value} <small>{more}</small></dd></div>"
        for name, value, more in figures
    )


def _half(half: str, ours: Categories, plain: Categories) -> str:
    """The section of one half: a plot per measure, then the table."""
    plots = "".join(
        f"<figure><figcaption>{short}<span>{long}</span></figcaption>"
        f"{_plot(short, field, ours, plain)}</figure>\n"
        for field, (short, long) in _METRICS.items()
    )
    return (
        f"<section><h2>{escape(half)} half</h2>"
        f'<p class="soft key">{ours[ALL].questions:,} questions. '
        '<i></i>search <i class="plain"></i>BM25</p>'
        f'<div class="plots">{plots}</div>{_table(ours, plain)}</section>\n'
    )


def _plot(name: str, field: str, ours: Categories, plain: Categories) -> str:
    """Bars of one measure from 0 to 1, one per category, each with a mark for BM25."""
    height = len(ours) * _ROW + _GAP + _AXIS
    bottom = height - _AXIS
    parts = []
    for tick in (0, 0.5, 1):
        x = _LABELS + _BARS * tick
        parts += [
            f'<line x1="{x:g}" x2="{x:g}" y1="0" y2="{bottom}"/>',
            f'<text class="axis" x="{x:g}" y="{height - 5}" text-anchor="middle">{tick:g}</text>',
        ]
    for place, category in enumerate(ours):
        value, other = getattr(ours[category], field), getattr(plain[category], field)
        top = place * _ROW + (_GAP if category == ALL else 0)
        kind = ' class="sum"' if category == ALL else ""
        middle, mark = top + _ROW / 2 + 4, _LABELS + _BARS * other
        after = max(_LABELS + _BARS * value, mark + 2) + 6
        name_of_row = category.replace("_", " ")
        label = name_of_row if len(name_of_row) <= _LABEL else f"{name_of_row[: _LABEL - 1]}…"
        line = f'x1="{mark:.1f}" x2="{mark:.1f}" y1="{top + 2}" y2="{top + _ROW - 2}"'
        parts += [
            f'<text{kind} x="{_LABELS - 8}" y="{middle:g}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{_LABELS}" y="{top + 4}" width="{_BARS * value:.1f}" height="{_ROW - 8}">'
            f"<title>{escape(category)}: {value:.3f}, BM25 {other:.3f}</title></rect>",
            f'<line class="halo" {line}/><line class="plain" {line}/>',
            f'<text{kind} x="{after:.1f}" y="{middle:g}">{value:.2f}</text>',
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(name)} by category" '
        f'viewBox="0 0 {_LABELS + _BARS + _VALUES} {height}">{"".join(parts)}</svg>'
    )


def _table(ours: Categories, plain: Categories) -> str:
    head = "".join(f"<th>{short}</th>" for short, _ in _METRICS.values())
    rows = []
    for category, one in ours.items():
        values, others = asdict(one), asdict(plain[category])
        cells = "".join(
            f"<td>{values[field]:.3f}<small>{others[field]:.3f}</small></td>" for field in _METRICS
        )
        name = escape(category.replace("_", " "))
        rows.append(f"<tr><th>{name}</th><td>{one.questions:,}</td>{cells}</tr>")
    return (
        f'<div class="wide"><table><thead><tr><th>category</th><th>questions</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
