"""The distribution of traces over the partitions of a stage."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from lockstep.pipeline.stage_batches import concurrent_batches
from lockstep.pipeline.task_traces import TraceLines, chunks, partitions
from lockstep.trace.json_lines import TraceError


def loads(sizes: dict[str, int], of: dict[str, int]) -> list[int]:
    """The number of lines of each partition."""
    found = [0] * (max(of.values()) + 1)
    for trace, number in of.items():
        found[number] += sizes[trace]
    return found


def test_a_trace_of_a_million_lines_has_a_partition_of_its_own_which_starts_first() -> None:
    sizes = {"huge": 1_000_000, **{f"short-{number}": 500 + number % 7 for number in range(3_000)}}
    assigned = partitions(sizes, 8)
    assert [trace for trace, number in assigned.items() if number == assigned["huge"]] == ["huge"]
    assert assigned["huge"] == 0
    assert assigned.keys() == sizes.keys()
    rest = loads(sizes, assigned)[1:]
    assert max(rest) - min(rest) <= max(size for trace, size in sizes.items() if trace != "huge")


def test_the_partitions_come_with_the_longest_first_and_none_is_empty() -> None:
    sizes = {f"trace-{number}": 100 * number + 1 for number in range(40)}
    found = loads(sizes, partitions(sizes, 8))
    assert found == sorted(found, reverse=True)
    assert len(found) == 8
    assert min(found) > 0
    assert loads({"a": 3, "b": 2}, partitions({"a": 3, "b": 2}, 8)) == [3, 2]


@pytest.mark.parametrize(
    ("seqs", "line", "problem"),
    [((0, 1, 3), 3, "lacks this line"), ((0, 1, 1, 2), 2, "twice"), ((1, 2), 1, "lacks this line")],
)
def test_a_gap_in_the_lines_of_a_trace_is_an_error_that_names_the_line(
    seqs: tuple[int, ...], line: int, problem: str
) -> None:
    lines = TraceLines("run-7", "run-7.ndjson", iter([(seq, b"{}\n", "run-7.ndjson") for seq in seqs]))
    with pytest.raises(TraceError, match=problem) as found:
        list(lines)
    assert (found.value.source, found.value.line) == ("run-7", line)


def test_chunks_have_every_item_once_in_order() -> None:
    assert list(chunks(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(chunks([], 3)) == []


@pytest.mark.parametrize(("cores", "batches"), [(1, 3), (4, 3), (900, 45)])
def test_a_cluster_has_as_many_batches_under_way_as_keep_its_cores_busy(cores: int, batches: int) -> None:
    spark = cast(SparkSession, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=cores)))
    assert concurrent_batches(spark) == batches
