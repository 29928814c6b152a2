"""What the adopter alone may ask of the API server: an object's values, and who else writes it. One try each."""

from functools import partial

from upsert.core import claims, live
from upsert.core.answers import Answer
from upsert.core.claims import Held
from upsert.core.live import ExternalSecret, LiveObject
from upsert.core.resources import external_secrets, named_by
from upsert.kube import calls
from upsert.kube.api import Api


class KubeReader:
    """One cluster, for one run of the adopter. Threads may share it."""

    _versions: tuple[str, ...] = ("v1", "v1beta1")
    may_see_external_secrets = True

    def __init__(self, api: Api) -> None:
        self._api = api

    def live(self, path: str) -> Answer[LiveObject]:
        """Return the answer to a GET of an object, which holds it if there is one."""
        return self._api.try_once(calls.get(path, {}, partial(live.parse_of, *named_by(path))))

    def held(self, path: str) -> Answer[Held]:
        """Return the answer to a GET of an object, which holds who claims what of it."""
        return self._api.try_once(calls.get(path, {}, partial(claims.parse_of, *named_by(path))))

    def external_secrets(self, namespace: str, name: str) -> tuple[ExternalSecret, ...]:
        """Return the ExternalSecrets that write the Secret, none if there are none or we may not see them.

        Reading them is a courtesy: the shipped ClusterRole does not ask for it. What the first question shows to be
        absent or forbidden is not asked for again.
        """
        for version in self._versions:
            path = external_secrets(version).path(namespace)
            answer = self._api.try_once(calls.get(path, {}, partial(live.parse_external_secrets, name)))
            if answer.value is not None:
                self._versions = (version,)
                return answer.value
            if answer.status != 404:
                self.may_see_external_secrets = False
                if answer.asks_for_less:
                    # The next object's turn may come when the server has more time.
                    return ()
                break
        self._versions = ()
        return ()
