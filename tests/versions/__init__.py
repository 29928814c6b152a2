"""Tests on the newest and the oldest Kubernetes: `make versions`."""
