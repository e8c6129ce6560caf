"""What stands in a text that should not: secrets, personal data, markers of injection, characters nobody sees.

Pure: text in, findings out. A found value leaves this package as an HMAC and in no other form.
"""
