"""Recordings of the real hashicorp/raft, imported as traces."""

from lockstep.systems.hashicorp.recording.importer import import_lines, import_recording

__all__ = ["import_lines", "import_recording"]
