"""Sends the same random requests to two servers and explains, or reports, every difference."""
