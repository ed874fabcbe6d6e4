"""The answer to the first question about some runs: whether the theory predicts the task's embedding."""

from validate.answer.answer import Answer as Answer
from validate.answer.answer import answers as answers
