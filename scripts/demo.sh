#!/bin/sh
# Installs, builds, indexes the sample workspace and asks it a question that shares no word with its answer.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
bun run scripts/build.ts >&2

demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT INT TERM
cp -R test/fixtures/sample "$demo/workspace"
cat >"$demo/openclaw.json" <<JSON
{
  // A small embedding model for tests; a real one is named the same way, by path or as hf:user/repository/file.
  agents: { defaults: { memorySearch: { provider: "local", local: { modelPath: "$PWD/test/fixtures/models/wink20k-q8.gguf" } } } },
}
JSON
# The process that holds the model ends with the demo.
export MEMQ_MODEL_IDLE_MS=0
memq() { dist/memq "$@" --workspace "$demo/workspace" --state-dir "$demo/state" --config "$demo/openclaw.json"; }

echo "== memq memory index"
memq memory index
echo
echo "== memq memory search 'airplane baggage'   (the note says airline and luggage)"
memq memory search "airplane baggage" --max-results 1
