"""What Lambda tells a handler. It imports next to nothing, since the benchmark measures what the function imports."""

import time


class Context:
    """An invocation: its id, and the time until it is stopped, the five minutes of the template unless told."""

    def __init__(self, seconds: float = 300.0, *, aws_request_id: str = "5a0c4a3e-0000-4000-8000-000000000001") -> None:
        self.aws_request_id = aws_request_id
        self._ends = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Return the time that is left."""
        return int((self._ends - time.monotonic()) * 1000)
