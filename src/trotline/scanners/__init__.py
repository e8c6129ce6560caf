"""Scanners that find secrets, personal data, prompt injection and invisible characters in text.

They are pure: text in, findings out. A found value leaves this package only as an HMAC.
"""
