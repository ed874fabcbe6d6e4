"""``Recorder``, for any training loop: what is measured, the file of its rows, callbacks of trainers."""
