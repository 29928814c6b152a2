"""Input and output: the only modules that import boto3, botocore, kubernetes or urllib3."""
