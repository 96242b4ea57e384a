import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { createClient } from '../../clients/typescript/client.ts';
import { removeTree } from '../../effects/volumes/tree.ts';
import { SeededRandom, seedOf } from '../kill/random.ts';
import { agentYaml } from '../product/product-node.ts';
import { freePort } from '../support/free-port.ts';
import { NodeProcess } from '../support/node-process.ts';
import { sample, someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';
import { eventsOn, markedText, rowsOf, TALL } from './shown.ts';

const RUNS = sample({ normal: 4, long: 50 });
/** A kill comes after so many starts. */
const STARTS_A_KILL = 3;
const WORDS = Array.from({ length: 40 }, (_word, at) => `word${at}`).join(' ');
const SCRIPT = {
  rules: [
    { match: { contains: 'slow' }, reply: { text: WORDS, chunks: 40, delay_ms: 40 } },
    { match: { contains: 'brief' }, reply: { text: 'one two three', chunks: 3, delay_ms: 60 } },
    { reply: 'done' },
  ],
};

/** A workflow of these states. A step that is cut off by a kill is run again. */
const workflowYaml = (name: string, states: Readonly<Record<string, object>>): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0', annotations: { 'svc.dev/on-in-doubt': 'retry' } },
    spec: { initial_state: Object.keys(states)[0], states },
  });

const DONE = { kind: 'System', command: 'finalize', transitions: [] };
const STEPS = {
  ONE: { kind: 'System', command: 'echo one', transitions: [{ target: 'WRITE' }] },
  WRITE: { kind: 'Agent', agent: 'good', input: 'brief', transitions: [{ target: 'TWO' }] },
  TWO: { kind: 'System', command: 'sleep 0.2; echo two', transitions: [{ target: 'DONE' }] },
  DONE,
};
const ASKS = {
  ONE: { kind: 'System', command: 'echo one', transitions: [{ target: 'ASK' }] },
  ASK: { kind: 'Human', prompt: 'Go on?', timeout: '1h', transitions: [{ target: 'DONE' }] },
  DONE,
};

/** The name that an event of an execution has in its stream, which is that of gRPC. */
const streamed = (type: string): string =>
  type === 'ExecutionOutputReceived'
    ? 'iteration_output'
    : type.replaceAll(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

interface Started {
  readonly kind: 'execution' | 'workflow';
  readonly id: string;
}

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

  /** Numbers and names of the events of a run, as the API lists them. */
  async function loggedEvents({ kind, id }: Started): Promise<string[]> {
    const svc = client();
    const all: string[] = [];
    for (;;) {
      const page = { id, limit: 200, offset: all.length };
      const { events, total } =
        kind === 'execution' ? await svc.executions.listEvents(page) : await svc.workflowExecutions.listLogs(page);
      for (const { event_type } of events)
        all.push(`${all.length + 1} ${kind === 'workflow' ? event_type : streamed(event_type)}`);
      if (all.length >= total) return all;
    }
  }

  test('a page that follows a run while its node is killed and started again ends equal to a fresh one', async () => {
    const svc = client();
    const { agent_id } = await svc.agents.deploy({ body: agentYaml('follower') });
    const { execution_id: id } = await svc.executions.start({ agent_id, input: 'slow' });
    await using tab = await browser.open(url, TALL);
    await tab.page.goto(`${url}/runs/execution/${id}?tab=events`);
    await tab.page.getByRole('button', { name: 'iteration_output' }).first().waitFor();
    await restart();
    await waitUntil('the run to end', async () => (await svc.executions.get({ id })).status === 'completed');
    const { total } = await svc.executions.listEvents({ id, limit: 1 });
    await using fresh = await browser.open(url, TALL);
    await fresh.page.goto(`${url}/runs/execution/${id}?tab=events`);
    const shown = await rowsOf(tab.page, 'Events', total);
    assert.deepEqual(shown, await rowsOf(fresh.page, 'Events', total));
    assert.deepEqual(
      shown.map(([number]) => Number(number)),
      Array.from({ length: total }, (_event, at) => at + 1),
    );
    const output = '(document.querySelector("main pre")?.textContent)';
    await tab.page.getByRole('link', { name: 'Timeline' }).click();
    await fresh.page.getByRole('link', { name: 'Timeline' }).click();
    await waitUntil('both to show the same output', async () => {
      const [followed, read] = [await tab.page.evaluate(output), await fresh.page.evaluate(output)];
      return typeof read === 'string' && read.includes('word39') && followed === read;
    });
    assert.deepEqual(fresh.complaints, []);
  });

  /** Starts runs of all kinds, and kills the node in between. */
  async function startRuns(random: SeededRandom): Promise<Started[]> {
    const svc = client();
    const good = (await svc.agents.deploy({ body: agentYaml('good') })).agent_id;
    const strict = { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^never$' }] } };
    const bad = (await svc.agents.deploy({ body: agentYaml('bad', strict) })).agent_id;
    for (const [name, states] of Object.entries({ steps: STEPS, asks: ASKS }))
      await svc.workflows.deploy({ body: workflowYaml(name, states) });
    const starts: readonly (() => Promise<Started>)[] = [
      async () => ({
        kind: 'execution',
        id: (await svc.executions.start({ agent_id: good, input: 'brief' })).execution_id,
      }),
      async () => ({ kind: 'execution', id: (await svc.executions.start({ agent_id: bad, input: 'x' })).execution_id }),
      async () => ({ kind: 'workflow', id: (await svc.workflows.run({ name: 'steps' })).execution_id }),
      async () => ({ kind: 'workflow', id: (await svc.workflows.run({ name: 'asks' })).execution_id }),
    ];
    const runs: Started[] = [];
    let killAt = random.between(1, STARTS_A_KILL);
    for (let at = 0; at < RUNS; at += 1) {
      // Each kind once, then at random.
      const start = starts[at < starts.length ? at : random.between(0, starts.length)] ?? assert.fail();
      runs.push(await start());
      if (at !== killAt) continue;
      await restart();
      killAt += random.between(1, 2 * STARTS_A_KILL);
    }
    return runs;
  }

  const TEXT_OF: Readonly<Record<string, string>> = { waiting_for_human_input: 'waits for a person' };

  test('of random runs with kills: statuses, reasons, events, blackboards at each message, and edges of traces', async (t) => {
    const svc = client();
    const seed = seedOf(globalThis.process.env);
    t.diagnostic(`SVC_SEED=${seed}`);
    const runs = await startRuns(new SeededRandom(seed));
    await using tab = await browser.open(url, TALL);
    const { page } = tab;
    const seen = { runs: runs.length, events: 0, blackboards: 0, messages: 0 };
    for (const run of runs) {
      const { kind, id } = run;
      const of = kind === 'execution' ? svc.executions : svc.workflowExecutions;
      await waitUntil(
        `${kind} ${id} to rest`,
        async () => {
          const { status } = await of.get({ id });
          return !['pending', 'running'].includes(status);
        },
        60_000,
      );
      const [{ sentence }, { status }] = await Promise.all([of.why({ id }), of.get({ id })]);
      await page.goto(`${url}/runs/${kind}/${id}?tab=events`);
      await page.getByText(sentence, { exact: true }).waitFor();
      await page
        .locator('.page-head')
        .getByText(TEXT_OF[status] ?? status, { exact: true })
        .waitFor();
      const logged = await loggedEvents(run);
      assert.deepEqual(await eventsOn(page, logged.length), logged, `${kind} ${id}`);
      seen.events += logged.length;
      if (kind === 'workflow') seen.blackboards += await compareBlackboards(id);
      seen.messages += await compareTrace(id);
    }
    t.diagnostic(JSON.stringify(seen));
    assert.ok(seen.blackboards > 0 && seen.messages > seen.runs, JSON.stringify(seen));
    assert.deepEqual(
      tab.complaints.filter((one) => !one.includes('ERR_CONNECTION_REFUSED')),
      [],
    );

    /** The blackboard after messages of a workflow run. Returns how many were compared. */
    async function compareBlackboards(id: string): Promise<number> {
      const { deliveries, next } = await svc.actors.listHistory({
        ...{ kind: 'workflow', id, order: 'oldest_first', limit: 1_000 },
      });
      assert.equal(next, null);
      const messages = [...new Set(deliveries.map(({ message_id }) => message_id))];
      const compared = someOf([...messages.entries()], 2);
      for (const [place, at] of compared) {
        const { state } = await svc.actors.getState({ kind: 'workflow', id, at });
        const expected = typeof state === 'object' && state !== null && 'blackboard' in state ? state.blackboard : {};
        await page.goto(`${url}/runs/workflow/${id}?tab=blackboard&at=${at}`);
        await page.getByText(`After message ${place + 1} of ${messages.length}:`).waitFor();
        const board = page.getByRole('region', { name: 'Blackboard after the message' });
        await board.waitFor();
        const marked = board.getByRole('figure');
        const text = (await marked.count()) === 1 ? await markedText(marked) : await board.locator('pre').textContent();
        assert.deepEqual(JSON.parse(text ?? ''), expected, `workflow ${id} at ${at}`);
      }
      return compared.length;
    }

    /** The messages of a run's trace, each with its cause. Returns how many there are. */
    async function compareTrace(id: string): Promise<number> {
      const listed = await waitUntil('the list to have the run', async () => {
        const { runs: found } = await svc.runs.list({ text: id, limit: 1 });
        return found[0];
      });
      const trace_id = listed.trace_id ?? assert.fail(`${id} has no trace`);
      const { deliveries, next } = await svc.traces.get({ trace_id, limit: 1_000 });
      assert.equal(next, null);
      await page.goto(`${url}/traces/${trace_id}?view=table`);
      const rows = await rowsOf(page, 'Deliveries', deliveries.length);
      // What the columns say: message, to, from, outcome, attempt.
      assert.deepEqual(
        rows.map(([, type, to, from, outcome]) => `${type} ${to?.split(' ').at(-1)} ${from} ${outcome}`).toSorted(),
        deliveries.map(({ type, to, from, outcome }) => `${type} ${to} ${from ?? '–'} ${outcome}`).toSorted(),
      );
      await page.goto(`${url}/traces/${trace_id}?m=${deliveries[0]?.message_id}`);
      const byId = new Map(deliveries.map((one) => [one.message_id, one]));
      for (const [message_id, { type, cause_id }] of byId) {
        const drawer = page.getByRole('complementary', { name: `Message ${type}` });
        await drawer.getByTitle(message_id, { exact: true }).waitFor();
        const cause = drawer.locator('.trace-facts div:has(dt:text-is("Cause")) dd');
        const expected = cause_id === null ? 'none: the root' : (byId.get(cause_id)?.type ?? 'none: the root');
        const shown = ((await cause.textContent()) ?? '').replace(/ [\d.]+ (ms|s|min).*$/, '');
        assert.equal(shown, expected, message_id);
        await page.locator('.trace-canvas canvas').focus();
        await page.keyboard.press('ArrowRight');
      }
      return byId.size;
    }
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
