"""Runs a module of the page outside of a browser, where node and the page's packages are installed."""

import json
import shutil
import subprocess
from typing import Any, Final

import pytest

from tests.api.page.browser import ROOT

PAGE: Final = ROOT / "api" / "page"
_RUN: Final = """
const {buildSync} = require("esbuild");
const chunks = [];
process.stdin.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
  const {code, input} = JSON.parse(Buffer.concat(chunks).toString());
  const stdin = {contents: code, resolveDir: process.cwd() + "/src", loader: "ts"};
  const made = buildSync({stdin, bundle: true, write: false, format: "cjs", platform: "node"});
  const module = {exports: {}};
  new Function("module", "exports", "require", made.outputFiles[0].text)(module, module.exports, require);
  console.log(JSON.stringify(module.exports.default(input)));
});
"""


def run(code: str, argument: object) -> Any:
    """What the default export of this TypeScript, which may import from `./`, returns for the argument."""
    node = shutil.which("node")
    if node is None or not (PAGE / "node_modules" / "esbuild").is_dir():
        pytest.skip("node or esbuild is not installed (make page-check installs it)")
    sent = json.dumps({"code": code, "input": argument})
    ran = subprocess.run([node, "-e", _RUN], cwd=PAGE, input=sent, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)
