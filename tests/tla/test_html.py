"""The tables that a notebook shows for states, behaviours, verdicts and traces, in which every text is escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import lockstep
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.tla.behaviour import Behaviour, BehaviourStep
from lockstep.tla.exploration import SearchStep, Violation
from lockstep.tla.state import state_class
from lockstep.tla.values.html_table import MAX_TEXT
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.places import ROOT

HOSTILE = "</td></table><script>hacked()</script><img src=x onerror='hacked()'>\"&amp;"


class Cells(HTMLParser):
    """The caption and the cells of a table; anything but a table is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.opened: list[str] = []
        self.feed(text)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("table", "caption", "thead", "tbody", "tr", "th", "td")
        assert {name for name, _ in attrs} <= {"scope", "style"}
        self.opened.append(tag)
        if tag in ("caption", "th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        assert self.opened[-1] in ("caption", "th", "td")
        self.cells[-1] += data


def cells_of(shown: object) -> list[str]:
    """The cells that a notebook shows of something."""
    return Cells(shown._repr_html_()).cells  # type: ignore[attr-defined] # what IPython asks for


def test_a_state_shows_each_variable_with_its_value() -> None:
    state = state_class(["x", "queue"])((1, (HOSTILE,)))
    shown = HOSTILE.replace('"', '\\"')
    assert cells_of(state) == ["state", "variable", "value", "x", "1", "queue", f'<<"{shown}">>']


def test_a_behaviour_shows_what_each_step_changed() -> None:
    steps = (
        BehaviourStep("Init", {}, "", {"x": 0, "y": 7}),
        BehaviourStep(HOSTILE, {"n": HOSTILE}, "", {"x": HOSTILE, "y": 7}),
    )
    shown = HOSTILE.replace('"', '\\"')
    expected = [
        "",
        "action",
        "changes",
        "1",
        "Init",
        "x = 0\ny = 7",
        "2",
        f'{HOSTILE}(n = "{shown}")',
        f'x: 0 -> "{shown}"',
    ]
    assert cells_of(Behaviour(steps, back_to=0)) == ["2 states, and back to 1", *expected]
    state = state_class(["x", "y"])
    found = Violation(
        "invariant",
        HOSTILE,
        (SearchStep(None, {}, state((0, 7))), SearchStep(HOSTILE, {"n": HOSTILE}, state((HOSTILE, 7)))),
    )
    assert cells_of(found) == [f"invariant {HOSTILE}", *expected]


def test_a_verdict_shows_its_findings() -> None:
    finding = Finding("shows", "LS202", HOSTILE, 7, 1, HOSTILE, HOSTILE, (HOSTILE, "b"), HOSTILE)
    shown = cells_of(TraceVerdict(HOSTILE, Verdict.VIOLATED, HOSTILE, 3, 2, 1, findings=[finding]))
    assert shown[0] == f"{HOSTILE}: violated: {HOSTILE} (3 events, 2 steps, 1 value compared)"
    assert shown[8:] == ["LS202", "7", HOSTILE, HOSTILE, HOSTILE, f"{HOSTILE}\nb", HOSTILE]
    assert cells_of(TraceVerdict("t", Verdict.HOLDS, "r")) == ["t: holds: r (0 events, 0 steps, 0 values compared)"]


def test_a_trace_shows_its_header_and_keeps_its_events() -> None:
    head = Header(FORMAT, HOSTILE, "1", "S", (HOSTILE,), {"Fifo": True})
    trace = Trace(trace_lines(head, [Event(0, HOSTILE, "A")]), "t")
    shown = cells_of(trace)
    assert shown[:3] == ["t", "header", "value"]
    assert dict(zip(shown[3::2], shown[4::2], strict=True))["constants"] == '{"Fifo":true}'
    assert len(list(trace)) == 1


def test_a_very_long_text_is_cut() -> None:
    (*_, value) = cells_of(state_class(["x"])(("v" * 9_000,)))
    assert (len(value), value[-1]) == (MAX_TEXT, "…")


def test_the_results_of_the_functions_at_the_top_are_shown() -> None:
    service = ROOT / "docs" / "lock_service"
    spec = lockstep.load_spec(service / "LockService.tla", service / "LockService.cfg")
    assert cells_of(next(spec.initial_states()))[3:] == ["queue", "<<>>", "token", "0"]
