import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ModelServer } from '../../support/model-server.ts';
import { BUSYBOX, NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { someOf } from '../../support/size.ts';
import { agentYaml, ProductNode } from '../product-node.ts';
import { assertExplained, type Cause, type Planted, plantAlone, plantNested, runsIn } from './planted-runs.ts';

const hangs = (text: string) => ({ text, delay_ms: 600_000 });

const RULES = [
  { match: { contains: 'sleepy' }, reply: hangs('never') },
  {
    match: { contains: 'use-a-tool', round: 1 },
    reply: { tool_calls: [call('cmd.run', { command: 'sleep', args: ['600'] })] },
  },
  {
    match: { contains: 'write-a-file', round: 1 },
    reply: { tool_calls: [call('fs.write', { path: 'a.txt', content: 'x' })] },
  },
  { match: { contains: 'i agree' }, reply: '{"score": 1, "confidence": 1, "reasoning": "good"}' },
  { match: { contains: 'read-a-page', round: 1 }, reply: { tool_calls: [call('fs.read', { path: 'none.txt' })] } },
  { match: { round: 2 }, reply: hangs('never') },
  { match: { contains: 'Judge whether the output' }, reply: hangs('never') },
  { reply: 'done' },
];

function call(name: string, args: object): object {
  return { name, arguments: args };
}

const says = (word: string, more: object = {}) => ({ task: { prompt_template: `${word} {{input}}` }, ...more });
const tagged = (...target_tags: readonly string[]) => says('x', { execution: { target_tags } });
const container = (command: readonly string[], more: object = {}) => ({
  ...{ kind: 'ContainerRun', image: BUSYBOX, command, image_pull_policy: 'Never' },
  ...more,
});

/** Causes on one node, each for a single run and three runs deep. */
const CAUSES: readonly Cause[] = [
  {
    name: 'no-node-with-a-tag',
    agent: tagged('tpu'),
    last: { kind: 'node', tags: /^\["tpu"\]$/, nearly: /"lacks":\["tpu"\]/ },
    sentence: /waits for a node with tags tpu \(node \S+ lacks tpu\)\.$/,
  },
  {
    name: 'no-node-with-all-tags',
    agent: tagged('gpu', 'ssd', 'tpu'),
    last: { kind: 'node', tags: /"gpu","ssd","tpu"/, nearly: /"lacks":\["ssd","tpu"\]/ },
    sentence: /waits for a node with tags gpu, ssd, tpu \(node \S+ lacks ssd, tpu\)\.$/,
  },
  {
    name: 'approval-with-a-default',
    state: { kind: 'Human', prompt: 'May I?', default_response: 'reject' },
    last: { kind: 'approval', id: /-/, by: 'an operator', default_response: 'reject', until: /20\d\d-/ },
    sentence:
      /waits in state STEP for approval \S+ by an operator until .+ UTC; then its default answer "reject" is given\.$/,
  },
  {
    name: 'approval-that-fails',
    state: { kind: 'Human', prompt: 'May I?' },
    last: { kind: 'approval', default_response: null, until: /20\d\d-/, prompt: 'May I?' },
    sentence: /for approval \S+ by an operator until .+ UTC; then its state fails\.$/,
  },
  {
    name: 'a-command',
    state: { kind: 'System', command: 'sleep 600' },
    last: { kind: 'effect', effect: 'command.run', status: 'started', attempt: 1, node: /-/ },
    sentence: /for its command, attempt 1 on node \S+\.$/,
  },
  {
    name: 'a-model',
    agent: says('sleepy'),
    last: { kind: 'effect', effect: 'model.generate', status: 'started', attempt: 1, last_error: null },
    sentence: /waits in iteration 1 for its model, attempt 1 on node \S+\.$/,
  },
  {
    name: 'a-model-that-fails',
    agent: says('x', { runtime: { model: 'broken' } }),
    last: { kind: 'effect', status: 'retrying', last_error: /model_unavailable/, until: /20\d\d-/ },
    sentence: /its model, whose attempt \d+ failed with model_unavailable \(.*\); attempt 2 begins at 20/,
  },
  {
    name: 'a-tool-call',
    agent: says('use-a-tool', {
      tools: [{ name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { sleep: [] } } }],
      execution: { mode: 'one-shot' },
    }),
    last: { kind: 'effect', effect: 'tool.call', status: 'started' },
    sentence: /for its tool call cmd\.run, attempt 1 on node \S+\.$/,
  },
  {
    name: 'a-program',
    agent: { runtime: { isolation: 'process' }, advanced: { bootstrap_path: 'stays' } },
    last: { kind: 'effect', effect: 'program.run', status: 'started' },
    sentence: /for its program, attempt 1 on node \S+\.$/,
  },
  {
    name: 'a-judge-of-a-tool-call',
    namesOthers: true,
    agent: says('write-a-file', {
      tools: ['fs.write'],
      execution: { mode: 'one-shot', tool_validation: [{ type: 'semantic', judge_agent: 'a-model' }] },
    }),
    last: { kind: 'effect', effect: 'model.generate', status: 'started' },
    sentence: /for 1 of its 1 judge: judge a-model \(run \S+\), which waits in iteration 1 for its model, attempt 1/,
  },
  {
    name: 'a-model-that-judges',
    agent: says('draft', {
      execution: { mode: 'iterative', validation: { semantic: { enabled: true, timeout_seconds: 600 } } },
    }),
    last: { kind: 'effect', effect: 'model.generate', status: 'started' },
    sentence: /for its judge, attempt 1 on node \S+\.$/,
    nest: 'children',
  },
  {
    name: 'one-of-two-judges',
    namesOthers: true,
    state: {
      kind: 'ParallelAgents',
      agents: [
        { agent: 'a-model', input: 'x', timeout_seconds: 600 },
        { agent: 'no-node-with-a-tag', input: 'x', timeout_seconds: 600 },
      ],
      consensus: { strategy: 'majority' },
    },
    last: { kind: 'effect', effect: 'model.generate', status: 'started' },
    sentence: /for 2 of its 2 judges: judge a-model \(run \S+\), which waits in iteration 1 for its model, attempt 1/,
  },
  {
    name: 'a-judge-without-a-node',
    namesOthers: true,
    state: {
      kind: 'ParallelAgents',
      agents: [{ agent: 'no-node-with-a-tag', input: 'x', timeout_seconds: 600 }],
      consensus: { strategy: 'majority' },
    },
    last: { kind: 'node', tags: /"tpu"/ },
    sentence: /for 1 of its 1 judge: judge no-node-with-a-tag \(run \S+\), which waits for a node with tags tpu/,
  },
  {
    name: 'the-second-of-two-judges',
    namesOthers: true,
    agent: says('draft', {
      execution: {
        mode: 'iterative',
        validation: [{ type: 'multi_judge', judges: ['agrees', 'no-node-with-a-tag'], timeout_seconds: 600 }],
      },
    }),
    last: { kind: 'node', tags: /"tpu"/ },
    sentence: /for 1 of its 2 judges: judge no-node-with-a-tag \(run \S+\), which waits for a node with tags tpu/,
    nest: 'children',
  },
  {
    name: 'the-second-round-of-a-loop',
    agent: says('read-a-page', { tools: ['fs.read'], execution: { mode: 'one-shot' } }),
    last: { kind: 'effect', effect: 'model.generate', status: 'started' },
    sentence: /waits in iteration 1 for its model, attempt 1 on node \S+\.$/,
  },
  {
    name: 'an-approval-of-a-child',
    namesOthers: true,
    state: { kind: 'Subworkflow', workflow_id: 'approval-with-a-default' },
    last: { kind: 'approval', default_response: 'reject' },
    sentence: /for child run \S+ of workflow approval-with-a-default, which waits in state STEP for approval/,
  },
];

const CONTAINER_CAUSES: readonly Cause[] = [
  {
    name: 'a-container',
    state: container(['sleep', '600']),
    last: { kind: 'effect', effect: 'container.run', status: 'started' },
    sentence: /for run 1 of its container, attempt 1 on node \S+\.$/,
  },
  {
    name: 'containers',
    state: {
      kind: 'ParallelContainerRun',
      steps: ['left', 'right'].map((name) => ({
        ...{ name, image: BUSYBOX, command: ['sleep', '600'], image_pull_policy: 'Never' },
      })),
      completion: 'all_succeed',
    },
    last: { kind: 'effect', effect: 'container.run', others: 1 },
    sentence: /for its containers left, right, attempt 1 on node \S+\.$/,
  },
  {
    name: 'a-timer',
    state: container(['false'], { retry: { max_attempts: 2, backoff: '10m' } }),
    last: { kind: 'timer', until: /20\d\d-/ },
    sentence: /for attempt 2 of its container, which starts at 20.+ UTC\.$/,
  },
];

/** Planted last: it blocks every model call that begins after it. */
const RATE_LIMIT: Cause = {
  name: 'a-rate-limit',
  agent: says('limited'),
  last: { kind: 'rate_limit', until: /20\d\d-/ },
  sentence: /its model, whose attempt 1 failed with rate_limited .*: a rate limit \(.*model/,
  nest: 'children',
};

describe('why a run waits: causes on one node, for a single run and three runs deep', () => {
  let podman: TestPodman | null = null;
  const models = new ModelServer();
  let node: ProductNode;
  const alone = new Map<Cause, Planted>();
  const nested = new Map<Cause, Planted>();
  const causes = [...CAUSES, ...(NEEDS_PODMAN.skip === undefined ? CONTAINER_CAUSES : [])];
  /** The causes that are also planted three runs deep: always the first, and some of the others. */
  const deep = new Set([...causes.slice(0, 1), ...someOf(causes, 6)]);

  before(async () => {
    if (NEEDS_PODMAN.skip === undefined) podman = await TestPodman.start();
    await models.start();
    models.script({ status: 503, headers: { 'retry-after': '300' }, body: '{}' });
    const broken = {
      ...{ name: 'broken', type: 'openai-compatible', endpoint: `${models.url}/v1`, api_key: 'literal:k' },
      models: [{ alias: 'broken', model: 'm' }],
    };
    const engine = podman === null ? {} : { container_socket_path: podman.socketPath };
    node = await ProductNode.start({
      ...{ rules: RULES, providers: [broken], programs: { stays: '#!/bin/sh\nexec sleep 600\n' } },
      runtime: (directory) => ({ bootstrap_dir: directory, ...engine }),
      spec: {
        llm_selection: { max_retries: 0, llm_overall_timeout_secs: 600 },
        node: { tags: ['gpu'] },
        kernel: { effect_concurrency: 200 },
      },
    });
    await node.deploy(agentYaml('agrees', says('i agree')));
    for (const isLater of [false, true]) {
      const now = causes.filter(({ namesOthers = false }) => namesOthers === isLater);
      await Promise.all(now.map(async (cause) => alone.set(cause, await plantAlone(node, cause))));
    }
    await Promise.all([...deep].map(async (cause) => nested.set(cause, await plantNested(node, cause))));
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
    await models.stop();
  });

  const planted = (map: ReadonlyMap<Cause, Planted>, cause: Cause): Planted => {
    const found = map.get(cause);
    assert.ok(found !== undefined, `${cause.name} was not planted`);
    return found;
  };

  // A command takes a process of Node.js.
  const onCommandLine = someOf([...deep], 3);
  for (const cause of causes) {
    const isCommand = onCommandLine.includes(cause);
    test(`${cause.name} is the last cause, over REST and tool${isCommand ? ' and command line' : ''}`, async () => {
      await assertExplained(node, planted(alone, cause), cause, ['tool']);
      if (!deep.has(cause)) return;
      const why = await assertExplained(node, planted(nested, cause), cause, isCommand ? ['tool', 'cli'] : ['tool']);
      assert.ok(runsIn(why).length >= 3, JSON.stringify(why.chain));
    });
  }

  test('a rate limit of the caller is the last cause, with the time at which it is tried again', async () => {
    const rates = { model_calls: { day: 0 } };
    const set = await node.json('PUT', '/v1/admin/rate-limits/overrides', { tenant: 'svc-system', rates });
    assert.equal(set.status, 200, set.text);
    await assertExplained(node, await plantAlone(node, RATE_LIMIT), RATE_LIMIT);
    const why = await assertExplained(node, await plantNested(node, RATE_LIMIT), RATE_LIMIT);
    assert.deepEqual(runsIn(why), ['workflow', 'child', 'child']);
  });

  test('the command line shows the sentence and the chain as a tree', async () => {
    const { svc } = await import('../../cli/svc-run.ts');
    const [cause] = CAUSES;
    assert.ok(cause !== undefined);
    const { code, stdout } = await svc(['--url', node.url, 'why', planted(nested, cause).id]);
    assert.equal(code, 0);
    assert.match(stdout, /^Run [0-9a-f]{8}… waits in state STEP for child run/);
    assert.match(stdout, /\n {9}└─ judge: judge no-node-with-a-tag \(run [0-9a-f]{8}…\)\n {12}└─ node: /);
    assert.equal((await svc(['--url', node.url, 'why', '00000000-0000-4000-8000-000000000000'])).code, 1);
  });
});
