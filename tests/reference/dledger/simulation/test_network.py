"""The simulated network: order, copies, what is abandoned, and partitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.dledger.messages import Code, CommitRequest, Entry, Index, Message, PushType, Request, Response, Term
from raftref.dledger.simulation import Network
from raftref.dledger.steps import Abandoned, Effects

NODES = ("n1", "n2", "n3")


def request(type_: PushType = PushType.APPEND, src: str = "n1", dst: str = "n2", index: int = 0) -> Request:
    return Request(type_, src, dst, Term(1), Index(index), Entry(Term(1), "v"), Index(-1))


def response(type_: PushType = PushType.APPEND, src: str = "n2", dst: str = "n1") -> Response:
    return Response(type_, src, dst, Term(1), Index(0), Code.SUCCESS, Index(0), Index(0))


def network(*messages: Message, fifo: bool) -> Network:
    made = Network(NODES, fifo=fifo)
    for m in messages:
        made.send(m)
    return made


def under_way(made: Network, src: str, dst: str) -> list[Message]:
    """Every copy, in the order in which the channel gives them."""
    left, taken = made.channels[src, dst], []
    while len(left):
        taken.append(left.deliverable()[0])
        left.take(taken[-1])
    return taken


FIRST, SECOND = request(index=0), request(index=1)


def test_a_channel_in_order_gives_only_the_first_message() -> None:
    made = network(FIRST, SECOND, fifo=True)
    assert list(made.channels["n1", "n2"].deliverable()) == [FIRST]
    with pytest.raises(LookupError):
        made.take(SECOND)
    made.take(FIRST)
    made.take(SECOND)


def test_a_channel_without_order_gives_any() -> None:
    made = network(FIRST, SECOND, fifo=False)
    made.take(SECOND)
    assert under_way(made, "n1", "n2") == [FIRST]


@pytest.mark.parametrize("fifo", [True, False])
def test_a_doubled_message_comes_twice_and_first(fifo: bool) -> None:
    made = network(FIRST, SECOND, fifo=fifo)
    made.duplicate(FIRST)
    assert under_way(made, "n1", "n2") == [FIRST, FIRST, SECOND]


@pytest.mark.parametrize("fifo", [True, False])
def test_what_is_not_under_way_can_be_neither_taken_nor_doubled(fifo: bool) -> None:
    made = network(FIRST, fifo=fifo)
    for refused in (made.take, made.duplicate, made.check_deliverable):
        with pytest.raises(LookupError):
            refused(SECOND)


@pytest.mark.parametrize("fifo", [True, False])
def test_abandoned_requests_stay_under_way_but_are_awaited_no_more(fifo: bool) -> None:
    compare, append = request(PushType.COMPARE), request(PushType.APPEND)
    made = network(compare, append, fifo=fifo)
    made.abandon("n1", Abandoned("n2", PushType.COMPARE))
    assert under_way(made, "n1", "n2") == [replace(compare, awaited=False), append]


@pytest.mark.parametrize("fifo", [True, False])
def test_answers_to_what_is_abandoned_are_dropped(fifo: bool) -> None:
    compare, append, theirs = response(PushType.COMPARE), response(), request(src="n2", dst="n1")
    made = network(compare, append, theirs, fifo=fifo)
    made.abandon("n1", Abandoned("n2", PushType.COMPARE))
    assert under_way(made, "n2", "n1") == [append, theirs]


@pytest.mark.parametrize("fifo", [True, False])
def test_other_peers_are_not_abandoned(fifo: bool) -> None:
    made = network(request(dst="n3"), response(src="n3"), fifo=fifo)
    made.abandon("n1", Abandoned("n2", PushType.APPEND))
    assert under_way(made, "n1", "n3") == [request(dst="n3")]
    assert under_way(made, "n3", "n1") == [response(src="n3")]


@pytest.mark.parametrize("abandoned", [Abandoned("n2"), Abandoned()])
@pytest.mark.parametrize("fifo", [True, False])
def test_answers_between_others_are_not_dropped(fifo: bool, abandoned: Abandoned) -> None:
    made = network(response(dst="n3"), fifo=fifo)
    made.abandon("n1", abandoned)
    assert under_way(made, "n2", "n3") == [response(dst="n3")]


@pytest.mark.parametrize("fifo", [True, False])
def test_a_crash_abandons_everything_of_its_node_and_nothing_of_others(fifo: bool) -> None:
    mine, own_answer = request(), response(src="n1", dst="n2")
    theirs, to_me = request(src="n2", dst="n1"), response()
    commit = CommitRequest("n1", "n2", Term(1), Index(0))
    made = network(mine, own_answer, commit, theirs, to_me, fifo=fifo)
    made.apply("n1", Effects(abandoned=Abandoned()))
    assert under_way(made, "n1", "n2") == [replace(mine, awaited=False), own_answer, commit]
    assert under_way(made, "n2", "n1") == [theirs]


def test_requests_that_differ_only_in_being_awaited_become_copies() -> None:
    m = request()
    made = network(m, replace(m, awaited=False), fifo=False)
    made.abandon("n1", Abandoned())
    assert under_way(made, "n1", "n2") == [replace(m, awaited=False)] * 2


def test_a_request_that_stays_in_the_queue_goes_to_its_end() -> None:
    made = network(FIRST, SECOND, fifo=True)
    made.take(FIRST)
    made.apply("n2", Effects(sent=(response(),), requeued=FIRST))
    assert under_way(made, "n1", "n2") == [SECOND, FIRST]
    assert under_way(made, "n2", "n1") == [response()]


def test_a_partition_lies_between_its_sides_until_it_heals() -> None:
    made = network(fifo=True)
    made.partition(["n1"])
    assert made.is_partitioned
    assert not made.connected("n1", "n2")
    assert made.connected("n2", "n3")
    made.heal()
    assert not made.is_partitioned
    assert made.connected("n1", "n2")
