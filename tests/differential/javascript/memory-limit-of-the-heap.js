// differential: {"verdict": "user_exception", "signal": "SIGABRT", "options": ["--memory", "192M"], "varies": [["(?s).*", "", "numbers of collections and addresses"]], "has": ""}
const kept = [];
for (;;) {
    kept.push(new Array(5000).fill({ n: kept.length }));
}
