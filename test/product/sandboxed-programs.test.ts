import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NEEDS_SANDBOX } from '../support/needs-sandbox.ts';
import { waitUntil } from '../support/wait-until.ts';
import { processesWith } from '../support/workflow-kill-marks.ts';
import { AgentNode } from './agents/agent-node.ts';

const PATHS = [
  ['GET', '/metrics'],
  ['HEAD', '/metrics'],
  ['GET', '/x/token/metrics'],
  ['GET', '/v1/executions'],
  ['POST', '/v1/dispatch-gateway'],
  ['POST', '/v1/seal/attest'],
] as const;

/** Prints the answer of the one address that it can reach. */
const ASKER = `#!/usr/bin/env node
(async () => {
  for (const [method, path] of ${JSON.stringify(PATHS)}) {
    const { status } = await fetch(process.env.SVC_SEAL_GATEWAY_URL + path, { method });
    console.log(method, path, status);
  }
})();
`;

/**
 * On its first run it waits, with a process that has left its session and its environment; on its second run it prints
 * what it finds.
 */
const STAYER = `#!/bin/sh
umask 077
echo again >> notes
if [ -e begun ]; then cat notes own/notes; exit 0; fi
mkdir own; echo first > own/notes
env -i setsid sh -c 'while :; do sleep 0.1; done; : '"$SVC_EXECUTION_ID" &
touch begun
while :; do sleep 0.1; done
`;

describe('programs in a sandbox, on a running node', { ...NEEDS_SANDBOX, timeout: 300_000 }, () => {
  let setup: AgentNode;
  before(async () => {
    setup = await AgentNode.start({ rules: [], containers: false, programs: { asker: ASKER, stayer: STAYER } });
  });
  after(() => setup?.[Symbol.asyncDispose]());

  const deploy = (program: string) =>
    setup.deploy(program, {
      ...{ runtime: { isolation: 'process' }, advanced: { bootstrap_path: program } },
      // With tools its workspace is a volume, which the test reads.
      tools: ['fs.*'],
    });

  test('sandboxed programs reach the agent calls of the internal address, and not the metrics of the node', async () => {
    const id = await setup.node.run(await deploy('asker'), 'x');
    const { last_output: output, ...status } = await setup.ended(id);
    const said = String(output).trim().split('\n');
    const statusOf = new Map(
      said.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
    assert.equal(statusOf.size, PATHS.length, `${output} ${JSON.stringify(status)}`);
    for (const path of ['GET /metrics', 'HEAD /metrics', 'GET /x/token/metrics', 'GET /v1/executions'])
      assert.equal(statusOf.get(path), 404, path);
    assert.equal(statusOf.get('POST /v1/dispatch-gateway'), 401);
    assert.equal(statusOf.get('POST /v1/seal/attest'), 400);
    const { url } = await setup.node.process.internal;
    assert.equal((await fetch(`${url}/metrics`)).status, 200, 'the operator can read them');
  });

  test('sandboxed programs end when their node is killed with -9, and the restarted node works in the same workspace', async () => {
    const id = await setup.node.run(await deploy('stayer'), 'x');
    await setup.written(id, 'begun');
    const left = () => processesWith(id, new Set());
    // The program, its detached process, and the processes of the sandbox.
    assert.ok((await left()).length >= 3);
    await setup.node.process.kill();
    await waitUntil('nothing of the program to be left', async () => (await left()).length === 0);
    await setup.node.spawn();
    const status = await setup.ended(id);
    assert.deepEqual(
      [status.status, status.last_output],
      ['completed', 'again\nagain\nfirst\n'],
      JSON.stringify(status),
    );
  });
});
