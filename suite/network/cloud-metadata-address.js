// airlock-case: {"expect": "success", "has": "no metadata", "never": "BREACH", "note": "the metadata services of clouds hand out credentials to whoever can speak HTTP to a link-local address", "source": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html"}
const http = require('http');
const hit = [];
const get = (host, path) => new Promise((done) => {
  const r = http.get({ host, path, timeout: 5000, headers: { 'Metadata-Flavor': 'Google' } }, () => { hit.push(host); r.destroy(); done('answer'); });
  r.on('timeout', () => r.destroy(new Error('SLOW')));
  r.on('error', (e) => done(e.code || e.message));
});
(async () => {
  for (const [host, path] of [['169.254.169.254', '/latest/meta-data/'], ['169.254.170.2', '/v2/credentials'], ['100.100.100.200', '/latest/'],
    ['168.63.129.16', '/machine'], ['[fd00:ec2::254]', '/latest/']]) console.log(host, await get(host, path));
  console.log(hit.length ? 'BREACH' : 'no metadata', hit.join(' '));
})();
