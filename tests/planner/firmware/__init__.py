"""Programs in C that are written from models."""
