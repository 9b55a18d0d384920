#!/bin/sh
# venv.sh VENV REQUIREMENTS: make or refresh the virtual environment: every locked package by its hash, then Sortkey
# itself, editable.
set -eu

venv=$1
requirements=$2
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "Sortkey needs Python 3.11 or newer; '$python' is older or missing. Choose another: make PYTHON=python3.12" >&2
    exit 1
fi

# Debian splits the venv module from Python.
if ! command -v uv >/dev/null && ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv
    else
        echo "'$python' cannot make virtual environments; install uv, or Debian's python3-venv." >&2
        exit 1
    fi
fi

if command -v uv >/dev/null; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    install="uv pip install --quiet --python $venv/bin/python"
else
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    install="$venv/bin/python -m pip install --quiet --disable-pip-version-check"
fi
$install --require-hashes --requirement "$requirements"
$install --no-deps --no-build-isolation --editable .
