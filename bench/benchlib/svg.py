"""Bar charts as SVG, by hand: no library, readable on light and dark pages."""

from xml.sax.saxutils import escape

WIDTH = 760
LABEL = 250
BAR = 18
GAP = 6
HEAD = 34
OURS = "#1f6feb"
FLOOR = "#8b949e"
OTHER = "#bf8700"
TEXT = "#57606a"


def colour(engine_id, kind):
    if "acdat" in engine_id:
        return OURS
    return FLOOR if kind in ("floor", "limit") else OTHER


def bars(title, unit, entries):
    """entries: [(label, value, error or None, colour)], drawn in their order."""
    height = HEAD + len(entries) * (BAR + GAP) + 10
    largest = max((value for _, value, _, _ in entries), default=0) or 1
    room = WIDTH - LABEL - 90
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" font-family="sans-serif" font-size="12">',
             f'<title>{escape(title)}</title>',
             f'<text x="0" y="16" font-size="14" fill="{TEXT}">{escape(title)} ({escape(unit)})</text>']
    for number, (label, value, error, fill) in enumerate(entries):
        y = HEAD + number * (BAR + GAP)
        length = max(value / largest * room, 1)
        parts.append(f'<text x="{LABEL - 8}" y="{y + 13}" text-anchor="end" fill="{TEXT}">{escape(label)}</text>')
        parts.append(f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{fill}"/>')
        if error and error < value:
            half = error / largest * room
            parts.append(f'<line x1="{LABEL + length - half:.1f}" x2="{LABEL + length + half:.1f}" y1="{y + BAR / 2}" '
                         f'y2="{y + BAR / 2}" stroke="{TEXT}" stroke-width="2"/>')
        parts.append(f'<text x="{LABEL + length + 8:.1f}" y="{y + 13}" fill="{TEXT}">{value:.3g}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"
