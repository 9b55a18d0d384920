"""How the sync remote client reaches an endpoint: by TLS with a program's own certificates, and through a proxy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import SSLError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import sortkey as sk
from sortkey.client import Client
from sortkey.clock import DEADLINE
from tests.client.orders import key
from tests.client.test_fast_requests import ITEM, Script, ScriptedAnswer

SESSIONS = pytest.mark.parametrize("session", [None, boto3.Session("AKID", "secret", region_name="eu-west-1")])


@pytest.fixture
def script() -> Iterator[Script]:
    made = Script()
    made.answers = [ScriptedAnswer()]
    yield made
    made.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a certificate of localhost, signed by itself, and its key."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, secret.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    file = tmp_path / "localhost.pem"
    encoded = secret.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + encoded)
    return file


def read_and_write(client: Client) -> None:
    assert client.get_item(TableName="orders", Key=key(1))["Item"] == ITEM["Item"]
    client.put_item(TableName="orders", Item=key(1))


def read_and_write_in_time(client: Client) -> None:
    limited = DEADLINE.set(time.monotonic() + 60)
    try:
        read_and_write(client)
    finally:
        DEADLINE.reset(limited)


@SESSIONS
@pytest.mark.slow
def test_a_certificate_of_the_program(
    script: Script, certificate: Path, monkeypatch: pytest.MonkeyPatch, session: boto3.Session | None
) -> None:
    url = script.serve_tls(certificate)
    with sk.client(url, session=session) as client, pytest.raises(SSLError):
        read_and_write_in_time(client)
    assert script.requests == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    with sk.client(url, session=session) as client:
        read_and_write(client)
        read_and_write_in_time(client)
    assert len(script.requests) == 4


@pytest.mark.slow
@SESSIONS
def test_a_proxy(script: Script, monkeypatch: pytest.MonkeyPatch, session: boto3.Session | None) -> None:
    monkeypatch.setenv("HTTP_PROXY", script.url.partition("?")[0])
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with sk.client("http://orders.example:8000?store=aws", session=session) as client:
        read_and_write(client)
        read_and_write_in_time(client)
    assert [request["host"] for request in script.requests] == ["orders.example:8000"] * 4
