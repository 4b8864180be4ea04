"""Child processes: start one, exchange messages, limit and end it, so that nothing is left behind.

Back ends, the bench and the service do their work in other processes with these modules; nothing here knows
what the work is.
"""
