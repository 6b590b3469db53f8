"""DLedger's own logs, imported as traces of spec/dledger/DLedger.tla that explain them."""

from lockstep.systems.dledger.log.explanation import UnexplainedError
from lockstep.systems.dledger.log.importer import import_log

__all__ = ["UnexplainedError", "import_log"]
