// differential: {}
console.log(Intl.DateTimeFormat().resolvedOptions(), new Intl.NumberFormat().resolvedOptions().locale, process.env.LANG);
console.log(new Intl.NumberFormat('de-DE').format(1234567.891), new Date(1e12).toLocaleString(), new Date(1e12).toString());
console.log(['ä', 'z', 'a'].sort(new Intl.Collator('sv').compare), 'İ'.toLocaleLowerCase('tr'), new Intl.PluralRules('pl').select(3));
process.env.TZ = 'Asia/Tokyo';
console.log(new Date(0).toString(), new Date(0).getHours());
delete process.env.TZ;
console.log(new Date(0).getHours(), Intl.supportedValuesOf('timeZone').length, process.versions.icu);
