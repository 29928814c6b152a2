"""Makes the table of verdicts anew: `python -m tests.kubelet`."""

from tests.kubelet import table
from tests.kubelet.configs import cases

rows = table.make(cases())
table.write(rows)
unreadable = sum(verdict.error is not None for _, verdict in rows)
print(f"{table.PATH}: {len(rows)} configs, {unreadable} of them unreadable, {table.PATH.stat().st_size:,} bytes")
