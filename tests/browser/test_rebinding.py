"""DNS rebinding: a site's page is loaded, then the site's name leads to this machine, and the page calls the server.

The site here answers the first request with its page and passes all others on to the server, byte by byte as the
browser sent them. For the browser, and for the server, that is the same as a name that leads to the server.
"""

from __future__ import annotations

import json
import threading
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.chromium import needs_chromium, rendered
from tests.server.serving import Process
from tests.wire.serving import SECONDS, ServerProcess

pytestmark = needs_chromium

PAGE = b"""<!doctype html><p id="seen">nothing yet</p><script>
async function status(path, options) {
  try { return (await fetch(path, options)).status } catch (error) { return String(error) }
}
const json = { "Content-Type": "application/json" }
const operation = { "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables" }
async function attack() {
  const seen = {
    write: await status("/notes/s/a", { method: "PUT", headers: json, body: '{"text": "evil"}' }),
    read: await status("/notes/demo/0"),
    docs: await status("/docs"),
    metrics: await status("/metrics"),
    operation: await status("/", { method: "POST", headers: operation, body: "{}" }),
  }
  document.getElementById("seen").textContent = JSON.stringify(seen)
}
attack()
</script>"""


class Site(ThreadingHTTPServer):
    """Serves its page at `/page`, and has everything else from this URL."""

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.leads_to = urlsplit(url).netloc
        self._thread = threading.Thread(target=self.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        if self.path == "/page":
            self._answer(200, "text/html", PAGE)
        else:
            self._pass_on()

    def do_PUT(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with closing(HTTPConnection(self.server.leads_to, timeout=SECONDS)) as client:
            client.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                client.putheader(name, value)
            client.endheaders(body)
            answer = client.getresponse()
            self._answer(answer.status, answer.headers["Content-Type"], answer.read())

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def seen_by_page(url: str, name: str, profile: Path) -> dict[str, int]:
    """The status of each of the page's requests, if the page has this name."""
    with closing(Site(url)) as site:
        pieces = rendered(f"http://{name}:{site.server_port}/page", profile, "evil.test")
    seen: dict[str, int] = json.loads(pieces[0])
    return seen


# The page of a local name shows that the attack is one: there it reads and writes.
@pytest.mark.parametrize(("name", "status"), [("localhost", 200), ("evil.test", 403)])
def test_a_site_that_leads_its_name_to_the_services(tmp_path: Path, name: str, status: int) -> None:
    server = Process("serve", "notes", "--store", "memory:", "--demo")
    try:
        seen = seen_by_page(server.url, name, tmp_path)
    finally:
        server.end()
    assert {seen[each] for each in ("write", "read", "docs", "metrics")} == {status}


@pytest.mark.parametrize(("name", "status"), [("localhost", 200), ("evil.test", 403)])
def test_a_site_that_leads_its_name_to_the_endpoint(tmp_path: Path, name: str, status: int) -> None:
    server = ServerProcess("--memory")
    try:
        seen = seen_by_page(server.url, name, tmp_path)
    finally:
        server.kill()
    assert seen["metrics"] == status
    assert seen["operation"] == 400
