"""Which registries to log in to, and under which host names nodes know them."""

from dataclasses import dataclass

# The longest matching prefix of the region wins. Source: partitions.json of botocore, held equal by a test.
_DNS_SUFFIX_BY_REGION_PREFIX = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}


def dns_suffix(region: str) -> str:
    """Return the DNS suffix of the partition that `region` belongs to, such as ``amazonaws.com.cn``."""
    for prefix, suffix in _DNS_SUFFIX_BY_REGION_PREFIX.items():
        if region.startswith(prefix):
            return suffix
    return "amazonaws.com"


@dataclass(frozen=True, slots=True)
class Registry:
    """One private ECR registry: an account in a region, and the role to assume for its login, if any."""

    account: str
    region: str
    role_arn: str | None = None
    custom_host: str | None = None

    @property
    def host(self) -> str:
        """Return the bare host that image references start with."""
        return self.custom_host or f"{self.account}.dkr.ecr.{self.region}.{dns_suffix(self.region)}"

    @property
    def source(self) -> tuple[str, str | None]:
        """Return what one authorization token covers: a region as seen by an identity."""
        return self.region, self.role_arn
