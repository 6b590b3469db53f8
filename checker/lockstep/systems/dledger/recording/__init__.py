"""Recordings of the real DLedger (Java), imported as traces of spec/dledger/DLedger.tla."""

from lockstep.systems.dledger.recording.importer import import_lines, import_recording

__all__ = ["import_lines", "import_recording"]
