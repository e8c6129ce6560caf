"""What is true of our lines on this machine: installed, current, run, refused. `init`, `prove`, `doctor` ask here."""
