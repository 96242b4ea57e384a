import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { ProductNode } from '../product/product-node.ts';
import { makeTenantObjects } from '../product/tenant-objects.ts';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Attempt, hostileAttempts, type Listener, type Targets } from './hostile-attempts.ts';
import { browserMissing, HostileBrowser, type Visited } from './hostile-browser.ts';

const AT_LEAST = 60;
/** Pages at once. */
const LANES = 6;

/** All state that a page might change or create. */
const STATE = [
  ...['/v1/agents', '/v1/workflows', '/v1/workflows/executions', '/v1/executions', '/v1/human-approvals'],
  ...['/v1/secrets', '/v1/api-keys', '/v1/volumes', '/v1/stimuli', '/v1/stimuli/routes', '/v1/cortex/patterns'],
  ...[
    '/v1/cluster/nodes',
    '/v1/cluster/config',
    '/v1/cluster/join-tokens',
    '/v1/cluster/secret-keys',
    '/v1/admin/rate-limits/overrides',
  ],
];
const Status = z.object({ node: z.object({ ready: z.boolean(), draining: z.boolean() }), nodes: z.unknown() });
const Listed = z.object({
  executions: z.array(z.object({ execution_id: z.string(), ended_at: z.string().nullable() })),
});

/** Answers that reveal nothing to a page: forbidden, or a wrong request. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 426]);
const isRefusal = (text: string): boolean => REFUSALS.has(Number(text.slice(0, 3))) && !text.includes('victim');

describe('pages in a Chromium and a node without an identity provider', { skip: browserMissing() }, () => {
  let node: ProductNode;
  let browser: HostileBrowser;
  let ports: Readonly<Record<Listener, number>>;
  let on: Targets;
  before(async () => {
    [node, browser] = await Promise.all([
      ProductNode.start({ spec: { cluster: { enabled: true, cluster_grpc_port: 0 } } }),
      HostileBrowser.start(),
    ]);
    const internal = await node.process.internal;
    const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
    ports = {
      rest: node.port,
      grpc: portOf(await node.process.grpcAddress),
      internal: portOf(internal.url),
      internalGrpc: portOf(internal.grpcAddress),
      cluster: portOf(await node.process.clusterAddress),
    };
    const made = await makeTenantObjects((method, path, ask) => node.call(method, path, ask), 'victim');
    const { nodes } = z
      .object({ nodes: z.array(z.object({ node_id: z.string() })) })
      .parse((await node.call('GET', '/v1/cluster/nodes')).body);
    on = { ...made, node: nodes[0]?.node_id ?? '' };
    await waitUntil('every run to be listed as ended or as waiting', async () => {
      const [now, then] = [await state(), await state()];
      const moving = /"status":"(running|pending|queued)"/.test(now.replace(/^\/v1\/human-approvals .*$/m, ''));
      return now === then && !moving && (await pipelineIsListedAsEnded(made.pipeline));
    });
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  /** The pipeline starts runs and agents by itself: between two of them nothing runs, though more will change. */
  async function pipelineIsListedAsEnded(pipeline: string): Promise<boolean> {
    const { body } = await node.call('GET', '/v1/workflows/executions');
    const { executions } = Listed.parse(body);
    return executions.some(({ execution_id, ended_at }) => execution_id === pipeline && ended_at !== null);
  }

  /** The node's state as an operator sees it. */
  async function state(): Promise<string> {
    const texts = await Promise.all(STATE.map(async (path) => `${path} ${(await node.call('GET', path)).text}`));
    const status = Status.parse((await node.call('GET', '/v1/cluster/status')).body);
    const beats = /"(last_heartbeat_at|available_memory_gb)":[^,}]+/g;
    return [...texts, `status ${JSON.stringify(status)}`].join('\n').replace(beats, '');
  }

  /** Differences of two states, for the message of a failure. */
  const linesOf = (now: string, first: string): string[] =>
    now.split('\n').filter((line) => !first.split('\n').includes(line));

  const visit = ({ listener, ...rest }: Omit<Attempt, 'name'>): Promise<Visited> =>
    browser.visit({ ...rest, port: ports[listener] });

  test('no page of another site changes or reads anything, whatever it tries', async () => {
    const attempts = hostileAttempts(on);
    assert.ok(attempts.length >= AT_LEAST, `${attempts.length} attempts`);
    assert.equal(new Set(attempts.map(({ name }) => name)).size, attempts.length);
    const first = await state();
    const through: object[] = [];
    // A tab of its own for each takes most of a second of processor time.
    const chosen = someOf(attempts, 36);
    const waiting = [...chosen];
    const lane = async (): Promise<void> => {
      for (let attempt = waiting.shift(); attempt !== undefined; attempt = waiting.shift()) {
        const { read, requests, statuses } = await visit(attempt);
        const { name } = attempt;
        const readable = read.filter((text) => attempt.from !== 'rebound' || !isRefusal(text));
        const now = await state();
        const answered = statuses.filter((status) => !REFUSALS.has(status));
        if (readable.length > 0 || answered.length > 0 || now !== first) {
          through.push({ name, readable, requests, statuses, changed: linesOf(now, first) });
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    console.log(`Chromium ${browser.version}: ${through.length} of ${chosen.length} attempts got through`);
    assert.deepEqual(through, []);
    assert.equal(await state(), first);
  });

  test('a page of the node’s own origin reads and changes with the same calls, so the test would see an effect', async () => {
    const own = { from: 'own', listener: 'rest', host: '127.0.0.1' } as const;
    const call = (path: string, method: string, mode: string) =>
      visit({ ...own, script: `await see(fetch(at + '${path}', { method: '${method}', mode: '${mode}' }));` });
    const first = await state();
    const { read } = await call('/v1/agents', 'GET', 'cors');
    assert.match(read.join(), /^200 .*victim/);
    assert.equal(await state(), first);

    const { statuses } = await call(`/v1/workflows/executions/${on.run}/cancel`, 'POST', 'no-cors');
    assert.deepEqual(statuses.slice(-1), [200]);
    await waitUntil('the cancel to be seen', async () => (await state()) !== first);
    await call(`/v1/agents/${on.agent}?force=true`, 'DELETE', 'cors');
    assert.doesNotMatch((await node.call('GET', '/v1/agents')).text, /agent-victim/);
    await call(`/v1/cluster/nodes/${on.node}/drain`, 'POST', 'no-cors');
    assert.match(await state(), /"draining":true/);
  });
});
