"""A proxy before the broker, which holds the requests of one kind back."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from tests.kafka.broker import Broker

LIST_OFFSETS: Final = 2
SECONDS: Final = 60.0
PIECE: Final = 1 << 16


class HoldingProxy:
    """Holds requests of a kind (Kafka's `api_key`), and whatever follows on their connection, until `release`."""

    def __init__(self, broker: Broker, kind: int) -> None:
        self.bootstrap = f"127.0.0.1:{broker.proxy}"
        self._behind = ("127.0.0.1", broker.behind)
        self._kind = kind
        self._released = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", broker.proxy))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.holding = threading.Event()
        """Set by the first request that is held."""

    def release(self) -> None:
        self._released.set()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        for each in [self._listening, *self._sockets]:
            with suppress(OSError):  # it is closed already
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _start(self, work: object, *arguments: socket.socket) -> None:
        assert callable(work)
        self._threads.append(threading.Thread(target=work, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):  # the end
            while True:
                client, _ = self._listening.accept()
                broker = socket.create_connection(self._behind)
                self._sockets += [client, broker]
                self._start(self._forward_requests, client, broker)
                self._start(self._forward_answers, broker, client)

    def _forward_requests(self, client: socket.socket, broker: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as requests:
            while size := requests.read(4):
                request = requests.read(int.from_bytes(size))
                if int.from_bytes(request[:2]) == self._kind and not self._released.is_set():
                    self.holding.set()
                    self._released.wait(SECONDS)
                broker.sendall(size + request)
        with suppress(OSError):
            broker.shutdown(socket.SHUT_WR)

    def _forward_answers(self, broker: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := broker.recv(PIECE):
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)
