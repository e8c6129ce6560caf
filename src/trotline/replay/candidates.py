"""Candidates: a file that is not in force, in the place of one that is."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trotline.config.files import content
from trotline.config.places import Roots, policy_files
from trotline.config.policies import AS_THEY_ARE, Given
from trotline.errors import TrotlineError

USER, PROJECT = "user", "project"


class Candidate(NamedTuple):
    """Whose policy it would be, and what is read instead of which files."""

    layer: str = ""
    instead: Mapping[str, Given] = AS_THEY_ARE


def candidate_policy(file: Path, layer: str | None, roots: Roots) -> Candidate:
    """A policy file, read in the place of the one of its layer: the one that is named, or that its own place says."""
    try:
        data, _ = content(file)
    except OSError as error:
        raise TrotlineError(f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    places = [(name, os.path.realpath(place)) for name, place in policy_files(roots, map(str, roots.projects))]
    own = next((name for name, place in places if place == os.path.realpath(file)), _by_name(file))
    whose = layer or own
    return Candidate(whose, {place: Given(str(file), data) for name, place in places if name == whose})


def _by_name(file: Path) -> str:
    """A `.trotline/policy.toml` of wherever is a project's; any other file is taken for the person's own."""
    return PROJECT if file.parent.name == ".trotline" else USER
