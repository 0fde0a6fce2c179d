"""Accepted outcomes: taken, checked, withdrawn, and told in REPRODUCED.md."""
