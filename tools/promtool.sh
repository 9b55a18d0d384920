#!/bin/sh
# promtool.sh DIR: fetch Prometheus's promtool, which checks the alerts, into DIR. It is taken out of Debian's package,
# which is not installed.
set -eu

mkdir -p "$1"
cd "$1"
[ -x promtool ] && exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "promtool is missing and only fetched where there is apt" >&2
    exit 1
fi
apt-get download -qq prometheus >/dev/null 2>&1 || { apt-get update -qq && apt-get download -qq prometheus >/dev/null; }
# Renamed when it is whole.
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/promtool >promtool.new
rm prometheus_*.deb
chmod +x promtool.new
mv promtool.new promtool
