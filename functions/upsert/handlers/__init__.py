"""Lambda entry points, one per function: parse, wire, call, emit, raise."""
