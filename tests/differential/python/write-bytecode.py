# differential: {"inputs": {"readonly_module.py": "value = 1\n"}}
import os
import sys

with open("module_here.py", "w") as file:
    file.write("value = 2\n")
import module_here

sys.path.append("/in")
import readonly_module

print(module_here.__cached__, os.listdir("__pycache__"), readonly_module.__cached__, os.listdir("/in"), os.listdir("."))
print(oct(os.stat("__pycache__").st_mode), oct(os.stat(module_here.__cached__).st_mode))
