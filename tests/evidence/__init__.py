"""Answers the template's saved queries from a log file on this machine: ``python -m tests.evidence LOG``."""
