import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { runSvc } from '../../cli/program.ts';
import { OPERATIONS } from '../../usecases/operations.ts';
import { waitUntil } from '../support/wait-until.ts';
import { HEADERS } from '../transport/mcp/mcp-server.ts';
import { agentYaml, objectOf, ProductNode } from './product-node.ts';
import { DONE, workflowText } from './tenant-objects.ts';

type Members = Readonly<Record<string, unknown>>;

/** The object of a call: created again for each transport where the call changes it. */
type Thing = 'agent' | 'running' | 'ended' | 'workflow' | 'waiting' | 'over' | 'approval' | 'nothing';

interface Row {
  readonly thing: Thing;
  readonly rest: (id: string) => readonly [method: string, path: string, body?: unknown];
  readonly args: (id: string) => Members;
  readonly words: (id: string) => readonly string[];
  /** Member of the answer that `--output json` of a list prints. */
  readonly list?: string;
  /** Whether a command prints lines for people instead of JSON. */
  readonly changes?: true;
  /** Reason why the answers of the tool and of REST differ by more than names of members. */
  readonly other?: string;
}

const read = (
  thing: Thing,
  path: (id: string) => string,
  args: Row['args'],
  words: Row['words'],
  list?: string,
): Row => ({
  thing,
  rest: (id) => ['GET', path(id)],
  args,
  words,
  list,
});

const change = (thing: Thing, rest: Row['rest'], args: Row['args'], words: Row['words']): Row => ({
  thing,
  rest,
  args,
  words,
  changes: true,
});

const none = (): Members => ({});
const execution_id = (id: string): Members => ({ execution_id: id });
const RUNS = '/v1/workflows/executions';

/** Every operation that has a tool. */
const ROWS: Readonly<Record<string, Row>> = {
  'agents.list': read(
    'nothing',
    () => '/v1/agents',
    none,
    () => ['agent', 'list'],
    'agents',
  ),
  'agents.search': read(
    'nothing',
    () => '/v1/agents/search?q=worker',
    () => ({ query: 'worker' }),
    () => ['agent', 'search', 'worker'],
    'results',
  ),
  'agents.list_logs': {
    ...read(
      'agent',
      (id) => `/v1/agents/${id}/logs`,
      (id) => ({ agent_id: id }),
      (id) => ['agent', 'logs', id],
      'events',
    ),
    other: 'the tool returns the ends of its executions too, as document 3 says',
  },
  'agents.delete': change(
    'agent',
    (id) => ['DELETE', `/v1/agents/${id}`],
    (id) => ({ agent_id: id }),
    (id) => ['agent', 'delete', id],
  ),
  'approvals.list': read(
    'nothing',
    () => '/v1/human-approvals',
    none,
    () => ['approval', 'list'],
    'pending_requests',
  ),
  'approvals.approve': change(
    'approval',
    (id) => ['POST', `/v1/human-approvals/${id}/approve`, { feedback: 'good' }],
    (id) => ({ request_id: id, feedback: 'good' }),
    (id) => ['approval', 'approve', id, '--feedback', 'good'],
  ),
  'approvals.reject': change(
    'approval',
    (id) => ['POST', `/v1/human-approvals/${id}/reject`, { reason: 'bad' }],
    (id) => ({ request_id: id, reason: 'bad' }),
    (id) => ['approval', 'reject', id, '--reason', 'bad'],
  ),
  'executions.start': change(
    'agent',
    (id) => ['POST', '/v1/executions', { agent_id: id, input: 'x' }],
    (id) => ({ agent_id: id, intent: 'x' }),
    (id) => ['task', 'execute', id, '--input', 'x'],
  ),
  'executions.list': read(
    'nothing',
    () => '/v1/executions',
    none,
    () => ['task', 'list'],
    'executions',
  ),
  'executions.get': read(
    'ended',
    (id) => `/v1/executions/${id}`,
    execution_id,
    (id) => ['task', 'status', id],
  ),
  'executions.why': read(
    'ended',
    (id) => `/v1/executions/${id}/why`,
    execution_id,
    (id) => ['why', id],
  ),
  'executions.list_events': read(
    'ended',
    (id) => `/v1/executions/${id}/events`,
    execution_id,
    (id) => ['task', 'logs', id],
    'events',
  ),
  'executions.cancel': change(
    'running',
    (id) => ['POST', `/v1/executions/${id}/cancel`],
    execution_id,
    (id) => ['task', 'cancel', id],
  ),
  'executions.remove': change(
    'ended',
    (id) => ['DELETE', `/v1/executions/${id}`],
    execution_id,
    (id) => ['task', 'remove', id],
  ),
  'workflow_executions.list': read(
    'nothing',
    () => RUNS,
    none,
    () => ['workflow', 'executions', 'list'],
    'executions',
  ),
  'workflow_executions.get': read(
    'waiting',
    (id) => `${RUNS}/${id}`,
    execution_id,
    (id) => ['workflow', 'executions', 'get', id],
  ),
  'workflow_executions.why': read(
    'waiting',
    (id) => `${RUNS}/${id}/why`,
    execution_id,
    (id) => ['why', id],
  ),
  'workflow_executions.list_logs': read(
    'waiting',
    (id) => `${RUNS}/${id}/logs`,
    execution_id,
    (id) => ['workflow', 'logs', id],
    'events',
  ),
  'workflow_executions.signal': change(
    'waiting',
    (id) => ['POST', `${RUNS}/${id}/signal`, { response: 'yes' }],
    (id) => ({ execution_id: id, response: 'yes' }),
    (id) => ['workflow', 'signal', id, 'yes'],
  ),
  'workflow_executions.cancel': change(
    'waiting',
    (id) => ['POST', `${RUNS}/${id}/cancel`],
    execution_id,
    (id) => ['workflow', 'cancel', id],
  ),
  'workflow_executions.remove': change(
    'over',
    (id) => ['DELETE', `${RUNS}/${id}`],
    execution_id,
    (id) => ['workflow', 'remove', id],
  ),
  'workflows.list': read(
    'nothing',
    () => '/v1/workflows',
    none,
    () => ['workflow', 'list'],
    'workflows',
  ),
  'workflows.search': read(
    'nothing',
    () => '/v1/workflows/search?q=flow',
    () => ({ query: 'flow' }),
    () => ['workflow', 'search', 'flow'],
    'results',
  ),
  'workflows.delete': change(
    'workflow',
    (id) => ['DELETE', `/v1/workflows/${id}`],
    (id) => ({ name: id }),
    (id) => ['workflow', 'delete', id],
  ),
  'workflows.run': change(
    'workflow',
    (id) => ['POST', `/v1/workflows/${id}/run`, {}],
    (id) => ({ name: id }),
    (id) => ['workflow', 'run', id],
  ),
};

/** Members that a tool names differently, as document 3 does. */
const CALLED: Readonly<Record<string, readonly string[]>> = { id: ['agent_id', 'execution_id'] };

/** Fields whose values differ between a tool and REST; a field that only one of them has is no difference. */
function contradictions(tool: unknown, rest: unknown, at = ''): string[] {
  if (Array.isArray(tool) && Array.isArray(rest)) {
    if (tool.length !== rest.length) return [`${at}: ${tool.length} and ${rest.length} entries`];
    return tool.flatMap((one, index) => contradictions(one, rest[index], `${at}[${index}]`));
  }
  if (!isMembers(tool) || !isMembers(rest))
    return JSON.stringify(tool) === JSON.stringify(rest)
      ? []
      : [`${at}: ${JSON.stringify(tool)} and ${JSON.stringify(rest)}`];
  return Object.entries(tool).flatMap(([name, value]) => {
    const there = [name, ...(CALLED[name] ?? [])].find((one) => Object.hasOwn(rest, one));
    return there === undefined ? [] : contradictions(value, rest[there], `${at}.${name}`);
  });
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without the parts that each call creates anew. */
const masked = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(id)')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)')
      .replaceAll(/made-\d+/g, '(name)'),
  );

describe('the same answer over REST, over /mcp and on the command line', () => {
  let node: ProductNode;
  let made = 0;
  before(async () => {
    process.stdout.setMaxListeners(0);
    node = await ProductNode.start();
    await node.deploy(agentYaml('worker'));
    await things.ended();
    await things.waiting();
  });
  after(() => node?.[Symbol.asyncDispose]());

  const states = {
    ask: { kind: 'Human', prompt: 'well?', transitions: [{ condition: 'always', target: 'done' }] },
    done: DONE,
  };
  const statusOf = async (path: string): Promise<string> => String((await node.call('GET', path)).body.status);
  const run = async (input: string): Promise<string> => node.run('worker', input);
  const deployed = async (): Promise<string> => {
    made += 1;
    const name = `made-${made}`;
    const headers = { 'content-type': 'application/yaml' };
    const answer = await node.call('POST', '/v1/workflows', { body: workflowText(name, states), headers });
    assert.equal(answer.status, 200, answer.text);
    return name;
  };
  const waiting = async (): Promise<string> => {
    const answer = await node.json('POST', `/v1/workflows/${await deployed()}/run`, {});
    const id = String(answer.body.execution_id);
    await waitUntil('it waits', async () => (await statusOf(`${RUNS}/${id}`)) === 'waiting_for_human_input');
    return id;
  };
  const things: Readonly<Record<Thing, () => Promise<string>>> = {
    nothing: async () => '',
    agent: async () => {
      made += 1;
      return node.deploy(agentYaml(`made-${made}`));
    },
    running: () => run('sleepy'),
    async ended() {
      const id = await run('x');
      await waitUntil('it ends', async () => (await statusOf(`/v1/executions/${id}`)) === 'completed');
      return id;
    },
    workflow: deployed,
    waiting,
    async over() {
      const id = await waiting();
      await node.json('POST', `${RUNS}/${id}/cancel`, undefined);
      await waitUntil('it ends', async () => (await statusOf(`${RUNS}/${id}`)) === 'cancelled');
      return id;
    },
    async approval() {
      const { waiting_for } = (await node.call('GET', `${RUNS}/${await waiting()}`)).body;
      return String(Object(waiting_for).approval_id);
    },
  };

  const overRest = async ({ rest }: Row, id: string): Promise<Members> => {
    const [method, path, body] = rest(id);
    const answer = await node.json(method, path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const overMcp = async (name: string, args: Members) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const { text } = await node.json('POST', '/mcp', message, HEADERS);
    const { structuredContent, isError } = Object(objectOf(text).result);
    return { said: structuredContent as unknown, isError: isError as unknown, text };
  };
  const onCommandLine = async (words: readonly string[]) => {
    const write = process.stdout.write;
    let said = '';
    // The reporter of the tests writes bytes.
    process.stdout.write = ((chunk: string | Uint8Array, ...rest: []) => {
      if (typeof chunk !== 'string') return write.call(process.stdout, chunk, ...rest);
      said += chunk;
      return true;
    }) as typeof process.stdout.write;
    const code = await runSvc(['--url', node.url, '--output', 'json', ...words]).finally(() => {
      process.stdout.write = write;
    });
    return { code, said: said.trim() };
  };

  test('every operation that has a tool has a row here, and a command', () => {
    const withTool = OPERATIONS.filter(({ tool }) => tool !== undefined);
    assert.deepEqual(withTool.map(({ name }) => name).sort(), Object.keys(ROWS).sort());
    assert.deepEqual(
      withTool.filter(({ commands }) => commands === undefined).map(({ name }) => name),
      [],
    );
  });

  for (const { name, tool = '' } of OPERATIONS.filter((one) => one.tool !== undefined)) {
    test(`${name}: ${tool} and its command say what REST says`, async () => {
      const row = ROWS[name] ?? assert.fail(name);
      const first = await things[row.thing]();
      const again = async (): Promise<string> => (row.changes === true ? things[row.thing]() : first);
      const { rest, mcp, line } = await waitUntil('nothing changes meanwhile', async () => {
        const rest = await overRest(row, await again());
        const mcp = await overMcp(tool, row.args(await again()));
        const line = await onCommandLine(row.words(await again()));
        // Lists are updated a moment later.
        const isStill = row.changes === true || isDeepStrictEqual(await overRest(row, first), rest);
        return isStill && { rest, mcp, line };
      });
      assert.equal(mcp.isError, false, mcp.text);
      assert.equal(line.code, 0, line.said);
      const shown: unknown = JSON.parse(line.said);
      const printed = row.list === undefined ? rest : rest[row.list];
      if (row.other === undefined) assert.deepEqual(contradictions(masked(mcp.said), masked(rest)), []);
      if (row.changes === true) assert.deepEqual(contradictions(masked(shown), masked(printed)), []);
      else assert.deepEqual(shown, printed);
    });
  }

  test('an unknown object is 404, not_found of the tool, and exit code 1, for every operation that names an object', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    for (const { name, tool = '' } of OPERATIONS.filter((one) => one.tool !== undefined)) {
      const row = ROWS[name] ?? assert.fail(name);
      if (row.thing === 'nothing') continue;
      const [method, path, body] = row.rest(id);
      assert.equal((await node.json(method, path, body)).status, 404, name);
      const { text } = await overMcp(tool, row.args(id));
      assert.match(text, /not_found|not found/, name);
      assert.equal((await onCommandLine(row.words(id))).code, 1, name);
    }
  });
});
