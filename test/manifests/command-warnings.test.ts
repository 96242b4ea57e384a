import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandWarnings } from '../../manifests/agent/parse.ts';

const manifest = (allowed: string): string => `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: hands, version: "1.0.0" }
spec:
  runtime: { isolation: process }
  task: { instruction: Work }
  tools:
    - name: cmd.run
      executor: "builtin:cmd"
      config:
        subcommand_allowlist: ${allowed}
`;

test('a deploy warns about commands that run any program, with their line, and about no others', () => {
  const found = commandWarnings(manifest('{ git: [status], make: [], ls: [], npx: [tsc] }'));
  assert.deepEqual(
    found.map(({ rule, path, line }) => [rule, path, line]),
    [
      ['runs_anything', 'spec.tools[0].config.subcommand_allowlist.make', 11],
      ['runs_anything', 'spec.tools[0].config.subcommand_allowlist.npx', 11],
    ],
  );
  assert.deepEqual(commandWarnings(manifest('{ git: [status] }')), []);
  assert.deepEqual(commandWarnings('no manifest'), []);
});
