#!/bin/sh
# Builds the console's page from console/ into the package; with `packages`, only installs what the tests of it use.
set -eu

cd "$(dirname "$0")/../console"
if ! command -v npm >/dev/null; then
    echo "npm is missing, so the console is not built, and the tests of its accessibility will be skipped." >&2
    exit 1
fi
# npm writes this file when it has installed everything.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --silent
    touch node_modules/.package-lock.json
fi
[ "${1:-}" = packages ] || npm run --silent build
