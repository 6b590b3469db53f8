"""A file that is no whole recording, or has what the spec does not model, is refused by line and field."""

import json
from collections.abc import Callable

import pytest

from lockstep.systems.dledger.recording_import import import_lines, import_recording
from lockstep.trace.json_lines import TraceError, UnreadableError
from tests.support.systems.dledger_lines import FIGURE8, Continued, Json, encoded, ended, lines_of

Change = Callable[[list[Json]], object]


def first(lines: list[Json], **wanted: object) -> Json:
    return next(line for line in lines if all(line.get(name) == value for name, value in wanted.items()))


def edit(**fields: object) -> Callable[..., Change]:
    """Return a maker of changes: `fields` of the first line that is like `wanted`."""

    def change_where(**wanted: object) -> Change:
        return lambda lines: first(lines, **wanted).update(fields)

    return change_where


def without(name: str, **wanted: object) -> Change:
    return lambda lines: first(lines, **wanted).pop(name)


BROKEN: dict[str, tuple[Change, str]] = {
    "an unknown kind": (edit(kind="send_pigeon")(kind="start"), ":4: field `kind`"),
    "an unknown field": (edit(colour="red")(kind="start"), ":4: field `colour`: unknown field"),
    "an unknown field of st": (
        lambda lines: first(lines, kind="recovered")["st"].update(colour="red"),
        ":5: field `st.colour`: unknown field",
    ),
    "a missing field": (without("why", kind="start"), ":4: field `why`: missing"),
    "a field its op needs": (
        without("index", kind="store", op="truncate"),
        ":178: field `index`: missing",
    ),
    "a field its type needs": (without("val", kind="send_push"), ":159: field `val`: missing"),
    "a wrong type": (edit(inc="one")(kind="start"), ":4: field `inc`: "),
    "an unknown op": (edit(op="abdicate")(kind="role"), ":7: field `op`: "),
    "a negative index": (edit(index=-7)(kind="store"), ":157: field `index`: "),
    "another format": (edit(format="dledger-capture/9")(kind="header"), ":1: field `format`: "),
    "a role that was another before": (
        edit(prevRole="LEADER")(kind="role", op="changeToCandidate"),
        "field `prevRole`: LEADER",
    ),
    "a term that was another before": (edit(prevTerm=7)(kind="role", op="nextTerm"), "field `prevTerm`: 7"),
    "a watermark that was another before": (edit(prev=7)(kind="watermark", op="put"), "field `prev`: 7"),
    "a request of another term": (edit(reqTerm=9)(kind="handler", op="take"), "field `mid`: push"),
    "a state that no line led to": (
        lambda lines: first(lines, kind="handler", op="take")["st"].update(end=99),
        "field `st.end`: 99: by the lines above it never was that",
    ),
    "a time that falls": (edit(t_ms=0.0)(kind="role"), "field `t_ms`: 0.0 is less than"),
    "a life that has not begun": (edit(inc=2)(kind="role"), "field `inc`: 2, but n0 is in life 1"),
    "a node named twice": (edit(nodes=["n0", "n0"])(kind="header"), ":1: field `nodes`: "),
    "an unknown node": (edit(node="n9")(kind="start"), ":4: field `node`: 'n9'"),
    "a gap": (lambda lines: lines.pop(3), ":4: field `seq`: 4 is not 3"),
    "a second header": (
        lambda lines: lines.__setitem__(3, {**lines[0], "seq": 3}),
        ":4: field `kind`: a second header",
    ),
    "no header": (lambda lines: lines.__setitem__(0, {**lines[3], "seq": 0}), ":1: field `kind`: "),
    "no end line": (lambda lines: lines.pop(), ":1243: the file is truncated"),
    "more after the end": (
        lambda lines: lines.append({**lines[3], "seq": len(lines)}),
        ":1245: there is more after the end line",
    ),
    "counts that are wrong": (
        lambda lines: lines[-1]["counts"].update(crash=4),
        ":1244: field `counts.crash`: the end line counts 4, the file has 3",
    ),
    "a batch in a recording without": (
        edit(count=2, entries=[[1, 1, "a"], [2, 1, "b"]], index=1)(kind="send_push", type="APPEND"),
        ": field `entries`: by its config this recording has no batches",
    ),
    "a batch of COMPARE": (
        edit(count=1, entries=[[0, 1, "a"]])(kind="send_push", type="COMPARE"),
        ":159: field `entries`: a COMPARE carries one entry",
    ),
    "a batch of another size": (
        edit(count=3, entries=[[1, 1, "a"], [2, 1, "b"]], index=1)(kind="send_push", type="APPEND"),
        ": field `count`: 3, and 2 entries",
    ),
    "a batch with a gap": (
        edit(count=2, entries=[[1, 1, "a"], [3, 1, "b"]], index=1)(kind="send_push", type="APPEND"),
        ": field `entries`: 3 is not 2",
    ),
    "a batch without an index": (
        edit(count=2, entries=[[1, 1, "a"], [2, 1, "b"]], index=None)(kind="send_push", type="APPEND"),
        ": field `index`: missing",
    ),
    "a push to no one": (edit(remoteId="n9")(kind="send_push"), ":159: field `remoteId`: "),
    "a push sent twice": (edit(mid=24)(kind="send_push", mid=25), ": field `mid`: "),
    "a request that was not sent": (edit(mid=999)(kind="recv_push"), ":161: field `mid`: no push 999"),
    "a request changed under way": (edit(val="forged")(kind="recv_push"), ":161: field `mid`: "),
    "a request at the wrong node": (edit(node="n2")(kind="handler"), ":163: field `mid`: push 25 has"),
    "an answer to no request": (edit(mid=999)(kind="resp_push"), ":167: field `mid`: no push 999"),
    "an answer no one gave": (edit(code="SUCCESS")(kind="recv_resp_push"), ":169: field `code`: "),
    "an entry no one pushed": (
        edit(val="forged")(kind="store", op="appendAsFollower"),
        ":213: field `index`: ",
    ),
    "a watermark no answer raises": (
        lambda lines: first(lines, kind="watermark", peer="n2").update(index=7, marks={"n0": 0, "n1": -1, "n2": 7}),
        ":195: field `index`: no answer raises this watermark",
    ),
    "marks of another group": (
        lambda lines: first(lines, kind="watermark").update(marks={"n9": 1}),
        ":135: field `marks`: ",
    ),
    "a change that nothing leads to": (
        edit(to="APPEND", at=0)(kind="dispatcher"),
        ":133: field `to`: no answer leads to APPEND here",
    ),
    "a dispatcher in COMMIT": (edit(to="COMMIT")(kind="dispatcher"), ":133: field `to`: "),
    "a vote for a stranger": (
        edit(votedFor="n9")(kind="role", op="setCurrVoteFor"),
        ":7: field `votedFor`: 'n9'",
    ),
    "a committed index from nowhere": (
        lambda lines: first(lines, kind="store", op="updateCommittedIndex")["pre"].update(committed=0),
        ":197: field `pre.committed`: the lines before lead to -1",
    ),
    "an unknown thread": (edit(by="Ghost")(kind="store", op="updateCommittedIndex"), ":197: field `by`: "),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_refused_with_file_line_and_field(what: str) -> None:
    change, expected = BROKEN[what]
    lines = lines_of(FIGURE8)
    change(lines)
    if lines[-1]["kind"] == "end" and what not in ("counts that are wrong", "a gap", "more after the end"):
        lines = [*lines[:-1], ended(lines[:-1])[-1]]
    with pytest.raises(TraceError) as caught:
        import_lines(encoded(lines), "broken.ndjson")
    assert str(caught.value).startswith("broken.ndjson:")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([], "f:1: the file is empty"),
        ([b"\xff\n"], "f:1: not a line of a recording"),
        ([b'{"seq":0\n'], "f:1: not a line of a recording"),
        ([b"[" * 100_000 + b"\n"], "f:1: not a line of a recording"),
        ([b"null\n"], "f:1: "),
        ([b"{}\n"], "f:1: field `kind`: missing"),
    ],
)
def test_what_is_no_line_is_refused(raw: list[bytes], expected: str) -> None:
    with pytest.raises(TraceError) as caught:
        import_lines(iter(raw), "f")
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("line", [0, 1, 500, 1242])
def test_a_recording_cut_anywhere_is_refused(line: int) -> None:
    raw = list(encoded(lines_of(FIGURE8)))
    for cut in (raw[:line], [*raw[:line], raw[line][:-1]], [*raw[:line], raw[line][: len(raw[line]) // 2]]):
        with pytest.raises(TraceError):
            import_lines(iter(cut), "cut")


def changed(value: object) -> object:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, dict):
        return {name: changed(part) for name, part in value.items()}
    if isinstance(value, str):
        return {"n0": "n1", "n1": "n2", "n2": "n0", "COMPARE": "TRUNCATE"}.get(value, "COMPARE")
    return value


def test_a_changed_value_leads_to_a_trace_or_a_refusal_and_to_nothing_else() -> None:
    lines = lines_of(FIGURE8)
    refused = 0
    for number in range(1, len(lines) - 1, 52):
        line = lines[number]
        names = sorted(line.keys() - {"seq", "t_ms", "kind"})
        name = names[number // 26 % len(names)]
        forged = {**line, name: changed(line[name])}
        try:
            import_lines(encoded([*lines[:number], forged, *lines[number + 1 :]]), "forged")
        except TraceError:
            refused += 1
    assert refused > 10


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UnreadableError, match=r"^missing.ndjson: cannot be read: No such file or directory$"):
        import_recording("missing.ndjson")


def test_the_lines_that_the_tests_make_up_are_a_recording() -> None:
    assert json.loads(list(Continued().recording())[-1])["kind"] == "end"
