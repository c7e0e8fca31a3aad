// differential: {"args": ["one"]}
import fs, { readFileSync } from 'node:fs';
import { createRequire } from 'module';
console.log(import.meta.url, Object.keys(import.meta), typeof import.meta.resolve, process.argv, this);
console.log(typeof require, typeof module, typeof __filename, readFileSync === fs.readFileSync);
const require_ = createRequire(import.meta.url);
console.log(Object.keys(require_.cache), require_.main, await Promise.resolve('top-level await'));
import('./main.mjs').then((again) => console.log(again, Object.keys(again)));
console.log((await import('data:text/javascript,export default 5')).default);
export const exported = 1;
export default function named() {}
console.log((await import('fs')).default === fs);
