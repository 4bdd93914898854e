"""Tests of the comparison itself: a fault must not be accepted as a known difference."""
