"""Sum-over-training-losses in one-shot and differentiable NAS (a thesis, Oxford, Trinity 2021)."""
