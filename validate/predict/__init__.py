"""What the theory says of a task: label statistics, predictors of cosines, learning times, ceilings."""
