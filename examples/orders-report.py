"""Orders by country and month: reads orders.csv, writes report.json and by-country.csv.

Runs anywhere; in airlock the data is in /in and results go to /out.
"""
import collections
import csv
import decimal
import json
import os

IN = os.environ.get("IN", "/in")
OUT = os.environ.get("OUT", "/out")


def main():
    totals = collections.defaultdict(decimal.Decimal)
    counts = collections.Counter()
    months = collections.defaultdict(decimal.Decimal)
    items = collections.Counter()
    rejected = collections.Counter()
    rows = 0
    with open(os.path.join(IN, "orders.csv"), encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            rows += 1
            try:
                price = decimal.Decimal(row["price"])
                quantity = int(row["quantity"])
            except decimal.InvalidOperation:
                rejected["no price"] += 1
                continue
            if quantity <= 0:
                rejected["quantity not positive"] += 1
                continue
            amount = price * quantity
            totals[row["country"]] += amount
            counts[row["country"]] += 1
            months[row["day"][:7]] += amount
            items[row["item"]] += quantity

    order = sorted(totals, key=lambda c: (-totals[c], c))
    report = {
        "rows": rows,
        "accepted": sum(counts.values()),
        "rejected": dict(sorted(rejected.items())),
        "revenue": str(sum(totals.values())),
        "months": {m: str(months[m]) for m in sorted(months)},
        "items": dict(sorted(items.items(), key=lambda pair: (-pair[1], pair[0]))),
    }
    with open(os.path.join(OUT, "report.json"), "w", encoding="utf-8") as out:
        json.dump(report, out, ensure_ascii=False, indent=2)
        out.write("\n")
    with open(os.path.join(OUT, "by-country.csv"), "w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["country", "orders", "revenue"])
        for country in order:
            table.writerow([country, counts[country], totals[country]])
    print(f"{rows} orders read, {report['accepted']} accepted, revenue {report['revenue']}")
    print("best country:", order[0], totals[order[0]])


main()
