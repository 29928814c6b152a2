"""The host names under which nodes know a registry."""

import pytest

from upsert.core.registries import Registry, dns_suffix

ROLE = "arn:aws:iam::210987654321:role/pull"


@pytest.mark.parametrize(
    ("region", "suffix"),
    [
        ("eu-central-1", "amazonaws.com"),
        ("us-gov-west-1", "amazonaws.com"),
        ("cn-north-1", "amazonaws.com.cn"),
        ("cn-northwest-1", "amazonaws.com.cn"),
        ("eusc-de-east-1", "amazonaws.eu"),
        ("us-iso-east-1", "c2s.ic.gov"),
        ("us-isob-east-1", "sc2s.sgov.gov"),
        ("eu-isoe-west-1", "cloud.adc-e.uk"),
        ("us-isof-south-1", "csp.hci.ic.gov"),
        ("a-region-to-come-1", "amazonaws.com"),
    ],
)
def test_a_regions_partition_gives_the_suffix(region: str, suffix: str) -> None:
    assert dns_suffix(region) == suffix
    assert Registry("123456789012", region).host == f"123456789012.dkr.ecr.{region}.{suffix}"


def test_a_host_of_ones_own_replaces_the_one_made_up() -> None:
    host = "123456789012.dkr-ecr.eu-central-1.on.aws"

    assert Registry("123456789012", "eu-central-1", custom_host=host).host == host


def test_one_token_covers_a_region_as_seen_by_one_identity() -> None:
    first, second = Registry("111111111111", "eu-central-1"), Registry("222222222222", "eu-central-1")

    assert first.source == second.source == ("eu-central-1", None)
    assert Registry("111111111111", "eu-west-1").source != first.source
    assert Registry("111111111111", "eu-central-1", ROLE).source == ("eu-central-1", ROLE)
