"""Runs to be looked at: a local viewer of a store, and a report in one HTML file (extras ``view`` and ``report``)."""
