"""What training minimises, one file each; :data:`ngcn.registry.RECIPES` lists them."""
