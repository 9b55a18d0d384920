"""A session or a configuration of the program's own: assumed roles, profiles, retries, proxies, tracing.

    sk.connect("dynamodb://eu-west-1", session=boto3.Session(profile_name="shop"), config=Config(read_timeout=2))

A session's hooks must see every request, so its clients take no short cut around botocore.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_DEFAULT_MODULE: Final = "botocore"
_ASYNC_MODULE: Final = "aiobotocore"


class AwsAccess(NamedTuple):
    session: Any = None
    """A session of boto3 or botocore, for async use one of aioboto3 or aiobotocore; None for one of our own."""
    config: Any = None
    """A botocore Config, which goes before ours."""

    @property
    def is_given(self) -> bool:
        return self.session is not None or self.config is not None

    def botocore_session(self, *, is_async: bool) -> Any:
        """The session of botocore or aiobotocore inside; None without one. Raises TypeError for another object."""
        if self.session is None:
            return None
        # boto3 and aioboto3 wrap theirs.
        found = getattr(self.session, "_session", self.session)
        modules = {cls.__module__.partition(".")[0] for cls in type(found).__mro__}
        wanted = _ASYNC_MODULE if is_async else _DEFAULT_MODULE
        if wanted not in modules or (not is_async and _ASYNC_MODULE in modules):
            kinds = "aiobotocore or aioboto3" if is_async else "boto3 or botocore"
            store = "an async store" if is_async else "a sync store"
            raise TypeError(f"session must be one of {kinds} for {store}, not {self.session!r}")
        return found

    def configured(self, config: Any) -> Any:
        """Our configuration, changed by the program's."""
        if self.config is None:
            return config
        if not hasattr(self.config, "merge"):
            raise TypeError(f"config must be a botocore.config.Config, not {self.config!r}")
        return config.merge(self.config)


DEFAULT: Final = AwsAccess()


def reject_in_process(url: str, access: AwsAccess) -> None:
    """Raises ValueError for a store that needs no AWS."""
    if access.is_given:
        raise ValueError(f"{url!r} is a store in the process; session and config are for endpoints and for AWS")
