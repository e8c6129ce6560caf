#!/bin/sh
# Waits for an answer that never comes. Its entry says what that means: fail closed.
sleep 600
