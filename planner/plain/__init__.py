"""Problems that are no more than buffers in one memory, as columns instead of objects."""
