"""The hash in the name of a batch of verdicts covers all that decides a verdict besides the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from lockstep.base.errors import EnvironmentFailedError
from lockstep.jobs.spark.shipped_specs import SpecShipper
from lockstep.models.search_result import SpecFiles
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.spec_choice import OwnSpec
from lockstep.pipeline.stage_batches import BatchCounts, StageFailed, StageProgress
from lockstep.pipeline.trace_store import Batch
from lockstep.systems.dledger.plans import fault_plan
from lockstep.tlc.supervised_process import ToolDied
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import trace_lines
from tests.support.systems.simulated_traces import header


def own_spec(tmp_path: Path) -> OwnSpec:
    """A spec that extends a module of the folder above, and one of a folder that is named."""
    for folder in ("my", "one", "two"):
        (tmp_path / folder).mkdir()
    (tmp_path / "my" / "My.tla").write_text("---- MODULE My ----\nEXTENDS Above, Named\n====\n")
    (tmp_path / "my" / "My.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "Above.tla").write_text("---- MODULE Above ----\nLimit == 1\n====\n")
    for folder in ("one", "two"):
        (tmp_path / folder / "Named.tla").write_text(f'---- MODULE Named ----\nWhich == "{folder}"\n====\n')
    library = (tmp_path / "one", tmp_path / "two")
    return OwnSpec(SpecFiles(tmp_path / "my" / "My.tla", tmp_path / "my" / "My.cfg", library=library))


def changed_above(spec: OwnSpec) -> OwnSpec:
    (spec.files.module.parents[1] / "Above.tla").write_text("---- MODULE Above ----\nLimit == 2\n====\n")
    return spec


def in_another_order(spec: OwnSpec) -> OwnSpec:
    return OwnSpec(replace(spec.files, library=spec.files.library[::-1]))


def changed_cfg(spec: OwnSpec) -> OwnSpec:
    spec.files.cfg.write_text("INIT Init\nNEXT Next\nINVARIANT Limit\n")
    return spec


@pytest.mark.parametrize("change", [changed_above, in_another_order, changed_cfg])
def test_whatever_changes_the_spec_changes_its_hash(tmp_path: Path, change: Callable[[OwnSpec], OwnSpec]) -> None:
    spec = own_spec(tmp_path)
    before = spec.hash()
    assert spec.hash() == before
    assert change(spec).hash() != before


def test_a_module_that_the_spec_does_not_mention_does_not_change_its_hash(tmp_path: Path) -> None:
    spec = own_spec(tmp_path)
    before = spec.hash()
    (tmp_path / "my" / "Other.tla").write_bytes(b"\xff is no text")
    assert spec.hash() == before


@pytest.mark.parametrize(
    "error", [ToolDied("SANY was killed"), OSError(28, "No space left on device"), EnvironmentFailedError("no memory")]
)
def test_a_machine_that_fails_while_a_spec_is_compiled_is_no_verdict_and_ends_the_stage_with_its_batch(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a verdict it would stay: a batch that is there is not checked again."""

    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("lockstep.jobs.spark.shipped_specs.trace_spec", failing)
    line = next(iter(trace_lines(header(fault_plan("ordered", 1)), ())))
    shipper, others = SpecShipper(cast(SparkSession, None), {}), []

    def work(batch: Batch) -> BatchCounts:
        if batch.name == "bad":
            shipper.ship([("t", line)])
        others.append(batch.name)
        return BatchCounts(1, 1)

    batches = [Batch(DECLARED, name) for name in ("bad", "good")]
    with pytest.raises(StageFailed, match=rf"check: batch bad: .*{error.args[-1]}; what is finished is kept, and the"):
        StageProgress("check", 2).run(batches, work)
    assert others == ["good"]


def test_a_header_that_the_spec_excludes_is_the_verdict_of_its_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object, **__: object) -> None:
        raise TraceError("t", 1, "field `constants`: excluded")

    monkeypatch.setattr("lockstep.jobs.spark.shipped_specs.trace_spec", refusing)
    line = next(iter(trace_lines(header(fault_plan("ordered", 1)), ())))
    (error,) = SpecShipper(cast(SparkSession, None), {}).ship([("t", line)]).failed.values()
    assert isinstance(error, TraceError)
