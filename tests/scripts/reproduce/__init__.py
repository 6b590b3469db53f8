"""Flaws on the released code: real processes, links that hold and drop frames by script, and what a client loses."""
