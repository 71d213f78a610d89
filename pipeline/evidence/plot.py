"""A small plot of measured budgets, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pipeline.ops.values import Json

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 70, 48, 56
FONT = 'font-family="sans-serif" font-size="12"'
TOKENS, TIME = "#1f5fa8", "#b3541e"


def svg(title: str, rows: Sequence[dict[str, Json]]) -> str:
    """Request tokens (left) and, where measured, seconds (right), by the budget of evidence tokens."""
    budgets = [row["budget"] for row in rows]
    high = max([row["request_tokens"] for row in rows], default=1) or 1
    slow = max([row["seconds"] for row in rows if row.get("seconds") is not None], default=0)
    across = [_between(budget, 0, max([*budgets, 1]), LEFT, WIDTH - RIGHT) for budget in budgets]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT} role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2:.0f}" y="24" text-anchor="middle" font-size="14">{escape(title)}</text>',
        f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}V{TOP}" fill="none" stroke="#888"/>',
        f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 12}" text-anchor="middle">evidence budget, tokens</text>',
    ]
    for budget, x in zip(budgets, across, strict=True):
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{budget}</text>')
    parts += _line("request, tokens", [row["request_tokens"] for row in rows], across, high, TOKENS, left=True)
    if slow:
        parts += _line("answer, seconds", [row.get("seconds") for row in rows], across, slow, TIME, left=False)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _between(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (value - low) / (high - low) * (end - start)


def _line(
    name: str, values: Sequence[float | None], across: Sequence[float], high: float, colour: str, *, left: bool
) -> list[str]:
    points = [
        (x, _between(value, 0, high, HEIGHT - BOTTOM, TOP))
        for x, value in zip(across, values, strict=True)
        if value is not None
    ]
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    middle = f"translate({16 if left else WIDTH - 12} {HEIGHT / 2:.0f}) rotate(-90)"
    side, anchor = (LEFT - 8, "end") if left else (WIDTH - RIGHT + 8, "start")
    return [
        f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points),
        f'<text x="{side}" y="{TOP + 4}" text-anchor="{anchor}" fill="{colour}">{high:g}</text>',
        f'<text x="{side}" y="{HEIGHT - BOTTOM}" text-anchor="{anchor}" fill="{colour}">0</text>',
        f'<text transform="{middle}" text-anchor="middle" fill="{colour}">{name}</text>',
    ]
