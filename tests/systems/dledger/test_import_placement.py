"""A step stands where its line is, or as little before it as what it read demands."""

import time
from typing import Any

from lockstep.systems.dledger.step_placement import History, PlacedStep, Placement, place


def step(line: int, *after: PlacedStep, node: str = "n1", **fields: Any) -> PlacedStep:
    return PlacedStep(node, f"A{line}", line, float(line), after=list(after), **fields)


def lines(placement: Placement) -> list[int]:
    return [each.line for each in placement.steps]


def test_without_demands_steps_stand_in_the_order_of_their_lines() -> None:
    assert lines(place([step(3), step(1), step(2)], [])) == [1, 2, 3]


def test_steps_of_one_line_keep_the_order_in_which_they_were_found() -> None:
    first, second = step(1), step(1)
    assert place([first, second], []).steps == [first, second]


def test_a_step_that_read_an_old_value_stands_right_before_the_step_that_changed_it() -> None:
    committed = History(0)
    quiet, writer, unrelated, reader = step(1), step(2), step(3), step(4)
    committed.write(writer, 1)
    assert committed.read(reader, lambda value: value == 0)
    placement = place([quiet, writer, unrelated, reader], [committed])
    assert lines(placement) == [1, 4, 2, 3]
    assert placement.moved == [reader]


def test_a_step_that_read_the_present_value_is_not_moved() -> None:
    committed = History(0)
    writer, reader = step(1), step(2)
    committed.write(writer, 1)
    committed.read(reader, lambda value: value == 1)
    assert place([writer, reader], [committed]).moved == []


def test_a_later_change_that_does_not_matter_to_what_was_read_sets_no_bound() -> None:
    end = History(0)
    first, second, last, reader = step(1), step(2), step(3), step(4)
    end.write(first, 1)
    end.write(second, 2)
    end.read(reader, lambda value: value >= 1)
    end.write(last, 3)
    placement = place([first, second, last, reader], [end])
    assert lines(placement) == [1, 2, 3, 4]


def test_a_moved_step_takes_along_what_it_must_follow() -> None:
    committed = History(0)
    writer, before, reader = step(1), step(2), step(4)
    reader.after.append(before)
    committed.write(writer, 1)
    committed.read(reader, lambda value: value == 0)
    assert lines(place([writer, before, step(3), reader], [committed])) == [2, 4, 1, 3]


def test_a_moved_writer_takes_along_those_that_read_what_it_replaces() -> None:
    marks, committed = History(3), History(2)
    raised, sent, passed = step(1), step(2), step(3)
    marks.write(raised, 4)
    committed.read(sent, lambda value: value == 2)
    marks.read(passed, lambda value: value == 3)
    committed.write(passed, 3)
    assert lines(place([raised, sent, passed], [marks, committed])) == [2, 3, 1]


def test_demands_that_contradict_each_other_leave_the_line_where_it_is_and_are_reported() -> None:
    committed = History(0)
    writer, reader = step(1), step(3)
    middle = step(2, writer)
    reader.after.append(middle)
    committed.write(writer, 1)
    committed.read(reader, lambda value: value == 0)
    placement = place([writer, middle, reader, step(4)], [committed])
    assert lines(placement) == [1, 2, 3, 4]
    assert placement.forced == [reader]
    ((line, fault),) = placement.faults()
    assert line == 3
    assert "A3 of n1 should stand before A1 of n1 (line 1)" in fault


def test_a_ring_loses_only_the_edge_that_demands_the_longest_move() -> None:
    """Two steps read old values, and only the last one cannot have: what it read was replaced long before."""
    committed, marks, end = History(0), History(0), History(0)
    replaced, raised, reader, last = step(1), step(2), step(3), step(9)
    end.write(replaced, 1)
    committed.write(raised, 1)
    committed.read(reader, lambda value: value == 0)
    reader.after.append(replaced)
    last.after.append(raised)
    marks.write(reader, 1)
    marks.read(last, lambda value: value == 1)
    end.read(last, lambda value: value == 0)
    placement = place([replaced, raised, reader, last], [committed, marks, end])
    assert placement.forced == [last]
    assert placement.dropped == [(last, replaced)]
    assert lines(placement) == [1, 3, 2, 9]


def test_an_edge_that_demands_a_long_move_stays_if_it_closes_no_ring() -> None:
    committed, end = History(0), History(0)
    raised, replaced, middle, reader, last = step(1), step(2), step(3), step(8), step(9)
    committed.write(raised, 1)
    end.write(replaced, 1)
    middle.after.append(replaced)
    last.after.append(middle)
    committed.read(reader, lambda value: value == 0)
    end.read(last, lambda value: value == 0)
    placement = place([raised, replaced, middle, reader, last], [committed, end])
    assert (lines(placement), placement.forced) == ([8, 1, 2, 3, 9], [last])


def test_the_order_is_disputed_from_the_first_step_of_a_ring_on() -> None:
    committed = History(0)
    before, writer, reader = step(1), step(2), step(4)
    middle = step(3, writer)
    reader.after.append(middle)
    committed.write(writer, 1)
    committed.read(reader, lambda value: value == 0)
    placement = place([before, writer, middle, reader, step(5)], [committed])
    assert (placement.forced, placement.disputed) == ([reader], [writer])


def test_the_order_is_disputed_from_where_a_step_that_read_what_no_line_gave_may_stand() -> None:
    committed = History(0)
    before, unrelated = step(1), step(2)
    reader = step(3, before)
    committed.read(reader, lambda value: value == 9)
    placement = place([before, unrelated, reader], [committed])
    assert (placement.forced, placement.disputed) == ([reader], [unrelated])
    assert list(placement.faults()) == [(3, "A3 of n1 has read a value that no line gave")]


def test_a_recording_without_rings_is_disputed_nowhere() -> None:
    committed = History(0)
    writer, reader = step(1), step(2)
    committed.write(writer, 1)
    committed.read(reader, lambda value: value == 0)
    assert place([writer, reader], [committed]).disputed == []


def test_a_ring_of_thousands_of_steps_is_broken_at_once() -> None:
    """Each fifth step has read a value that the step before replaced, and the last one what the first replaced."""
    count = 20_000
    committed, end = History(0), History(0)
    steps = [step(1)]
    end.write(steps[0], 1)
    for number in range(2, count):
        steps.append(step(number, steps[-1]) if number % 5 else step(number))
        if number % 5:
            committed.write(steps[-1], number)
        else:
            last = committed.now
            committed.read(steps[-1], lambda value, last=last: value != last and value == last - 1)
    steps.append(step(count, steps[-1]))
    end.read(steps[-1], lambda value: value == 0)
    begin = time.process_time()
    assert place(steps, [committed, end]).forced == [steps[-1]]
    assert time.process_time() - begin < 2


def test_a_step_that_read_what_no_line_gave_is_reported() -> None:
    committed = History(0)
    reader = step(1)
    assert not committed.read(reader, lambda value: value == 9)
    assert place([reader], [committed]).forced == [reader]


def test_what_a_process_knew_before_it_died_is_not_read_after() -> None:
    role = History("LEADER")
    role.write(step(1), "DOWN")
    role.forget()
    assert not role.read(step(2), lambda value: value == "LEADER")


def test_a_step_that_is_passed_by_a_later_change_does_not_show_it() -> None:
    committed = History(0)
    shows = {"committedIndex": 1, "role": "LEADER"}
    writer, reader = step(1, changes={"committedIndex"}), step(2, shows=shows)
    committed.write(writer, 1)
    committed.read(reader, lambda value: value == 0)
    place([writer, reader], [committed])
    assert reader.shows == {"role": "LEADER"}


def test_lines_before_the_rest_of_an_effect_was_recorded_do_not_show_it() -> None:
    parts = {"peerWaterMarks.n1"}
    early = step(1, changes=parts, late=parts, settled=3)
    between = step(2, shows={"peerWaterMarks": {"n1": 0, "n2": 5}})
    later = step(4, shows={"peerWaterMarks": {"n1": 1}})
    elsewhere = step(2, node="n2", shows={"peerWaterMarks": {"n1": 0}})
    place([early, between, elsewhere, later], [])
    assert between.shows == {"peerWaterMarks": {"n2": 5}}
    assert later.shows == elsewhere.shows | {"peerWaterMarks": {"n1": 1}}
