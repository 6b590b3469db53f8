"""A picture of stages: shares that fall from stage to stage, and below them a number on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

_LEFT, _TOP, _STEP, _HIGH, _LOW = 60, 40, 52, 220, 110
_COLOURS = ("#2b5c9e", "#b4502a", "#3d7f4f", "#75507b")


def picture(stages: Sequence[str], shares: Mapping[str, Sequence[float]], title: str, numbers: Sequence[int]) -> str:
    """Draw stages from left to right as SVG.

    Args:
        stages: their names.
        shares: by name, a share of each stage in percent.
        title: what the numbers are.
        numbers: one for each stage, 1 or more.
    """
    width, base = _LEFT + _STEP * len(stages) + 20, _TOP + _HIGH
    second = base + 40 + _LOW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{second + 190}" font-family="sans-serif" '
        f'font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        *_legend(shares),
        *_scale(width, [(base - _HIGH * share / 100, f"{share} %") for share in (0, 25, 50, 75, 100)]),
    ]
    for row, colour in zip(shares.values(), _COLOURS, strict=False):
        points = [(_x(number), base - _HIGH * share / 100) for number, share in enumerate(row)]
        path = " ".join(f"{x:.0f},{y:.1f}" for x, y in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{x:.0f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
    most = max(1.0, math.log10(max(numbers)))
    lines.append(f'<text x="{_LEFT - 44}" y="{base + 32}" fill="#123">{escape(title)}</text>')
    for number, value in enumerate(numbers):
        height = 2 + (_LOW - 16) * math.log10(value) / most
        top = second - height
        lines.append(f'<rect x="{_x(number) - 14}" y="{top:.1f}" width="28" height="{height:.1f}" fill="#889"/>')
        lines.append(f'<text x="{_x(number)}" y="{top - 4:.1f}" text-anchor="middle" fill="#123">{value:,}</text>')
    for number, stage in enumerate(stages):
        place = f"{_x(number) + 4} {second + 14}"
        lines.append(
            f'<text transform="translate({place}) rotate(-40)" text-anchor="end" fill="#123">{escape(stage)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _x(number: int) -> int:
    return _LEFT + _STEP // 2 + _STEP * number


def _legend(shares: Mapping[str, Sequence[float]]) -> Iterator[str]:
    x = _LEFT
    for name, colour in zip(shares, _COLOURS, strict=False):
        yield f'<rect x="{x}" y="12" width="14" height="4" fill="{colour}"/>'
        yield f'<text x="{x + 20}" y="18" fill="#123">{escape(name)}</text>'
        x += 40 + 7 * len(name)


def _scale(width: int, marks: Sequence[tuple[float, str]]) -> Iterator[str]:
    for y, text in marks:
        yield f'<path d="M{_LEFT} {y:.1f}H{width - 20}" stroke="#ccd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#123">{text}</text>'
