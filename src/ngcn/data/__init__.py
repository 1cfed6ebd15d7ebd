"""Read datasets and files as `Parts`; :mod:`ngcn.graph` turns those into graphs."""
