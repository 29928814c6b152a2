"""The deployed adopt function, beside the refresh function, in the joined world."""

import json
from typing import Any

from tests.support.world import CLUSTER, World

GROUP = "eks-upsert-adopter"


class DeployedAdopter:
    """The adopt function of a world whose stack was deployed with CreateAdopter=true; maps its role to its group.

    On AWS the stack does that with an access entry, a resource that the emulator knows only through its API.
    """

    def __init__(self, world: World) -> None:
        self._lambda = world.aws.client("lambda")
        self.function = world.outputs["AdoptFunctionName"]
        self.role = world.outputs["AdoptRoleArn"]
        world.aws.client("eks").create_access_entry(
            clusterName=CLUSTER, principalArn=self.role, kubernetesGroups=[GROUP]
        )

    def invoke(self, event: object) -> dict[str, Any]:
        """Run the function by hand and return what it answers, or the error that it ended with."""
        answer = self._lambda.invoke(FunctionName=self.function, Payload=json.dumps(event).encode())
        payload: dict[str, Any] = json.loads(answer["Payload"].read())
        return payload
