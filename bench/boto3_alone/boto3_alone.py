"""The handler that the cold start is compared with: it imports boto3, and says one line."""

import boto3  # noqa: F401 - the import is what is measured


def handler(_event: object, _context: object) -> None:
    print("first line")
