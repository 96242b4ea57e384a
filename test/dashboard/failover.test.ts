import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { mongoMissing, startMongo, type TestMongo } from '../support/ferretdb.ts';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';
import { rowsOf, TALL } from './shown.ts';

const skip = browserMissing() || redisMissing() || mongoMissing();
const words = (count: number): string => Array.from({ length: count }, (_word, at) => `word${at}`).join(' ');

/** The first attempt lasts until its node is killed, whatever else this machine does; the second one is short. */
const RULES = [
  { match: { attempt: 1 }, reply: { text: words(300), chunks: 300, delay_ms: 200 } },
  { reply: { text: words(20), chunks: 20, delay_ms: 30 } },
];

const Owned = z.object({ partitions: z.array(z.object({ node: z.string().nullable() })) });
const Served = z.object({ deliveries: z.array(z.object({ node: z.string() })) });

/** Several writes of the ledger. */
const QUIET_MS = 4_000;

/** Number of runs with which some are on either node. */
const MOST_STARTS = 40;

describe('a page on one node, while the node that has the run is killed', { skip }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let dies: ProductNode;
  let lives: ProductNode;
  let browser: DashboardBrowser;
  before(async () => {
    await built();
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    const stores = { redis: redis.url, mongodb: mongo.uri };
    const chaos = { enabled: true, tenants: ['svc-system'] };
    const spec = { kernel: { partitions: 8 }, stores, chaos };
    dies = await ProductNode.start({ rules: RULES, spec });
    [lives, browser] = await Promise.all([ProductNode.start({ rules: RULES, spec }), DashboardBrowser.start()]);
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await Promise.all([dies?.[Symbol.asyncDispose](), lives?.[Symbol.asyncDispose]()]);
    await Promise.all([redis?.stop(), mongo?.stop()]);
  });

  /** A run that the node which will die serves. */
  async function runOnDying(agent: string): Promise<string> {
    const node = await waitUntil('the node to have a name', async () => {
      const { node: own } = (await dies.call('GET', '/v1/cluster/status')).body;
      return typeof own === 'object' && own !== null && 'node_id' in own && own.node_id;
    });
    await waitUntil(
      'both nodes to serve partitions',
      async () => {
        const { partitions } = Owned.parse((await lives.call('GET', '/v1/cluster/partitions')).body);
        return new Set(partitions.map((one) => one.node)).size === 2;
      },
      30_000,
    );
    for (let at = 0; at < MOST_STARTS; at += 1) {
      const id = await lives.run(agent, 'slow');
      const served = await waitUntil('its first message to be handled', async () => {
        const { body } = await lives.call('GET', `/v1/actors/execution/${id}/history?limit=1`);
        return Served.safeParse(body).data?.deliveries[0]?.node;
      });
      if (served === node) return id;
      await lives.json('POST', `/v1/executions/${id}/cancel`, {});
    }
    throw new Error(`none of ${MOST_STARTS} runs is on node ${node}`);
  }

  /** Kills the process of the node that dies, by the button of the page. */
  async function killByButton(): Promise<void> {
    const { node } = (await dies.call('GET', '/v1/cluster/status')).body;
    const { node_id } = z.object({ node_id: z.string() }).parse(node);
    await using tab = await browser.open(lives.url);
    await tab.page.goto(`${lives.url}/faults`);
    await tab.page.getByRole('combobox', { name: /^Node/ }).selectOption(node_id);
    await tab.page.getByRole('button', { name: 'Kill the node' }).click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Kill the node' }).click();
    const faults = tab.page.getByRole('region', { name: 'Faults', exact: true }).getByRole('row');
    await faults.filter({ hasText: 'kill-node' }).waitFor();
    await waitUntil('the process to end', () => !dies.process.isRunning);
    assert.deepEqual(tab.complaints, []);
  }

  /** How many deliveries the trace has in the end. What the dead node had not written is written by the other one. */
  async function wholeTrace(trace: string): Promise<number> {
    let [known, since] = [-1, 0];
    return waitUntil(
      'the ledger, which is written twice a second, to have the whole trace',
      async () => {
        const { deliveries } = (await lives.call('GET', `/v1${trace}`)).body;
        const count = Array.isArray(deliveries) ? deliveries.length : 0;
        if (count !== known) [known, since] = [count, performance.now()];
        return performance.now() - since > QUIET_MS && count;
      },
      60_000,
    );
  }

  test('the run and its trace end as a fresh page shows them, with no line twice', async () => {
    const agent = await lives.deploy(agentYaml('talker'));
    const id = await runOnDying(agent);
    await using tab = await browser.open(lives.url, TALL);
    await tab.page.goto(`${lives.url}/runs/execution/${id}?tab=events`);
    await tab.page.getByRole('button', { name: 'iteration_output' }).first().waitFor();
    const trace = await waitUntil('the run to have a trace', async () => {
      const link = tab.page.getByRole('link', { name: 'Trace', exact: true });
      return (await link.count()) === 1 && (await link.getAttribute('href'));
    });
    await using traceTab = await browser.open(lives.url, TALL);
    await traceTab.page.goto(`${lives.url}${trace}?view=table`);
    await traceTab.page.getByRole('table', { name: 'Deliveries' }).waitFor();
    await killByButton();
    await waitUntil('the run to end', async () => (await lives.statusOf(id)).status === 'completed', 60_000);
    const { total } = (await lives.call('GET', `/v1/executions/${id}/events`)).body;
    const shown = await rowsOf(tab.page, 'Events', Number(total));
    const deliveries = await wholeTrace(trace);
    const messages = await rowsOf(traceTab.page, 'Deliveries', deliveries);
    await using fresh = await browser.open(lives.url, TALL);
    await fresh.page.goto(`${lives.url}/runs/execution/${id}?tab=events`);
    assert.deepEqual(shown, await rowsOf(fresh.page, 'Events', Number(total)));
    assert.deepEqual(
      shown.map(([number]) => Number(number)),
      Array.from({ length: Number(total) }, (_event, at) => at + 1),
    );
    await fresh.page.goto(`${lives.url}${trace}?view=table`);
    assert.deepEqual(messages, await rowsOf(fresh.page, 'Deliveries', deliveries));
    await tab.page.getByRole('link', { name: 'Timeline' }).click();
    await tab.page.getByRole('region', { name: 'Timeline' }).getByText('taken over').waitFor();
    assert.deepEqual([...tab.complaints, ...traceTab.complaints, ...fresh.complaints], []);
  });
});
