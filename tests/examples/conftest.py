"""The fixtures of the tests that build the sample."""

from tests.examples.building import sample as sample
