#!/bin/sh
# Whether today is a day to deploy is known to an oracle that never answers. The entry says what that means.
sleep 600
