"""Playing without a server: a folder of pages in which Python, by Pyodide, answers as `lockstep play` does."""
