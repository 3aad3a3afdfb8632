"""The table of what is measured: in each row ckpt's command, its peers' for the same job, and the marks to reach. A file
a theme; how a row is written stands in ../row.py."""

from rows import compressing, converting, evaluating, growing, proving, seeing


def table():
    themes = (seeing, converting, compressing, proving, evaluating, growing)
    return [row for theme in themes for row in theme.rows()]
