#!/bin/sh
# The tests of rules in a database need PostgreSQL. Install it if it is missing and we may; otherwise say so.
set -eu

command -v postgres >/dev/null && exit 0
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >/dev/null
else
    echo "PostgreSQL is missing, so the tests that need it will be skipped." >&2
    exit 1
fi
