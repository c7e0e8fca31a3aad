# airlock-case: {"expect": "output_rejected", "has": "ragged", "outputs": {}, "contract": "csv:table.csv", "note": "a table with a row that is longer than its head is not rectangular"}
with open("/out/table.csv", "w") as f:
    f.write("a,b,c\n1,2,3\n4,5,6,7\n")
print("ragged")
