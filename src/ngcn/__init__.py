"""N-GCN: multi-scale graph convolution for semi-supervised node classification."""
