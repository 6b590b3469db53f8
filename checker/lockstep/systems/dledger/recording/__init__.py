"""Recordings of the real DLedger (Java), imported as traces of spec/dledger/DLedger.tla."""

from lockstep.systems.dledger.recording.importer import Imported, Summary, import_lines, import_recording

__all__ = ["Imported", "Summary", "import_lines", "import_recording"]
