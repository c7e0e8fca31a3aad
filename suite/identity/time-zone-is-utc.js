// airlock-case: {"expect": "success", "has": "UTC by default", "note": "no zone of the host is told; local time is UTC"}
const now = new Date();
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
console.log(zone, now.getTimezoneOffset());
const same = now.getTimezoneOffset() === 0 && new Date(2026, 6, 1).getTimezoneOffset() === 0;
console.log(same ? 'UTC by default' : 'OTHER ZONE');
