import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { z } from 'zod';
import { createClient } from '../../clients/typescript/client.ts';
import { removeTree } from '../../effects/volumes/tree.ts';
import { agentYaml } from '../product/product-node.ts';
import { freePort } from '../support/free-port.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser, type DashboardPage } from './browser.ts';
import { built } from './built.ts';

const RUNS = 12;
const WORDS = Array.from({ length: 40 }, (_word, at) => `word${at}`).join(' ');
const SCRIPT = {
  rules: [{ match: { contains: 'slow' }, reply: { text: WORDS, chunks: 40, delay_ms: 40 } }, { reply: 'done' }],
};

const WORKFLOW = `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: steps, version: "1.0.0", annotations: { svc.dev/on-in-doubt: retry } }
spec:
  initial_state: ONE
  states:
    ONE: { kind: System, command: "echo one", transitions: [{ target: TWO }] }
    TWO: { kind: System, command: "sleep 0.3; echo two", transitions: [{ target: DONE }] }
    DONE: { kind: System, command: finalize, transitions: [] }
`;

const Events = z.object({ total: z.number(), events: z.array(z.object({ event_type: z.string() })) });

/** A node at one address that outlives its process, so that a page finds it again. */
describe('what pages show is what the API says', { skip: browserMissing() }, () => {
  let directory: string;
  let process: NodeProcess;
  let browser: DashboardBrowser;
  let url: string;
  before(async () => {
    await built();
    directory = await mkdtemp(join(tmpdir(), 'svc-truth-'));
    const script = join(directory, 'script.yaml');
    const provider = { name: 'script', type: 'scripted', script, models: [{ alias: 'default', model: 'script' }] };
    const spec = {
      llm_providers: [provider],
      observability: { logging: { level: 'warn' } },
      network: { internal: { port: 0, grpc_port: 0 } },
    };
    await writeFile(script, stringify(SCRIPT));
    await writeFile(join(directory, 'svc.yaml'), stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec }));
    const port = String(await freePort());
    const data = join(directory, 'data');
    process = new NodeProcess(['--http-port', port, '--data', data, '--config', join(directory, 'svc.yaml')]);
    process.spawn();
    url = await process.url;
    browser = await DashboardBrowser.start();
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await process?.kill('SIGKILL');
    await removeTree(directory);
  });

  const client = () => createClient({ baseUrl: url });

  async function restart(): Promise<void> {
    await process.kill('SIGKILL');
    process.spawn();
    await process.url;
  }

  /** Numbers and names of the events that a page shows. */
  async function eventsOn({ page }: DashboardPage, count: number): Promise<string[]> {
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    await waitUntil(`${count} events on the page`, async () => (await rows.count()) === count + 1);
    return (await rows.allInnerTexts()).slice(1);
  }

  test('a page that follows a run while its node is killed ends equal to a fresh one', async () => {
    const svc = client();
    const { agent_id } = await svc.agents.deploy({ body: agentYaml('follower') });
    const { execution_id: id } = await svc.executions.start({ agent_id, input: 'slow' });
    await using tab = await browser.open(url);
    await tab.page.goto(`${url}/runs/execution/${id}?tab=events`);
    await tab.page.getByRole('button', { name: 'iteration_output' }).first().waitFor();
    await restart();
    await waitUntil('the run to end', async () => (await svc.executions.get({ id })).status === 'completed');
    const { total } = Events.parse(await svc.executions.listEvents({ id, limit: 200 }));
    const rows = tab.page.getByRole('table', { name: 'Events' });
    await waitUntil(
      'the page to have all',
      async () => (await rows.getAttribute('aria-rowcount')) === String(total + 1),
    );
    await using fresh = await browser.open(url);
    await fresh.page.goto(`${url}/runs/execution/${id}`);
    const output = '(document.querySelector("main pre")?.textContent)';
    await tab.page.getByRole('link', { name: 'Timeline' }).click();
    await waitUntil('both to show the same output', async () => {
      const [followed, read] = [await tab.page.evaluate(output), await fresh.page.evaluate(output)];
      return typeof read === 'string' && read.includes('word39') && followed === read;
    });
    assert.deepEqual(fresh.complaints, []);
  });

  test('status, reason, events and outputs of random runs are those of the API', async () => {
    const svc = client();
    const good = (await svc.agents.deploy({ body: agentYaml('good') })).agent_id;
    const strict = { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^never$' }] } };
    const bad = (await svc.agents.deploy({ body: agentYaml('bad', strict) })).agent_id;
    await svc.workflows.deploy({ body: WORKFLOW });
    const runs: { kind: 'execution' | 'workflow'; id: string }[] = [];
    for (let at = 0; at < RUNS; at += 1) {
      if (at === RUNS / 2) await restart();
      const [agent_id = good] = [[good, bad][Math.floor(Math.random() * 2)]];
      const started =
        at % 3 === 0
          ? await svc.workflows.run({ name: 'steps' })
          : await svc.executions.start({ agent_id, input: 'x' });
      runs.push({ kind: at % 3 === 0 ? 'workflow' : 'execution', id: started.execution_id });
    }
    await using tab = await browser.open(url);
    for (const { kind, id } of runs) {
      const of = kind === 'execution' ? svc.executions : svc.workflowExecutions;
      await waitUntil(`${kind} ${id} to end`, async () => (await of.get({ id })).ended_at !== null);
      const log =
        kind === 'execution'
          ? await svc.executions.listEvents({ id, limit: 200 })
          : await svc.workflowExecutions.listLogs({ id, limit: 200 });
      const { sentence } = await of.why({ id });
      await tab.page.goto(`${url}/runs/${kind}/${id}?tab=events`);
      await tab.page.getByText(sentence, { exact: true }).waitFor();
      const { status } = await of.get({ id });
      await tab.page
        .getByRole('banner')
        .or(tab.page.locator('.page-head'))
        .getByText(status, { exact: true })
        .waitFor();
      const shown = await eventsOn(tab, log.total);
      assert.deepEqual(
        shown.map((row) => Number(/^\d+/.exec(row)?.[0])),
        Array.from({ length: log.total }, (_event, at) => at + 1),
        id,
      );
    }
    assert.deepEqual(tab.complaints, []);
  });

  test('the chain of a session of tool calls is checked by the page itself, and a changed record is found', async () => {
    const { checkChain } = await import('../../dashboard/api/audit-chain.ts');
    const svc = client();
    await svc.tools.call({ name: 'svc.task.list', body: {} });
    const { session_id } = await waitUntil(
      'the session is listed',
      async () => (await svc.sealSessions.list()).sessions[0],
    );
    const chain = await svc.sealSessions.audit({ id: session_id });
    const { keys } = await svc.jwks.get();
    assert.deepEqual((await checkChain(chain, keys)).isWhole, true);
    const changed = chain.records.map((record, at) => (at === 0 ? { ...record, at: '2020-01-01T00:00:00Z' } : record));
    assert.match((await checkChain({ ...chain, records: changed }, keys)).text, /record 1 was changed/);
    assert.match(
      (await checkChain({ ...chain, records: chain.records.slice(0, -1) }, keys)).text,
      /missing at its end/,
    );
    assert.match((await checkChain(chain, [])).text, /no node has signed/);
  });
});
