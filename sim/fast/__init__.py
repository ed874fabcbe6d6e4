"""Each member's loss and the gradients of all its tensors: autograd's numbers with less work.

The models are written plainly in ``sim.architectures``, and train with autograd; those that are trained most
are registered with hand-written gradients from this package (``sim.fast.layers``).
"""
