"""What the theory says: the list of predictors, and a prediction of everything from a task alone."""
