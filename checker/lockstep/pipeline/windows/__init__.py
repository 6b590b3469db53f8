"""One long trace cut into parts, which are checked at the same time: together they say what one check says."""
