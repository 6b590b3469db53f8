"""Verdicts on finished runs: the only place where TLC's output becomes a verdict.

The order of the rules matters. A run that ended in any other way than by itself is inconclusive before its
messages are looked at, and a run holds only by the last rule, which demands TLC's own success message and
exit status 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from lockstep.base.verdict import Verdict, no_state_reason, violation_reason
from lockstep.tlc.supervised_process import FinishedProcess, ProcessEnd, killed_by
from lockstep.tlc.tlc_messages import MessageCode, Severity, TlcMessage
from lockstep.tlc.tlc_output import OutputReader, cfg_properties, parse_state
from lockstep.tlc.tlc_result import (
    Cause,
    PropertyKind,
    SpecError,
    TlcCounterexample,
    TlcLocation,
    TlcResult,
    TlcStep,
    TlcViolation,
)
from lockstep.tlc.unicode_symbols import hint_at

_VIOLATION_EXITS = frozenset({10, 11, 12, 13, 14})
# 255 is how 2.15 ends when an evaluation fails inside a temporal formula or in a simulation.
_EVALUATION_EXITS = frozenset({75, 76, 77, 255})
_JVM_EXIT_ON_OUT_OF_MEMORY = 3
_CFG_CODES = frozenset({*range(2222, 2238), 2241, 2242, 2243, 2245, 2281, *range(5001, 5007)})
_UNSUPPORTED_CODES = frozenset({2156, 2213, 2214, 2238, 2239, 2240, 2244, 2249, 2253, 2279, 2284})
_SYSTEM_CODES = frozenset(
    {2100, 2101, 2124, 2125, 2126, 2127, 2128, 2129, 2130, 2131, 2133, 2134, 2135, 2137, 2138, 2147, 2159}
    | {*range(2160, 2164), 2166, 2167, 2174, 2175, 2270}
)
_EVALUATION_EXCEPTIONS = ("java.lang.RuntimeException", "tlc2.tool.EvalException", "TLCRuntimeException")
_FILE_TROUBLE = re.compile(r"^(?:: )?java\.n?io\.[\w.]+: ", re.MULTILINE)
_KINDS = {
    MessageCode.INVARIANT_INITIAL: (PropertyKind.INVARIANT, r"Invariant (\S+) is violated"),
    MessageCode.INVARIANT_BEHAVIOR: (PropertyKind.INVARIANT, r"Invariant (\S+) is violated"),
    MessageCode.INVARIANT_LEVEL: (PropertyKind.INVARIANT, r"invariant (\S+) is"),
    MessageCode.INVARIANT_EVALUATION: (PropertyKind.EVALUATION, r"Evaluating invariant (\S+) failed"),
    MessageCode.PROPERTY_INITIAL: (PropertyKind.INITIAL, r"Property (\S+) is violated"),
    MessageCode.ACTION_PROPERTY: (PropertyKind.ACTION, r"Action property (\S+) is violated"),
    MessageCode.ACTION_PROPERTY_EVALUATION: (PropertyKind.EVALUATION, r"Evaluating action property (\S+) failed"),
    MessageCode.DEADLOCK: (PropertyKind.DEADLOCK, None),
    MessageCode.TEMPORAL_PROPERTY: (PropertyKind.TEMPORAL, None),
    MessageCode.ASSUMPTION_FALSE: (PropertyKind.ASSUMPTION, None),
    MessageCode.INITIAL_STATE: (PropertyKind.EVALUATION, None),
    MessageCode.ASSUMPTION_EVALUATION: (PropertyKind.EVALUATION, None),
    MessageCode.INCOMPLETE_INITIAL: (PropertyKind.EVALUATION, None),
    MessageCode.INCOMPLETE_NEXT: (PropertyKind.EVALUATION, None),
    MessageCode.NO_NEXT_ACTION: (PropertyKind.EVALUATION, None),
    MessageCode.ASSERT_FAILED: (PropertyKind.ASSERTION, None),
    MessageCode.GENERAL: (PropertyKind.EVALUATION, None),
}


@dataclass(frozen=True, slots=True)
class TlcRequest:
    """The request to TLC, as far as it matters for judging the result."""

    spec: Path
    cfg: Path
    is_simulation: bool


def judge(request: TlcRequest, reader: OutputReader, ended: FinishedProcess) -> TlcResult:
    """Turn the output and the end of a run into its result.

    Arguments: `request`, what was asked; `reader`, which has read the whole output; `ended`, how the process
    ended.
    Returns the result without its wall time, version and command, which are the caller's.
    """
    partial = _with_facts(reader, ended)
    return (
        _judge_interruption(ended, partial)
        or _judge_memory(reader, ended, partial)
        or _judge_malformed(request, reader, ended, partial)
        or _judge_violation(request, reader, ended, partial)
        or _judge_end(request, reader, ended, partial)
    )


def _with_facts(reader: OutputReader, ended: FinishedProcess) -> TlcResult:
    """A result with all that was read and no verdict of its own yet (inconclusive, to be safe)."""
    progress = None if reader.simulation is not None else reader.progress
    return TlcResult(
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        counterexample=reader.counterexample(),
        distinct=None if progress is None else progress.distinct,
        generated=None if progress is None else progress.generated,
        queue=None if progress is None else progress.queue,
        depth=reader.depth,
        collision_probability=reader.collision_probability,
        tlc_version=reader.version,
        exit_status=ended.status,
        coverage=tuple(reader.coverage),
        simulation=reader.simulation,
        warnings=tuple(reader.warnings),
        user_output=tuple(reader.messages.user_lines),
        output_tail="\n".join([*reader.messages.tail, *ended.stderr_tail]),
    )


def _inconclusive(partial: TlcResult, cause: Cause, reason: str) -> TlcResult:
    return replace(partial, verdict=Verdict.INCONCLUSIVE, cause=cause, reason=reason)


def _judge_interruption(ended: FinishedProcess, partial: TlcResult) -> TlcResult | None:
    """A run that did not end by itself is inconclusive, whatever it had printed."""
    if ended.end is ProcessEnd.TIMED_OUT:
        return _inconclusive(partial, Cause.TIMED_OUT, f"the budget of {ended.spent} was spent before TLC finished")
    if ended.end is ProcessEnd.CANCELLED:
        return _inconclusive(partial, Cause.CANCELLED, "the run was cancelled before TLC finished")
    if (name := killed_by(ended.status)) is not None:
        return _inconclusive(partial, Cause.KILLED, f"the JVM was killed by {name}")
    return None


def _judge_memory(reader: OutputReader, ended: FinishedProcess, partial: TlcResult) -> TlcResult | None:
    """Memory and stack that ran out are limits of the run, not of the model."""
    texts = [message.text for message in reader.errors]
    codes = {code for message in reader.errors for code in message.codes()}
    loose = [*reader.messages.tail, *ended.stderr_tail] if ended.status == _JVM_EXIT_ON_OUT_OF_MEMORY else []
    died_of_memory = any("java.lang.OutOfMemoryError" in text for text in [*texts, *loose, *ended.stderr_tail])
    if died_of_memory or codes & {MessageCode.OUT_OF_MEMORY, MessageCode.OUT_OF_MEMORY_INIT}:
        return _inconclusive(partial, Cause.OUT_OF_MEMORY, "the JVM ran out of memory; give it a larger heap_mb")
    if any("StackOverflowError" in text for text in texts) or MessageCode.STACK_OVERFLOW in codes:
        return _inconclusive(
            partial,
            Cause.STACK_OVERFLOW,
            "the JVM's stack overflowed: a recursion is deep or endless",
        )
    return None


def _judge_malformed(
    request: TlcRequest, reader: OutputReader, ended: FinishedProcess, partial: TlcResult
) -> TlcResult | None:
    """A spec or cfg that TLC cannot use is an error of its author."""
    error: SpecError | None = None
    first = reader.errors[0] if reader.errors else None
    if ended.status == 0 or first is None:
        return None
    inner = set(first.codes())
    if MessageCode.PARSING_FAILED in inner:
        error = sany_error(list(reader.messages.sany_lines), request.spec)
    elif inner & _CFG_CODES:
        error = _cfg_error(first, request.cfg)
    elif inner & _UNSUPPORTED_CODES:
        location = TlcLocation.parse(first.text)
        line, column = (None, None) if location is None else (location.line, location.column)
        error = SpecError(str(request.spec), line, column, first.text, parsed=True)
    if error is None:
        return None
    return replace(partial, verdict=Verdict.MALFORMED, reason=str(error), error=error, counterexample=None)


def _cfg_error(message: TlcMessage, cfg: Path) -> SpecError:
    """An error of the cfg; the line is TLC's, or that of the name which it rejects."""
    text = message.nested[0].text if message.nested else message.text
    numbered = re.search(r"at line (\d+)", text)
    named = re.search(r"(?:\w+ (?=\w+ specified in the configuration file)|module name )(\w+)", text)
    line = int(numbered[1]) if numbered else None
    if line is None and named is not None:
        word = re.compile(rf"\b{re.escape(named[1])}\b")
        lines = cfg.read_text(encoding="utf-8", errors="replace").split("\n")
        line = next((number for number, content in enumerate(lines, 1) if word.search(content)), None)
    return SpecError(str(cfg), line, None, text)


_SANY_NOISE = re.compile(
    r"^(Parsing file |Semantic processing of module |Residual stack trace|Fatal errors while parsing"
    r"|tla2sany\.semantic\.AbortException|\*\*\* |Semantic errors:|\*\*\*Parse Error\*\*\*|Unknown location$"
    r"|Module definition starting at|In module )"
)
_SANY_POSITION = re.compile(r"(?:at |^)line (?P<line>\d+), col(?:umn)? (?P<column>\d+)", re.IGNORECASE | re.MULTILINE)


#: SANY's message on a character that begins no token.
_LEXICAL = re.compile(r'(?P<place>Lexical error at line \d+, column \d+)\.  Encountered: "\\u(?P<code>[0-9a-f]{4})".*')


#: SANY's message on a module that it does not find.
_NO_MODULE = re.compile(r"Cannot find source file for module (?P<name>\w+) imported in module \w+")

#: Where modules are that many specs extend and no TLC has.
_COMMUNITY = (
    {"BagsExt", "Bitwise", "CSV", "Combinatorics", "DifferentialEquations", "DyadicRationals", "FiniteSetsExt", "Folds"}
    | {"Functions", "GraphViz", "Graphs", "HTML", "IOUtils", "Json", "Quorum", "Relation", "SVG", "SequencesExt"}
    | {"ShiViz", "Statistics", "UndirectedGraphs", "VectorClocks"}
)
_PROOF_SYSTEM = {"TLAPS", "NaturalsInduction", "WellFoundedInduction", "FiniteSetTheorems", "SequenceTheorems"}
_ELSEWHERE = {
    **dict.fromkeys(
        _COMMUNITY, "it is one of tlaplus/CommunityModules; name the folder that has these modules with -I"
    ),
    **dict.fromkeys(_PROOF_SYSTEM, "it is of the library of the proof system, tlaplus/tlapm; name its folder with -I"),
}


def _with_home_of_module(found: re.Match[str]) -> str:
    where = _ELSEWHERE.get(found["name"])
    return found[0] if where is None else f"{found[0]}: {where}"


def _with_character(found: re.Match[str]) -> str:
    character = chr(int(found["code"], 16))
    what = f"{character} (U+{found['code'].upper()}) is no symbol of TLA+"
    return f"{found['place']}: {what}{hint_at(character)}"


def sany_error(lines: list[str], spec: Path) -> SpecError:
    """Read SANY's complaint: its own text, and the file and position it means.

    Arguments: `lines`, what SANY printed; `spec`, the file that is blamed when SANY names none.
    """
    files = [line.removeprefix("Parsing file ") for line in lines if line.startswith("Parsing file ")]
    message = "\n".join(line for line in lines if not _SANY_NOISE.match(line)) or "SANY rejected the module"
    message = _LEXICAL.sub(_with_character, message)
    message = _NO_MODULE.sub(_with_home_of_module, message)
    position = _SANY_POSITION.search(message)
    location = TlcLocation.parse(message)
    is_parse_error = "***Parse Error***" in lines or "Lexical error" in message
    file = files[-1] if is_parse_error and files else str(spec)
    if location is not None:
        file = next((name for name in files if Path(name).stem == location.module), file)
    if position is None:
        return SpecError(file, None, None, message)
    return SpecError(file, int(position["line"]), int(position["column"]), message)


def _judge_violation(
    request: TlcRequest, reader: OutputReader, ended: FinishedProcess, partial: TlcResult
) -> TlcResult | None:
    """TLC reported an error about the model and ended with a status that fits."""
    message = next((candidate for candidate in reader.errors if candidate.code in _KINDS), None)
    if message is None or message is not reader.errors[0]:
        return None
    violation = _violation(message, request, reader)
    fitting = _EVALUATION_EXITS | {14} if _is_evaluation(message) else _VIOLATION_EXITS
    if violation is None or ended.status not in fitting or MessageCode.FINISHED not in reader.codes:
        return None
    counterexample = partial.counterexample
    if message.code in (MessageCode.INVARIANT_INITIAL, MessageCode.PROPERTY_INITIAL, MessageCode.INITIAL_STATE):
        counterexample = _initial_state(message.text)
    if reader.unread_states:
        return _inconclusive(
            partial,
            Cause.TOOL_FAILED,
            f"TLC reports {violation.label} violated, but a state of its counterexample is not readable:"
            f" {reader.unread_states[0].partition(chr(10))[0]!r}",
        )
    return replace(
        partial,
        verdict=Verdict.VIOLATED,
        reason=_sentence(violation),
        violation=violation,
        counterexample=counterexample,
    )


def _is_evaluation(message: TlcMessage) -> bool:
    """Return whether this is one of the messages that TLC sends when it cannot evaluate an expression."""
    return _KINDS[MessageCode(message.code)][0] in (PropertyKind.EVALUATION, PropertyKind.ASSERTION)


def _violation(message: TlcMessage, request: TlcRequest, reader: OutputReader) -> TlcViolation | None:
    """Return what a message of TLC says is violated; None when TLC itself failed instead."""
    kind, pattern = _KINDS[MessageCode(message.code)]
    codes = set(message.codes())
    if codes & _SYSTEM_CODES:
        return None
    if MessageCode.ASSERT_FAILED in codes:
        kind = PropertyKind.ASSERTION
    elif _is_failure_of_tlc(message):
        return None
    found = re.search(pattern, message.text) if pattern is not None else None
    name = found[1] if found else None
    candidates: tuple[str, ...] = ()
    if kind is PropertyKind.TEMPORAL:
        candidates = cfg_properties(request.cfg)
        name = candidates[0] if len(candidates) == 1 else None
    return TlcViolation(kind, name, message.text, candidates, TlcLocation.parse(message.text), reader.positions)


def _is_failure_of_tlc(message: TlcMessage) -> bool:
    """Return whether an exception ended TLC that no evaluation of the spec throws."""
    if message.code == MessageCode.GENERAL and _FILE_TROUBLE.search(message.text):
        return True
    thrown = message.text.partition("The exception was a ")[2].partition("\n")[0]
    return bool(thrown) and not any(name in thrown for name in _EVALUATION_EXCEPTIONS)


def _sentence(violation: TlcViolation) -> str:
    """The violation in one line."""
    kind, message = violation.kind, ""
    if kind is PropertyKind.ASSUMPTION:
        message = violation.message.partition("\n")[0]
    elif kind in (PropertyKind.ASSERTION, PropertyKind.EVALUATION):
        message = _complaint(violation.message)
    elif kind in (PropertyKind.INITIAL, PropertyKind.ACTION) and (at := violation.location) is not None:
        return violation_reason(kind.value, violation.name or f"at {at.module}.tla:{at.line}:{at.column}")
    elif kind is not PropertyKind.DEADLOCK and violation.name is None:
        listed = ", ".join(violation.candidates)
        return f"one of the temporal properties {listed} is violated; TLC does not say which"
    return violation_reason(kind.value, violation.name, message)


#: TLC's words before the second argument of a false Assert.
_OF_ASSERT = "The first argument of Assert evaluated to FALSE; the second argument was: "


def _complaint(message: str) -> str:
    """Return TLC's objection, on one line, without the preamble that it puts before every exception."""
    complaint = message.partition("The exception was a ")[2].partition("\n")[2] or message
    complaint = " ".join(complaint.removeprefix(": ").split())
    return complaint.partition(_OF_ASSERT)[2].removeprefix('"').removesuffix('"') or complaint


def _initial_state(text: str) -> TlcCounterexample | None:
    """The one-state counterexample inside `Invariant I is violated by the initial state: ...`."""
    body = text.partition("initial state:\n")[2]
    variables = parse_state(body)
    return TlcCounterexample((TlcStep(1, None, None, variables, body),)) if variables else None


def _judge_end(request: TlcRequest, reader: OutputReader, ended: FinishedProcess, partial: TlcResult) -> TlcResult:
    """No violation and no error to report: success, if TLC says so itself, and else inconclusive."""
    if reader.errors:
        first = reader.errors[0]
        bug = "a bug of TLC" if first.severity == Severity.TLC_BUG else "a failure that says nothing of the model"
        line = " ".join(first.text.split())[:300]
        return _inconclusive(
            partial, Cause.TOOL_FAILED, f"{bug} (message {first.code}, exit status {ended.status}): {line}"
        )
    if ended.status != 0:
        last = next((line for line in reversed(ended.stderr_tail) if line.strip()), "")
        detail = f": {last.strip()}" if last else ""
        return _inconclusive(
            partial, Cause.UNKNOWN_EXIT, f"the JVM ended with status {ended.status} and no verdict{detail}"
        )
    if reader.messages.is_inside_message or MessageCode.FINISHED not in reader.codes:
        return _inconclusive(partial, Cause.NO_FINAL_VERDICT, "the output of TLC stops before its final verdict")
    if request.is_simulation:
        return _inconclusive(
            partial, Cause.SIMULATED, "the simulation ended and found no violation, which proves nothing"
        )
    if MessageCode.SUCCESS not in reader.codes:
        return _inconclusive(partial, Cause.NO_FINAL_VERDICT, "TLC ended without saying that no error was found")
    if not partial.distinct:
        return _inconclusive(partial, Cause.VACUOUS, no_state_reason(partial.generated or 0))
    return replace(
        partial,
        verdict=Verdict.HOLDS,
        reason=f"no error in {partial.distinct} distinct states, depth {partial.depth}",
    )
