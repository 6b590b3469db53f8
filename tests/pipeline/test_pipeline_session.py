"""The errors that a session of Spark raises where its block fails, and where it may run; without Spark."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NoReturn

import click
import pytest
from py4j.protocol import Py4JError

import lockstep.jobs.spark.spark_session
import lockstep.pipeline.pipeline_session as pipeline
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.cli.fleet_command import command as fleet
from lockstep.cli.verify_command import command as verify
from lockstep.jobs.spark.spark_session import SparkStartError, spark_session
from lockstep.pipeline.trace_store import checked_name


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def none(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(version="none")

    monkeypatch.setattr(pipeline, "spark_session", none)


@pytest.mark.usefixtures("no_spark")
def test_a_full_disk_and_a_death_of_spark_leave_what_is_finished_and_a_missing_file_is_an_error() -> None:
    ends = {
        "No space left on device; what is finished is kept": OSError(errno.ENOSPC, "No space left on device"),
        "Spark did not finish: gone": Py4JError("gone"),
    }
    for message, end in ends.items():
        with pytest.raises(GaveUpError, match=message), pipeline.pipeline_session("local[1]"):
            raise end
    with pytest.raises(FileNotFoundError), pipeline.pipeline_session("local[1]"):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")


@pytest.mark.parametrize(("master", "partitions"), [("local[2]", "4"), ("spark://there:7077", None)])
def test_a_shuffle_on_one_machine_has_four_partitions(
    monkeypatch: pytest.MonkeyPatch, master: str, partitions: str | None
) -> None:
    def started(_master: str, _app: str, settings: dict[str, str], **_named: object) -> NoReturn:
        assert settings.get("spark.sql.shuffle.partitions") == partitions
        raise SparkStartError("it is only asked with which settings")

    monkeypatch.setattr(lockstep.jobs.spark.spark_session, "_start", started)
    with pytest.raises(SparkStartError, match="only asked"), spark_session(master):
        pass


@pytest.mark.parametrize(("cores", "given", "partitions"), [(2, None, "4"), (900, None, "1800"), (900, "7", None)])
def test_a_shuffle_on_a_cluster_has_partitions_for_its_cores_unless_they_are_given(
    monkeypatch: pytest.MonkeyPatch, cores: int, given: str | None, partitions: str | None
) -> None:
    conf: dict[str, str] = {}

    @contextmanager
    def cluster(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        context = SimpleNamespace(defaultParallelism=cores)
        yield SimpleNamespace(version="none", sparkContext=context, conf=SimpleNamespace(set=conf.__setitem__))

    monkeypatch.setattr(pipeline, "spark_session", cluster)
    monkeypatch.setattr(pipeline, "refuse_unfit", lambda _: None)
    settings = {} if given is None else {"spark.sql.shuffle.partitions": given}
    with pipeline.pipeline_session("spark://there:7077", settings):
        assert conf.get("spark.sql.shuffle.partitions") == partitions


@pytest.mark.parametrize("command", [fleet, verify], ids=["fleet", "verify"])
def test_a_command_with_traces_on_this_machine_refuses_a_cluster(command: click.Command) -> None:
    with pytest.raises(click.BadParameter, match=r"on a cluster `lockstep pipeline run` simulates"):
        command.main(["--master", "spark://there:7077"], standalone_mode=False)


@pytest.mark.parametrize("name", ["", "x\n", "-x", "a/b"])
def test_a_run_has_the_name_of_a_folder(name: str) -> None:
    with pytest.raises(BadInputError, match="is no name of a run"):
        checked_name(name, "run")
