// airlock-case: {"expect": "success", "has": "nothing sent", "never": "BREACH", "note": "UDP has no connection to refuse, so data leaks by the first packet; sending has to fail"}
const dgram = require('dgram');
const hit = [];
const send = (type, host, port) => new Promise((done) => {
  const s = dgram.createSocket(type);
  s.on('error', (e) => { s.close(); done(e.code); });
  s.send('leak', port, host, (e) => {
    if (!e) hit.push(`${host}:${port}`);
    s.close();
    done(e ? e.code : 'sent');
  });
});
(async () => {
  for (const [type, host] of [['udp4', '8.8.8.8'], ['udp4', '10.0.2.3'], ['udp4', '192.168.0.1'], ['udp6', '2001:4860:4860::8888']]) {
    for (const port of [53, 514]) console.log(host, port, await send(type, host, port));
  }
  console.log(hit.length ? 'BREACH' : 'nothing sent', hit.join(' '));
})();
