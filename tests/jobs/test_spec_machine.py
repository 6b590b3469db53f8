"""SpecMachine: an implementation that Hypothesis drives, beside its spec."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import lockstep
from lockstep.base.verdict import Verdict
from lockstep.cli.command_line import cli
from lockstep.testing import AdapterError, OutOfStep, SpecMachine, UntestedError
from tests.support.places import ROOT
from tests.support.programs.inner_runs import prepare

pytest_plugins = ["pytester"]

EXAMPLE, PAGE = ROOT / "docs" / "own_logs", ROOT / "docs" / "own_implementation.md"
SPECS = ROOT / "tests" / "specs" / "machines"
MAX_STEPS_OF_THE_EXAMPLE = 8

#: No explanations, which take longer than all else; the same in every run.
QUICK = settings(
    max_examples=60,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)

LONGER = settings(QUICK, max_examples=300)


def hunt(machine: type[SpecMachine], how: settings = QUICK) -> None:
    """Run the test of a machine."""
    machine.TestCase.settings = how
    machine.TestCase("runTest").runTest()


def steps_of(failure: pytest.ExceptionInfo[OutOfStep]) -> list[str]:
    """The steps that a failure lists."""
    return re.findall(r"^  \d+ +(\w+(?:\([^)]*\))?)", str(failure.value), re.MULTILINE)


# ---- The example of the page ----

#: The profile of Hypothesis that the project of a test has; its database is in the folder.
CONFTEST = """
from hypothesis import Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

settings.register_profile(
    "project",
    database=DirectoryBasedExampleDatabase("kept"),
    derandomize=False,
    phases=(Phase.reuse, Phase.generate, Phase.shrink),
    print_blob=False,
)
settings.load_profile("project")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with the service, its spec and its machines."""
    prepare(monkeypatch)
    monkeypatch.delenv("CI", raising=False)
    for name in ("service.py", "test_service.py", "PrimaryBackup.tla", "PrimaryBackup.cfg"):
        shutil.copy(EXAMPLE / name, pytester.path)
    pytester.makeconftest(CONFTEST)
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    # In a process of its own: seed and profile are Hypothesis's global state.
    return project.runpytest_subprocess("-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider", *words)


def failure_in(ran: pytest.RunResult) -> str:
    """The message of a failed hunt, without the mark of pytest before each line."""
    lines = [re.sub(r"^E   ?", "", line) for line in ran.stdout.lines if line.startswith("E  ")]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:].rstrip() for line in lines)


def test_the_hasty_service_fails_with_the_shortest_run_and_the_other_one_passes(project: pytest.Pytester) -> None:
    ran = run(project, "--hypothesis-seed=3", "--hypothesis-show-statistics", "test_service.py")
    ran.assert_outcomes(passed=1, failed=1)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    message = failure_in(ran)
    assert message.startswith(shown)
    assert "state.put()" in message
    assert not re.search(r"^\S*checker/lockstep/testing\.py:\d+: ", ran.stdout.str(), re.MULTILINE)
    steps = re.findall(r"^  (\d+) ", shown, re.MULTILINE)
    assert 0 < len(steps) <= MAX_STEPS_OF_THE_EXAMPLE

    path = project.path / "hasty.trace.ndjson"
    verdict = lockstep.check(path, spec=project.path / "PrimaryBackup.tla")
    assert verdict.deviation is not None
    assert (verdict.events, verdict.steps, verdict.deviation.action) == (7, 3, "Commit")
    spec, page = project.path / "PrimaryBackup.tla", project.path / "hasty.html"
    viewed = CliRunner().invoke(cli, ["view", "--spec", str(spec), str(path), "-o", str(page)])
    assert "5 of 5 states" in viewed.stdout
    assert "Commit" in page.read_text(encoding="utf-8")
    ran.stdout.fnmatch_lines(["*%, took Commit"])


def test_a_failure_is_kept_and_tried_first_in_the_next_run(project: pytest.Pytester) -> None:
    name = "test_service.py::TestHastyService"
    first, second = (run(project, "--hypothesis-show-statistics", name) for _ in range(2))
    assert "during generate phase" in first.stdout.str()
    second.assert_outcomes(failed=1)
    second.stdout.fnmatch_lines(["*during reuse phase*"])
    assert "during generate phase" not in second.stdout.str()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_with_any_seed_the_run_of_the_hasty_service_is_short(project: pytest.Pytester, seed: int) -> None:
    ran = run(project, f"--hypothesis-seed={seed}", "test_service.py::TestHastyService")
    steps = re.findall(r"^  (\d+) ", failure_in(ran), re.MULTILINE)
    assert 0 < len(steps) <= MAX_STEPS_OF_THE_EXAMPLE


def test_the_page_shows_the_machines_as_they_are() -> None:
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert (EXAMPLE / "test_service.py").read_text(encoding="utf-8").endswith(f'"""\n\n{shown[0]}')


# ---- A second example, written from the page ----


class Kind(StrEnum):
    NOTHING = "nothing"


class RingBuffer:
    """A buffer in a ring of slots; `mistake` names what is wrong with it."""

    def __init__(self, mistake: str = "") -> None:
        self.slots: list[str | None] = [None, None, None]
        self.first = self.count = 0
        self.mistake = mistake

    def put(self, item: str) -> bool:
        size = len(self.slots) - (1 if self.mistake == "full too early" else 0)
        full = self.count > size if self.mistake == "one too many" else self.count >= size
        if full:
            return False
        at = self.first + self.count
        self.slots[at % len(self.slots)] = item
        self.count += 1
        return True

    def take(self) -> str | None:
        item = self.slots[self.first]
        step = 2 if self.mistake == "jumps at the end" and self.first == 2 else 1
        self.first = (self.first + step) % len(self.slots)
        self.count -= 1
        return item

    def clear(self) -> None:
        self.count = 0


class BufferMachine(SpecMachine):
    spec = SPECS / "BoundedBuffer.tla"
    mistake = ""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = RingBuffer(self.mistake)

    def shows(self) -> Mapping[str, Any]:
        buffer = self.buffer
        return {"next": buffer.slots[buffer.first] if buffer.count else Kind.NOTHING, "size": buffer.count}

    @rule(item=st.sampled_from(["x", "y"]))
    def put(self, item: str) -> None:
        if self.buffer.put(item):
            self.took("Put", x=item)
        else:
            self.refused("Put", x=item)

    @rule()
    def take(self) -> None:
        if self.buffer.count:
            self.buffer.take()
            self.took("Take")

    @rule()
    def clear(self) -> None:
        if self.buffer.count:
            self.buffer.clear()
            self.took("Clear")


def with_mistake(what: str, **attributes: Any) -> type[BufferMachine]:
    return type("Mistaken", (BufferMachine,), {"mistake": what, **attributes})


def test_a_right_buffer_stays_in_step() -> None:
    hunt(BufferMachine)
    assert BufferMachine._taken_actions["Clear"] > 2
    assert BufferMachine._compared_count > 500


def test_a_buffer_that_takes_one_item_too_many_does_a_step_that_is_not_allowed() -> None:
    with pytest.raises(OutOfStep, match="is not a step that BoundedBuffer allows here") as failure:
        hunt(with_mistake("one too many"))
    assert steps_of(failure) == ['Put(x = "x")'] * 4
    assert "BoundedBuffer.tla:12:11: Len(items) < Size" in str(failure.value)
    assert "allows Take, Clear\n" in str(failure.value)


def test_a_buffer_that_jumps_over_a_slot_shows_another_item_than_the_spec_and_so_does_its_trace(tmp_path: Path) -> None:
    trace = tmp_path / "jumps.trace.ndjson"
    with pytest.raises(OutOfStep, match="the implementation shows something else than BoundedBuffer") as failure:
        hunt(with_mistake("jumps at the end", trace=trace), LONGER)
    steps = steps_of(failure)
    assert len(steps) <= MAX_STEPS_OF_THE_EXAMPLE
    assert re.search(r"next: the implementation shows \S+, the spec says \S+", str(failure.value))
    verdict = lockstep.check(trace, spec=BufferMachine.spec)
    assert verdict.deviation is not None
    assert (verdict.deviation.code, verdict.steps) == ("LS202", len(steps) - 1)  # the last one is refuted


def test_a_buffer_that_is_full_too_early_refuses_a_step_that_the_spec_allows() -> None:
    with pytest.raises(OutOfStep, match=r"allows Put.* here, and the implementation refuses it") as failure:
        hunt(with_mistake("full too early"))
    assert steps_of(failure) == ['Put(x = "x")'] * 2


def test_an_invariant_that_fails_is_named_with_its_values(tmp_path: Path) -> None:
    trace = tmp_path / "few.trace.ndjson"
    with pytest.raises(OutOfStep, match=r"FewTaken is violated by Take") as failure:
        hunt(with_mistake("", cfg=SPECS / "BoundedBufferFewTaken.cfg", trace=trace))
    assert steps_of(failure) in (['Put(x = "x")', "Take"] * 2, ['Put(x = "x")'] * 2 + ["Take"] * 2)
    assert "left:  2" in str(failure.value)
    verdict = lockstep.check(trace, spec=BufferMachine.spec, cfg=SPECS / "BoundedBufferFewTaken.cfg")
    assert (verdict.verdict, list(verdict.violations)) == (Verdict.VIOLATED, ["FewTaken"])


# ---- A hunt that says nothing ----


def test_a_hunt_that_never_takes_an_action_fails_and_names_it() -> None:
    class NeverCleared(BufferMachine):
        @rule()
        def clear(self) -> None:
            """Nothing."""

    with pytest.raises(UntestedError, match="no example took Clear of BoundedBuffer"):
        hunt(NeverCleared)
    NeverCleared.untested = ("Clear",)
    hunt(NeverCleared)
    NeverCleared.untested = ("Clean",)
    with pytest.raises(AdapterError, match="BoundedBuffer has no action Clean"):
        hunt(NeverCleared)


def test_a_hunt_in_which_nothing_is_shown_fails() -> None:
    class Silent(BufferMachine):
        def shows(self) -> Mapping[str, Any]:
            return {}

    with pytest.raises(UntestedError, match=r"shows\(\) of Silent showed nothing to compare"):
        hunt(Silent)


# ---- The settings are Hypothesis's ----


def test_a_machine_is_one_of_hypothesis_and_runs_as_one() -> None:
    assert issubclass(SpecMachine, RuleBasedStateMachine)
    with pytest.raises(OutOfStep):
        run_state_machine_as_test(with_mistake("one too many"), settings=QUICK)
    few = settings(QUICK, max_examples=3)(with_mistake("one too many"))
    assert few.TestCase.settings.max_examples == 3
    assert BufferMachine.TestCase is BufferMachine.TestCase
    assert BufferMachine.TestCase is not with_mistake("").TestCase


# ---- Mistakes of the adapter ----


@dataclass
class Shown:
    next: str
    size: int


class Idle(SpecMachine):
    @rule()
    def wait(self) -> None:
        """Nothing happens."""


class Adapter(Idle):
    spec = SPECS / "BoundedBuffer.tla"

    def shows(self) -> Mapping[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("action", "args", "problem"),
    [
        ("Pot", {"x": "x"}, "field `action`: the spec has no action 'Pot': did you mean Put"),
        ("Put", {}, "field `args.x`: Put needs it"),
        ("Put", {"x": "x", "y": 1}, "field `args.y`: Put has none such"),
        ("Put", {"x": 1}, r"BoundedBuffer: Put\(x\): "),
        ("Put", {"x": None}, r"Put\(x\): None stands for no value of TLA\+; name the constant"),
        ("Put", {"x": 1.5}, r"Put\(x\): 1.5 stands for no value of TLA\+$"),
    ],
)
def test_a_step_that_the_spec_does_not_know_is_an_error_that_names_it(
    action: str, args: dict[str, Any], problem: str
) -> None:
    with pytest.raises(AdapterError, match=problem):
        Adapter().took(action, **args)


@pytest.mark.parametrize(
    ("shown", "problem"),
    [({"length": 0}, "field `shows.length`: the spec shows no such field"), ({"size": "0"}, "field `shows.size`: ")],
)
def test_a_field_that_the_spec_does_not_show_is_an_error_that_names_it(
    shown: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adapter, "shows", lambda self: shown)
    with pytest.raises(AdapterError, match=problem):
        Adapter().shows_what_the_spec_says()


def test_none_stands_for_the_constant_that_the_machine_names() -> None:
    class Lock(Idle):
        spec = ROOT / "docs" / "lock_service" / "LockService.tla"
        null = "NoClient"
        owner: str | None = None

        def shows(self) -> Mapping[str, Any]:
            return {"owner": self.owner, "waiting": ()}

    machine = Lock()
    machine.shows_what_the_spec_says()
    machine.took("Lock", c="a")
    with pytest.raises(OutOfStep, match="owner: the implementation shows NoClient, the spec says a"):
        machine.shows_what_the_spec_says()
    machine.owner = "a"
    machine.shows_what_the_spec_says()


def test_a_node_that_shows_no_change_where_there_is_one_is_in_the_trace(tmp_path: Path) -> None:
    class Stuck(Idle):
        spec = EXAMPLE / "PrimaryBackup.tla"
        trace = tmp_path / "stuck.trace.ndjson"

        def shows(self) -> Mapping[str, Any]:
            return {"b1": {"entries": 0}, "p": {"entries": 0}}

    machine = Stuck()
    machine.shows_what_the_spec_says()
    machine.took("Put")
    with pytest.raises(OutOfStep, match=r"p\.entries: the implementation shows 0, the spec says 1"):
        machine.shows_what_the_spec_says()
    verdict = lockstep.check(Stuck.trace, spec=Stuck.spec)
    assert verdict.deviation is not None
    assert (verdict.deviation.node, verdict.deviation.name) == ("p", "entries")


def test_a_node_that_shows_nothing_as_after_a_crash_leaves_finding_and_trace_whole(tmp_path: Path) -> None:
    class Crashed(Idle):
        spec = EXAMPLE / "PrimaryBackup.tla"
        trace = tmp_path / "crashed.trace.ndjson"
        shown: Mapping[str, Any] = {"b1": {"entries": 0}, "p": {"entries": 0}}

        def shows(self) -> Mapping[str, Any]:
            return self.shown

    machine = Crashed()
    machine.shows_what_the_spec_says()
    machine.took("Put")
    machine.took("Store", b="b1")
    machine.shown = {"p": {"entries": 1}}
    machine.shows_what_the_spec_says()
    machine.shown = {"b1": {"entries": 0}, "p": {"entries": 1}}
    with pytest.raises(OutOfStep, match=r"b1\.entries: the implementation shows 0, the spec says 1"):
        machine.shows_what_the_spec_says()
    verdict = lockstep.check(Crashed.trace, spec=Crashed.spec)
    assert verdict.deviation is not None
    assert (verdict.steps, verdict.deviation.node, verdict.deviation.name) == (2, "b1", "entries")


def test_the_command_that_checks_a_trace_names_the_cfg_and_the_library_of_the_machine(tmp_path: Path) -> None:
    for name in ("BoundedBuffer.tla", "BoundedBufferFewTaken.cfg"):
        shutil.copy(SPECS / name, tmp_path)
    library = tmp_path / "modules"
    library.mkdir()
    (library / "Buffers.tla").write_text("---- MODULE Buffers ----\nEXTENDS Naturals, Sequences\n====\n")
    module = tmp_path / "BoundedBuffer.tla"
    module.write_text(module.read_text(encoding="utf-8").replace("EXTENDS Naturals, Sequences", "EXTENDS Buffers"))
    machine = with_mistake(
        "", spec=module, cfg=tmp_path / "BoundedBufferFewTaken.cfg", library=[library], trace=tmp_path / "few.ndjson"
    )
    with pytest.raises(OutOfStep, match=r"FewTaken is violated by Take") as failure:
        hunt(machine)
    (command,) = re.findall(r"^trace: lockstep (check .*)$", str(failure.value), re.MULTILINE)
    checked = CliRunner().invoke(cli, shlex.split(command))
    assert "violated: a behaviour of the spec that violates FewTaken" in checked.output


def test_a_dataclass_is_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adapter, "shows", lambda self: Shown("nothing", 1))
    with pytest.raises(OutOfStep, match="size: the implementation shows 1, the spec says 0"):
        Adapter().shows_what_the_spec_says()


def test_the_steps_that_the_spec_allows_can_be_drawn_from() -> None:
    machine = Adapter()
    machine.took("Put", x="y")
    assert machine.allowed("Take", "Put") == [("Put", {"x": "x"}), ("Put", {"x": "y"}), ("Take", {})]
    assert ("Clear", {}) in machine.allowed()


def test_without_hypothesis_a_machine_says_what_to_install() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import lockstep.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "MissingExtraError: this needs the Python package hypothesis, which is missing; pip install" in done.stderr
    assert "lockstep-raft[hunt]" in done.stderr


def test_a_machine_without_a_spec_or_shows_says_what_it_needs() -> None:
    class Nothing(Idle):
        pass

    with pytest.raises(AdapterError, match="Nothing names no `spec`"):
        Nothing()
    Nothing.spec = "nowhere.tla"
    with pytest.raises(AdapterError, match=f"Nothing: there is no file {Path(__file__).parent / 'nowhere.tla'}"):
        Nothing()
    Nothing.spec = Adapter.spec
    with pytest.raises(NotImplementedError, match=r"Nothing needs a method shows\(\)"):
        Nothing().shows_what_the_spec_says()
