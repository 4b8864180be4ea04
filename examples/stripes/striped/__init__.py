"""A small interpreter that runs int8 networks as memstow's loop tables say, in one flat array of bytes."""
