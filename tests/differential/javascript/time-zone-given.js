// differential: {"env": {"TZ": "America/New_York"}, "fresh": "the zone was read already"}
console.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().timeZone);
