"""The pictures of a report, and its Markdown, whatever names there are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from lockstep.base.verdict import Verdict
from lockstep.pipeline.run_report import RunReport, as_markdown, pictures
from lockstep.report.bar_chart import bars

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script>`" & ]]> \x00\ud800\n[x](javascript:y)|'


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def widths(svg: str) -> dict[str, float]:
    """The length of each bar, by its tooltip."""
    blocks = [each for each in ElementTree.fromstring(svg).iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
    return {each.findtext(f"{SVG}title", ""): float(each.attrib["width"]) for each in blocks}


def report() -> RunReport:
    plans = [
        {"plan": "figure8", "variant": "published", "verdict": "violated", "traces": 30},
        {"plan": "figure8", "variant": "published", "verdict": "holds", "traces": 10},
        {"plan": "", "variant": "published", "verdict": "inconclusive", "traces": 1},
    ]
    coverage = [
        {"plan": plan, "kind": kind, "name": name, "traces": 1, "times": times, "least": 1}
        for plan, kind, name, times in [
            ("figure8", "action", "ElectSelf", 10),
            ("other", "action", "ElectSelf", 30),
            ("figure8", "outcome", "ElectSelf CRASH", 8),
            ("figure8", "fault", "Crash", 50),
            ("figure8", "role", "Follower -> Leader", 3),
        ]
    ]
    return RunReport("night", Verdict.VIOLATED, plans=plans, coverage=coverage)


def test_a_report_has_pictures_of_verdicts_and_outcomes_and_links_them() -> None:
    found = {name: svg for name, _, svg in pictures(report())}
    verdicts = widths(found["verdicts.svg"])
    assert verdicts.keys() == {
        "figure8 (published): 30 violated",
        "figure8 (published): 10 holds",
        "published: 1 inconclusive",
    }
    assert verdicts["figure8 (published): 30 violated"] == pytest.approx(3 * verdicts["figure8 (published): 10 holds"])
    actions = ["Crash: 50 fault", "ElectSelf: 8 CRASH", "ElectSelf: 32 action"]
    assert list(widths(found["actions.svg"])) == actions
    linked = re.findall(r"^!\[.+\]\((.+)\)$", as_markdown(report()), re.MULTILINE)
    assert linked == list(found) == ["verdicts.svg", "actions.svg"]


def test_a_report_without_traces_has_no_picture() -> None:
    assert list(pictures(RunReport("none"))) == []
    assert "![" not in as_markdown(RunReport("none"))


def test_a_picture_of_more_rows_than_there_is_room_for_says_so() -> None:
    found = report()
    found.plans = [{"plan": f"p{each}", "variant": "published", "verdict": "holds", "traces": 1} for each in range(99)]
    name, title, svg = next(pictures(found))
    assert (name, title, len(widths(svg))) == ("verdicts.svg", "Verdicts, in traces: 40 of 99", 40)


def test_hostile_words_stay_words_in_a_picture() -> None:
    svg = bars(HOSTILE, [(HOSTILE, {HOSTILE: 1}), ("none", {})])
    assert {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(svg).iter()} == {
        "svg",
        "title",
        "rect",
        "text",
    }
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert texts(svg)[0] == shown
    assert svg.encode().isascii() is False


def test_hostile_words_stay_words_in_the_markdown() -> None:
    found = report()
    row = {"variant": "published", "verdict": "violated", "judged": "violated"}
    found.failures = [{**row, "trace": HOSTILE, "reason": HOSTILE, "replay": HOSTILE}]
    found.gaps = found.never_taken = [HOSTILE]
    found.dead_letters = {"count": 1, "first": [{"source": HOSTILE, "line": 1, "reason": HOSTILE}]}
    found.properties = [{"variant": "published", "property": HOSTILE, "traces": 1}]
    text = as_markdown(found)
    code = re.compile(r"(`+)(?!`) .+? \1(?!`)")
    outside = code.sub("", text.replace("\\\\", "").replace("\\`", ""))
    assert "alert(1)" in outside
    assert not re.search(r"(?<!\\)<", outside)
    assert "](javascript" not in outside.replace("\\]", "")
    assert len(code.findall(text)) == 2
    table = [line for line in text.splitlines() if line.startswith("|") and "alert" in line]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in table] == [4]
