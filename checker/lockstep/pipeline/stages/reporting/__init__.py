"""What a run is told as: the report as data, as Markdown, and as pictures."""
