from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.diagnosis import folder
from sortkey.diagnosis.folder import Mount, judge_mount, mount_of, read_mounts

MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0
server:/export /srv nfs4 rw,vers=4.2 0 0
/dev/sdb1 /srv/my\\040data xfs rw,noatime 0 0
/dev/sdc1 /backup ext4 ro 0 0
overlay /srv/my\\040data/image overlay rw,lowerdir=/a 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/data", "ext4"),
        ("/dev/shm/x", "tmpfs"),
        ("/srv/data", "nfs4"),
        ("/srv/my data/x", "xfs"),
        ("/srv/my database", "nfs4"),
        ("/srv/my data/image", "overlay"),
    ],
)
def test_the_deepest_mount_counts(path: str, kind: str) -> None:
    mount = mount_of(Path(path), read_mounts(MOUNTS))
    assert mount is not None
    assert mount.type == kind


def test_a_later_mount_hides_an_earlier_one() -> None:
    mounts = read_mounts("a /data ext4 rw 0 0\nb /data tmpfs rw 0 0\n")
    mount = mount_of(Path("/data"), mounts)
    assert mount is not None
    assert mount.type == "tmpfs"


@pytest.mark.parametrize(
    ("kind", "options", "status"),
    [
        ("ext4", "rw,relatime", "ok"),
        ("xfs", "rw", "ok"),
        ("btrfs", "rw", "ok"),
        ("tmpfs", "rw", "warn"),
        ("nfs4", "rw", "warn"),
        ("cifs", "rw", "warn"),
        ("fuse.sshfs", "rw", "warn"),
        ("overlay", "rw", "warn"),
        ("ext4", "rw,nobarrier", "warn"),
        ("ext4", "ro,relatime", "fail"),
    ],
)
def test_what_a_data_folder_needs(kind: str, options: str, status: str) -> None:
    found = judge_mount(Mount(Path("/data"), kind, frozenset(options.split(","))))
    assert found.status == status
    assert kind in found.found
    assert bool(found.advice) == (status != "ok")


def test_a_system_without_a_list_of_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MOUNTS", tmp_path / "absent")
    assert folder.examine_file_system(tmp_path).found.startswith("unknown")
