"""Grading of a course's lab: the lines that a student's program prints, checked against the spec of the lab."""
