"""The Dockerfile's image without an engine: its steps are run in a mount namespace of their own, and then its command.

In the place of the base image are this machine's /usr and Python. The process runs as the image's user, without
capabilities, on a root that it cannot write.

`python -m tests.deployment.container` builds the image, runs it, asks for its health by its own check, and stops it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tests.maven import REPOSITORY, Unavailable, free_ports

START_SECONDS: Final = 60
STOP_SECONDS: Final = 30
BUILD_SECONDS: Final = 600
TOKEN_SCOPES: Final = ("boosts:read", "console:read")


class Stage(NamedTuple):
    """What follows one FROM: instructions and what they say."""

    instructions: list[tuple[str, str]]

    def last(self, name: str) -> str:
        return [text for each, text in self.instructions if each == name][-1]


def stages() -> list[Stage]:
    text = re.sub(r"^#.*\n", "", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: list[Stage] = []
    for line in text.replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append(Stage([]))
        elif name:
            found[-1].instructions.append((name, rest.strip()))
    return found


def require() -> None:
    """Raises Unavailable where there are no namespaces."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        raise Unavailable("it needs root, unshare and setpriv")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise Unavailable("this machine allows no mount namespaces")


def build(image: Path) -> None:
    """Run the steps of the first stage, as the folder /opt/sortkey of the image. Only what is not ignored is there."""
    steps = ["set -e", "mount --make-rprivate /", f"mkdir -p {image}/opt {image}/source {image}/run"]
    steps += [f"mkdir -p /opt && mount --bind {image}/opt /opt", f"cd {image}/source"]
    for name, text in stages()[0].instructions:
        if name == "COPY":
            *sources, _ = text.split()
            steps += [f"cp -r {REPOSITORY / source} {image}/source/" for source in sources]
        elif name == "RUN":
            # The base image's Python.
            steps.append(re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", text))
    _namespace(steps, BUILD_SECONDS)


def _namespace(steps: Sequence[str], seconds: int) -> None:
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", "\n".join(steps)], capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stdout + done.stderr


class Container:
    def __init__(self, image: Path, folder: Path, arguments: Sequence[str], health_port: int) -> None:
        """`folder` has data/ and secrets/; the arguments are those after the entry point."""
        self._stage = stages()[-1]
        self._image = image
        self._folder = folder
        user, group = self._stage.last("USER").split(":")
        self._rights = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--bounding-set=-all"]
        self._rights += ["--inh-caps=-all", "--no-new-privs"]
        health = f"HEALTH_URL=http://127.0.0.1:{health_port}/health"
        self._environment = ["env", "-i", "PATH=/opt/sortkey/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", health]
        entry: list[str] = json.loads(self._stage.last("ENTRYPOINT"))
        self.process = self._start([*entry, *arguments])

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        mounts = [
            "set -e",
            "mount --make-rprivate /",
            f"mount --bind {self._folder}/data {self._folder}/root/data",
            f"mount --bind {self._folder}/secrets {self._folder}/root/run/secrets",
            *(f"mount --rbind /{name} {self._folder}/root/{name}" for name in ("usr", "etc", "proc", "dev")),
            *(f"mount --rbind {path} {self._folder}/root{path}" for path in _python_folders()),
            f"mount --bind {self._image}/opt {self._folder}/root/opt",
            f"mount --bind -o remount,ro {self._folder}/root/opt",
            f"mount -t tmpfs tmpfs {self._folder}/root/tmp && chmod 1777 {self._folder}/root/tmp",
            # The root's own mount is made one first, so that it can be read-only by itself.
            f"mount --bind -o remount,ro {self._folder}/root",
            f"exec chroot {self._folder}/root {shlex.join([*self._environment, *self._rights, *command])}",
        ]
        first = f"mount --bind {self._folder}/root {self._folder}/root"
        return subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", "\n".join([mounts[0], mounts[1], first, *mounts[2:]])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ready http://"), self.process.communicate(timeout=STOP_SECONDS)[1]
        return line.split()[1]

    def is_healthy(self) -> bool:
        """By the image's own check."""
        found = re.search(r"CMD (\[.*\])", self._stage.last("HEALTHCHECK"))
        assert found is not None
        with self._start(json.loads(found[1])) as checking:
            checking.communicate(timeout=START_SECONDS)
            return checking.returncode == 0

    def run(self, *command: str) -> tuple[int, str]:
        """Another process with the same mounts and rights. Its status, and what it printed."""
        with self._start(command) as running:
            output, errors = running.communicate(timeout=START_SECONDS)
            return running.returncode, output + errors

    def stop(self) -> tuple[int, str]:
        """Its exit status after SIGTERM, and what it wrote to standard error."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, errors


def _python_folders() -> Iterator[Path]:
    """Where this machine's Python is, if not below /usr, and the links to /usr that are in /."""
    for path in map(Path, ("/lib", "/lib64", "/bin", "/sbin")):
        if path.exists():
            yield path
    real = Path(sys.base_prefix).resolve()
    if not real.is_relative_to("/usr"):
        yield real


@contextmanager
def prepared(folder: Path) -> Iterator[Path]:
    """The folders of a container: an empty root with places to mount, data of the image's user, and secrets."""
    root, data, secrets = folder / "root", folder / "data", folder / "secrets"
    user, group = map(int, stages()[-1].last("USER").split(":"))
    for name in ("usr", "etc", "proc", "dev", "opt", "tmp", "data", "run/secrets"):
        (root / name).mkdir(parents=True)
    for path in _python_folders():
        (root / path.relative_to("/")).mkdir(parents=True, exist_ok=True)
    for made in (data, secrets):
        made.mkdir(mode=0o700)
        os.chown(made, user, group)
    subprocess.run(
        [sys.executable, "-m", "sortkey", "token", "me", *TOKEN_SCOPES, "--tokens", str(secrets / "tokens")],
        check=True,
        capture_output=True,
    )
    (secrets / "keys").write_text('{"ME": {"secret": "0123456789abcdef"}}')
    for file in secrets.iterdir():
        file.chmod(0o600)
        os.chown(file, user, group)
    yield folder


def command_of_image(port: int, db_port: int) -> list[str]:
    """The image's own, on free ports."""
    own: list[str] = json.loads(stages()[-1].last("CMD"))
    return [*own, "--port", str(port), "--db-port", str(db_port), "--access-log", "off"]


def show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    try:
        require()
    except Unavailable as error:
        sys.stderr.write(f"The image cannot be tried here: {error}.\n")
        return 1
    with TemporaryDirectory(prefix="sortkey-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        began = time.monotonic()
        build(folder / "image")
        size = sum(path.lstat().st_size for path in (folder / "image" / "opt").rglob("*") if path.is_file())
        show(f"built in {time.monotonic() - began:.0f} s: {size / 1e6:,.0f} MB in /opt/sortkey")
        port, db_port = free_ports(2)
        (folder / "container").mkdir(mode=0o755)
        with prepared(folder / "container") as container_folder:
            container = Container(folder / "image", container_folder, command_of_image(port, db_port), port)
            try:
                began = time.monotonic()
                show(f"ready in {time.monotonic() - began:.1f} s at {container.wait_until_ready()}")
                show(f"healthy: {container.is_healthy()}")
                for command in (["id"], ["touch", "/opt/sortkey/x"], ["touch", "/data/x"], ["sortkey", "--version"]):
                    status, printed = container.run(*command)
                    show(f"{shlex.join(command)}: {status}, {printed.strip()}")
            finally:
                status, errors = container.stop()
            show(f"stopped with {status}: {errors.strip()}")
    return status


if __name__ == "__main__":
    sys.exit(main())
