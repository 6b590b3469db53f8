"""The history of a group's clients, and whether the log explains it.

All clients only append, each value once. Such a history is linearizable if and only if there is an order of the appends
in which every confirmed one stands, none stands before one that was confirmed before it began, and all reads agree.
The order is given here: an append takes effect at its index in the log. So three things are checked: what was
confirmed stands at its index in the log in the end; an append that began after another was confirmed has a higher
index; and no value stands there twice. An append without an answer may stand in the log, or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Append:
    """An append of a client: when it began and ended, and the index that it was confirmed for.

    `index` is None where it was not, or not yet. `code` is the answer's, "" where there was none.
    """

    value: str
    began: float
    ended: float = float("inf")
    index: int | None = None
    code: str = ""


def objections(appends: list[Append], log: Mapping[int, str]) -> Iterator[str]:
    """Yield what in a history the log cannot explain.

    Arguments: `appends`, of all clients; `log`, the values that are committed in the end, by their indexes.
    """
    confirmed = [each for each in appends if each.index is not None]
    for each in confirmed:
        assert each.index is not None
        found = log.get(each.index)
        if found != each.value:
            what = "nothing" if found is None else found
            yield f"{each.value} was confirmed at index {each.index}, where there is {what} in the end"
    highest, last = -1, ""
    moments = [(each.began, 1, each) for each in confirmed] + [(each.ended, 0, each) for each in confirmed]
    moments.sort(key=lambda moment: moment[:2])
    for _, begins, each in moments:
        assert each.index is not None
        if not begins and each.index > highest:
            highest, last = each.index, each.value
        elif begins and each.index <= highest:
            yield f"{each.value} came to index {each.index}, after {last} had been confirmed at index {highest}"
    places: dict[str, int] = {}
    for index, value in log.items():
        if value in places:
            yield f"{value} stands at index {places[value]} and at index {index}"
        places[value] = index
