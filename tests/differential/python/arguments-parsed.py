# differential: {"args": ["--number", "five"], "verdict": "user_exception", "exit": 2}
import argparse

parser = argparse.ArgumentParser(description="names itself")
parser.add_argument("--number", type=int, help="a number of %(prog)s")
parser.print_help()
parser.parse_args()
