// differential: {"verdict": "user_exception", "exit": 1, "inputs": {"a.mjs": "import { b } from './b.mjs'; export const a = 'a'; export const late = () => b; console.log('a runs');", "b.mjs": "import { a } from './a.mjs'; console.log('b runs'); export const b = typeof a;", "c.cjs": "exports.x = 1; exports.main = require.main; console.log('c', module.parent, module.id);"}}
import * as all from '/in/c.cjs';
console.log(all);
import('/in/a.mjs');
