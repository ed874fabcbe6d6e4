"""Training: the trainer, its steps on host and device, sessions, processes, cost."""
