#!/usr/bin/env bash
# `make demo`: a supply chain of packages, analysed on Spark, and what the results mean.
set -euo pipefail
cd "$(dirname "$0")/.."
example=examples/supply
facts=build/demo/in
out=build/demo/out
rm -rf build/demo && mkdir -p build/demo

failed() { echo "The demo failed: $*" >&2; exit 1; }
indented() { sed 's/^/    /'; }
seconds() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(seconds)" 'BEGIN { printf "%.1f s", to - from }'; }

echo "An invented ecosystem of packages, as Parquet:"
echo
started=$(seconds)
python $example/generate.py $facts > build/demo/generate.log || failed "$example/generate.py could not write $facts"
indented < build/demo/generate.log
echo "    written in $(since "$started")"
echo
echo "Which applications does a vulnerable package reach, through any number of dependencies, unless a package on the"
echo "way is stated not to be affected? And which single upgrade frees the most of them? From $example/supply.dl:"
echo
sed -n '/^exposed(/p; /^still(/p; /^frees(/p' $example/supply.dl | indented
echo
echo "\$ whence run $example/supply.dl -F $facts -D $out        (on Spark, which takes a while to start)"
started=$(seconds)
whence run $example/supply.dl -F $facts -D $out --json > build/demo/report.json || failed "whence run ended with status $?"
echo
python - build/demo/report.json << 'END' | indented
import json, sys
with open(sys.argv[1]) as file:
    report = json.load(file)
seconds, placements = report["seconds"], [stratum["placement"] for stratum in report["placements"]]
counts = ", ".join(f"{placements.count(place)} {place}" for place in dict.fromkeys(placements))
print(f"{report['derived']:,} tuples derived in {report['strata']} strata ({counts})")
print(f"reading {seconds['load']:.1f} s, rules {seconds['run']:.1f} s, waiting for Spark and writing {seconds['write']:.1f} s")
END
echo "    in all $(since "$started")"
echo
python $example/show.py $out > build/demo/shown.txt || failed "the outputs in $out cannot be shown"
cat build/demo/shown.txt
echo
grep -Eq '^ +ADV-2025-1407 +mini-table-engine2 +7,180 +653$' build/demo/shown.txt ||
  failed "ADV-2025-1407 should reach 7,180 applications, and its fix alone free 653; the outputs in $out are wrong"
grep -Eq '^ +mono-graph +31 +3,439 +none$' build/demo/shown.txt ||
  failed "upgrading mono-graph should free 3,439 applications; the outputs in $out are wrong"
echo "The outputs are Parquet, in $out: affected, reach, frees, upgrade. $example/pipeline.py does the same by"
echo "spark-submit; $example/README.md says how. A smaller example, which finds a bug: examples/pointsto."
