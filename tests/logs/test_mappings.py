"""What a mapping says and nothing can be made of is told at its line; the rest is read as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.logs.reading.mapping import MappingError, Text, read_mapping
from lockstep.logs.reading.stamps import nanoseconds
from lockstep.logs.reading.texts import splitting

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
def test_what_is_repeated_is_an_action(tmp_path: Path, rule: str, field: str, line: int) -> None:
    said = mapped(tmp_path, f'kind = "e"\n[lines.put]\n{rule}\n')
    assert said == f":{line}: field `{field}`: there is no `action` beside it that could be repeated"
    for allowed in (
        'action = "Put"\nrepeat = 3',
        'steps = [{ action = "Put", repeat = 3 }]',
        'either = [{ action = "Put", repeat = 3 }, { steps = [{ action = "Put", repeat = 2 }] }]',
    ):
        assert mapped(tmp_path, f'kind = "e"\n[lines.put]\n{allowed}\n') == ""


@pytest.mark.parametrize("told", ["9" * 400 + " min", "1." + "0" * 400 + " s", "9223372036.9 s", "153722868 min"])
def test_no_clocks_differ_by_centuries(tmp_path: Path, told: str) -> None:
    for name in ("skew", "resolution"):
        said = mapped(tmp_path, f'kind = "e"\ntime = "t"\n{name} = "{told}"\n{RULE}')
        assert said == f":3: field `{name}`: it is longer than 290 years"
    said = mapped(tmp_path, f'kind = "e"\ntime = "t"\n{RULE}delay = "{told}"\n')
    assert said == ":5: field `lines.put.delay`: it is longer than 290 years"
    assert mapped(tmp_path, f'kind = "e"\ntime = "t"\nskew = "1.5 min"\n{RULE}') == ""


def test_the_node_of_lines_that_have_none_is_not_asked_for(tmp_path: Path) -> None:
    args = "args = { b = { parts = { id = { node = true } } } }\n"
    said = mapped(tmp_path, f'kind = "e"\n{RULE}{args}')
    assert said == ":4: field `lines.put.args.b`: the lines have no `node`"
    assert mapped(tmp_path, f'kind = "e"\nnode = "n"\n{RULE}{args}') == ""


def test_a_date_and_a_time_in_two_words_of_a_pattern_are_one_stamp(tmp_path: Path) -> None:
    split = splitting(Text(format="logback", pattern="%d{yyyy-MM-dd} [%t] %d{HH:mm:ss.SSS} %c{0} - %c %m%n"))
    found = split("2026-01-02 [main] 03:04:05.678 Queue - org.Queue took job")
    assert found == {
        "time": "2026-01-02 03:04:05.678", "thread": "main", "logger": "Queue", "message": "took job"
    }  # fmt: skip
    (tmp_path / "mapping.toml").write_text(f'kind = "e"\ntime = "time"\n{RULE}')
    (stamp,) = read_mapping(tmp_path / "mapping.toml").stamps()
    assert nanoseconds(found["time"], stamp) % 10**9 == 678 * 10**6
