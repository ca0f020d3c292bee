#!/usr/bin/env bash
# `make demo`: runs the points-to example and says what its results mean.
set -euo pipefail
cd "$(dirname "$0")/.."
example=examples/pointsto
out=build/demo
rm -rf "$out" && mkdir -p "$out"

indented() { sed 's/^/    /'; }
tuples() { LC_ALL=C sort "$out/$1.csv" | awk -F '\t' '{ printf(NF > 1 ? "    %-12s %s\n" : "    %s\n", $1, $2) }'; }

echo "A program that handles sessions ($example/session.txt):"
echo
indented < $example/session.txt
echo
echo "Its statements are facts ($example/facts), and five rules say which variable may point to which object"
echo "($example/pointsto.dl):"
echo
grep ':-' $example/pointsto.dl | indented
echo
echo "\$ whence run $example/pointsto.dl -F $example/facts -D $out --engine local"
whence run $example/pointsto.dl -F $example/facts -D $out --engine local
echo
echo "vpt: variable may point to object (L3 is the InsecureSession of line 3)"
tuples vpt
echo
echo "alias: two variables may name the same object"
tuples alias
echo
echo "safevar: variable is never null"
tuples safevar
echo
if grep -q $'^superuser\tL3$' "$out/vpt.csv"; then
  echo "So a superuser may be handed the insecure session: superuser points to L3, by way of line 14 as well as line 16."
else
  echo "Expected superuser to point to L3, and it does not: $out/vpt.csv is wrong." >&2
  exit 1
fi
echo "The outputs are in $out."
