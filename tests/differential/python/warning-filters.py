# differential: {"verdict": "user_exception", "exit": 1}
import sys
import warnings

print(warnings.filters, sys.warnoptions, warnings._onceregistry if hasattr(warnings, '_onceregistry') else None)
warnings.warn('a user warning')
warnings.warn('deprecated in main', DeprecationWarning)
warnings.warn('pending', PendingDeprecationWarning)
warnings.warn('far up', stacklevel=2)
warnings.warn('farther up', stacklevel=20)
for _ in range(2):
    warnings.warn('once for this line')
print(sorted(k for k in globals() if 'warning' in k), __warningregistry__.keys())
open('main.py')
import imp
import asyncore
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    warnings.warn_explicit('explicit', UserWarning, 'file', 7)
    exec(compile('1 is 1', 'made up', 'exec'))
    print([str(w.message) for w in caught], caught[0].filename)
warnings.simplefilter('error')
warnings.warn('now an error')
