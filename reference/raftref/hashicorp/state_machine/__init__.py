"""The FSM of a server, what is handed to it, and its snapshots."""
