"""Says what the outputs of `supply.dl` mean:  python show.py OUTPUT"""

import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet


def rows(name: str) -> list[dict[str, Any]]:
    return pyarrow.parquet.read_table(Path(sys.argv[1]) / f"{name}.parquet").to_pylist()


reach = sorted(rows("reach"), key=lambda row: (-row["applications"], row["advisory"]))
upgrades = sorted(rows("upgrade"), key=lambda row: (-row["frees"], row["package"]))
frees = {row["package"]: row["frees"] for row in upgrades}
named = {row["package"]: row["advisory"] for row in reach}
vulnerable = {row["application"] for row in rows("affected")}

print("The advisories that reach the most applications, and what fixing that package alone would do:")
print()
print(f"    {'advisory':<15} {'package':<22} {'reaches':>8} {'frees':>8}")
for row in reach[:5]:
    print(
        f"    {row['advisory']:<15} {row['package']:<22} {row['applications']:>8,} {frees.get(row['package'], 0):>8,}"
    )
print()
print("The upgrades that free the most applications, so that no advisory reaches them any more:")
print()
print(f"    {'upgrade':<22} {'used by':>8} {'frees':>8}   its own advisory")
for row in upgrades[:5]:
    own = named.get(row["package"], "none")
    print(f"    {row['package']:<22} {row['dependents']:>8,} {row['frees']:>8,}   {own}")
print()
first, best = reach[0], upgrades[0]
print(
    f"{len(vulnerable):,} applications are vulnerable. {first['advisory']} reaches the most of them, but others reach"
)
print(f"these too: fixing {first['package']} frees {frees[first['package']]:,}. Upgrading {best['package']} instead,")
print(f"which {best['dependents']:,} packages use directly and no advisory names, frees {best['frees']:,}.")
