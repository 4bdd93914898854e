"""Tests of the comparison itself: a fault must not pass as a difference that is known."""
