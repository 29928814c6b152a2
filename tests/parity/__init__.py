"""What `kubectl create` makes of some input, and what we make of the same: byte for byte one, or both refuse.

`cases.py` and `pairs.py` make the input, `sides.py` brings it through both. `kubectl.json` is what kubectl made of the
first cases of each sort, so that most tests need no process; `python -m tests.parity` makes it anew.
"""
