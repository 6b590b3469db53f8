"""A line that the log's logger did not write is noise, and counted; one that looks damaged is refused."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from lockstep.logs.line_beginnings import MAX_BEGINNINGS
from lockstep.logs.stray_lines import without_anchors
from lockstep.systems.dledger.log_lines import read_logs
from lockstep.trace.json_lines import TraceError
from tests.support.logs.logger_lines import ELECTED, written
from tests.support.programs.lockstep_command import lockstep

ITS = written(*ELECTED)


def imported(folder: Path, data: bytes | str) -> tuple[int, str]:
    (folder / "d.log").write_bytes(data.encode() if isinstance(data, str) else data)
    done = lockstep("import", "d.log", "-o", "t.ndjson", cwd=folder)
    return done.returncode, done.stdout + done.stderr


def inserted(at: int, stray: bytes) -> bytes:
    lines = ITS.encode().splitlines(keepends=True)
    return b"".join([*lines[:at], stray, *lines[at:]])


@pytest.mark.parametrize("at", [0, 2, len(ELECTED)])
@pytest.mark.parametrize(
    ("stray", "count"),
    [
        (b"started n0\n", 1),
        (b"Listening on 127.0.0.1:80 {tls=off}\r\n", 1),
        (b"caf\xe9\n", 1),
        (b"12:00:00 WARN other: a line of another logger\n", 1),
        (b":: Banner ::\n|__|\n\n", 2),
        (b'{"banner": 1}\n', 1),
        (b'{"banner": 1, "message": "x", "time": 3}\n', 1),
    ],
)
def test_a_line_of_another_program_is_noise_wherever_it_stands(
    stray: bytes, count: int, at: int, tmp_path: Path
) -> None:
    _, whole = imported(tmp_path, ITS)
    code, said = imported(tmp_path, inserted(at, stray))
    assert code == 0
    expected = re.sub(r"from (\d+) lines", lambda found: f"from {int(found[1]) + count} lines", whole)
    assert said.splitlines()[0] == expected.strip().replace("0 noise", f"{count} noise")
    lines = f"{count} line{'s were' if count > 1 else ' was'}"
    assert f"d.log: {lines} skipped as noise, not in the log's form; the first is d.log:{at + 1}: " in said
    assert f"d.log:{at + 1}: " in said


@pytest.mark.parametrize("at", [0, 2, len(ELECTED)])
@pytest.mark.parametrize(
    "damaged",
    [
        b"1.0 seq<1 [n0/1] INFO [t]\n",
        b"1.0 seq<1 [n0/\n",
        b"[n0] n0_[INCREASE_TERM] from 1 to 2\n",
        b"started n01.0 seq<1 [n0/1] INFO [t] L - n0_[INCREASE_TERM] from 1 to 2\n",
        b'{"kind": "role", "node"\n',
    ],
)
def test_a_line_that_looks_like_a_damaged_one_of_the_log_is_refused(damaged: bytes, at: int, tmp_path: Path) -> None:
    """Left out, a step that happened would be missing."""
    code, said = imported(tmp_path, inserted(at, damaged))
    assert code == 2
    assert f"d.log:{at + 1}: the line is not of the form of the log, and looks like a part of one that is" in said


@pytest.mark.parametrize("data", ["started n0\nbye\n", gzip.compress(b"started n0\n")], ids=["plain", "compressed"])
def test_a_file_without_a_line_of_a_log_is_no_log(data: str | bytes, tmp_path: Path) -> None:
    code, said = imported(tmp_path, data)
    assert code == 2
    assert "d.log:1: the line is not of the form of the log, nor is any other: 'started n0'; expected: `TIME" in said


def test_a_line_that_is_no_part_of_json_is_noise_in_a_log_of_json(tmp_path: Path) -> None:
    (tmp_path / "S.tla").write_text(
        "---- MODULE S ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 0\n"
        "Up == x' = x + 1\nNext == Up\nObserve == [x |-> x]\n====\n"
    )
    (tmp_path / "S.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "m.toml").write_text('kind = "k"\n[lines.up]\naction = "Up"\nshows = { x = "x" }\n')

    def checked(text: str) -> tuple[int, str]:
        (tmp_path / "a.ndjson").write_text(text)
        command = ("check", "--spec", "S.tla", "--cfg", "S.cfg", "--mapping", "m.toml", "a.ndjson")
        done = lockstep(*command, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    one, two = '{"k":"up","x":1}\n', '{"k":"up","x":2}\n'
    code, said = checked(f"started\n{one}# again\n{two}")
    assert code == 0
    assert "a.ndjson: 2 lines were skipped as noise, not in the log's form; the first is a.ndjson:1: 'started'" in said
    assert checked(f"{one}started\n{two.replace('2', '3')}")[0] == 1
    for cut in (two[:9] + "\n", two[5:], two[6:]):
        code, said = checked(one + cut)
        assert code == 2, said
        assert "a.ndjson:2: " in said
    code, said = checked("started\n")
    assert code == 2
    assert "expected: a JSON object in each line" in said


# ---- A way on ----


def of_nodes(folder: Path, late_ms: int) -> list[str]:
    """Write a log for each node, in which the clock of n1 and of n2 is fast."""
    names = []
    for node in ("n0", "n1", "n2"):
        lines = [line for line in ITS.splitlines(keepends=True) if f"[{node}/1]" in line]
        late = 0 if node == "n0" else late_ms
        lines = [re.sub(r"^(\d+)\.0", lambda found: f"{int(found[1]) + late}.0", line) for line in lines]  # noqa: B023  # used at once
        (folder / f"{node}.log").write_text("".join(lines))
        names.append(f"{node}.log")
    return names


def test_the_message_names_a_sufficient_skew_where_clocks_differ_by_more(tmp_path: Path) -> None:
    names = of_nodes(tmp_path, 5000)
    done = lockstep("import", *names, "-o", "t.ndjson", cwd=tmp_path)
    assert done.returncode == 3
    skew = re.search(r'give --skew "(\d+) ms"', done.stderr)
    assert skew is not None, done.stderr
    assert 4990 <= int(skew[1]) <= 5600
    again = lockstep("import", *names, "--skew", f"{skew[1]} ms", "-o", "t.ndjson", cwd=tmp_path)
    assert again.returncode == 0
    assert lockstep("check", "t.ndjson", cwd=tmp_path).returncode == 0
    far_less = lockstep("import", *names, "--skew", f"{int(skew[1]) * 4 // 5} ms", "-o", "t.ndjson", cwd=tmp_path)
    assert far_less.returncode == 3


def test_the_message_names_a_remedy_where_the_first_lines_were_rotated_away(tmp_path: Path) -> None:
    lines = ITS.splitlines(keepends=True)
    (tmp_path / "d.log").write_text("".join(lines[4:]))
    done = lockstep("import", "d.log", "-o", "t.ndjson", cwd=tmp_path)
    assert done.returncode == 2
    assert "d.log:1: the log does not begin where n0 first started" in done.stderr
    assert "(leader)" in done.stderr
    assert "d.log.1" in done.stderr
    (tmp_path / "d.log.1").write_text("".join(lines[:4]))
    assert lockstep("import", "d.log", "d.log.1", "-o", "t.ndjson", cwd=tmp_path).returncode == 0
    (tmp_path / "whole.log").write_text("".join(lines))
    assert lockstep("import", "whole.log", "-o", "t.ndjson", cwd=tmp_path).returncode == 0


def test_a_log_of_json_alone_is_no_log_of_dledger(tmp_path: Path) -> None:
    code, said = imported(tmp_path, '{"event": "put", "message": "x"}\n{"event": "put"}\n')
    assert (code, "d.log:1: the line is not of the form of the log, nor is any other" in said) == (2, True)


# ---- Mapped logs ----

STEPS = """---- MODULE Steps ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Step == x < 2 /\\ x' = x + 1
Next == Step
====
"""
STAMPED = r"^(?P<ts>\d{4}-\d\d-\d\dT\S+) (?P<level>\w+) (?P<msg>.*)$"


def checked(
    folder: Path, log: str, pattern: str = STAMPED, match: str = "^stepped$", otherwise: str = "error"
) -> tuple[int, str]:
    """Check a log of at most two steps by a mapping of text."""
    (folder / "Steps.tla").write_text(STEPS, encoding="utf-8")
    (folder / "Steps.cfg").write_text("INIT Init\nNEXT Next\n", encoding="utf-8")
    text = f"otherwise = '{otherwise}'\n[[text]]\nformat = 'regex'\npattern = '{pattern}'\n"
    mapping = f"{text}[lines.step]\naction = 'Step'\nmatch = {{ msg = '{match}' }}\n"
    (folder / "m.toml").write_text(mapping, encoding="utf-8")
    (folder / "s.log").write_text(log, encoding="utf-8")
    done = lockstep("check", "--spec", "Steps.tla", "--mapping", "m.toml", "s.log", cwd=folder)
    return done.returncode, done.stdout


TWO = "2024-01-02T10:00:00Z INFO stepped\n2024-01-02T10:00:01Z INFO stepped\n"


@pytest.mark.parametrize("damaged", ["#02T10:00:02Z INFO stepped\n", "GC 3 ms stepped\n"])
def test_a_line_that_says_what_a_rule_looks_for_is_damaged_though_the_rule_is_anchored(
    damaged: str, tmp_path: Path
) -> None:
    assert checked(tmp_path, TWO)[0] == 0
    code, said = checked(tmp_path, TWO + damaged)
    assert (code, "s.log:3: LS301 malformed: the line is not of the form of the log" in said) == (2, True)


@pytest.mark.parametrize("above", [10, 1_000, 3_000])
def test_a_damaged_line_above_the_log_is_found_however_many_banner_lines_there_are(above: int, tmp_path: Path) -> None:
    banner = "".join(f"== banner {chr(97 + number % 26) * (number % 7 + 1)}\n" for number in range(above))
    assert checked(tmp_path, banner + TWO)[0] == 0
    code, said = checked(tmp_path, f"{banner}2024-01-02T10:00:00Z step\n{TWO}")
    assert (code, f"s.log:{above + 1}: LS301" in said) == (2, True)


def test_an_empty_line_that_fits_the_form_is_read_as_any_other(tmp_path: Path) -> None:
    code, said = checked(tmp_path, "stepped\n\nstepped\n", pattern="^(?P<msg>.*)$")
    assert "internal error" not in said
    assert (code, "s.log:2: LS301" in said) == (2, True)


@pytest.mark.parametrize(
    ("given", "anywhere"),
    [
        ("^a$", "a"),
        (r"\Aa\Z", "a"),
        (r"a\^b\$", r"a\^b\$"),
        ("[^a]$", "[^a]"),
        ("[]^$]^", "[]^$]"),
        ("^(a|b$)[$^]", "(a|b)[$^]"),
        (r"^\[a\]$", r"\[a\]"),
    ],
)
def test_anchors_are_taken_out_of_a_regular_expression_and_nothing_else(given: str, anywhere: str) -> None:
    assert without_anchors(given) == anywhere


# ---- Two lines in one ----

LATER = (
    "[n0] [n0] [ChangeRoleToFollower] from term: 2 leaderId: null and currTerm: 1",
    "[n0] n0_[INCREASE_TERM] from 2 to 3",
)
CLOCKS = {
    "18:16:20,001": "18:16:{:02d},001 {}",
    "2026-11-21 18:16:20.1": "2026-11-21 18:16:{:02d}.1 {}",
    "1764000000123": "17640000{:02d}123 {}",
    "3.0 seq<3": "{0}.0 seq<{0} {1}",
}


def with_clock(form: str, *said: str) -> list[str]:
    """Write lines from second 10 on, with another stamp than the usual one."""
    return [
        form.format(number, line.split(" ", 2)[2]) + "\n" for number, line in enumerate(written(*said).splitlines(), 10)
    ]


@pytest.mark.parametrize("form", CLOCKS.values(), ids=CLOCKS)
def test_a_line_that_a_kill_cut_and_the_next_process_went_on_with_is_refused(form: str, tmp_path: Path) -> None:
    """The log reads as one line there, and the step of one of the two would be lost."""
    *above, cut, last = with_clock(form, *ELECTED, *LATER)
    stamp = len(form.format(10, ""))
    for at in range(stamp, len(cut)):
        (tmp_path / "d.log").write_text("".join([*above, cut[:at], last]))
        with pytest.raises(TraceError) as refused:
            read_logs([tmp_path / "d.log"], str)
        where = f"d.log:6: two lines in one: another line of the log begins at column {at + 1}, '{last[:20]}"
        assert where in str(refused.value)
    code, said = imported(tmp_path, "".join([*above, cut[:-20], last]))
    assert (code, "d.log:6: two lines in one: another line of the log begins at column" in said) == (2, True)
    assert imported(tmp_path, "".join([*above, cut, last]))[0] == 0


def test_a_stamp_that_has_grown_by_a_digit_begins_no_second_line(tmp_path: Path) -> None:
    lines = with_clock("{}.0 {}", *ELECTED)
    lines = [line.replace(f"{number}.0", f"{number - 10 + 97}.0", 1) for number, line in enumerate(lines, 10)]
    assert [line.split()[0] for line in lines[2:4]] == ["99.0", "100.0"]
    assert imported(tmp_path, "".join(lines))[0] == 0
    code, said = imported(tmp_path, "".join([*lines[:3], lines[3][:30], lines[4]]))
    assert (code, "d.log:4: two lines in one: another line of the log begins at column 31" in said) == (2, True)


def test_two_lines_in_one_are_refused_in_the_first_line_and_below_one(tmp_path: Path) -> None:
    one, two, *others = with_clock(CLOCKS["18:16:20,001"], *ELECTED)
    code, said = imported(tmp_path, "".join([one[:40], two, *others]))
    assert (code, "d.log:1: two lines in one: " in said) == (2, True), said
    trace = f"{one}java.lang.IllegalStateException: x\n\tat io.openmess"
    assert imported(tmp_path, "".join([trace, "aging.X(X.java:7)\n", two, *others]))[0] == 0
    code, said = imported(tmp_path, "".join([trace, two, *others]))
    assert (code, "d.log:3: two lines in one: " in said) == (2, True), said


@pytest.mark.parametrize(
    "text",
    [
        "the lease of 18:16:09,001 - has ended",
        "the snapshot of 18:16:09,001 [n1/1] INFO - is taken, elected by 18:16:10,001",
        "18:16:09,001",
    ],
)
def test_a_time_in_the_text_of_a_line_makes_it_no_two_lines(text: str, tmp_path: Path) -> None:
    code, said = imported(tmp_path, "".join(with_clock(CLOCKS["18:16:20,001"], *ELECTED, f"[n0] {text}")))
    assert code == 0, said
    assert "1 noise" in said.splitlines()[0]


@pytest.mark.parametrize(("cut", "match"), [(26, "^stepped$"), (28, "^stepped$"), (28, "stepped"), (33, "stepped")])
def test_two_lines_in_one_are_refused_in_a_mapped_log(cut: int, match: str, tmp_path: Path) -> None:
    one, two = TWO.splitlines()
    code, said = checked(tmp_path, f"{one[:cut]}{two}\n", match=match)
    looks = f"s.log:1: LS301 malformed: two lines in one: another line of the log begins at column {cut + 1}, '{two}'"
    assert (code, f"{looks}; break it there" in said) == (2, True), said


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_line_behind_one_of_another_program_is_refused_though_what_no_rule_fits_is_ignored(
    at: int, tmp_path: Path
) -> None:
    lines = TWO.splitlines(keepends=True)
    cut = [f"2024-01-02T10:00:0{lines[1]}"] if at else []  # before the first stamp none is known
    assert checked(tmp_path, "".join([*lines[:at], "started\n", *lines[at:]]), otherwise="ignore")[0] == 0
    for between in (f"started {lines[1]}", *cut):
        code, said = checked(tmp_path, "".join([*lines[:at], between, *lines[at:]]), otherwise="ignore")
        assert (code, f"s.log:{at + 1}: LS301 malformed: two lines in one: " in said) == (2, True), said


@pytest.mark.parametrize("inner", ["2024-01-02T09:59:59Z ", ""])
def test_a_log_whose_lines_have_two_stamps_each_is_read(inner: str, tmp_path: Path) -> None:
    """A collector writes its own stamp before the log's."""
    lines = "".join(f"2024-01-02T10:00:0{second}Z {inner}INFO stepped\n" for second in range(2))
    pattern = r"^(?:\S+ )?(?P<ts>\d{4}-\d\d-\d\dT\S+) (?P<level>\w+) (?P<msg>.*)$"
    code, said = checked(tmp_path, lines, pattern)
    assert (code, "(2 events, 2 steps" in said) == (0, True), said


def test_two_lines_in_one_are_found_below_whatever_json_stands_between_the_lines(tmp_path: Path) -> None:
    between = "".join(f'{{"{"k" * length}":"2024-01-02T10:00:00Z"}}\n' for length in range(1, 2 * MAX_BEGINNINGS))
    one, two = TWO.splitlines(keepends=True)
    assert checked(tmp_path, between + TWO, otherwise="ignore")[0] == 0
    code, said = checked(tmp_path, between + one + one[:-5] + two, otherwise="ignore")
    assert (code, f"s.log:{2 * MAX_BEGINNINGS + 1}: LS301 malformed: two lines in one: " in said) == (2, True), said


LOOSE = r"^(?P<ts>\d{4}-\d\d-\d\dT\S+) (?P<msg>.*)$"


@pytest.mark.parametrize(
    ("text", "pattern", "match"),
    [
        ("INFO stepped at 2024-01-02T10:00:00Z", STAMPED, "stepped"),
        ("INFO at 2024-01-02T10:00:00Z n1 stepped", STAMPED, "stepped"),
        ("until 2024-01-02T10:00:00Z n1 stepped", LOOSE, "stepped"),
        ("until (2024-01-02T10:00:00Z) n1 stepped", LOOSE, "n1 stepped$"),
        ('INFO stepped said="2024-01-02T10:00:00Z INFO stepped"', STAMPED, "stepped"),
        ('INFO stepped said="\\"a\\" of 2024-01-02T10:00:00Z INFO stepped" n=1', STAMPED, "stepped"),
    ],
)
def test_a_time_in_the_text_of_a_mapped_line_makes_it_no_two_lines(
    text: str, pattern: str, match: str, tmp_path: Path
) -> None:
    code, said = checked(tmp_path, f"2024-01-02T10:00:00Z {text}\n" * 2, pattern, match)
    assert (code, "(2 events, 2 steps" in said) == (0, True), said


def test_a_rule_that_fits_any_line_finds_no_line_within_another(tmp_path: Path) -> None:
    code, said = checked(tmp_path, "2024-01-02T10:00:00Z INFO until 2024-01-02T10:00:09Z n1 x\n", match="")
    assert code == 0, said
