"""Add the compiled client to the wheel. Without a C compiler the wheel is pure, and agents run the Python client."""

import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CLIENT = "src/trotline/service/trotline-hook"


class ClientBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        if _build_client(Path(self.root)):
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            build_data["artifacts"].append(f"/{CLIENT}")


def _build_client(root: Path) -> bool:
    spec = importlib.util.spec_from_file_location("client_build", root / "client" / "build.py")
    if spec is None or spec.loader is None:
        return False
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bool(module.build(root / CLIENT))
