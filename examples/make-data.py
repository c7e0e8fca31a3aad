#!/usr/bin/python3
"""Makes the input data of the examples: DIR/orders.csv and DIR/catalog.json.

examples/make-data.py [DIR]   (default: examples/data)

Always the same bytes: the generator has its own pseudo-random numbers, seeded here. The data has
what real data has: quotes, commas and line ends in fields, empty fields, bad numbers, and text in
several scripts.
"""
import csv
import io
import json
import os
import sys

ORDERS = 6000
CATEGORIES = 40
NAMES = ["Ana Müller", "Bo “Bob” Łukasz", 'Chen, "Eddie"', "Δημήτρης", "Ève d'Arc", "佐藤 花子",
         "محمد", "O'Neil; Sons", "Zoë 🚲", "Straße & Co"]
COUNTRIES = ["DE", "PL", "CN", "GR", "FR", "JP", "EG", "IE", "NL", "CH"]
GOODS = ["lamp", "chair", "röhre", "кабель", "ネジ", "tape, wide", 'pipe 3/4"', "cup"]
NOTES = ["", "", "", "leave at the door", "call first,\nthen ring", 'said "soon"', "  spaced  "]


class Numbers:
    """A linear congruential generator: the same everywhere, whatever the Python version."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def pick(self, items):
        return items[self.below(len(items))]


def orders():
    numbers = Numbers(20240601)
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(["id", "day", "customer", "country", "item", "quantity", "price", "note"])
    for order in range(1, ORDERS + 1):
        who = numbers.below(len(NAMES))
        price = f"{numbers.below(50000) / 100:.2f}"
        quantity = str(1 + numbers.below(12))
        odd = numbers.below(100)
        if odd == 0:
            price = ""
        elif odd == 1:
            price = "n/a"
        elif odd == 2:
            quantity = "-" + quantity
        day = f"2024-{1 + numbers.below(12):02}-{1 + numbers.below(28):02}"
        table.writerow([f"O{order:05}", day, NAMES[who], COUNTRIES[who], numbers.pick(GOODS),
                        quantity, price, numbers.pick(NOTES)])
    return out.getvalue()


def catalog():
    numbers = Numbers(7)
    categories = []
    product = 0
    for number in range(CATEGORIES):
        products = []
        for _ in range(60 + numbers.below(40)):
            product += 1
            variants = [{"sku": f"P{product:05}-{v}", "stock": numbers.below(200),
                         "price": None if numbers.below(50) == 0 else numbers.below(90000) / 100}
                        for v in range(1 + numbers.below(4))]
            products.append({
                "id": product,
                "name": f"{numbers.pick(GOODS)} {product}",
                "tags": sorted({numbers.pick(["new", "sale", "größe", "重い"])
                                for _ in range(numbers.below(3))}),
                "size": {"w": numbers.below(500), "h": numbers.below(500)},
                "variants": variants,
            })
        categories.append({"name": f"category {number}", "path": ["home", f"floor {number % 4}"],
                           "products": products})
    return json.dumps({"version": 3, "categories": categories}, ensure_ascii=False, indent=1) + "\n"


def main():
    where = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "data")
    os.makedirs(where, exist_ok=True)
    for name, text in (("orders.csv", orders()), ("catalog.json", catalog())):
        data = text.encode("utf-8")
        path = os.path.join(where, name)
        with open(path, "wb") as out:
            out.write(data)
        print(f"{path}: {len(data)} bytes")


main()
