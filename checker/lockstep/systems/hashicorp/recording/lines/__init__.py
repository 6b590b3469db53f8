"""The lines of a recording: their kinds and fields."""
