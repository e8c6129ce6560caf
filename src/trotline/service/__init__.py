"""The warm service, its client's twin in Python, and the cold path that both of them end in when anything is odd.

Killing any of it at any moment changes no verdict and loses no record: it only makes the next call slower.
"""
