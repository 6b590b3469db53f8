"""The history of a group's clients, and whether the log explains it.

Values are appended, each of them once, and read. Such a history is linearizable if and only if there is an order of its
operations in which every confirmed append stands, none stands before one that ended before it began, and every read
shows what stands before it. The order is given here: an append takes effect at its index in the log, and a read of all
that is applied behind the last index that it covers. So no search is needed, as it is where only the answers
are known. These are checked: what was confirmed stands at its index in the log in the end; an append that began
after an operation ended has a higher index than it, whether it was answered or not; a read that began then covers that
index; a read shows what the log has up to its last index, and nothing else; no value stands in the log twice, none that
nobody appended, and none whose append was refused. An append without an answer may stand in the log, or not.

A read of one index, where a system has no other, takes no part in that order: a leader answers it from its own log,
committed or not, and asks nobody whether it still leads. It is checked that its value was appended by somebody, and
that the leader of the newest term shows what was confirmed before the read began. What an older leader shows otherwise
is counted.

A leader that is asked whether it still leads, and confirms that, must not have been superseded before it was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

#: The end of an operation that has none.
NEVER = float("inf")


@dataclass(slots=True)
class Append:
    """An append of a client: when it began and ended, and the index that it was confirmed for.

    `index` is None where it was not, or not yet. `code` is the answer's, "" where there was none. `is_refused`: by the
    answer nothing was stored, nor will be.
    """

    value: str
    began: float
    ended: float = NEVER
    index: int | None = None
    code: str = ""
    is_refused: bool = False


@dataclass(slots=True)
class Read:
    """A read of a client: when it began and ended, and the values that it showed, by their indexes.

    `index` is the one that was asked for, None for all that is applied. `values` is None where there was no answer, or
    a refusal, whose code is `code`. `up_to` is the last index that the answer covers. `by_newest`: the node that
    answered led the newest term of all.
    """

    index: int | None
    began: float
    ended: float = NEVER
    values: Mapping[int, str] | None = None
    up_to: int = -1
    code: str = ""
    by_newest: bool = True


@dataclass(frozen=True, slots=True)
class Verified:
    """A confirmation of a node that it leads.

    `led` is the newest term that it had led when it answered, and `led_before` the newest that anybody had led when it
    was asked; 0 for none.
    """

    node: str
    led: int
    led_before: int


def objections(
    appends: Sequence[Append], log: Mapping[int, str], reads: Sequence[Read] = (), verified: Sequence[Verified] = ()
) -> Iterator[str]:
    """Yield what in a history the log cannot explain.

    Arguments: `appends`, `reads` and `verified`, of all clients; `log`, the values that are committed in the end, by
    their indexes.
    """
    for leader in verified:
        if leader.led < leader.led_before:
            yield (
                f"{leader.node} confirmed that it leads, and had led no term after {leader.led}; "
                f"term {leader.led_before} had a leader before it was asked"
            )
    confirmed = [each for each in appends if each.index is not None]
    for each in confirmed:
        assert each.index is not None
        found = log.get(each.index)
        if found != each.value:
            what = "nothing" if found is None else found
            yield f"{each.value} was confirmed at index {each.index}, where there is {what} in the end"
    answered = [each for each in reads if each.values is not None]
    whole = [each for each in answered if each.index is None]
    places, doubled = _places(log)
    yield from doubled
    yield from _strangers(appends, places)
    yield from _out_of_order([each if each.index is not None else _standing(each, places) for each in appends], whole)
    for read in whole:
        yield from _wrong_read(read, log)
    yield from _wrong_reads_of_one(appends, [each for each in answered if each.index is not None])


def _places(log: Mapping[int, str]) -> tuple[dict[str, int], list[str]]:
    """Return the first index of each value, and the values that stand at two."""
    places: dict[str, int] = {}
    doubled: list[str] = []
    for index, value in log.items():
        first = places.setdefault(value, index)
        if first != index:
            doubled.append(f"{value} stands at index {first} and at index {index}")
    return places, doubled


def _strangers(appends: Sequence[Append], places: Mapping[str, int]) -> Iterator[str]:
    """Yield what stands in the log, and was appended by nobody, or refused."""
    asked = {each.value: each for each in appends}
    for value, index in places.items():
        if value not in asked:
            yield f"{value} stands at index {index}, which nobody had appended"
        elif asked[value].is_refused:
            yield f"{value} stands at index {index}, which was refused: {asked[value].code}"


def _standing(append: Append, places: Mapping[str, int]) -> Append:
    """Return an append that was not confirmed as one that never ends, with its index in the log if it stands there."""
    return replace(append, ended=NEVER, index=places.get(append.value))


def differences(logs: Mapping[str, Mapping[int, str]]) -> Iterator[str]:
    """Yield where a node has committed something else than the one that has committed most.

    Arguments: `logs`, by nodes: what each has committed in the end, by the indexes. Any may begin later, or end before.
    """
    most = max(logs, key=lambda node: len(logs[node]), default="")
    for node, log in logs.items():
        begin = max(min(log, default=0), min(logs[most], default=0))
        end = min(max(log, default=-1), max(logs[most], default=-1))
        for index in range(begin, end + 1):
            if log.get(index) != logs[most].get(index):
                here, there = (found.get(index, "nothing") for found in (log, logs[most]))
                yield f"{node} has {here} committed at index {index}, and {most} has {there}"
                break


def _out_of_order(appends: Sequence[Append], reads: Sequence[Read]) -> Iterator[str]:
    """Yield the operations that come no later in the log than others that had ended before they began."""
    operations = [(each.began, each.ended, each.index, each.value, True) for each in appends if each.index is not None]
    operations += [(each.began, each.ended, each.up_to, f"a read up to index {each.up_to}", False) for each in reads]
    moments = [(each[0], 1, each) for each in operations] + [(each[1], 0, each) for each in operations]
    moments.sort(key=lambda moment: moment[:2])
    highest, last = -1, ""
    for _, begins, (_, _, index, name, is_append) in moments:
        if not begins:
            if index > highest:
                highest, last = index, name
        elif is_append and index <= highest:
            yield f"{name} came to index {index}, after {_was(last)} at index {highest}"
        elif not is_append and index < highest:
            yield f"{name} came after {_was(last)} at index {highest}"


def _was(name: str) -> str:
    return f"{name} had been answered" if name.startswith("a read") else f"{name} had been confirmed"


def _wrong_read(read: Read, log: Mapping[int, str]) -> Iterator[str]:
    """Yield the first difference of a read and the log."""
    shown = read.values or {}
    for index in sorted({*shown, *(each for each in log if each <= read.up_to)}):
        if shown.get(index) != log.get(index):
            what, has = shown.get(index, "nothing"), log.get(index, "nothing")
            yield f"a read up to index {read.up_to} showed {what} at index {index}, where there is {has} in the end"
            return


def _wrong_reads_of_one(appends: Sequence[Append], reads: Sequence[Read]) -> Iterator[str]:
    began = {each.value: each.began for each in appends}
    confirmed: dict[int | None, Append] = {each.index: each for each in appends if each.index is not None}
    for read in reads:
        for value in (read.values or {}).values():
            if began.get(value, NEVER) > read.ended:
                yield f"a read of index {read.index} showed {value}, which nobody had appended"
        if read.by_newest and _is_stale(read, confirmed):
            yield (
                f"a read of index {read.index} at the newest leader showed {_shown(read)}, after "
                f"{confirmed[read.index].value} had been confirmed there"
            )


def _shown(read: Read) -> str:
    return "nothing" if read.index is None else (read.values or {}).get(read.index, "nothing")


def _is_stale(read: Read, confirmed: Mapping[int | None, Append]) -> bool:
    """Return whether a read of one index shows something else than was confirmed there before it began."""
    append = confirmed.get(read.index)
    return append is not None and append.ended < read.began and append.value != _shown(read)


def stale_reads(appends: Sequence[Append], reads: Sequence[Read]) -> int:
    """Count the reads of one index that leaders of older terms answered otherwise than was confirmed before."""
    confirmed: dict[int | None, Append] = {each.index: each for each in appends if each.index is not None}
    asked = [each for each in reads if each.index is not None and each.values is not None and not each.by_newest]
    return sum(_is_stale(each, confirmed) for each in asked)
