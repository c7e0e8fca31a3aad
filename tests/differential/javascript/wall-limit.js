// differential: {"verdict": "timeout", "options": ["--wall", "8s"]}
console.log('waits');
setInterval(() => {}, 1000);
