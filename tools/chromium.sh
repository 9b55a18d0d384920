#!/bin/sh
# The pages are looked at with Chromium. Install it where it is missing and that is possible, else say so.
set -eu

command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null
else
    echo "Chromium is missing, so the tests of pages will be skipped." >&2
    exit 1
fi
