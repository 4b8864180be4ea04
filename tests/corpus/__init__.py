"""What memstow says to many commands, requests and calls: recorded with one version, compared with another.

`python -m tests.corpus ../before` shows what a change of the code changes for users (CONTRIBUTING.md).
"""
