"""The theory's predictions for a task: label statistics, predictors of cosines, learning times, ceilings."""
