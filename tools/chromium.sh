#!/bin/sh
# The tests of pages need Chromium. Install it if it is missing and we may; otherwise say so.
set -eu

command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null
else
    echo "Chromium is missing, so the tests of pages will be skipped." >&2
    exit 1
fi
