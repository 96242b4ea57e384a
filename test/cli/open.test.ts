import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { openRecordedNode, type RecordedNode } from '../../app/recordings/recorded-node.ts';
import { readRecording } from '../../app/recordings/recording-file.ts';
import { SvcError } from '../../runtime/errors.ts';
import { OPERATIONS } from '../../usecases/operations.ts';
import { recordedRun } from '../histories/recorded-run.ts';
import { waitUntil } from '../support/wait-until.ts';
import { EXAMPLES } from '../support/workflow-examples.ts';
import { ExampleNode } from '../support/workflow-examples-node.ts';
import { asObject } from '../support/workflow-examples-run.ts';
import { SvcRun, svc } from './svc-run.ts';

const CHILD = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: flight-child, version: "1.0.0" }
spec:
  initial_state: DONE
  states:
    DONE: { kind: System, command: finalize, env: { counted: "{{input.text}}" }, transitions: [] }
`;

/** Needs an agent, a judge, a child and a person. */
const FLIGHT = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: flight, version: "1.0.0" }
spec:
  initial_state: WRITE
  states:
    WRITE: { kind: Agent, agent: example-writer, input: a change, transitions: [{ target: JUDGE }] }
    JUDGE:
      kind: ParallelAgents
      agents: [{ agent: example-judge-facts, input: "{{WRITE.output}}" }]
      consensus: { strategy: weighted_average, threshold: 0.1, min_judges_required: 1 }
      transitions: [{ target: CHILD }]
    CHILD:
      kind: Subworkflow
      workflow_id: flight-child
      mode: blocking
      result_key: counted
      input: '{"text": {{json WRITE.output}} }'
      transitions: [{ target: GATE }]
    GATE:
      kind: Human
      prompt: Ship <script>alert(1)</script>?
      timeout: 1h
      transitions: [{ condition: input_equals_yes, target: DONE }, { target: DONE }]
    DONE: { kind: System, command: finalize, env: { shipped: "{{WRITE.output}}" }, transitions: [] }
`;

/** Waits for an effect that runs. */
const BUSY = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: flight-busy, version: "1.0.0" }
spec:
  initial_state: WORK
  states:
    WORK: { kind: System, command: sleep 600, timeout: 15m, transitions: [{ target: DONE }] }
    DONE: { kind: System, command: finalize, env: {}, transitions: [] }
`;

/** Reading operations of the table that have nothing to read in a recording, each with the reason. */
const NOT_HELD: Readonly<Record<string, string>> = {
  'agents.list': 'catalog',
  'agents.search': 'catalog',
  'agents.lookup': 'catalog',
  'agents.get': 'catalog',
  'agents.list_versions': 'catalog',
  'agents.list_logs': 'catalog',
  'workflows.list': 'catalog',
  'workflows.search': 'catalog',
  'workflows.get': 'catalog',
  'workflows.list_versions': 'catalog',
  'stimuli.list': 'a stimulus outlives no run',
  'stimuli.get': 'a stimulus outlives no run',
  'stimuli.list_routes': 'settings of the node',
  'volumes.list': 'files of the node',
  'volumes.get': 'files of the node',
  'volumes.list_events': 'files of the node',
  'patterns.list': 'catalog',
  'api_keys.list': 'credentials',
  'api_keys.get': 'credentials',
  'rate_limits.own_usage': 'limits of callers',
  'dead_letters.get': 'this run has no dead letter',
};

interface Recorded {
  readonly file: string;
  readonly run: string;
  readonly trace: string;
  readonly node: RecordedNode;
  /** Actors of the file by their kind. */
  readonly actors: ReadonlyMap<string, readonly string[]>;
  readonly message: string;
}

describe('svc open', () => {
  let node: ExampleNode;
  let directory = '';
  let ended: Recorded;
  let waiting: Recorded;
  let busy: Recorded;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'open-test-'));
    node = await ExampleNode.start();
    const { client } = node;
    for (const agent of ['writer', 'judge-facts']) {
      const file = join(EXAMPLES, 'refine-with-judges', 'agents', `${agent}.yaml`);
      await client.deployText('agent', await readFile(file, 'utf8'));
    }
    for (const text of [CHILD, FLIGHT, BUSY]) await client.deployText('workflow', text);
    const [one, other] = [await client.start('flight', { by: 'run' }), await client.start('flight', { by: 'run' })];
    await client.end(one, [{ verdict: 'approve', text: 'yes' }]);
    await waitUntil('the other run to wait for a person', () => client.pendingApproval(other));
    ended = await exported(one, 'ended');
    waiting = await exported(other, 'waiting');
    const third = await client.start('flight-busy', { by: 'run' });
    await waitUntil('the command to run', async () => {
      const { body } = await client.call('GET', `/v1/workflows/executions/${third}/why`);
      return /attempt 1 on node/.test(String(body.sentence));
    });
    busy = await exported(third, 'waiting');
  });
  after(async () => {
    await Promise.all([ended?.node.stop(), waiting?.node.stop(), busy?.node.stop()]);
    await node[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  /** Exports a run as soon as the ledger has all of it, and opens the file. */
  async function exported(run: string, stands: 'ended' | 'waiting'): Promise<Recorded> {
    await recordedRun(node.client, run, stands);
    const file = join(directory, `${run}.svcrun`);
    const { code, stderr } = await svc(['--url', await node.process.url, 'export-run', run, '-o', file]);
    assert.equal(code, 0, stderr);
    const { head, actors } = await readRecording(file);
    const addresses = actors.map(({ line }) => line.actor.split('/'));
    const ids = Map.groupBy(addresses, ([kind = '']) => kind);
    return {
      file,
      run,
      trace: head.run?.trace_id ?? '',
      node: await openRecordedNode(file, 0),
      actors: new Map([...ids].map(([kind, some]) => [kind, some.map(([, , id = '']) => id)])),
      message: actors[0]?.deliveries.at(-1)?.message.id ?? '',
    };
  }

  async function answered(base: string, path: string): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(20_000) });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  /** The paths of each reading operation for one recording. */
  function pathsOf({ run, trace, actors, message }: Recorded): Readonly<Record<string, readonly string[]>> {
    const executions = actors.get('execution') ?? [];
    const approvals = actors.get('approval') ?? [];
    const every = [...actors].flatMap(([kind, ids]) => ids.map((id) => `/v1/actors/${kind}/${id}`));
    const workflows = (actors.get('workflow') ?? []).map((id) => `/v1/workflows/executions/${id}`);
    return {
      'executions.list': ['/v1/executions'],
      'executions.get': executions.map((id) => `/v1/executions/${id}`),
      'executions.why': executions.map((id) => `/v1/executions/${id}/why`),
      'executions.list_events': executions.map((id) => `/v1/executions/${id}/events`),
      'executions.stream': executions.map((id) => `/v1/executions/${id}/stream`),
      'workflow_executions.list': ['/v1/workflows/executions'],
      'workflow_executions.get': workflows,
      'workflow_executions.why': workflows.map((path) => `${path}/why`),
      'workflow_executions.list_logs': workflows.map((path) => `${path}/logs`),
      'runs.list': ['/v1/runs', '/v1/runs?kind=workflow&text=flight'],
      'approvals.list': ['/v1/human-approvals'],
      'approvals.get': approvals.map((id) => `/v1/human-approvals/${id}`),
      'actors.get': every,
      'actors.list_mailbox': every.map((path) => `${path}/mailbox`),
      'actors.list_history': every.map((path) => `${path}/history`),
      'actors.get_state': [`/v1/actors/workflow/${run}/state?at=${message}`],
      'actors.get_diff': [`/v1/actors/workflow/${run}/diff?to=${message}`],
      'callers.me': ['/v1/me'],
      'schemas.get': ['/v1/schemas/agent'],
      'dead_letters.list': ['/v1/dead-letters'],
      'traces.list': ['/v1/traces'],
      'traces.get': [`/v1/traces/${trace}`],
      'traces.get_critical_path': [`/v1/traces/${trace}/critical-path`],
      'traces.get_summary': [`/v1/traces/${trace}/summary`],
      'messages.get': [`/v1/messages/${message}`],
      'messages.list_causes': [`/v1/messages/${message}/causes`],
      'messages.list_effects': [`/v1/messages/${message}/effects`],
      'recordings.run': [`/v1/runs/${run}/recording`],
      'recordings.actor': every.map((path) => `${path}/recording?next=d`),
    };
  }

  it('answers each reading route as the node did that recorded the run', async () => {
    const url = await node.process.url;
    for (const recorded of [ended, waiting, busy]) {
      const paths = Object.entries(pathsOf(recorded));
      const kinds = recorded === busy ? ['workflow'] : ['approval', 'execution', 'judge-panel', 'workflow'];
      assert.deepEqual([...recorded.actors.keys()].sort(), kinds);
      for (const [operation, some] of paths) {
        for (const path of some) {
          const [there, here] = await Promise.all([answered(url, path), answered(recorded.node.url, path)]);
          assert.equal(there.status, 200, `${path}: ${JSON.stringify(there.body)}`);
          const expected = ofRecording(operation, recorded, there.body, here.body);
          assert.deepEqual(here, { status: 200, body: expected }, `${operation} ${path}`);
        }
      }
    }
    const known = new Set([...Object.keys(pathsOf(ended)), ...Object.keys(NOT_HELD)]);
    const reading = OPERATIONS.filter(({ access, rest }) => access === 'read' && rest.method === 'GET');
    assert.deepEqual(
      reading.map(({ name }) => name).filter((name) => !known.has(name)),
      [],
      'a new reading operation is compared here, or named with the reason why a file holds nothing for it',
    );
  });

  /** The answer of the node, reduced to what the file contains; an actor that has not ended is shown as not served. */
  function ofRecording(operation: string, { actors, trace }: Recorded, body: unknown, shown: unknown): unknown {
    const ids = new Set([...actors.values()].flat());
    const own = (list: unknown, name: string): unknown[] =>
      (Array.isArray(list) ? list : []).filter((one) => ids.has(String(asObject(one)[name])));
    const whole = asObject(body);
    if (operation === 'runs.list') return { runs: own(whole.runs, 'id') };
    if (operation === 'executions.list') return { executions: own(whole.executions, 'execution_id') };
    if (operation === 'workflow_executions.list') {
      const executions = own(whole.executions, 'execution_id');
      return { ...whole, executions, total: executions.length };
    }
    if (operation === 'approvals.list') {
      const pending = own(whole.pending_requests, 'id');
      return { pending_requests: pending, count: pending.length };
    }
    if (operation === 'traces.list') {
      const traces = Array.isArray(whole.traces) ? whole.traces : [];
      return { ...whole, traces: traces.filter((one) => asObject(one).trace_id === trace) };
    }
    if (operation === 'callers.me') return { ...whole, subject: 'reader', roles: [], actions: ['read'] };
    if (operation === 'actors.get' && whole.archived === false) {
      return { ...whole, archived: true, node: null };
    }
    // On the node the time of the person still grows; in the file it ends at the recording.
    if (operation === 'traces.get_summary' && whole.status === 'running') {
      return { ...whole, people_ms: asObject(shown).people_ms };
    }
    return body;
  }

  it('says what an unfinished run waits for, and its feed reports no change', async () => {
    const sentence = async ({ node: { url }, run }: Recorded): Promise<string> =>
      String(asObject((await answered(url, `/v1/workflows/executions/${run}/why`)).body).sentence);
    assert.match(await sentence(waiting), /waits in state GATE for approval/);
    assert.match(await sentence(busy), /waits in state WORK for its command, attempt 1 on node/);
    const summary = await answered(waiting.node.url, `/v1/traces/${waiting.trace}/summary`);
    const { started_at, people_ms } = asObject(summary.body);
    const recordedFor = Date.parse(waiting.node.head.recorded_at ?? '') - Date.parse(String(started_at));
    assert.ok(Number(people_ms) > 0 && Number(people_ms) <= recordedFor, 'the person takes no more time');
    const leave = new AbortController();
    const feed = await fetch(`${waiting.node.url}/v1/feed?topic=run&topic=approval`, { signal: leave.signal });
    assert.equal(feed.status, 200);
    leave.abort();
  });

  it('shows a run of another tenant with many events, and which message kept failing', async () => {
    const file = join(directory, 'stuck');
    const stuck = { message_type: 'ChildEnded', error: 'it broke', attempts: 3 };
    const open = JSON.stringify({ timers: [], effects: [], stuck });
    const text = gunzipSync(await readFile(busy.file))
      .toString()
      .replaceAll('svc-system', 'acme');
    const [head = '', actor = '', ...others] = text.trimEnd().split('\n').slice(0, -1);
    const [event = ''] = others.filter((line) => line.startsWith('{"event":1,'));
    const events = Array.from({ length: 450 }, (_, at) => event.replace('"event":1,', `"event":${at + 1},`));
    const deliveries = others.filter((line) => line.includes('"delivery"'));
    const changed = actor
      .replace(/"open":\{.*?"stuck":null\}/, `"open":${open}`)
      .replace(/"last_event":\d+/, '"last_event":450');
    const lines = [head, changed, ...events, ...deliveries];
    await writeFile(file, [...lines, `{"end":${lines.length + 1}}`].join('\n'));
    const { url, stop } = await openRecordedNode(file, 0);
    const logs = await answered(url, `/v1/workflows/executions/${busy.run}/logs?limit=100&offset=400`);
    const { body } = await answered(url, `/v1/workflows/executions/${busy.run}/why`).finally(stop);
    const { total, events: shown } = asObject(logs.body);
    assert.deepEqual([total, Array.isArray(shown) && shown.length], [450, 50]);
    assert.match(String(asObject(body).sentence), /message ChildEnded, which keeps failing \(3 attempts\): it broke/);
  });

  it('refuses every operation that is not a read, with one error', async () => {
    const refusal = {
      error: 'read_only',
      message: 'This node shows a recorded run. Call a node that runs work.',
    };
    const call = async (method: string, path: string): Promise<unknown> => {
      const response = await fetch(`${ended.node.url}${path}`, { method });
      return { status: response.status, body: await response.json() };
    };
    const writes = OPERATIONS.filter(({ access, rest }) => access !== 'read' || rest.method !== 'GET');
    assert.ok(writes.length > 40);
    for (const { name, rest } of writes) {
      const path = rest.path.replaceAll(/:\w+/g, ended.run);
      assert.deepEqual(await call(rest.method, path), { status: 409, body: refusal }, name);
    }
    // Routes that are not in the table, and those that this node does not have.
    for (const path of ['/v1/agents', '/v1/workflows', '/v1/execute', '/mcp', '/v1/webhooks/push', '/v1/nothing']) {
      assert.deepEqual(await call('POST', path), { status: 409, body: refusal }, path);
    }
  });

  it('shows itself in the settings of the dashboard', async () => {
    const { body } = await answered(ended.node.url, '/dashboard/config.json');
    const { recording } = asObject(body);
    assert.deepEqual(asObject(asObject(recording).run).id, ended.run);
    assert.deepEqual(asObject((await answered(await node.process.url, '/dashboard/config.json')).body).recording, null);
  });

  it('runs as a command until a signal, and leaves nothing behind', async () => {
    const temporary = await mkdtemp(join(directory, 'tmp-'));
    const command = new SvcRun(['open', ended.file, '--output', 'json'], {
      TMPDIR: temporary,
      NODE_COMPILE_CACHE: join(tmpdir(), `svc-compile-cache-${userInfo().uid}`),
    });
    const look = () => (command.stdout.endsWith('}\n') ? JSON.parse(command.stdout) : null);
    const shown = await waitUntil('the address', look, 60_000);
    assert.equal(shown.page, `${shown.url}/runs/workflow/${ended.run}`);
    assert.equal((await answered(shown.url, '/v1/runs')).status, 200);
    const kept = async (): Promise<readonly string[]> =>
      (await readdir(temporary)).filter((name) => name.startsWith('svc-open-'));
    assert.equal((await kept()).length, 1);
    command.child.kill('SIGINT');
    assert.equal((await command.end()).code, 0);
    assert.deepEqual(await kept(), []);
  });

  it('refuses hostile files, names the line, and leaves nothing behind', async () => {
    const text = gunzipSync(await readFile(ended.file)).toString();
    const lines = text.trimEnd().split('\n');
    /** The file with one line changed. */
    const changed = (find: string, from: string | RegExp, to: string): string => {
      const at = lines.findIndex((line) => line.includes(find));
      return `${lines.map((line, index) => (index === at ? line.replace(from, to) : line)).join('\n')}\n`;
    };
    const member = gzipSync(Buffer.alloc(16 * 1024 * 1024, ' '));
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => member));
    const deep = `${lines[0]}\n${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}\n`;
    const cases: readonly (readonly [name: string, content: string | Uint8Array, problem: RegExp])[] = [
      ['empty', '', /line 1: the file is empty/],
      ['no JSON', 'PK\u0003\u0004', /line 1: expected JSON/],
      ['no recording', '{"poem": 1}\n', /line 1: not a recording of svc/],
      ['cut text', text.slice(0, text.length / 2), /line \d+: expected JSON: the file is damaged or cut/],
      ['cut at a line', `${lines.slice(0, 9).join('\n')}\n`, /line 9: the file ends here/],
      ['cut gzip', gzipSync(text).subarray(0, 2_000), /its compressed text is damaged or cut/],
      ['1 GB in one line', bomb, /line 1: longer than 67108864 characters/],
      ['deep nesting', deep, /line 2: nested too deeply|line 2: expected/],
      [
        'newer format',
        changed('"format"', '"version":1', '"version":7'),
        /version 7 of the format, written by svc \S+; this is svc \S+/,
      ],
      [
        'newer actors',
        changed('"actor"', /"version":\d+/, '"version":99'),
        /version 99 of workflow, written by svc \S+; this is svc/,
      ],
      ['settings', changed('"format"', '"max_transitions":1000', '"max_transitions":"many"'), /line 1: settings: svc/],
      ['retry', changed('"format"', '"maxAttempts":5', '"maxAttempts":-5'), /line 1: retry\.maxAttempts/],
      ['other tenant', changed('"format"', '"svc-system"', '"../../etc"'), /line 2: an actor of another tenant/],
      [
        'path in an id',
        changed('"actor"', `svc-system/${ended.run}`, 'svc-system/../../etc'),
        /line 2: actor: expected an address/,
      ],
      [
        'state',
        changed('"actor"', '"blackboard":{', '"blackboard":7,"x":{'),
        /line 2: state: it is not a state of workflow/,
      ],
      ['open', changed('"actor"', '"archived":', '"open":{"timers":7},"archived":'), /line 2: open\.timers/],
      ['events', changed('"event":1', '"event":1', '"event":4'), /expected event 1/],
      ['time', changed('"event":1', /"at":\d+/, '"at":1e300'), /: at: /],
      ['turn', changed('"delivery"', '"outcome":"done"', '"outcome":["done"]'), /: row: expected a turn/],
      ['message', changed('"delivery"', '"origin":"client"', '"origin":{}'), /: message: expected a message/],
      ['partition', changed('"delivery"', /"partition":"[^"]+"/, '"partition":"../x"'), /: partition: expected/],
      ['lines behind the end', `${text}{"end":1}\n`, /nothing may follow/],
    ];
    const temporary = await mkdtemp(join(directory, 'tmp-'));
    process.env.TMPDIR = temporary;
    const memory = process.memoryUsage().rss;
    for (const [name, content, problem] of cases) {
      const file = join(directory, 'hostile');
      await writeFile(file, content);
      await assert.rejects(openRecordedNode(file, 0), (thrown) => {
        assert.ok(thrown instanceof SvcError && thrown.code === 'invalid_argument', `${name}: ${thrown}`);
        assert.match(thrown.message, problem, name);
        return true;
      });
    }
    assert.deepEqual(await readdir(temporary), []);
    assert.ok(process.memoryUsage().rss - memory < 800 * 1024 * 1024);
  });
});
