"""Jobs that outlive the process that took them: the store, the queue, and those who work it off."""
