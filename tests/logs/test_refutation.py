"""The reason for a refutation is that of the nearest state: the one in which the fewest elements fail."""

from __future__ import annotations

from pathlib import Path

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from tests.support.logs.backup_service import EXAMPLE

MAPPING = """kind = "event"
[hidden]
Acknowledge = 2
[lines.put]
action = "Put"
[lines.stored]
action = "Store"
args = { b = "b" }
[lines.committed]
action = "Commit"
args = { n = "upto" }
"""


def test_the_backup_that_cannot_have_acknowledged_is_named_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(MAPPING)
    spec = EXAMPLE / "PrimaryBackup.tla"
    judge = own_check(SpecFiles(spec, mapping=tmp_path / "mapping.toml"))
    for stored, lacking in (("b1", "b2"), ("b2", "b1")):
        log = tmp_path / "a.log"
        lines = ['{"event": "put"}', f'{{"event": "stored", "b": "{stored}"}}', '{"event": "committed", "upto": 1}']
        log.write_text("".join(f"{line}\n" for line in lines))
        found = judge.check_logs([log])
        assert found.verdict is Verdict.VIOLATED
        said = [detail.strip() for detail in found.findings[0].details]
        assert f"with b = {lacking}" in said
        assert f"state acked = (b1 :> {int(stored == 'b1')} @@ b2 :> {int(stored == 'b2')})" in said
