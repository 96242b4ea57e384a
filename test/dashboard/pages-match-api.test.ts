import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { createClient } from '../../clients/typescript/client.ts';
import { removeTree } from '../../effects/volumes/tree.ts';
import { DEAD_LETTERS, type DeadLetter } from '../../runtime/ledger/segments.ts';
import type { Message } from '../../runtime/message.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { SeededRandom, seedOf } from '../kill/random.ts';
import { agentYaml } from '../product/product-node.ts';
import { freePort } from '../support/free-port.ts';
import { NodeProcess } from '../support/node-process.ts';
import { sample, someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';
import { eventsOn, factsOn, markedText, rowsOf, rowWith, TALL } from './shown.ts';

const RUNS = sample({ normal: 4, long: 50 });
/** Number of starts before a kill. */
const STARTS_A_KILL = 3;
/** Of the local operator. */
const TENANT = 'svc-system';
const WORDS = Array.from({ length: 40 }, (_word, at) => `word${at}`).join(' ');
const SCRIPT = {
  rules: [
    { match: { contains: 'slow' }, reply: { text: WORDS, chunks: 40, delay_ms: 40 } },
    {
      match: { contains: 'brief' },
      reply: { text: 'one two three', chunks: 3, delay_ms: 60, usage: { input_tokens: 1_234, output_tokens: 567 } },
    },
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

const ASKED_BETWEEN = {
  WRITE: { kind: 'Agent', agent: 'author', input: 'brief', transitions: [{ target: 'ASK' }] },
  ASK: { kind: 'Human', prompt: '?', timeout: '1h', transitions: [{ condition: 'input_equals_yes', target: 'MORE' }] },
  MORE: { kind: 'Agent', agent: 'author', input: 'brief', transitions: [{ target: 'DONE' }] },
  DONE,
};

/** A dead letter whose message cancels a run. */
function letterOf(run: string, seq: number, reason: string): DeadLetter {
  const address = `workflow/${TENANT}/${run}` as const;
  const message: Message = {
    id: randomUUID(),
    to: address,
    from: null,
    cause: null,
    trace: 'a'.repeat(32),
    origin: 'client',
    type: 'Cancel',
    payload: { reason },
  };
  return {
    tenant: TENANT,
    id: `workflow.${TENANT}.${run}.${seq}`,
    version: 1,
    address,
    at: Date.now(),
    error: `<b>cannot take ${reason}</b>`,
    body: JSON.stringify(message),
  };
}

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
    const model = { alias: 'default', model: 'script', cost_per_1k_tokens: { input: 0.25, output: 1.5 } };
    const provider = { name: 'script', type: 'scripted', script, models: [model] };
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

  test('for random runs with kills: statuses, reasons, events, blackboards at each message, and edges of traces', async (t) => {
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
      const compared = someOf([...messages.entries()], 4);
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

  test('a workflow run that waits for a signal goes on with the one given on its page, which shows the tokens and cost of the API, before and after', async () => {
    const svc = client();
    await svc.agents.deploy({ body: agentYaml('author') });
    await svc.workflows.deploy({ body: workflowYaml('asked-between', ASKED_BETWEEN) });
    const { execution_id: id } = await svc.workflows.run({ name: 'asked-between' });
    const waits = async () => (await svc.workflowExecutions.get({ id })).status === 'waiting_for_human_input';
    await waitUntil('the question', waits, 30_000);
    await using tab = await browser.open(url);
    const { page } = tab;
    await page.goto(`${url}/runs/workflow/${id}`);
    /** As the page must show it: of each run of an agent as the API has it. */
    const used = async (runs: number) => {
      const executions = await waitUntil(`${runs} listed runs`, async () => {
        const listed = await svc.executions.list({ workflow_execution_id: id });
        return listed.executions.length === runs && listed.executions;
      });
      const all = await Promise.all(executions.map(({ execution_id }) => svc.executions.get({ id: execution_id })));
      const sum = (of: (usage: (typeof all)[number]['usage']) => number) =>
        all.reduce((to, { usage }) => to + of(usage), 0);
      assert.ok(all.every(({ status }) => status === 'completed'));
      return {
        'Runs of agents': String(runs),
        'Tokens in': sum((usage) => usage.input_tokens).toLocaleString('en-US'),
        'Tokens out': sum((usage) => usage.output_tokens).toLocaleString('en-US'),
        Cost: sum((usage) => usage.cost).toFixed(6),
      };
    };
    const shows = async (expected: Readonly<Record<string, string>>) =>
      waitUntil(`the page to show ${JSON.stringify(expected)}`, async () => {
        const facts = await factsOn(page);
        return Object.entries(expected).every(([name, value]) => facts[name] === value);
      });
    const before = await used(1);
    assert.deepEqual([before['Tokens in'], before.Cost], ['1,234', '1.159000']);
    await shows(before);
    await page.getByRole('button', { name: 'Signal' }).click();
    await page.getByRole('dialog').getByLabel('Answer').fill('yes');
    await page.getByRole('dialog').getByRole('button', { name: 'Signal' }).click();
    await page.locator('.page-head').getByText('completed', { exact: true }).waitFor({ timeout: 20_000 });
    assert.equal(await page.getByRole('button', { name: 'Signal' }).count(), 0);
    assert.equal((await svc.workflowExecutions.get({ id })).status, 'completed');
    const after = await used(2);
    assert.equal(after['Tokens in'], '2,468');
    await shows(after);
    assert.deepEqual(tab.complaints, []);
  });

  test('dead letters are inspected, replayed and discarded on their page, and the API then says the same', async () => {
    const svc = client();
    await svc.workflows.deploy({ body: workflowYaml('left-asking', ASKS) });
    const { execution_id: run } = await svc.workflows.run({ name: 'left-asking' });
    // No message of the product fails in every attempt, so the test writes what the projector would.
    const [sent, unwanted] = [letterOf(run, 7, 'the first'), letterOf(run, 8, 'the second')];
    const documents = new SqliteDocuments({ directory: join(directory, 'data') });
    await documents.open();
    try {
      const letters = await documents.collection<DeadLetter>(DEAD_LETTERS);
      await letters.put(sent);
      await letters.put(unwanted);
    } finally {
      await documents.close();
    }
    await using tab = await browser.open(url);
    const { page } = tab;
    await page.goto(`${url}/dead-letters`);
    const row = ({ error }: DeadLetter) => page.getByRole('row').filter({ hasText: error });
    const dialog = page.getByRole('dialog');
    await row(sent).getByRole('button', { name: 'Inspect' }).click();
    await dialog.getByText(sent.error).waitFor();
    assert.deepEqual(JSON.parse((await dialog.locator('pre').textContent()) ?? ''), { reason: 'the first' });
    await dialog.getByRole('button', { name: 'Close' }).click();

    await row(sent).getByRole('button', { name: 'Replay' }).click();
    await dialog.getByLabel(/^Why/).fill('mended');
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await row(sent).getByText('replayed', { exact: true }).waitFor();
    const replayed = await svc.deadLetters.get({ id: sent.id });
    assert.deepEqual([replayed.status, replayed.replays.map(({ reason }) => reason)], ['replayed', ['mended']]);
    await waitUntil(
      'the message to act',
      async () => (await svc.workflowExecutions.get({ id: run })).status === 'cancelled',
    );
    await row(sent).getByRole('button', { name: 'Inspect' }).click();
    await dialog.getByText(`by ${replayed.replays[0]?.by}: mended`).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await row(unwanted).getByRole('button', { name: 'Discard' }).click();
    await dialog.getByRole('button', { name: 'Keep as it is' }).click();
    assert.equal((await svc.deadLetters.get({ id: unwanted.id })).status, 'open');
    await row(unwanted).getByRole('button', { name: 'Discard' }).click();
    await dialog.getByText(/cannot be replayed any more/).waitFor();
    await dialog.getByLabel('Why').fill('not wanted');
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await row(unwanted).getByText('discarded', { exact: true }).waitFor();
    const discarded = await svc.deadLetters.get({ id: unwanted.id });
    assert.deepEqual([discarded.status, discarded.discarded?.reason], ['discarded', 'not wanted']);
    assert.deepEqual(await row(unwanted).getByRole('button').allInnerTexts(), ['Inspect']);
    await row(unwanted).getByRole('button', { name: 'Inspect' }).click();
    await dialog.getByText(`by ${discarded.discarded?.by}: not wanted`).waitFor();
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('stimuli, patterns, volumes with their files, secrets, keys and limits are listed as the API has them, without the value of a secret', async () => {
    const svc = client();
    await svc.workflows.deploy({ body: workflowYaml('heard', { DONE }) });
    await svc.stimuli.putRoute({ source: 'seen', workflow: 'heard' });
    const { stimulus_id: stimulusId } = await svc.stimuli.ingest({ source: 'seen', content: 'a text' });
    const stimulus = await waitUntil('the stimulus', async () => {
      const one = await svc.stimuli.get({ id: stimulusId });
      return one.status === 'routed' && one;
    });
    await svc.patterns.store({ error_signature: 'no module x', error_type: 'E7', solution_approach: 'install x' });
    const volume = await svc.volumes.create({ name: 'kept' });
    await svc.volumeFiles.write({ id: volume.id, path: '/notes/first.txt', body: 'twelve bytes' });
    const secret = await svc.secrets.put({ path: 'db/password', value: 'canary-31fe' });
    const key = await svc.apiKeys.create({ name: 'reader', scopes: ['executions:read'] });
    const rates = { model_calls: { day: 90_210 } };
    const override = await svc.rateLimits.putOverride({ body: { tenant: TENANT, rates } });
    const usage = await waitUntil('the limit', async () => {
      const { buckets } = await svc.rateLimits.ownUsage();
      return buckets.find(({ limit }) => limit === rates.model_calls.day);
    });
    await using tab = await browser.open(url);
    const { page } = tab;
    /** The row with that text on a page, without the times that it begins or ends with. */
    const shown = async (path: string, table: string, text: string, from: number, to: number) => {
      await page.goto(`${url}/${path}`);
      return (await rowWith(page, table, text)).slice(from, to);
    };
    assert.deepEqual(await shown('stimuli', 'Stimuli', stimulusId.slice(0, 8), 1, 4), [
      'seen',
      stimulus.status,
      stimulus.workflow_execution_id?.slice(0, 8),
    ]);
    assert.deepEqual(await shown('patterns', 'Learned patterns', 'E7', 0, 2), ['E7: no module x', 'install x']);
    assert.deepEqual(await shown('volumes', 'Volumes', 'kept', 0, 2), ['kept', volume.storage_class]);
    await page.getByRole('link', { name: 'kept' }).click();
    assert.deepEqual((await rowWith(page, 'Files', 'notes')).slice(0, 2), ['notes/', 'directory']);
    await page.getByRole('link', { name: 'notes/' }).click();
    assert.deepEqual((await rowWith(page, 'Files', 'first.txt')).slice(0, 3), ['first.txt', 'file', '12 B']);
    await page.getByRole('link', { name: 'first.txt' }).click();
    await page.locator('main pre').getByText('twelve bytes', { exact: true }).waitFor();
    assert.deepEqual(await shown('secrets', 'Secrets', 'db/password', 0, 3), [
      'db/password',
      secret.reference,
      String(secret.version),
    ]);
    assert.doesNotMatch(await page.content(), /canary-31fe/);
    assert.deepEqual(await shown('keys', 'API keys', 'reader', 0, 4), [
      'reader',
      'active',
      key.owner.subject,
      'executions:read',
    ]);
    assert.ok(!(await page.content()).includes(key.key));
    assert.deepEqual(await shown('limits', 'Usage of your limits', 'model calls', 0, 2), [
      `model calls a ${usage.window}`,
      `${usage.used} of 90,210`,
    ]);
    assert.deepEqual((await rowWith(page, 'Rates set at run time', TENANT)).slice(0, 3), [
      TENANT,
      'all users',
      JSON.stringify(override.rates),
    ]);
    assert.deepEqual(await tab.serious(), []);
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
