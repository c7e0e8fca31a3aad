// The preloaded module of a Node.js that waits for its job (warm.h).
//
// Node requires it before it looks at process.argv[1]. It waits, puts the job's arguments and
// environment where a start would have put them, removes its own traces and returns: Node goes on
// to the program by itself, with nothing of this file on the stack. Workers require it again and
// find an empty file.
'use strict';
const fs = require('fs');

function receive(fd) {
  const parts = [];
  const part = Buffer.alloc(65536);
  for (let n; (n = fs.readSync(fd, part)) > 0;)
    parts.push(Buffer.from(part.subarray(0, n)));
  const strings = Buffer.concat(parts).toString().split('\0');
  strings.pop();
  const count = Number(strings.shift());
  return [strings.slice(0, count), strings.slice(count)];
}

// Generators of this process that were seeded when it started are those of every clone.  Math.random
// takes its seed from a flag when a context calls it for the first time, if the flag is set.
// OpenSSL's generator reseeds itself: the clock has jumped ahead.
function seedMathRandom() {
  const v8 = require('v8');
  const vm = require('vm');
  const seed = () => {
    const bytes = Buffer.allocUnsafeSlow(4);
    const fd = fs.openSync('/dev/urandom');
    fs.readSync(fd, bytes);
    fs.closeSync(fd);
    v8.setFlagsFromString('--random-seed=' + (bytes.readUInt32LE() >>> 1 || 1));
  };
  const seeded = (create) => {
    seed();
    const context = create();
    vm.Script.prototype.runInContext.call(first, context);
    v8.setFlagsFromString('--random-seed=0');
    return context;
  };
  const first = new vm.Script('Math.random()');
  const plain = vm.createContext;
  const describe = (value, like) => Object.defineProperties(value, {
    name: { value: like.name, configurable: true },
    length: { value: like.length, configurable: true },
  });

  seed();
  Math.random();
  v8.setFlagsFromString('--random-seed=0');
  vm.createContext = describe((...args) => {
    return vm.isContext(Object(args[0])) ? plain(...args) : seeded(() => plain(...args));
  }, plain);
  // As Node itself makes these two, of the two steps that are public.
  const options = (given) => {
    if (given === null || typeof given !== 'object')
      return {};
    return {
      name: given.contextName, origin: given.contextOrigin, codeGeneration: given.contextCodeGeneration,
      microtaskMode: given.microtaskMode,
    };
  };
  const newContext = vm.runInNewContext;
  vm.runInNewContext = describe((code, object, given) => {
    if (typeof given === 'string')
      given = { filename: given };
    return vm.runInContext(code, vm.createContext(object === undefined ? {} : object, options(given)), given);
  }, newContext);
  const inNewContext = vm.Script.prototype.runInNewContext;
  vm.Script.prototype.runInNewContext = describe(function(object, given) {
    return this.runInContext(vm.createContext(object === undefined ? {} : object, options(given)), given);
  }, inNewContext);
}

function become(argv, env) {
  const path = require('path');
  const now = [];
  for (const key of Object.keys(process.env))
    now.push(key + '=' + process.env[key]);
  if (now.join('\0') !== env.join('\0')) {
    for (const key of Object.keys(process.env))
      delete process.env[key];
    for (const entry of env) {
      const end = entry.indexOf('=');
      process.env[entry.slice(0, end)] = entry.slice(end + 1);
    }
  }
  process.chdir('/work');
  process.argv.splice(1, process.argv.length, path.resolve(argv[1]), ...argv.slice(2));
  // The wall clock when the process started, as it would be now.
  const origin = Date.now() - performance.now();
  let holder = performance;
  while (!Object.hasOwn(holder, 'timeOrigin'))
    holder = Object.getPrototypeOf(holder);
  const is = Object.getOwnPropertyDescriptor(holder, 'timeOrigin');
  if ('value' in is)
    is.value = origin;
  else
    is.get = { get() { return origin; } }.get;
  Object.defineProperty(holder, 'timeOrigin', is);
}

try {
  delete require.cache[__filename];
  Object.defineProperty(process, '_preload_modules',
    { ...Object.getOwnPropertyDescriptor(process, '_preload_modules'), value: [] });
  module.parent?.children?.splice(0);
  delete process.env.NODE_OPTIONS;
  fs.writeSync(63, 'r');
  const [argv, env] = receive(62);
  become(argv, env);
  seedMathRandom();
  fs.closeSync(62);
  fs.writeSync(63, 'g');
  fs.closeSync(63);
} catch (error) {
  fs.writeSync(2, String(error.stack));
  process.reallyExit(127);
}
