"""SANY in a JVM that stays, for the hundreds of small modules that tests have parsed: a start of Java takes longer.

It is the class that lockstep runs, with the same arguments. With another Java or another jar, in a forked process, and
to say what is wrong with a module that is refused, a process of its own runs as without this one.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path
from py4j.protocol import Py4JJavaError, Py4JNetworkError, get_return_value

from lockstep.tla.syntax import sany
from lockstep.tlc import ToolMissing, find_java, find_tla2tools

_EXPORTER = "tla2sany.xml.XMLExporter"
_LIBRARY = "-DTLA-Library="

#: SANY in a process of its own, as everywhere but in tests.
SANY_OF_ITS_OWN = sany._run


@contextmanager
def ready_sany() -> Iterator[None]:
    """Let SANY parse within the block in one JVM, which begins with the first module."""
    ready = ReadySany()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sany, "_run", ready)
        try:
            yield
        finally:
            ready.end()


class ReadySany:
    """Runs SANY's command lines in a JVM that stays, or each in a process of its own where that cannot run it."""

    def __init__(self) -> None:
        self.parsed = 0
        """The number of modules that the JVM that stays has parsed."""
        self._owner, self._lock = os.getpid(), threading.Lock()
        self._jvm: _Jvm | None = None
        self._tools: tuple[str, str] | None = None
        with suppress(ToolMissing):
            self._tools = str(find_java().path), str(find_tla2tools())

    def __call__(self, command: list[str], source: Path, folder: Path, timeout: float) -> sany._SanyRun:
        done = self._ran(command, folder) if self._runs(command) else None
        return SANY_OF_ITS_OWN(command, source, folder, timeout) if done is None else done

    def _runs(self, command: Sequence[str]) -> bool:
        """Return whether a command line is that of SANY's exporter, with the Java and the jar that stay.

        In a process that was forked from this one the connection to the JVM is not its own.
        """
        if os.getpid() != self._owner or _EXPORTER not in command:
            return False
        return self._tools == (command[0], command[command.index("-cp") + 1])

    def _ran(self, command: Sequence[str], folder: Path) -> sany._SanyRun | None:
        """Export in the JVM that stays; None if that is gone."""
        assert self._tools is not None
        with self._lock, suppress(Py4JNetworkError):
            if self._jvm is None:
                self._jvm = _Jvm(*self._tools)
            done = self._jvm.exported(command, folder)
            self.parsed += 1
            return done
        return None

    def end(self) -> None:
        """End the JVM."""
        if self._jvm is not None:
            self._jvm.end()


class _Jvm:
    """A JVM with SANY that does what it is asked by py4j, which comes with Spark."""

    def __init__(self, java: str, tools: str) -> None:
        # SANY looks for modules in the working folder, too: nothing is there.
        self._empty = tempfile.TemporaryDirectory(prefix="ready-sany-")
        words = [java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dfile.encoding=UTF-8"]
        words += ["-cp", os.pathsep.join((tools, find_jar_path())), f"-Djava.io.tmpdir={self._empty.name}"]
        self._process = subprocess.Popen(
            [*words, "py4j.GatewayServer", "--die-on-broken-pipe", "0"],
            cwd=self._empty.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self._count_nodes_from_zero = self._resetting()
        self._zero: Any = self._gateway.jvm.java.util.ArrayList()
        self._zero.add(0)
        self._begin()

    def exported(self, command: Sequence[str], folder: Path) -> sany._SanyRun:
        """Export a module; an exception of SANY is the end of what it prints, as in a process of its own."""
        jvm: Any = self._gateway.jvm
        words = command[command.index(_EXPORTER) + 1 :]
        arguments = self._gateway.new_array(jvm.java.lang.String, len(words))
        for place, word in enumerate(words):
            arguments[place] = word
        (library,) = (word.removeprefix(_LIBRARY) for word in command if word.startswith(_LIBRARY))
        jvm.java.lang.System.setProperty("TLA-Library", library)
        xml, errors = folder / "ready.xml", jvm.java.io.ByteArrayOutputStream()
        out = jvm.java.io.PrintStream(str(xml), "UTF-8")
        jvm.java.lang.System.setOut(out)
        jvm.java.lang.System.setErr(jvm.java.io.PrintStream(errors))
        self._count_nodes_from_zero.invokeWithArguments(self._zero)
        status, thrown = 0, ""
        try:
            with pytest.MonkeyPatch.context() as patched:
                # Spark, once it has run in this process, has its own there, which asks its own JVM about an exception.
                patched.setattr("py4j.java_gateway.get_return_value", get_return_value)
                jvm.tla2sany.xml.XMLExporter.main(arguments)
        except Py4JJavaError as error:
            status, thrown = 1, f'Exception in thread "main" {error.java_exception.toString()}\n'
        finally:
            out.close()
        return sany._SanyRun(status, xml.read_bytes(), f"{errors.toString()}{thrown}")

    def _begin(self) -> None:
        """Parse a module: what SANY makes once in a JVM has numbers of its own, which later modules lack alike."""
        folder = Path(self._empty.name, "first")
        folder.mkdir()
        module = folder / "First.tla"
        module.write_text("---- MODULE First ----\nEXTENDS Integers\n====\n")
        self.exported((f"{_LIBRARY}{folder}", _EXPORTER, "-o", "-I", str(folder), str(module)), folder)

    def _resetting(self) -> Any:
        """Return a handle that sets the counter of SANY's nodes, which begins at 0 in a JVM of its own.

        It is composed in Java: py4j would make a Python number of the counter.
        """
        jvm: Any = self._gateway.jvm
        java = jvm.java.lang
        field = java.Class.forName("tla2sany.semantic.SemanticNode").getDeclaredField("uid")
        field.setAccessible(True)
        number, handles = java.Integer.TYPE, java.invoke.MethodHandles
        setter = handles.publicLookup().findVirtual(
            field.getType(), "set", java.invoke.MethodType.methodType(java.Void.TYPE, number)
        )
        return handles.collectArguments(setter, 0, handles.publicLookup().unreflectGetter(field))

    def end(self) -> None:
        """End the JVM."""
        self._gateway.close()
        self._process.kill()
        self._process.communicate()
        self._empty.cleanup()
