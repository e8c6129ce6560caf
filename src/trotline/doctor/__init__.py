"""The state of our lines on this machine: installed, current, running, refusing. `install` and `doctor` use it."""
