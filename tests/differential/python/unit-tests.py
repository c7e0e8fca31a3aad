# differential: {"verdict": "user_exception", "exit": 1, "varies": [["in \\d+\\.\\d+s", "in Ns", "time"]]}
import unittest


class Sums(unittest.TestCase):
    def test_right(self):
        self.assertEqual(1 + 1, 2)

    def test_wrong(self):
        self.assertEqual({"a": 1}, {"a": 2}, "dicts")

    @unittest.skip("not today")
    def test_skipped(self):
        pass

    def test_error(self):
        with self.subTest(i=1):
            [].pop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
