# airlock-case: {"expect":"success","stdout":"to stderr\n","err":"to stdout","note":"what counts is the pipe that the bytes went into, not the number that the program uses for it"}
import os

os.dup2(1, 100)
os.dup2(2, 1)
os.dup2(100, 2)
os.write(1, b"to stdout\n")
os.write(2, b"to stderr\n")
