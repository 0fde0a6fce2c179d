"""The environment variables by which numerical libraries are told how many threads to use."""

# Each is read once, by a library that is loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
