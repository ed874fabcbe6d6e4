"""Panels: objects that hold arrays and draw themselves on given axes; each kind of panel is one module."""
