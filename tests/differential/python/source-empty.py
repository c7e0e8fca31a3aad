# differential: {"program": "", "has": ""}
