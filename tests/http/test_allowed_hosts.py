"""Which names a server without credentials serves."""

from __future__ import annotations

import pytest

from sortkey.http.listener import REMEMBERED, AllowedHosts, rejection
from sortkey.http.request_parser import Request

LOCAL = [
    b"localhost",
    b"LocalHost:8000",
    b"localhost.",
    b"orders.localhost:8000",
    b"127.0.0.1",
    b"127.0.0.1:8000",
    b"127.255.1.2",
    b"[::1]",
    b"[::1]:8000",
    b"[::ffff:127.0.0.1]:8000",
]

FOREIGN = [
    b"",
    b":8000",
    b"evil.test",
    b"evil.test:8000",
    b"localhost.evil.test",
    b"127.0.0.1.evil.test",
    b"evillocalhost",
    b"localhost@evil.test",
    b"evil.test/localhost",
    b"localhost evil.test",
    b"localhost:80:80",
    b"localhost:x",
    b"0.0.0.0:8000",
    b"192.0.2.1",
    b"[::]",
    b"[2001:db8::1]",
    b"[localhost]",
    b"[::1",
    b"::1",
    b"127.1",
    b"2130706433",
    "127.0.0.\u00b9".encode("latin-1"),
    b"localhost\n",
    b"null",
]


@pytest.mark.parametrize("host", LOCAL)
def test_names_of_this_machine(host: bytes) -> None:
    assert AllowedHosts().admits(host)


@pytest.mark.parametrize("host", FOREIGN)
def test_names_that_a_site_could_have(host: bytes) -> None:
    assert not AllowedHosts().admits(host)


@pytest.mark.parametrize("host", [b"orders.example", b"Orders.Example:443", b"orders.example."])
def test_names_that_are_allowed(host: bytes) -> None:
    hosts = AllowedHosts(["ORDERS.example."])
    assert hosts.admits(host)
    assert not hosts.admits(b"x." + host)


# A client may send as many names below localhost as it likes.
def test_only_so_many_names_are_remembered() -> None:
    hosts = AllowedHosts()
    for number in range(REMEMBERED + 100):
        assert hosts.admits(b"%d.localhost" % number)
    assert len(hosts.admitted) == REMEMBERED


def test_the_message_names_the_host_and_the_options() -> None:
    message = rejection(b"evil.test" + b"x" * 60_000, "--keys")
    assert "'evil.testx" in message
    assert len(message) < 300
    assert "--allow-host NAME" in message
    assert "--keys" in message


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"/", b"localhost"),
        (b"http://evil.test:80/x", b"evil.test:80"),
        (b"HTTP://evil.test", b"evil.test"),
        (b"*", b""),
        (b"evil.test:80", b""),
    ],
)
def test_the_host_of_a_whole_url_counts(target: bytes, host: bytes) -> None:
    assert Request(b"GET", target, {b"host": b"localhost"}, b"", keep_alive=True).host == host
