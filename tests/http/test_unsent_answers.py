"""Answers that clients do not take: how much is kept, and who goes first."""

from __future__ import annotations

from sortkey.http.sending import UnsentAnswers


class Client:
    def __init__(self) -> None:
        self.aborted = False
        self.unsent = 0

    def unsent_bytes(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.aborted = True


# A thousand clients that ask for pages and do not read them must not use up the memory, nor lock others out.
def test_the_clients_with_the_most_bytes_go_first() -> None:
    unsent = UnsentAnswers(limit=800)
    small, large, larger = clients = Client(), Client(), Client()
    for client, size in zip(clients, (50, 200, 300), strict=True):
        client.unsent = size
        unsent.grow(client, size)
    assert unsent.bytes == 550
    large.unsent += 300
    unsent.grow(large, 300)
    assert [client.aborted for client in clients] == [False, True, False]
    assert unsent.bytes == 350
    assert not small.aborted
    assert not larger.aborted


# Many clients that read pages over a slow network are not those to leave.
def test_what_clients_have_taken_meanwhile_is_not_counted() -> None:
    unsent = UnsentAnswers(limit=800)
    clients = [Client() for _ in range(10)]
    for client in clients:
        unsent.grow(client, 90)
        client.unsent = 10
    assert unsent.bytes < 800
    assert not any(client.aborted for client in clients)


def test_a_client_that_reads_again_is_not_counted() -> None:
    unsent = UnsentAnswers(limit=100)
    client = Client()
    for _ in range(10):
        unsent.grow(client, 90)
        unsent.end(client)
    unsent.end(client)
    assert unsent.bytes == 0
    assert not client.aborted
