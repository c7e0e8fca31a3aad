// airlock-case: {"expect": "success", "has": "nobody called", "never": "BREACH", "note": "discovery by broadcast and multicast (mDNS, SSDP, DHCP) finds neither neighbours nor the host"}
const dgram = require('dgram');
const hit = [];
const call = (host, port) => new Promise((done) => {
  const s = dgram.createSocket('udp4');
  s.bind(0, () => {
    s.setBroadcast(true);
    s.send('anyone?', port, host, (e) => {
      if (!e) hit.push(host);
      s.close();
      done(e ? e.code : 'sent');
    });
  });
});
(async () => {
  for (const [host, port] of [['255.255.255.255', 67], ['224.0.0.251', 5353], ['239.255.255.250', 1900], ['10.0.2.255', 137]]) {
    console.log(host, await call(host, port));
  }
  console.log(hit.length ? 'BREACH' : 'nobody called', hit.join(' '));
})();
