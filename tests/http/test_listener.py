from __future__ import annotations

import pytest

from sortkey.http.listener import CannotListen, is_loopback, listen, url_of


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("localhost", True), ("0.0.0.0", False), ("192.0.2.1", False)],
)
def test_who_can_reach_an_address(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_port_0_picks_a_free_one() -> None:
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", 0) as second:
        assert url_of(first) != url_of(second)
        assert url_of(first).startswith("http://127.0.0.1:")


@pytest.mark.parametrize("port", [-1, 65536])
def test_ports_that_there_are_not(port: int) -> None:
    with pytest.raises(CannotListen):
        listen("127.0.0.1", port)


def test_a_port_in_use() -> None:
    with listen("127.0.0.1", 0) as listening, pytest.raises(CannotListen, match="in use"):
        listen("127.0.0.1", listening.getsockname()[1])


# All sharers must pass `shared`: the port of another program is not shared by accident.
def test_a_shared_port() -> None:
    with listen("127.0.0.1", 0, shared=True) as held:
        port = held.getsockname()[1]
        held.listen()
        listen("127.0.0.1", port, shared=True).close()
        with pytest.raises(CannotListen):
            listen("127.0.0.1", port)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(CannotListen):
        is_loopback("host name with spaces")
