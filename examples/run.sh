#!/bin/bash
# The main job on real data, as `make run` starts it: a Python and a Node.js program, each in a
# fresh virtual machine. Shows what they wrote, the verdict and where the time went.
# The first run builds the guest kernel and the images; airlock reports its progress.
#
# AIRLOCK_STATE=DIR uses that state directory instead of the default.
set -euo pipefail
cd "$(dirname "$0")/.."
state=()
if [ -n "${AIRLOCK_STATE:-}" ]; then
    state=(--state "$AIRLOCK_STATE")
fi

/usr/bin/python3 examples/make-data.py examples/data

show() { # PROGRAM INPUT OUT
    local result status=0
    echo
    echo "== airlock run --in $2 --out $3 $1"
    rm -rf "$3"
    mkdir -p "$3"
    # 10 x slower than native is normal without hardware virtualization: leave time for it.
    result=$(build/airlock run --json --wall 120s --cpu 120s "${state[@]}" --in "$2" --out "$3" "$1") || status=$?
    /usr/bin/python3 examples/show.py "$3" <<<"$result"
    return $status
}

show examples/orders-report.py examples/data/orders.csv examples/out/orders
show examples/flatten-catalog.js examples/data/catalog.json examples/out/catalog
