"""Where logs begin and end: what a mapping may have left unsaid of that, where nothing explains the lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lockstep.logs.order import Order
from lockstep.logs.reading.mapping import Mapping
from lockstep.logs.search import Blocked, Explained


def hints(found: Explained, order: Order, mapping: Mapping) -> Iterator[str]:
    """Yield notes on logs that nothing explains, and that may be parts of longer ones."""
    if mapping.start is None and any(each.line is order.threads[each.thread].lines[0] for each in found.blocked):
        yield "note: if the logs begin later than the system, say with `start` which states they may begin in"
    over = sorted({name for each in found.blocked for name in _over(each, order)})
    if over and mapping.ends == "together":
        ended = f"{' and '.join(over)} {'end' if len(over) > 1 else 'ends'} before that"
        yield f'note: {ended}; if logs may end earlier than others, say ends = "anywhere"'


def _over(blocked: Blocked, order: Order) -> Iterator[str]:
    """Yield the threads of which no line is left where another one cannot go on."""
    read = Counter(each.thread for each in blocked.runs[0].whole())  # the others have read as much
    yield from (each.source for number, each in enumerate(order.threads) if read[number] == len(each.lines))
