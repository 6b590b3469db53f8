"""A mistake in a mapping is reported with its line, and a correct mapping is read as it says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.logs.log_records import Record
from lockstep.logs.mapping import MappingError, Stamp, Text, read_mapping
from lockstep.logs.mapping_rules import Rules
from lockstep.logs.text_formats import line_splitter
from lockstep.logs.timestamps import Timestamps, nanoseconds
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from lockstep.tla.loading.load_spec import load_spec
from lockstep.trace.json_lines import TraceError
from tests.support.logs.backup_service import EXAMPLE
from tests.support.programs.lockstep_command import lockstep

RULE = '[lines.put]\naction = "Put"\n'


def mapped(folder: Path, text: str) -> str:
    """The error of a mapping, "" where there is none."""
    path = folder / "mapping.toml"
    path.write_text(text)
    try:
        read_mapping(path)
    except MappingError as error:
        return str(error).removeprefix(str(path))
    return ""


@pytest.mark.parametrize(
    ("rule", "field", "line"),
    [
        ('steps = [{ action = "Put" }]\nrepeat = 3', "lines.put.repeat", 4),
        ('either = [{ action = "Put" }]\nrepeat = 3', "lines.put.repeat", 4),
        ('shows = "all"\nrepeat = 3', "lines.put.repeat", 4),
        ('either = [\n{ steps = [{ action = "Put" }], repeat = 3 }]', "lines.put.either[0].repeat", 3),
        ('either = [{ shows = "all", repeat = 3 }]', "lines.put.either[0].repeat", 3),
        ('steps = [{ action = "Put" }, { shows = "all", repeat = 2 }]', "lines.put.steps[1].repeat", 3),
        ("ignore = true\nrepeat = 2", "lines.put.repeat", 4),
    ],
)
def test_repeat_stands_beside_an_action_or_is_refused(tmp_path: Path, rule: str, field: str, line: int) -> None:
    said = mapped(tmp_path, f'kind = "e"\n[lines.put]\n{rule}\n')
    assert said == f":{line}: field `{field}`: there is no `action` beside it that could be repeated"
    for allowed in (
        'action = "Put"\nrepeat = 3',
        'steps = [{ action = "Put", repeat = 3 }]',
        'either = [{ action = "Put", repeat = 3 }, { steps = [{ action = "Put", repeat = 2 }] }]',
    ):
        assert mapped(tmp_path, f'kind = "e"\n[lines.put]\n{allowed}\n') == ""


@pytest.mark.parametrize("length", ["9" * 400 + " min", "1." + "0" * 400 + " s", "9223372036.9 s", "153722868 min"])
def test_a_length_of_time_of_centuries_is_refused(tmp_path: Path, length: str) -> None:
    for name in ("skew", "resolution"):
        said = mapped(tmp_path, f'kind = "e"\ntime = "t"\n{name} = "{length}"\n{RULE}')
        assert said == f":3: field `{name}`: it is longer than 290 years"
    said = mapped(tmp_path, f'kind = "e"\ntime = "t"\n{RULE}delay = "{length}"\n')
    assert said == ":5: field `lines.put.delay`: it is longer than 290 years"
    assert mapped(tmp_path, f'kind = "e"\ntime = "t"\nskew = "1.5 min"\n{RULE}') == ""


def test_the_node_of_lines_that_have_none_is_not_asked_for(tmp_path: Path) -> None:
    args = "args = { b = { parts = { id = { node = true } } } }\n"
    said = mapped(tmp_path, f'kind = "e"\n{RULE}{args}')
    assert said == ":4: field `lines.put.args.b`: the lines have no `node`"
    assert mapped(tmp_path, f'kind = "e"\nnode = "n"\n{RULE}{args}') == ""


def test_a_date_and_a_time_in_two_words_of_a_pattern_are_one_stamp(tmp_path: Path) -> None:
    split = line_splitter(Text(format="logback", pattern="%d{yyyy-MM-dd} [%t] %d{HH:mm:ss.SSS} %c{0} - %c %m%n"))
    found = split("2026-01-02 [main] 03:04:05.678 Queue - org.Queue took job")
    assert found == {
        "time": "2026-01-02 03:04:05.678", "thread": "main", "logger": "Queue", "message": "took job"
    }  # fmt: skip
    (tmp_path / "mapping.toml").write_text(f'kind = "e"\ntime = "time"\n{RULE}')
    (stamp,) = read_mapping(tmp_path / "mapping.toml").stamps()
    assert nanoseconds(found["time"], stamp) % 10**9 == 678 * 10**6


# ---- Text, stamps, kinds ----


def test_the_escapes_of_go_are_decoded() -> None:
    split = line_splitter(Text(format="logfmt"))
    found = split(r'a="caf\u00e9 \x1b[0m" b="\U0001F600\t\"x\" \\n" c="\ud800 \Uffffffff" d=plain\u00e9')
    assert found == {"a": "café \x1b[0m", "b": '\U0001f600\t"x" \\n', "c": "\ufffd \ufffd", "d": r"plain\u00e9"}


SYSLOG = Stamp(field="t", format="%b %d %H:%M:%S")
DAY = 86_400 * 10**9


def test_stamps_without_a_year_go_on_over_the_end_of_one_and_know_the_29th_of_february() -> None:
    stamps = Timestamps([SYSLOG])
    night = [stamps.read(text, SYSLOG) for text in ("Dec 31 23:59:59", "Jan  1 00:00:01", "Feb 29 00:00:01")]
    assert [later - earlier for earlier, later in pairwise(night)] == [2 * 10**9, 59 * DAY]
    stamps.begin_log()
    assert stamps.read("Jan  1 00:00:00", SYSLOG) == night[1] - 10**9
    stamps.begin_log()
    assert stamps.read("Dec 31 23:59:58", SYSLOG) == night[0] - 10**9
    assert stamps.read("Dec 31 23:59:57", SYSLOG) == night[0] - 2 * 10**9


def test_stamps_with_a_year_are_read_as_they_are_written() -> None:
    stamp = Stamp(field="t", format="%Y %b %d")
    stamps = Timestamps([stamp])
    there = [stamps.read(text, stamp) for text in ("2025 Dec 31", "2025 Jan 01")]
    assert there[0] - there[1] == 364 * DAY
    percent = Stamp(field="t", format="%%Y %b %d")  # a percent sign and a letter
    assert Timestamps([percent]).read("%Y Feb 29", percent) % DAY == 0


def test_a_kind_may_be_a_number(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text('kind = "e"\n[lines.3]\naction = "Put"\n[lines.true]\naction = "No"\n')
    rules = Rules(read_mapping(tmp_path / "mapping.toml"))
    for kind, action in ((3, "Put"), ("3", "Put"), ("true", "No")):
        known = rules.rule_of(Record("a.log", 1, "", {"e": kind}))
        assert known is not None
        assert known[0].action == action
    for kind in (True, 3.0, None, [3]):
        with pytest.raises(TraceError, match="the mapping has no lines of kind"):
            rules.rule_of(Record("a.log", 1, "", {"e": kind}))


# ---- Where logs begin ----


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        ("Store", "Store is an action, not a predicate of states"),
        ("Put", "Put is an action, not a predicate of states"),
        ("NeverBackProp", "NeverBackProp is a formula of behaviours, not a predicate of states"),
        ("Observe", "Observe takes 1 argument, and a predicate of states takes none"),
        ("Midle", "the spec defines no predicate of states 'Midle'; did you mean Middle?"),
    ],
)
def test_a_start_that_is_no_predicate_of_states_is_refused(tmp_path: Path, start: str, problem: str) -> None:
    (tmp_path / "mapping.toml").write_text(f'kind = "event"\nstart = "{start}"\n{RULE}')
    spec = EXAMPLE / "PrimaryBackup.tla"
    with pytest.raises(MappingError) as refused:
        own_check(SpecFiles(spec, mapping=tmp_path / "mapping.toml"))
    assert str(refused.value) == f"{tmp_path / 'mapping.toml'}:2: field `start`: {problem}"


def test_a_date_of_toml_is_reported_in_tomls_words(tmp_path: Path) -> None:
    values = "shows = { n = { field = 'n', values = { a = 2026-01-02 } } }\n"
    said = mapped(tmp_path, f'kind = "e"\n{RULE}{values}')
    assert said == ":4: field `lines.put.shows.n.values.a`: 2026-01-02 is no value of TLA+; a text stands in quotes"
    deep = values.replace("2026-01-02", "[{ b = 1.5 }]")
    said = mapped(tmp_path, f'kind = "e"\n{RULE}{deep}')
    assert said == ":4: field `lines.put.shows.n.values.a`: 1.5 is no value of TLA+; a text stands in quotes"
    when = "when = { n = 2026-01-02T03:04:05Z }\n"
    assert ":4: field `lines.put.when.n`: it should be " in mapped(tmp_path, f'kind = "e"\n{RULE}{when}')


# ---- What a line may show ----

SIGHTS = """---- MODULE Sights ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = 1 - x
Plain == [a |-> x, b |-> 2]
Either == IF x = 0 THEN [a |-> 1] ELSE CASE x = 1 -> [b |-> 1] [] OTHER -> LET k == Plain IN k
OfNode(n) == [Plain EXCEPT !.a = n]
Function == [n \\in {"a"} |-> n]
Chosen == IF x = 0 THEN [a |-> 1] ELSE Function
Given(r) == IF x = 0 THEN Plain ELSE r
====
"""


def test_the_fields_that_a_line_may_show_are_known_where_the_spec_writes_them_out(tmp_path: Path) -> None:
    (tmp_path / "Sights.tla").write_text(SIGHTS)
    (tmp_path / "Sights.cfg").write_text("INIT Init\nNEXT Next\n")
    spec = load_spec(tmp_path / "Sights.tla", tmp_path / "Sights.cfg")
    assert [spec.fields(name) for name in ("Plain", "Either")] == [["a", "b"], ["a", "b"]]
    assert [spec.fields(name) for name in ("OfNode", "Function", "Chosen", "Given")] == [None] * 4
    (tmp_path / "mapping.toml").write_text('kind = "e"\nobserve = "Either"\n[lines.put]\nshows = { c = "c" }\n')
    with pytest.raises(MappingError, match=r":4: field `lines\.put\.shows\.c`: the spec's Either shows no such field"):
        own_check(SpecFiles(tmp_path / "Sights.tla", mapping=tmp_path / "mapping.toml"))


# ---- What may have been left out of a mapping ----

EXAMPLE_SPEC = EXAMPLE / "PrimaryBackup.tla"
STORED = '[lines.stored]\naction = "Store"\nargs = { b = "b" }\n'


def test_a_number_that_a_line_has_as_text_needs_a_cast_says_a_note(tmp_path: Path) -> None:
    head = 'kind = "event"\nfiles = "together"\n[text]\nformat = "logfmt"\n'
    (tmp_path / "mapping.toml").write_text(f'{head}{RULE}[lines.done]\naction = "Commit"\nargs = {{ n = "upto" }}\n')
    (tmp_path / "a.log").write_text("event=put\nevent=done upto=1\n")
    found = own_check(SpecFiles(EXAMPLE_SPEC, EXAMPLE / "PrimaryBackup.cfg", mapping=tmp_path / "mapping.toml"))(
        tmp_path / "a.log"
    )
    assert found.verdict is Verdict.MALFORMED
    assert found.notes == ['note: a number that a line has as text, or in quotes, needs as = "integer" in the mapping']


def test_an_action_that_no_rule_names_is_named_in_a_note_where_nothing_explains_a_line(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(f'kind = "event"\nhidden = {{ Acknowledge = 1 }}\n{STORED}')
    (tmp_path / "a.log").write_text('{"event": "stored", "b": "b1"}\n')
    found = own_check(SpecFiles(EXAMPLE_SPEC, EXAMPLE / "PrimaryBackup.cfg", mapping=tmp_path / "mapping.toml"))(
        tmp_path / "a.log"
    )
    assert found.verdict is Verdict.VIOLATED
    assert found.notes[0].startswith("note: no rule names Put, Commit; if such steps are taken and nobody writes")


def test_a_note_names_logs_that_are_checked_alone_and_may_be_of_one_system(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(f'kind = "event"\n{RULE}{STORED}')
    (tmp_path / "p.log").write_text('{"event": "put"}\n')
    (tmp_path / "b1.log").write_text('{"event": "stored", "b": "b1"}\n')
    own = ["--spec", str(EXAMPLE_SPEC), "--mapping", "mapping.toml"]
    found = lockstep("check", *own, "p.log", "b1.log", cwd=tmp_path)
    said = 'note: each log is checked alone; if they are of one system, say files = "together"\nb1.log:1: LS201'
    assert (found.returncode, found.stdout.count(said)) == (1, 1)
    alone = lockstep("check", *own, "b1.log", cwd=tmp_path)
    assert (alone.returncode, "together" in alone.stdout) == (1, False)
