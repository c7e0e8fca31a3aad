// differential: {"verdict": "output_rejected"}
require('fs').symlinkSync('/etc/passwd', '/out/link');
console.log('a link is left behind');
