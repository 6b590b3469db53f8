"""DLedger's own logs, imported as traces of spec/dledger/DLedger.tla that explain them."""

from lockstep.systems.dledger.log.importer import UnexplainedError, import_log

__all__ = ["UnexplainedError", "import_log"]
