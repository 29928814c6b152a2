"""Which registries to log in to, and under which host names nodes know them."""

import re
from dataclasses import dataclass, field

# The longest matching prefix of the region wins. Source: partitions.json of botocore, held equal by a test.
_DNS_SUFFIX_BY_REGION_PREFIX = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}

# Private registries under each of their names (IPv4, FIPS, dual-stack), and the public one. The same login serves all:
# https://docs.aws.amazon.com/general/latest/gr/ecr.html
_ECR_HOST = re.compile(r"[0-9]{12}\.dkr[.-]ecr(-fips)?\.[a-z0-9.-]+|(ecr-)?public\.ecr\.aws|ecr-public\.aws\.com")


def dns_suffix(region: str) -> str:
    """Return the DNS suffix of the partition that `region` belongs to, such as ``amazonaws.com.cn``."""
    for prefix, suffix in _DNS_SUFFIX_BY_REGION_PREFIX.items():
        if region.startswith(prefix):
            return suffix
    return "amazonaws.com"


def is_ecr(host: str) -> bool:
    """Return whether a bare host is an ECR registry, so that its password lives 12 hours at most."""
    return _ECR_HOST.fullmatch(host) is not None


# Its tokens come from this one region only:
# https://docs.aws.amazon.com/AmazonECR/latest/public/public-registry-auth.html
PUBLIC_HOST = "public.ecr.aws"
_PUBLIC_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class PublicRegistry:
    """ECR Public, where a login raises the limits on pulls, and the role to assume for it, if any."""

    role_arn: str | None = None
    host: str = field(default=PUBLIC_HOST, init=False)

    @property
    def source(self) -> tuple[str, str | None]:
        """Return what one authorization token covers: all of ECR Public, as seen by an identity."""
        return _PUBLIC_REGION, self.role_arn


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
