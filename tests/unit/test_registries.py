"""The host names under which nodes know a registry."""

import pytest

from upsert.core.docker_auth import is_ecr
from upsert.core.registries import dns_suffix, private_host


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
    assert private_host("123456789012", region) == f"123456789012.dkr.ecr.{region}.{suffix}"


@pytest.mark.parametrize(
    "host",
    [
        "123456789012.dkr.ecr.eu-central-1.amazonaws.com",
        "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn",
        "123456789012.dkr.ecr-fips.us-east-1.amazonaws.com",
        "123456789012.dkr-ecr.eu-central-1.on.aws",
        "123456789012.dkr-ecr-fips.us-gov-west-1.on.aws",
        "public.ecr.aws",
        "ecr-public.aws.com",
    ],
)
def test_a_registry_of_ecr_is_known_under_each_of_its_names(host: str) -> None:
    assert is_ecr(host)


@pytest.mark.parametrize(
    "host", ["quay.io", "ecr.aws", "12345.dkr.ecr.eu-central-1.amazonaws.com", "public.ecr.aws.io"]
)
def test_other_registries_are_none_of_ecrs(host: str) -> None:
    assert not is_ecr(host)
