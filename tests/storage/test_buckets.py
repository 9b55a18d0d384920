"""Folders in the place of buckets."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sortkey.storage import BadName, Buckets, NoSuchBucket


@pytest.fixture
def buckets(tmp_path: Path) -> Buckets:
    return Buckets(tmp_path / "buckets")


def test_an_object_is_a_file(buckets: Buckets, tmp_path: Path) -> None:
    buckets.put("one", "a/b.txt", b"text")
    assert (tmp_path / "buckets" / "one" / "a" / "b.txt").read_bytes() == b"text"
    with buckets.open("one", "a/b.txt") as opened:
        assert opened.read() == b"text"
    buckets.put("one", "a/b.txt", b"other")
    assert [each.size for each in buckets.objects("one", "")] == [5]


def test_only_the_owner_may_read_it(buckets: Buckets, tmp_path: Path) -> None:
    buckets.put("one", "a/b.txt", b"text")
    assert stat.S_IMODE((tmp_path / "buckets" / "one" / "a" / "b.txt").stat().st_mode) == 0o600


def test_objects_by_prefix(buckets: Buckets) -> None:
    for key in ("a/2", "a/1", "ab", "b"):
        buckets.put("one", key, b"")
    assert [each.key for each in buckets.objects("one", "a")] == ["a/1", "a/2", "ab"]
    assert [each.key for each in buckets.objects("one", "a/")] == ["a/1", "a/2"]
    assert buckets.objects("one", "c") == []


def test_no_bucket(buckets: Buckets) -> None:
    with pytest.raises(NoSuchBucket, match="there is no folder two"):
        buckets.objects("two", "")


# What a killed process leaves is no object, and goes with the next try.
def test_an_unfinished_file_is_no_object(buckets: Buckets, tmp_path: Path) -> None:
    buckets.put("one", "a", b"text")
    left = tmp_path / "buckets" / "one" / "a.1234.unfinished"
    left.write_bytes(b"te")
    assert [each.key for each in buckets.objects("one", "")] == ["a"]
    buckets.put("one", "a", b"text")
    assert not left.exists()


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/x", "a//x", "./x", "", "a/", "a\0b"])
def test_no_key_leads_out_of_its_bucket(buckets: Buckets, tmp_path: Path, key: str) -> None:
    with pytest.raises(BadName):
        buckets.put("one", key, b"text")
    with pytest.raises(BadName):
        buckets.open("one", key)
    assert not list(tmp_path.rglob("x"))


@pytest.mark.parametrize("bucket", ["..", ".", "a/b", "", "../one", ".hidden"])
def test_no_bucket_leads_out_of_the_folder(buckets: Buckets, bucket: str) -> None:
    with pytest.raises(BadName):
        buckets.put(bucket, "a", b"text")
    with pytest.raises(NoSuchBucket):
        buckets.objects(bucket, "")


def test_links_are_not_followed(buckets: Buckets, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("x")
    buckets.put("one", "a", b"text")
    (tmp_path / "buckets" / "one" / "folder").symlink_to(secret)
    (tmp_path / "buckets" / "one" / "file").symlink_to(secret / "key")
    assert [each.key for each in buckets.objects("one", "")] == ["a"]
    with pytest.raises(OSError, match="symbolic links"):
        buckets.open("one", "file")
    with pytest.raises(BadName, match="leads out"):
        buckets.put("one", "folder/b", b"text")
