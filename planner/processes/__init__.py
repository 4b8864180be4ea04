"""Child processes: how one is started, spoken to, limited and ended, so that it leaves nothing behind.

Whoever needs work done in another process (back ends, the bench, the service) does it with these; nothing
here knows what the work is.
"""
