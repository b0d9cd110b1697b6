"""Formats shared by gateways and clients."""
