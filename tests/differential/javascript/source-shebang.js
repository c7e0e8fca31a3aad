// differential: {"program": "#!/usr/bin/env node\n'use strict';\nconsole.log(this === module.exports, new Error('where').stack);\n"}
