"""The commands of `memstow`, a file each."""
