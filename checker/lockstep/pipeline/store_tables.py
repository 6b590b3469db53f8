"""The columns of every table. The folder of a batch tells `run`, `variant` and `batch`, so no file has these."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

#: What STORE/_lockstep.json says; a store with other tables, or other columns, has another number.
STORE_FORMAT = "lockstep-store/2"

#: The keys of a batch, as its folder tells them.
KEYS = ("run", "variant", "batch")

#: Of what is no line of a trace so many bytes are kept.
DEAD_LETTER_BYTES = 4096

_VERDICTS = pa.schema(
    [
        ("trace", pa.string()),
        ("spec", pa.string()),
        ("verdict", pa.string()),
        ("judged", pa.string()),
        ("reason", pa.string()),
        ("events", pa.int64()),
        ("steps", pa.int64()),
        ("observed", pa.int64()),
        ("seconds", pa.float64()),
        ("findings", pa.string()),
        ("replay", pa.string()),
    ]
)

#: The tables by name. `lines` has a row a line, `seq` 0 the header; `dead_letters` a row for what is no line of a
#: trace; `verdicts` one a trace, `spec` the SHA-256 of the compiled spec, `judged` the verdict that counts: a simulated
#: cluster of a plan with flaws may violate properties; `states` one a state at which a long trace is cut, the one after
#: the line `seq`, packed by zlib; `counterexamples` one a
#: signature of violations, with the lines of a short trace that has it; `reached` one a thing that a trace reaches,
#: `plan` that of a simulated cluster, with its variant if that is not the plan's own.
TABLES: Mapping[str, pa.Schema] = MappingProxyType(
    {
        "lines": pa.schema(
            [
                ("trace", pa.string()),
                ("seq", pa.int64()),
                ("bytes", pa.binary()),
                ("source", pa.string()),
                ("line", pa.int64()),
            ]
        ),
        "dead_letters": pa.schema(
            [("source", pa.string()), ("line", pa.int64()), ("reason", pa.string()), ("bytes", pa.binary())]
        ),
        "verdicts": _VERDICTS,
        "states": pa.schema([("trace", pa.string()), ("seq", pa.int64()), ("state", pa.binary())]),
        "counterexamples": pa.schema(
            [
                ("signature", pa.string()),
                ("name", pa.string()),
                ("action", pa.string()),
                ("traces", pa.int64()),
                ("trace", pa.string()),
                ("line", pa.int64()),
                ("events", pa.int64()),
                ("is_minimal", pa.bool_()),
                ("reason", pa.string()),
                ("lines", pa.binary()),
                ("replay", pa.string()),
            ]
        ),
        "reached": pa.schema(
            [
                ("trace", pa.string()),
                ("plan", pa.string()),
                ("kind", pa.string()),
                ("name", pa.string()),
                ("times", pa.int64()),
            ]
        ),
    }
)

#: What ingesting reads out of files: rows of `lines`, and with a `reason` those of `dead_letters`.
READ = TABLES["lines"].append(pa.field("reason", pa.string()))

_WORDS = {"string": "string", "int64": "bigint", "double": "double", "binary": "binary", "bool": "boolean"}


def ddl(schema: pa.Schema) -> str:
    """Return the columns of a schema as Spark writes them: `name type, ...`."""
    return ", ".join(f"`{field.name}` {_WORDS[str(field.type)]}" for field in schema)
