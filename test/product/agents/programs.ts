/**
 * Bootstraps as a user writes them from docs/guides/dispatch-gateway.md: each asks the node, runs the command that it gets, sends the
 * result, and prints the answer. None imports code of the node.
 */
const CURL = `#!/bin/sh
# JSON with what a shell has: it knows the two commands that it is asked to run.
set -eu
post() { curl -sS -H 'content-type: application/json' --data-binary @- "$SVC_ORCHESTRATOR_URL/v1/dispatch-gateway"; }
field() { printf '%s' "$answer" | sed -n 's/.*"'"$1"'":"\\([^"]*\\)".*/\\1/p'; }
answer=$(printf '{"type":"generate","agent_id":"%s","execution_id":"%s","iteration_number":%s,"model_alias":"","prompt":"%s"}' \\
  "$SVC_AGENT_ID" "$SVC_EXECUTION_ID" "$SVC_ITERATION" "$1" | post)
while [ "$(field type)" = dispatch ]; do
  case $answer in *'"command":"tee"'*) out=$(echo ran | tee -a ran) ;; *) out=unknown ;; esac
  answer=$(printf '{"type":"dispatch_result","execution_id":"%s","dispatch_id":"%s","exit_code":0,"stdout":"%s","stderr":"","duration_ms":1,"truncated":false}' \\
    "$SVC_EXECUTION_ID" "$(field dispatch_id)" "$out" | post)
done
printf 'curl: %s' "$(field content)"
`;

const NODE = `#!/usr/bin/env node
const { execFileSync } = require('node:child_process');
const { SVC_AGENT_ID: agent_id, SVC_EXECUTION_ID: execution_id, SVC_ITERATION, SVC_ORCHESTRATOR_URL } = process.env;
async function post(message) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(SVC_ORCHESTRATOR_URL + '/v1/dispatch-gateway', { method: 'POST', headers, body: JSON.stringify(message) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
(async () => {
  let answer = await post({ type: 'generate', agent_id, execution_id, iteration_number: Number(SVC_ITERATION), prompt: process.argv[2] });
  while (answer.type === 'dispatch') {
    const stdout = execFileSync(answer.command, answer.args, { input: 'ran\\n', encoding: 'utf8' });
    const { dispatch_id } = answer;
    answer = await post({ type: 'dispatch_result', execution_id, dispatch_id, exit_code: 0, stdout, stderr: '', duration_ms: 1, truncated: false });
  }
  process.stdout.write('node: ' + answer.content);
})();
`;

const PYTHON = `#!/usr/bin/python3
import json, os, subprocess, sys, urllib.request
env = os.environ
def post(**message):
    request = urllib.request.Request(env["SVC_ORCHESTRATOR_URL"] + "/v1/dispatch-gateway", json.dumps(message).encode())
    request.add_header("content-type", "application/json")
    return json.load(urllib.request.urlopen(request))
execution = env["SVC_EXECUTION_ID"]
answer = post(type="generate", agent_id=env["SVC_AGENT_ID"], execution_id=execution, iteration_number=int(env["SVC_ITERATION"]), prompt=sys.argv[1])
while answer["type"] == "dispatch":
    done = subprocess.run([answer["command"], *answer["args"]], input=b"ran\\n", capture_output=True)
    answer = post(type="dispatch_result", execution_id=execution, dispatch_id=answer["dispatch_id"], exit_code=done.returncode,
                  stdout=done.stdout.decode(), stderr=done.stderr.decode(), duration_ms=1, truncated=False)
sys.stdout.write("python: " + answer["content"])
`;

/** Writes its identity to its workspace, then waits for a file \`go\` while the test makes the calls. */
const HOLDER = `#!/bin/sh
env > /workspace/env.new && mv /workspace/env.new /workspace/env
while ! [ -e /workspace/go ]; do sleep 0.1; done
rm -f /workspace/env
cat /workspace/go
`;

export const PROGRAMS = { 'in-curl': CURL, 'in-node': NODE, 'in-python': PYTHON, holder: HOLDER } as const;
