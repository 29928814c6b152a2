"""Under which host names nodes know ECR's registries."""

# The longest matching prefix of the region wins. Source: partitions.json of botocore, held equal by a test.
_DNS_SUFFIX_BY_REGION_PREFIX = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}

PUBLIC_HOST = "public.ecr.aws"
# Its tokens come from this one region only:
# https://docs.aws.amazon.com/AmazonECR/latest/public/public-registry-auth.html
PUBLIC_REGION = "us-east-1"


def dns_suffix(region: str) -> str:
    """Return the DNS suffix of the partition that `region` belongs to, such as ``amazonaws.com.cn``."""
    for prefix, suffix in _DNS_SUFFIX_BY_REGION_PREFIX.items():
        if region.startswith(prefix):
            return suffix
    return "amazonaws.com"


def private_host(account: str, region: str) -> str:
    """Return the bare host that image references to a private registry start with."""
    return f"{account}.dkr.ecr.{region}.{dns_suffix(region)}"
