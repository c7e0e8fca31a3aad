// differential: {"verdict": "oom", "signal": "SIGKILL", "options": ["--memory", "192M"], "has": ""}
const kept = [];
for (;;) {
    kept.push(new Array(5000).fill({ n: kept.length }));
}
