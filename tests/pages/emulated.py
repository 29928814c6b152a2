"""`sam` and `aws` for a reader whose AWS is the local emulator: the real ones, with what the emulator lacks put around.

- It knows no resource of the types in `UNKNOWN`: they are left out of a copy of the template, which is deployed in its
  place. An access entry is then created through the API of EKS, as the stack would.
- It knows no alarm on an expression: in the copy such an alarm has a plain metric.
- A person says yes to what `sam` asks: whether to deploy the change set, whether to delete the stack.
- The AWS CLI asks for a queue at an address of its own, unless the endpoint is an argument.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import boto3
import yaml

from tests.support import sam
from tests.support.template import ROOT

UNKNOWN = ("AWS::EKS::AccessEntry", "AWS::Logs::QueryDefinition")
PROGRAMS = {"sam": sam.BIN / "sam", "aws": ROOT / ".venv" / "cli" / "bin" / "aws"}
# As the template names the groups of its access entries, by the output that holds the role.
GROUPS = {"RoleArn": "eks-upsert", "AdoptRoleArn": "eks-upsert-adopter"}
MEMBER_GROUP = "eks-upsert"
STACK = "eks-upsert"
YES = "y\n" * 5
PLAIN_METRIC = """\
      Namespace: AWS/Lambda
      MetricName: Duration
      Statistic: Maximum
      Period: 1200
"""


def known(template: str) -> str:
    """Return the text of a template without what the emulator does not know."""
    types = "|".join(UNKNOWN)
    template = re.sub(rf"^  \w+:\n    Type: (?:{types})\n(?:    .*\n|\n)*", "", template, flags=re.MULTILINE)
    return re.sub(r"^      Metrics:\n(?:      [- ].*\n)*", PLAIN_METRIC, template, flags=re.MULTILINE)


def copied(template: Path) -> Path:
    """Write what the emulator knows of a template beside it, and return where."""
    copy = template.with_name(f"known-{template.name}")
    copy.write_text(known(template.read_text()))
    return copy


def let_roles_in(stack: str) -> None:
    """Have an access entry for each role of the stack that is to write in its cluster."""
    (found,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    parameters = {one["ParameterKey"]: one["ParameterValue"] for one in found["Parameters"]}
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}
    roles = {outputs[name]: group for name, group in GROUPS.items() if name in outputs}
    if "FleetEntry" in outputs:
        roles[yaml.safe_load(outputs["FleetEntry"])["role_arn"]] = MEMBER_GROUP
    cluster, eks = parameters["ClusterName"], boto3.client("eks")
    there = eks.list_access_entries(clusterName=cluster)["accessEntries"]
    for role in roles.keys() - set(there):
        eks.create_access_entry(clusterName=cluster, principalArn=role, kubernetesGroups=[roles[role]])


def main(program: str, arguments: Sequence[str]) -> int:
    """Run a program with these arguments and return its exit status."""
    match program, *arguments:
        case "sam", "deploy", *rest:
            built = Path(".aws-sam/build/template.yaml")
            template = copied(built if built.exists() else Path("template.yaml"))
            # `sam` looks for its defaults beside a template that it is given.
            defaults = ["--template-file", str(template), "--config-file", str(Path("samconfig.toml").absolute())]
            return _run(program, "deploy", *defaults, *rest, stack=STACK)
        case "aws", "cloudformation", "deploy", "--template-file", template, "--stack-name" | "--s3-bucket", *_:
            stack = arguments[arguments.index("--stack-name") + 1]
            deployed = [str(copied(Path(word))) if word == template else word for word in arguments]
            return _run(program, *_endpoint(), *deployed, stack=stack)
        case "aws", *rest:
            return _run(program, *_endpoint(), *rest)
    return _run(program, *arguments)


def _endpoint() -> list[str]:
    return ["--endpoint-url", os.environ["AWS_ENDPOINT_URL"]]


def _run(program: str, *arguments: str, stack: str | None = None) -> int:
    asks = program == "sam" and arguments[0] in ("deploy", "delete")
    command = [str(PROGRAMS[program]), *arguments]
    done = subprocess.run(command, input=YES if asks else None, text=True, check=False)
    if stack is not None and done.returncode == 0:
        let_roles_in(stack)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
