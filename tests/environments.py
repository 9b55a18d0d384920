"""Virtual environments of their own, for programs whose packages do not agree with ours; made once, in the cache."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Final

from tests.maven import Unavailable, cache_folder

INSTALL_SECONDS: Final = 240


def environment(name: str, requirements: Path) -> Path:
    """The folder of an environment, which is made if it is missing or has other versions. Raises Unavailable."""
    folder = cache_folder() / name
    folder.mkdir(parents=True, exist_ok=True)
    ready = folder / ".ready"
    wanted = blake2b(requirements.read_bytes()).hexdigest()
    # Test workers start together; one installs, the others wait for it. uv locks the environment's own .lock.
    with (cache_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists() or ready.read_text() != wanted:
            _install(folder, requirements)
            ready.write_text(wanted)
    return folder


def _install(folder: Path, requirements: Path) -> None:
    python = str(folder / "bin" / "python")
    if shutil.which("uv") is None:
        make, pip = [sys.executable, "-m", "venv", str(folder)], [python, "-m", "pip", "install"]
    else:
        make = ["uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)]
        pip = ["uv", "pip", "install", "--python", python]
    _run(make)
    _run([*pip, "--quiet", "--require-hashes", "--requirement", str(requirements)])


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"it could not be installed within {INSTALL_SECONDS} s") from error
    except subprocess.CalledProcessError as error:
        last_line = (error.stdout + error.stderr).strip().rpartition("\n")[2]
        raise Unavailable(f"it could not be installed: {last_line}") from error
