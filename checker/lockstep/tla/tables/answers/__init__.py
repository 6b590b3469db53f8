"""What is asked of states by tables: the trees of answers, and what evaluates where they have none."""
