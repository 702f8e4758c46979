import unittest

from tally import parse, show, total


class TallyTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("01:30"), 90)

    def test_show(self):
        self.assertEqual(show(90), "01:30")
        self.assertEqual(show(135), "02:15")

    def test_total(self):
        self.assertEqual(total(["01:45", "00:30"]), "02:15")


if __name__ == "__main__":
    unittest.main()
