"""A day at a shop: `python -m examples.shop` sends two thousand orders through a broker of its own.

Each file answers one question. Read them in this order: `orders`, `placing`, `paying`, `crashing`, `redriving`,
`streaming`, `analysing`, `reporting`; `story` puts them together.
"""
