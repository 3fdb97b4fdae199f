#!/bin/sh
# Installs a wheel or sdist into a new environment outside the checkout and keeps a fact with it, without any model;
# then runs the command that it names for a missing extra.
set -eu
built=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"${PYTHON:-python3}" -m venv .
bin/pip install --quiet --disable-pip-version-check "$built"
export THOUGHTCYCLE_DB="sqlite:///$place/memory.db" THOUGHTCYCLE_USER=ana THOUGHTCYCLE_LANGUAGE=pt
echo 'Guarde: gosto de chá verde.' | bin/thoughtcycle chat
bin/thoughtcycle memories list --json | grep -q 'chá verde'
install=$(bin/thoughtcycle mcp 2>&1 </dev/null | sed -n 's/.*Execute: //p')
sh -c "$install --quiet --disable-pip-version-check"
bin/thoughtcycle mcp </dev/null
echo "$(basename "$built") works"
