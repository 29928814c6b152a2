"""Makes the table of what kubectl makes anew: `python -m tests.parity`."""

from tests.parity import table

table.write()
print(f"{table.PATH}: {len(table.read())} cases, {table.PATH.stat().st_size:,} bytes")
