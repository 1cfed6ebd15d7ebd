"""Recipes: what training minimises, one file each; :data:`ngcn.registry.RECIPES` lists them."""

from ngcn.training.recipes.recipe import Recipe

__all__ = ["Recipe"]
