import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stimulusNode } from '../actors/stimulus/stimulus-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { AREA_KERNELS } from '../transport/rest/area-kernel.ts';
import { restServer } from '../transport/rest/rest-server.ts';
import { svc } from './svc-run.ts';

describe('svc stimulus', () => {
  let node: Awaited<ReturnType<typeof stimulusNode>>;
  let at: Awaited<ReturnType<typeof restServer>>;
  before(async () => {
    const [embedded] = AREA_KERNELS;
    node = await stimulusNode({ start: (embedded ?? assert.fail()).start });
    at = await restServer({ stimuli: node.stimuli, stimulusRoutes: node.routes });
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
    await node.stop();
  });

  const run = (args: string[], input = '') => svc(['stimulus', ...args], { SVC_URL: at.base }, input);

  test('a route is added, listed, used and removed', async () => {
    assert.equal((await run(['send', 'hello', '--source', 'Mail'])).code, 2);
    assert.equal((await run(['route', 'add', 'Mail', 'triage'])).stdout, 'Mail starts triage\n');
    const routes = JSON.parse((await run(['route', 'list', '--output', 'json'])).stdout);
    assert.deepEqual(routes, [{ source: 'mail', workflow: 'triage', origin: 'stored' }]);
    const sent = await run(['send', '-', '--source', 'mail', '--key', 'k'], 'from standard input');
    assert.equal(sent.code, 0);
    const [started] = node.started;
    assert.deepEqual([`${started?.execution_id}\n`, started?.intent], [sent.stdout, 'from standard input']);
    const repeated = await run(['send', 'again', '--source', 'mail', '--key', 'k']);
    assert.deepEqual([repeated.code, node.started.length], [4, 1]);
    assert.equal((await run(['route', 'remove', 'mail'])).stdout, 'removed the route of mail\n');
    assert.equal((await run(['route', 'remove', 'mail'])).code, 1);
  });

  test('list shows the outcome of each', async () => {
    await waitUntil('the first one is listed as routed', async () => {
      const { stdout } = await run(['list']);
      return /^ID .*\n(.*\n)*.* mail +routed /.test(stdout);
    });
  });
});
