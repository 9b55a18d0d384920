"""`sortkey db --regions` and `sortkey regions`, from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.cli.main import main

EU, US = "eu-west-1", "us-east-1"
NOTES = sk.Table("notes-of-regions", replicas=(EU, US))


class Note(sk.Item, table=NOTES):
    name: str
    text: str = ""

    key = sk.Key("NOTE#{name}")


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """The process, and the address of each region."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sortkey", "db", "--regions", f"{EU},{US}", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(2)]
        assert [line[0] for line in lines] == ["ready"] * 2
        yield process, {region: url for _, url, region in lines}
    finally:
        process.kill()
        process.communicate()


def told(capsys: pytest.CaptureFixture[str], url: str, *arguments: str) -> list[str]:
    assert main(["regions", *arguments, "--endpoint", url]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
def test_regions_are_cut_healed_and_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served("--data", str(tmp_path)) as (process, urls):
        with sk.connect(urls[EU]) as eu, sk.connect(urls[US]) as us:
            assert eu.create_tables(NOTES) == [NOTES.name]
            assert us.create_tables(NOTES) == []
            eu.put(Note(name="a", text="1"))
            told(capsys, urls[US], "settle")
            assert us.get(Note.key(name="a")) == Note(name="a", text="1")
            assert told(capsys, urls[US], "cut", EU)[-1] == f"cut  {EU} and {US}"
            us.put(Note(name="a", text="2"))
            assert told(capsys, urls[EU], "settle")[-1] == f"waiting  {US} to {EU}  1"
            assert eu.get(Note.key(name="a")) == Note(name="a", text="1")
        process.kill()
    with served("--data", str(tmp_path)) as (_, urls):
        # Cuts end with the process; what was not sent, it sends now.
        assert told(capsys, urls[EU], "settle") == [f"{EU}  {urls[EU]}", f"{US}  {urls[US]}", "lag  0 s"]
        with sk.connect(urls[EU]) as eu:
            assert eu.get(Note.key(name="a")) == Note(name="a", text="2")
        assert sorted(path.name for path in tmp_path.iterdir()) == [EU, "regions.lock", US]


@pytest.mark.slow
def test_the_page_of_the_regions(capsys: pytest.CaptureFixture[str]) -> None:
    with served("--memory", "--region-lag", "2.5") as (process, urls):
        with urllib.request.urlopen(f"{urls[US]}/regions") as answer:
            assert json.load(answer) == {"regions": [EU, US], "lag": 2.5, "cut": [], "waiting": {}, "endpoints": urls}
        assert "lag  0.5 s" in told(capsys, urls[EU], "lag", "0.5")
        assert main(["regions", "cut", "mars", "--endpoint", urls[EU]]) == 2
        assert "there is no region 'mars'" in capsys.readouterr().err
        # A web page that a browser of this machine shows may not cut links.
        for headers, status in (({"Origin": "http://evil"}, 403), ({"Host": "evil"}, 403)):
            request = urllib.request.Request(f"{urls[EU]}/regions", b'{"cut": []}', headers)
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request)
            with caught.value as rejected:
                assert rejected.code == status
        process.terminate()
        assert process.wait(60) == 0


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    try:
        code = main([*arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    return capsys.readouterr().err


def test_what_cannot_be_combined(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    both = f"{EU},{US}"
    assert "is not a region of AWS" in refused(capsys, "db", "--regions", "eu-west-1,Mars")
    assert "two or more different regions" in refused(capsys, "db", "--regions", f"{EU},{EU}")
    assert "without --workers" in refused(capsys, "db", "--regions", both, "--workers", "2")
    assert "without --kinesis" in refused(capsys, "db", "--regions", both, "--kinesis", str(tmp_path))
    assert "needs --regions" in refused(capsys, "db", "--memory", "--region-lag", "1")
    assert "takes a number of seconds" in refused(capsys, "regions", "lag", "soon")
    assert "takes a number of seconds" in refused(capsys, "regions", "lag", "nan")
    assert "'here' is not an endpoint" in refused(capsys, "regions", "show", "--endpoint", "here")
    assert "does not answer" in refused(capsys, "regions", "show", "--endpoint", "http://127.0.0.1:1")
