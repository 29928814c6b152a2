"""Fixtures of the tests that run on a real API server."""

import pytest

from tests.support.audit import AuditLog
from tests.support.controlplane import ControlPlane


@pytest.fixture
def audit(control_plane: ControlPlane) -> AuditLog:
    """The audit log from the start of the test on."""
    return AuditLog(control_plane.audit_log)


@pytest.fixture
def refresher_token(control_plane: ControlPlane) -> str:
    """Bearer token of a user who has the shipped ClusterRole and nothing else."""
    return control_plane.token_for("refresher", ["eks-upsert"])
