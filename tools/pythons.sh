#!/bin/sh
# pythons.sh PYTHON: print the interpreters of the other Python versions that README promises and this machine has, one
# a line: those on the PATH, those of pyenv, and those of uv. PYTHON is the one that is tested already.
set -u

tested=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1

# True for an interpreter of this version that can make virtual environments.
works() {
    [ "$("$1" -c 'import ensurepip, sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$2" ]
}

for version in 3.11 3.12 3.13 3.14; do
    [ "$version" = "$tested" ] && continue
    for python in "$(command -v "python$version")" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/"python$version" \
        "$(uv python find --no-python-downloads "$version" 2>/dev/null)"; do
        if [ -n "$python" ] && works "$python" "$version"; then
            echo "$python"
            break
        fi
    done
done
