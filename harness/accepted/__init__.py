"""Accepted outcomes: taken, checked, reworded, withdrawn, and told in REPRODUCED.md."""
