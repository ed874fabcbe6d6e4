"""Panels: objects that hold arrays and draw themselves on given axes; a panel of a kind is one module."""
