"""A library of instances: a folder with problems, the best plans known of them, and what shows that.

docs/library-format.md describes the folder. `form.py` says when two instances are one, `judging.py` what a
plan and its proof show, `folder.py` how the folder is read and written, `records.py` what is done with it,
`standard.py` has the recipes of the standard library, and `site.py` makes pages of one.
"""
