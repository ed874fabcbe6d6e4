"""What a corpus predicts, printed, drawn and written."""
