"""Host names are those of the AWS SDK, in every region of every partition."""

import re
from functools import cache
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader

from compiler.files import NOWHERE
from upsert import sources
from upsert.core.fields import Fields, Problem
from upsert.core.objects import Part, Ref
from upsert.core.registries import dns_suffix, private_host


@cache
def partitions() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = create_loader().load_data("partitions")["partitions"]
    return found


REGIONS = [
    (partition["id"], region, partition["outputs"]["dnsSuffix"])
    for partition in partitions()
    for region in partition["regions"]
    # Pseudo regions such as aws-global name a whole partition; no registry is in one.
    if not region.startswith("aws")
]


def test_every_partition_has_a_region_to_hold_us_to() -> None:
    assert {partition for partition, _, _ in REGIONS} == {partition["id"] for partition in partitions()}
    assert len(REGIONS) > 35


@pytest.mark.parametrize(("region", "suffix"), [(region, suffix) for _, region, suffix in REGIONS])
def test_a_regions_suffix_is_the_sdks(region: str, suffix: str) -> None:
    assert dns_suffix(region) == suffix


@pytest.mark.parametrize(("partition", "pattern"), [(each["id"], each["regionRegex"]) for each in partitions()])
def test_a_region_that_is_yet_to_come_falls_into_its_partition(partition: str, pattern: str) -> None:
    (suffix,) = {each["outputs"]["dnsSuffix"] for each in partitions() if each["id"] == partition}
    known = next(region for name, region, _ in REGIONS if name == partition)
    to_come = f"{known.rpartition('-')[0]}-9"

    assert re.fullmatch(pattern.strip("^$"), to_come)
    assert dns_suffix(to_come) == suffix


def part(region: str) -> tuple[Part, list[Problem]]:
    problems: list[Problem] = []
    at = Fields({"ecr": {"region": region}}, (), problems)
    return sources.Reader(NOWHERE).part("registries[0]", at, login=True), problems


@pytest.mark.parametrize(("region", "suffix"), [(region, suffix) for _, region, suffix in REGIONS])
def test_a_region_is_taken_by_the_file_of_objects(region: str, suffix: str) -> None:
    assert part(region) == (Part("registries[0]", Ref("ecr", (("region", region),))), [])
    assert private_host("123456789012", region) == f"123456789012.dkr.ecr.{region}.{suffix}"


def test_a_pseudo_region_is_not_taken() -> None:
    (problem,) = part("aws-global")[1]

    assert str(problem).startswith("ecr.region: 'aws-global' is wrong; expected a region")


def test_the_sts_host_of_a_bearer_token_is_the_sdks_in_every_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_STS_REGIONAL_ENDPOINTS", "regional")
    core = botocore.session.get_session()
    session = boto3.Session("key", "secret", botocore_session=core)

    theirs = {region: session.client("sts", region_name=region).meta.endpoint_url for _, region, _ in REGIONS}

    assert theirs == {region: f"https://sts.{region}.{dns_suffix(region)}" for _, region, _ in REGIONS}
