from __future__ import annotations

from tests.testing.boto3_clients import unconfigured

__all__ = ["unconfigured"]
