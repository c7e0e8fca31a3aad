// differential: {"program": "", "has": ""}
