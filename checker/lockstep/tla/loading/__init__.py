"""From the files of a specification to the specification: parsed by SANY, compiled, and kept in a cache."""
