"""Solvers and formats of other packages: which are installed, what they are given, the processes they run in.

Only who names one that is not ours, or lists them, comes here: looking at what is installed takes longer
than a small solve. Code of a plug-in runs in a process of its own (`host.py`), which imports the library as
anybody does; this process exchanges bytes with it (`process.py`), and judges what comes.
"""
