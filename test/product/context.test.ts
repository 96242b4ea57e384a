import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { type PageServer, serve } from '../effects/web/page-server.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { AgentNode, members } from './agents/agent-node.ts';

const HOST = '127.0.0.2';

/** Prints its prompt, from the second iteration on. */
const SECOND = '#!/bin/sh\n[ "$SVC_ITERATION" = 1 ] && exit 1\nprintf %s "$1"\n';

/** Files that a state before the agent makes. */
const PREPARE = 'mkdir -p docs; printf brief > style.md; printf A > docs/a.md; printf B > docs/b.md';

describe('spec.context on a running node', { timeout: 300_000 }, () => {
  let setup: AgentNode;
  let server: PageServer;
  let isSilent = false;
  before(async () => {
    server = await serve((_request, response) => {
      if (isSilent) return;
      response.writeHead(200, { 'content-type': 'text/plain' }).end('pay by Friday');
    }, HOST);
    setup = await AgentNode.start({
      rules: [
        { match: { contains: 'pay by Friday' }, reply: 'the terms are in the prompt' },
        { reply: 'the prompt has no terms' },
      ],
      containers: false,
      programs: { second: SECOND },
      spec: { web: { allow_addresses: [`${HOST}/32`] } },
    });
  });
  after(async () => {
    await setup?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const url = (host = HOST) => ({ type: 'url', url: `http://${host}:${server.port}/terms`, description: 'Terms' });
  const security = { network: { allowlist: [HOST] } };
  const pages = (): number => server.asked.length;

  test('files, directories and pages reach the program of a state, and are read once for all iterations', async () => {
    await setup.deploy('reader', {
      runtime: { isolation: 'process' },
      advanced: { bootstrap_path: 'second' },
      task: { prompt_template: '{{context}}' },
      execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '.' }] },
      context: [{ type: 'file', path: 'style.md', description: 'Style' }, { type: 'directory', path: 'docs' }, url()],
      security,
    });
    const states = {
      prepare: { kind: 'System', command: PREPARE, transitions: [{ condition: 'on_success', target: 'ask' }] },
      ask: { kind: 'Agent', agent: 'reader', input: 'go', transitions: [] },
    };
    const before = pages();
    const id = await setup.node.runWorkflow(
      stringify({
        apiVersion: 'svc.dev/v1',
        kind: 'Workflow',
        metadata: { name: 'prepared', version: '1.0.0' },
        spec: { initial_state: 'prepare', states },
      }),
    );
    const ended = await waitUntil(
      'the run to end',
      async () => {
        const run = await setup.node.call('GET', `/v1/workflows/executions/${id}`);
        return run.body.ended_at === null ? undefined : run;
      },
      90_000,
    );
    assert.equal(ended.body.outcome, 'succeeded', ended.text);
    assert.ok(
      JSON.stringify(ended.body).includes(
        JSON.stringify(
          'Style:\nbrief\n\ndocs:\n### /workspace/docs/a.md\nA\n\n### /workspace/docs/b.md\nB\n\nTerms:\npay by Friday',
        ).slice(1, -1),
      ),
      ended.text,
    );
    assert.equal(pages(), before + 1);
  });

  for (const [what, entry, code, message] of [
    [
      'a missing file',
      () => ({ type: 'file', path: 'none.md' }),
      'not_found',
      /^spec\.context\[0\] \(file\): .*does not exist$/,
    ],
    [
      'a host that is not allowed',
      () => url('127.0.0.3'),
      'forbidden',
      /^spec\.context\[0\] \(url\): DomainNotAllowed/,
    ],
  ] as const)
    test(`${what} ends the run at once with ${code} and names the entry`, async () => {
      const agent = await setup.deploy('refused', { context: [entry()], security });
      const id = await setup.node.run(agent, 'go');
      const { status, iteration_count } = await setup.ended(id);
      const failed = members((await setup.events(id)).at(-1)?.execution_failed);
      assert.deepEqual([status, failed.reason, iteration_count], ['failed', code, 0], JSON.stringify(failed));
      assert.match(String(failed.message), message);
    });

  // It restarts the node, and the pure tests check the same of the actor.
  for (const title of sample({
    normal: [],
    long: ['a node that is killed while it reads reads again, and the run meanwhile reports what it waits for'],
  }))
    test(title, async () => {
      const agent = await setup.deploy('killed', { task: { instruction: 'Answer.' }, context: [url()], security });
      isSilent = true;
      const before = pages();
      const id = await setup.node.run(agent, 'go');
      await waitUntil('the page to be asked for', () => pages() > before);
      const { waiting_for } = await setup.node.statusOf(id);
      assert.match(JSON.stringify(waiting_for), /the run waits for its context/);
      await setup.node.process.kill('SIGKILL');
      isSilent = false;
      await setup.node.spawn();
      const status = await setup.ended(id);
      assert.deepEqual([status.status, status.last_output], ['completed', 'the terms are in the prompt']);
    });
});
