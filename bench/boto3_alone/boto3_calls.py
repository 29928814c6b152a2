"""The handler that a whole cold run is compared with: boto3 gets a login and finds the cluster, and no more."""

import os

import boto3


def handler(_event: object, _context: object) -> None:
    boto3.client("ecr").get_authorization_token()
    boto3.client("eks").describe_cluster(name=os.environ["CLUSTER_NAME"])
