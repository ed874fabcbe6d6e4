r"""
Figure 2: the task
==================

A sequence is noise, a key, q anchors of one mapping in a row, and noise again. The label depends on key and
anchors alone: a reasoning mapping adds them up, a memory mapping looks up a label that was drawn once and
is fixed. No runs are needed: the sequences are drawn from the paper's task (Section 2.1, 3.1). It belongs to
no claim: all of them are about this task.
"""

from validate.figures.paper import draw_figure

sheet = draw_figure(2)
