# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import os
import runpy
import sys

if 'second' in sys.argv:
    print('second', __name__, __file__, sys.argv, sys.modules['__main__'].__dict__ is globals(), __spec__)
else:
    sys.argv.append('second')
    print(sorted(runpy.run_path('main.py', run_name='__main__')))
    open('mod.py', 'w').write('import sys\nprint(__name__, __spec__, sys.argv, __file__)\nx = 1\n')
    print(runpy.run_module('mod', run_name='other')['x'], 'mod' in sys.modules)
    print(runpy.run_module('mod', alter_sys=True)['x'])
    import main
    print(main is sys.modules['__main__'], main.__name__, main.__spec__, sorted(os.listdir('__pycache__')))
