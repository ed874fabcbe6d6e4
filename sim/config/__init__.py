"""What a run is: its configuration, the models' settings, the presets."""
