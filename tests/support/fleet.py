"""Three clusters in two accounts and three regions, and the stack deployed for all of them.

    schedule ─► state machine ── asks the function for names ─► one run of it per cluster ─► its own kube-apiserver

Each cluster is a real control plane of its own, which knows the function by a TokenReview webhook of its own.
"""

import base64
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.controlplane import ControlPlane
from tests.support.ecr_standin import EcrStandin
from tests.support.ministack import ACCOUNT, REGION, ROOT, Keys, MiniStack
from tests.support.world import CLUSTER, GROUP, World

OTHER_ACCOUNT = "210987654321"
MEMBER_ROLE = "eks-upsert"
AUDIT_LOG_GROUP = f"/aws/eks/{CLUSTER}/cluster"

# The emulator takes an account's number for its root user's key.
_ROOTS = {ACCOUNT: ROOT, OTHER_ACCOUNT: Keys(OTHER_ACCOUNT, "test")}


@dataclass(frozen=True)
class Site:
    """Where a cluster is."""

    name: str
    account: str
    region: str

    @property
    def role_arn(self) -> str | None:
        """The role to assume for it; none in the function's own account."""
        return None if self.account == ACCOUNT else f"arn:aws:iam::{self.account}:role/{MEMBER_ROLE}"

    @property
    def entry(self) -> dict[str, str]:
        """Its entry in the file of objects."""
        entry = {"name": self.name, "region": self.region, "role_arn": self.role_arn}
        return {key: value for key, value in entry.items() if value and value != REGION}


HOME = Site(CLUSTER, ACCOUNT, REGION)
FAR = Site("far", ACCOUNT, "us-east-1")
MEMBER = Site("member", OTHER_ACCOUNT, "eu-west-1")
SITES = (HOME, FAR, MEMBER)
ENTRIES = tuple(site.entry for site in SITES)


@dataclass(frozen=True)
class Execution:
    """One run of the state machine that has ended."""

    status: str
    output: Any
    error: str
    cause: str


class Fleet(World):
    """The joined world with three clusters; `planes` holds the control plane of each."""

    planes: dict[Site, ControlPlane]
    state_machine: str

    def client(self, service: str, site: Site = HOME) -> Any:
        """Return a client for the site's account and region, as its root user."""
        return _ROOTS[site.account].client(service, self.aws.url, site.region)

    def deploy(
        self, *objects: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = ENTRIES, **parameters: str
    ) -> None:
        """Deploy the stack for the clusters, and let its role into each."""
        self.aws.client("logs").create_log_group(logGroupName=AUDIT_LOG_GROUP)
        fleet = {
            "Fleet": "true",
            "AssumableRoleArns": f"arn:aws:iam::*:role/{MEMBER_ROLE}",
            "AuditLogGroup": AUDIT_LOG_GROUP,
        }
        super().deploy(*objects, clusters=clusters, **fleet | parameters)
        self.state_machine = self.outputs["FleetArn"]
        self._create_member_role()
        for site in (FAR, MEMBER):
            self.client("eks", site).create_access_entry(
                clusterName=site.name, principalArn=site.role_arn or self.role, kubernetesGroups=[GROUP]
            )

    @contextmanager
    def objects(self, *objects: Mapping[str, Any], clusters: Sequence[Mapping[str, str]] = ENTRIES) -> Iterator[None]:
        """Deploy another file of objects while the block lasts, for the same clusters unless others are given."""
        with super().objects(*objects, clusters=clusters):
            yield

    def execute(self, event: object = None) -> Execution:
        """Start the state machine by hand, with an event or the one for everything, and wait for its end."""
        started = self.aws.client("stepfunctions").start_execution(
            stateMachineArn=self.state_machine, input=json.dumps(event or {})
        )
        return self.wait_for(started["executionArn"])

    def wait_for(self, execution_arn: str, timeout: float = 120.0) -> Execution:
        """Return how an execution ended; raises TimeoutError."""
        client = self.aws.client("stepfunctions")
        deadline = time.monotonic() + timeout
        while (found := client.describe_execution(executionArn=execution_arn))["status"] == "RUNNING":
            if time.monotonic() > deadline:
                raise TimeoutError(f"the fleet's execution did not end within {timeout:.0f} s")
            time.sleep(0.2)
        output = json.loads(found["output"]) if "output" in found else None
        return Execution(found["status"], output, found.get("error", ""), found.get("cause", ""))

    def stop(self, site: Site) -> None:
        """Take a cluster's control plane down, for good."""
        self.planes[site].__exit__(None, None, None)

    def _start(self) -> None:
        with self._step("local AWS, with IAM enforced"):
            self.ecr = self._stack.enter_context(EcrStandin())
            environment = {"AWS_ENDPOINT_URL_ECR": self.ecr.url}
            self.aws = self._stack.enter_context(MiniStack(environment=environment))
            self.ecr.upstream = self.aws.url
        with self._step("three Kubernetes control planes"):
            keys = {site: secrets.token_urlsafe(32) for site in SITES}
            self.planes = {}
            for site in SITES:
                path = f"_ministack/eks-auth/{site.account}/{site.region}/{site.name}/{keys[site]}"
                plane = ControlPlane(authentication_webhook=f"{self.aws.url}/{path}")
                self.planes[site] = self._stack.enter_context(plane)
            self.control_plane = self.planes[HOME]
            self._create_clusters(keys)

    def _create_clusters(self, keys: Mapping[Site, str]) -> None:
        for site in SITES:
            role = f"cluster-{site.name}"
            self.client("iam", site).create_role(RoleName=role, AssumeRolePolicyDocument=_trust("eks.amazonaws.com"))
            self.client("eks", site).create_cluster(
                name=site.name, roleArn=f"arn:aws:iam::{site.account}:role/{role}", resourcesVpcConfig={}
            )

        def point_at_control_planes(state: dict[str, Any]) -> None:
            for cluster in state["clusters"]["data"].values():
                (site,) = (site for site in SITES if f":{site.region}:{site.account}:" in cluster["arn"])
                plane = self.planes[site]
                cluster["endpoint"] = plane.endpoint
                cluster["certificateAuthority"]["data"] = base64.b64encode(plane.ca_pem.encode()).decode()
                cluster["_auth_token"] = keys[site]
                del cluster["_port"]

        self.aws.edit_state("eks", point_at_control_planes)

    def _create_member_role(self) -> None:
        """Create in the other account what fleet/member.yaml creates there: the emulator knows no access entry."""
        iam = self.client("iam", MEMBER)
        iam.create_role(RoleName=MEMBER_ROLE, AssumeRolePolicyDocument=_trust(self.role))
        arn = f"arn:aws:eks:{MEMBER.region}:{MEMBER.account}:cluster/{MEMBER.name}"
        statement = {"Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": arn}
        iam.put_role_policy(
            RoleName=MEMBER_ROLE,
            PolicyName="find-cluster",
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        )


def _trust(principal: str) -> str:
    kind = "AWS" if principal.startswith("arn:") else "Service"
    statement = {"Effect": "Allow", "Principal": {kind: principal}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
