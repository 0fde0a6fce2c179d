"""Training: batches, steps, optimisers, gradients through training."""
