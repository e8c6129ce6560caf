"""One file per library whose tool calls can be judged by hooks in one line; what they have in common is in `call`.

Nothing is imported from here by the rest of Trotline: who wants an adapter has its library.
"""
