// differential: {"varies": [["Date: [^\\n]*", "Date: D", "time"]]}
const http = require('http');
const server = http.createServer((q, r) => r.end(`${q.method} ${q.url} ${Object.keys(q.headers)}`)).listen('/tmp/web', () => {
    http.get({ socketPath: '/tmp/web', path: '/p' }, (r) => {
        r.setEncoding('utf8').on('data', (d) => console.log(r.statusCode, d)).on('end', () => server.close());
    });
});
