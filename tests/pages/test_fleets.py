"""The page of fleets to the letter: three clusters in two accounts, from the stack of one to a run over all."""

import json

import pytest
import yaml

from tests.pages.conftest import STEPS, WORDS, laid_out
from tests.pages.verdict import follow, judge
from tests.support.fleet import ENTRIES, FAR, HOME, MEMBER, OTHER_ACCOUNT, SITES, Fleet, Site
from tests.support.objects import SECRET
from tests.support.template import ROOT

TEAM = "team-blue"


@pytest.mark.soak
def test_setting_up_a_fleet_and_running_it_by_hand() -> None:
    with Fleet() as fleet:
        desk = laid_out(fleet)
        assert judge(follow(desk, STEPS)) == []
        words = WORDS | {"ROLE": desk.outputs()["RoleArn"]}

        def step(number: int, site: Site) -> str:
            return desk.texts("docs/fleets.md", "Set it up", words | {"CLUSTER": site.name})[number - 1]

        # As the other account's root, whose key is its number.
        desk.shell(f"export AWS_ACCESS_KEY_ID={OTHER_ACCOUNT} {region(MEMBER)}; {step(1, MEMBER)}")
        desk.shell(f"export {region(FAR)}; {step(2, FAR)}")
        shipped = yaml.safe_load((ROOT / "functions" / "objects.yaml").read_text())
        (desk.copy / "functions" / "objects.yaml").write_text(yaml.safe_dump(shipped | {"clusters": list(ENTRIES)}))
        for site in SITES:
            plane = fleet.planes[site]
            config = plane.kubeconfig(plane.token_of("admin"))
            desk.shell(f"export KUBECONFIG={config}; {step(3, site)}")
            if site != HOME:
                plane.create_namespace(TEAM)
        desk.shell(step(4, HOME))

        outputs = desk.outputs()
        # The page names an object and a cluster of the file that it shows.
        theirs = {"ARN": outputs["FleetArn"], "FUNCTION": outputs["FunctionName"], "team-blue": MEMBER.name}
        (printed,) = desk.follow("docs/fleets.md", "Run it by hand", theirs | {"partner-registry": SECRET})
        started, _ = json.JSONDecoder().raw_decode(printed)
        execution = fleet.wait_for(started["executionArn"])
        assert (execution.status, execution.output["refreshed"]) == ("SUCCEEDED", len(SITES)), execution.cause
        assert all(plane.get_secret(TEAM, SECRET) for plane in fleet.planes.values())
        assert '"failed": 0' in printed


def region(site: Site) -> str:
    """Return what tells a program where to look."""
    return f"AWS_REGION={site.region} AWS_DEFAULT_REGION={site.region}"
