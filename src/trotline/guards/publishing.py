"""Releases: what everybody gets, and nobody can quite take back."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight


def _published(effect: Effect, _: Sight) -> bool:
    return effect.verb == "publish"


def _withdrawn(effect: Effect, _: Sight) -> bool:
    return effect.verb == "unpublish"


GUARD = Guard(
    name="publishing",
    danger="releases that go out to everybody, or are taken away from them",
    kinds=frozenset({"publish"}),
    rows=(
        Row(
            "withdrawn",
            _withdrawn,
            "ask deny deny",
            "what others already use would change or go away: {target} ({source})",
            "leave this to the person who releases",
        ),
        Row(
            "published",
            _published,
            # Many projects release from a machine as a matter of course: standard only tells.
            "warn ask deny",
            "{target} would be published; a version that is out cannot be taken back",
            "a dry run shows what would be in it",
        ),
    ),
    stops=(
        "npm publish",
        "pnpm publish --access public",
        "yarn npm publish",
        "cargo -q publish -p core",
        "cargo yank --version 1.0.1 core",
        "twine upload wheels/*",
        "pipx run twine upload wheels/*",
        "poetry publish --build",
        "uv publish",
        "gem push a-1.0.gem",
        "gem yank a -v 1.0",
        "npm unpublish a@1.0.0",
        "npm deprecate a@1 'old'",
        "npm dist-tag add a@2 latest",
        "mvn -B deploy",
        "./gradlew :core:publish",
        "gradle -q publishAllPublicationsToReleasesRepository",
        "dotnet nuget push a.nupkg",
        "npx semantic-release",
    ),
    passes=(
        "npm publish --dry-run",
        "npm pack",
        "cargo -q publish --dry-run",
        "cargo package",
        "twine check --strict wheels/*",
        "poetry build",
        "uv build",
        "gem build a.gemspec",
        "mvn -q verify",
        "gradle build",
        "./gradlew publishToMavenLocal",
        "npm dist-tag ls a",
        "npm owner ls a",
        "dotnet pack",
        "git commit -m 'npm publish'",
    ),
)
