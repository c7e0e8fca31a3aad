// differential: {"verdict": "user_exception", "exit": 1}
undeclared = 5;
console.log(undeclared, globalThis.undeclared, (function () { return this === globalThis; })(), 010);
'use strict';
(function () {
    'use strict';
    console.log(this);
    alsoUndeclared = 6;
})();
