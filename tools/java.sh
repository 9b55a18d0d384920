#!/bin/sh
# DynamoDB Local and Kafka need Java, and Maven fetches them. Install both if they are missing and we may; otherwise say so.
set -eu

command -v java >/dev/null && command -v mvn >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends default-jre-headless maven >/dev/null
else
    echo "Java and Maven are missing, so the tests with DynamoDB Local and with Kafka will be skipped." >&2
    exit 1
fi
