"""The warm service, the Python client, and the cold path on which both clients end when there is no service.

Killing any of it at any moment changes no verdict and loses no record: it only makes the next call slower.
"""
