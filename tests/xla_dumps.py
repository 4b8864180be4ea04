"""A dump of XLA, to have one to send: two temporaries that meet, and a third after the first."""

from typing import Final

XLA: Final = """BufferAssignment:
allocation 0: size 49152, parameter 0, shape |f32[128,96]| at ShapeIndex {}:
 value: <1 w.1 @0> (size=49152,offset=0): f32[128,96]{1,0}
allocation 1: size 28672, preallocated-temp:
 value: <2 first @0> (size=16384,offset=0): f32[4096]{0}
 value: <3 second @0> (size=12288,offset=16384): f32[3072]{0}
 value: <4 third{0} @0> (size=8192,offset=0): f32[2048]{0}
HloLiveRange (max 5):
  BufferLiveRange:
    w.1{}:0-5
    first{}:1-2
    second{}:2-3
    third{0}:3-4
"""
