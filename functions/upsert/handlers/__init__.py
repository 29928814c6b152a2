"""Lambda entry points, one per function: load, wire, run, tell, raise."""
