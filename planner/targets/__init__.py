"""The memories of devices: those that ship with memstow beside the code that reads them.

In comes a name or a document, out goes a `Target`; and a problem in the memories of a target, or with the
capacity that the person who asks wants.
"""
