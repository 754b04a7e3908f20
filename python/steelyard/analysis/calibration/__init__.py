"""Statistics of calibration: known weights, and the evidence that equal arms read unequal."""
