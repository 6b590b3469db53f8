"""Verdicts for GitHub Actions: annotations and a summary."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from lockstep.conformance.trace_verdict import malformed
from lockstep.report.github_actions import commands, summary, without_commands
from tests.support.programs.ci_traces import HOSTILE, hostile_verdict, write_traces
from tests.support.programs.lockstep_command import lockstep


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_traces(tmp_path_factory.mktemp("ci"))


def runner(output: str) -> list[tuple[str, dict[str, str], str]]:
    """Read the commands of an output as GitHub's runner does: name, properties, message.

    ActionCommand.TryParseV2 takes a line that begins with `::`, blanks before it or not; TryParse one that has `##[`
    anywhere. After stop-commands nothing is one but the token (ActionCommandManager.TryProcessCommand).
    """
    found, token = [], None
    for line in re.split(r"\r\n|\r|\n", output):
        found_commands = re.fullmatch(r"\s*::(\S*?)(?: (.*?))?::(.*)", line)
        if token is not None:
            token = None if found_commands and found_commands[1] == token else token
            continue
        assert "##[" not in line.partition("::")[0], line
        if found_commands and found_commands[1] == "stop-commands":
            token = found_commands[3]
        elif found_commands:
            pairs = [pair.partition("=")[::2] for pair in (found_commands[2] or "").split(",") if pair]
            properties = {name: unescaped(value) for name, value in pairs}
            found.append((found_commands[1], properties, unescaped(found_commands[3])))
    assert token is None
    return found


def unescaped(text: str) -> str:
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def test_a_finding_is_an_annotation_at_its_line_and_what_is_printed_besides_is_none(folder: Path) -> None:
    target = folder / "summary.md"
    target.write_text("before\n")
    words = ("wrong trace.ndjson", "good.ndjson", "empty.ndjson", "cut.ndjson")
    done = lockstep(
        *("check", "--spec", "specs/LockService.tla", "--format", "github", *words),
        cwd=folder,
        GITHUB_STEP_SUMMARY=str(target),
    )
    assert (done.returncode, done.stderr) == (2, "")
    assert "good.ndjson: holds" in done.stdout
    found_commands = runner(done.stdout)
    assert [(name, each["file"], each["line"]) for name, each, _ in found_commands] == [
        ("error", "wrong trace.ndjson", "3"),
        ("error", "empty.ndjson", "1"),
        ("error", "cut.ndjson", "3"),
    ]
    assert "token: the trace shows 5, the spec says 1" in found_commands[0][2]
    assert found_commands[0][1]["title"].startswith("LS202 after Unlock")
    text = target.read_text()
    assert text.startswith("before\n### lockstep check\n")
    assert [line.split(" | ")[1] for line in text.splitlines() if line.startswith("| <code>")] == [
        "violated",
        "holds",
        "inconclusive",
        "malformed",
    ]


def test_hostile_text_is_no_command_of_its_own() -> None:
    verdicts = [hostile_verdict(), malformed(HOSTILE, HOSTILE)]
    output = "\n".join([without_commands(HOSTILE), *commands(verdicts)])
    found_commands = runner(output)
    assert [(name, sorted(each)) for name, each, _ in found_commands] == [("error", ["file", "line", "title"])] * 2
    assert len(output.splitlines()) - len(HOSTILE.splitlines()) == 4
    assert "##[error]hacked" in found_commands[0][2]
    assert "\x1b" not in "".join(commands(verdicts))


def test_hostile_text_is_no_markup_of_a_summary() -> None:
    text = summary([hostile_verdict(), malformed(HOSTILE, HOSTILE)])
    lines = text.splitlines()
    assert len([line for line in lines if line.startswith("| ")]) == 4
    assert {len(re.split(r"(?<!\\)\|", line)) for line in lines if line.startswith("| ")} == {7}
    assert re.findall(r"<[^>]*>", re.sub(r"</?(pre|code)>", "", text)) == []
    assert not re.search(r"[`@\[]", text.replace("### lockstep check", ""))
    assert "<script>x</script>" in html.unescape(text)
    assert "\n\n&#10;" not in text
    blocks = re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)
    assert len(blocks) == 2
    assert not any("\n" in block for block in blocks)
