# differential: {"stdin": "w\np here\nu\nu\nw\nn\nl\nc\n"}
import pdb


def inner():
    here = "inner"
    pdb.set_trace()
    return here


print("before")
inner()
print("after")
