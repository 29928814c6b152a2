"""Checks to run before a commit, for repositories that hold manifests for the same cluster."""
