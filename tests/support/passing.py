"""Passes requests on as they come, and notes them: what a service was asked is then known call by call."""

import http.client
from urllib.parse import urlsplit

from tests.support.standin import Reply, Request, Standin


class Passing(Standin):
    """Serves what `upstream` answers on a free loopback port while the `with` block lasts."""

    def __init__(self, upstream: str) -> None:
        super().__init__(self._pass)
        self._upstream = urlsplit(upstream).netloc

    def _pass(self, request: Request) -> Reply:
        """Return the upstream's answer. The headers go on untouched, `Host` too: the signature covers them."""
        connection = http.client.HTTPConnection(self._upstream, timeout=30)
        try:
            connection.request(request.method, request.path, request.body, dict(request.headers))
            response = connection.getresponse()
            return Reply(response.status, response.read(), {"Content-Type": response.headers["Content-Type"]})
        finally:
            connection.close()
