"""What a watch reads: the files of a folder, how far each was read, and what comes next."""
