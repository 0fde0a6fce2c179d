"""Understanding and Exploring the Network with Stochastic Architectures (Deng et al. 2020)."""
