// airlock-case: {"expect": "success", "has": "no name resolved", "never": "BREACH", "note": "a resolver would be a channel to the outside; lookups fail, and fast"}
const dns = require('dns');
const hit = [];
const settle = (name, promise) => promise.then((r) => { hit.push(`${name} ${JSON.stringify(r)}`); }, (e) => console.log(name, e.code));
(async () => {
  const resolver = new dns.promises.Resolver({ timeout: 1000, tries: 1 });
  for (const name of ['example.com', 'metadata.google.internal', 'host.docker.internal']) {
    await settle(name, dns.promises.lookup(name));
    await settle(name, resolver.resolve4(name));
  }
  resolver.setServers(['8.8.8.8']);
  await settle('by 8.8.8.8', resolver.resolve4('example.com'));
  console.log(hit.length ? 'BREACH' : 'no name resolved', hit.join(' '));
})();
