import { type Doc, STATES } from './document.ts';

/** A manifest in which there is nothing to find. */
interface Sound {
  readonly title: string;
  readonly states: Doc;
  readonly spec?: Doc;
  readonly metadata?: Doc;
}

const to = (target: string, fields: object = {}) => ({ target, ...fields });
const on = (condition: string, target: string, fields: object = {}) => ({ condition, target, ...fields });
const {
  Agent,
  System,
  Human,
  ParallelAgents: Panel,
  ContainerRun: Run,
  ParallelContainerRun: Runs,
  Subworkflow: Child,
} = STATES;

const alone = (title: string, state: object, rest: Partial<Sound> = {}): Sound => ({
  title,
  states: { s: state },
  ...rest,
});

/** Ways to leave no outcome of a kind without a transition. */
const leaving: readonly Sound[] = [
  ...Object.entries(STATES).map(([kind, state]) => alone(`${kind} with a fallback alone`, state)),
  ...Object.entries(STATES).map(([kind, state]) =>
    alone(`${kind} that goes on at failure too`, { ...state, transitions: [on('on_failure', 's'), to('end')] }),
  ),
  alone(
    'a state whose failure is meant to fail the run',
    { ...Run, transitions: [on('on_success', 'end')] },
    { metadata: { annotations: { 'svc.dev/may-fail': 'other, s' } } },
  ),
  ...[Agent, System, Run, Runs, Child].map((state) =>
    alone(`${state.kind} with success and failure`, {
      ...state,
      transitions: [on('on_success', 'end'), on('on_failure', 's')],
    }),
  ),
  ...[System, Run].map((state) =>
    alone(`${state.kind} with both exit codes`, {
      ...state,
      transitions: [on('exit_code_zero', 'end'), on('exit_code_non_zero', 's')],
    }),
  ),
  ...[System, Run].map((state) =>
    alone(`${state.kind} with one code to try again`, {
      ...state,
      transitions: [
        on('exit_code', 's', { value: 75 }),
        on('exit_code', 'end', { value: '0' }),
        on('on_failure', 'end'),
      ],
    }),
  ),
  alone('scores above a bound, else again', {
    ...Agent,
    transitions: [on('score_above', 'end', { threshold: 0.8 }), to('s')],
  }),
  alone('scores in ranges that touch', {
    ...Agent,
    transitions: [
      on('score_between', 'end', { min: 0.8, max: 1 }),
      on('score_below', 's', { threshold: 0.8 }),
      on('on_failure', 'end'),
    ],
  }),
  alone('scores in ranges that overlap, in any order', {
    ...Agent,
    transitions: [
      on('score_above', 'end', { threshold: 0.5 }),
      on('score_between', 's', { min: 0.2, max: 0.6 }),
      on('score_below', 's', { threshold: 0.3 }),
      on('on_failure', 'end'),
    ],
  }),
  alone('confidence, else failure, else success', {
    ...Agent,
    transitions: [on('confidence_above', 'end', { threshold: 0.9 }), on('on_failure', 'end'), on('on_success', 's')],
  }),
  alone('yes, no and no answer', {
    ...Human,
    transitions: [on('input_equals_yes', 'end'), on('input_equals_no', 's'), on('on_failure', 'end')],
  }),
  alone('yes and no with a default response', {
    ...Human,
    default_response: 'rejected',
    transitions: [on('input_equals_yes', 'end'), on('input_equals_no', 's')],
  }),
  alone('words of the author, else again', {
    ...Human,
    transitions: [on('input_equals', 'end', { value: 'ship it' }), to('s')],
  }),
  alone('a consensus, else again', {
    ...Panel,
    transitions: [on('consensus', 'end', { threshold: 0.8, agreement: 0.6 }), to('s')],
  }),
  alone('consensus or a rejection or too few judges', {
    ...Panel,
    transitions: [on('consensus', 'end'), on('any_rejected', 's'), on('on_failure', 'end')],
  }),
  alone('all judges approve, one rejects, or too few', {
    ...Panel,
    consensus: { strategy: 'unanimous', min_judges_required: 2 },
    transitions: [on('all_approved', 'end'), on('any_rejected', 's'), on('on_failure', 'end')],
  }),
  ...['weighted_average', 'majority', 'unanimous', 'best_of_n'].map((strategy) =>
    alone(`a panel by ${strategy}`, {
      ...Panel,
      consensus: { strategy, ...(strategy === 'best_of_n' ? { n: 2 } : {}) },
    }),
  ),
  alone('steps of which one is enough', {
    ...Runs,
    completion: 'any_succeed',
    transitions: [on('on_success', 'end'), on('on_failure', 's')],
  }),
  alone('best effort, which always succeeds', {
    ...Runs,
    completion: 'best_effort',
    transitions: [on('on_success', 'end')],
  }),
  alone('a child without a waiting state', {
    ...Child,
    mode: 'fire_and_forget',
    transitions: [on('on_success', 'end'), on('on_failure', 'end')],
  }),
  alone('an expression and its fallback', {
    ...Agent,
    transitions: [on('custom', 'end', { expression: '{{s.score}} >= 0.8 && {{s.iterations}} < 5' }), to('s')],
  }),
  alone(
    'a single state',
    { kind: 'System', command: 'make', transitions: [] },
    { states: { end: { kind: 'System', command: 'make', transitions: [] } } },
  ),
];

/** Every form of template variable, each in a state that can see it. */
const before = (state: object): Doc => ({ first: { ...state, transitions: [to('s')] } });
const reads = (title: string, input: string, first: object = System, rest: Partial<Sound> = {}): Sound => ({
  title: `reads ${title}`,
  states: { ...before(first), s: { ...Agent, input } },
  ...rest,
});
const inputs = {
  input_schema: {
    type: 'object',
    properties: {
      topic: { type: 'string' },
      user: { type: 'object', properties: { name: { type: 'string' } } },
      tags: { type: 'array', items: { type: 'string' } },
    },
  },
};
const reading: readonly Sound[] = [
  reads('the goal, the execution and the workflow', '{{intent}} {{execution.id}} {{workflow.storage.workspace}}'),
  reads('any input without a schema', '{{input.a.b.c}} {{input}}'),
  reads('declared inputs', '{{input.topic}} {{input.user.name}} {{input.tags.0}} {{length input.tags}}', System, {
    metadata: inputs,
  }),
  reads(
    'an undeclared input it tests for',
    '{{#if input.more}}{{input.more}}{{/if}}{{default input.other "x"}}',
    System,
    { metadata: inputs },
  ),
  reads('inputs of an open schema', '{{input.anything}}', System, {
    metadata: { input_schema: { type: 'object', properties: { a: {} }, additionalProperties: true } },
  }),
  reads('constants', '{{workflow.context.db.port}} {{workflow.context.list.1}} {{blackboard.db}}', System, {
    spec: { context: { db: { port: 1 }, list: [1, 2] } },
  }),
  reads('constants it changed', '{{workflow.context.step}}', {
    kind: 'System',
    command: 'update_context',
    env: { step: 'two' },
  }),
  reads(
    'shared volumes',
    '{{workflow.storage.shared_volumes.cache}} {{workflow.storage.shared_volumes.[my data]}}',
    System,
    {
      spec: {
        storage: {
          shared_volumes: [
            { name: 'cache', storage_class: 'ephemeral' },
            { name: 'my data', storage_class: 'persistent' },
          ],
        },
      },
    },
  ),
  reads(
    'a command',
    '{{first.output}} {{first.output.stdout}} {{first.output.stderr}} {{first.output.exit_code}} {{first.status}}',
  ),
  reads('a container', '{{first_line first.output.stdout}} {{first.output.duration_ms}}', Run),
  reads(
    'parallel containers',
    '{{first.output.lint.stdout}} {{#each first.output}}{{@key}}: {{this.exit_code}}{{/each}}',
    Runs,
  ),
  reads(
    'an agent that answers JSON',
    "{{#with (parseJson first.output)}}{{field}}{{/with}}{{#if (eq first.status 'failed')}}{{add first.iterations 1}}{{/if}}",
    Agent,
  ),
  reads('an agent', '{{trim first.output}} {{upper first.status}} {{first.score}} {{first.iterations}}', Agent),
  reads(
    'a panel',
    '{{first.consensus.score}} {{first.consensus.confidence}} {{first.agents.0.output}} {{first.agents.1.output.reasoning}} {{#each first.individual_results}}{{reasoning}}{{/each}}',
    Panel,
  ),
  reads('an answer', '{{human.feedback}} {{first.output}} {{first.feedback}}', { ...Human }),
  reads(
    'a child',
    '{{first.status}} {{first.result}} {{first.result.deep.0}} {{first.child_execution_id}} {{blackboard.made.a}}',
    { ...Child, result_key: 'made' },
  ),
  reads('keys that callers may pass', '{{blackboard.ticket}} {{blackboard.stimulus.headers.x}} {{json blackboard}}'),
  reads('keys that were written', '{{blackboard.summary}} {{blackboard.first}}', {
    kind: 'System',
    command: 'update_blackboard',
    env: { summary: '{{intent}}' },
  }),
  reads('an error it tests for', '{{#if first.error}}{{first.error.message}}{{else}}fine{{/if}}', Run),
];

const odd: readonly Sound[] = [
  {
    title: 'states with spaces, dashes and other letters',
    states: {
      'Build it': { ...System, transitions: [to('prüfen-2')] },
      'prüfen-2': { ...Agent, input: '{{[Build it].output.stdout}} {{lower [Build it].status}}' },
    },
  },
  alone('input through the environment, also behind sh -c', {
    ...Run,
    command: ['sh', '-c', 'echo "$TOPIC"'],
    env: { TOPIC: '{{input.topic}}' },
  }),
  alone('input as an argument, without a shell', { ...Run, command: ['echo', '{{input.topic}}'] }),
  alone('input in a built-in command', {
    kind: 'System',
    command: 'update_blackboard',
    env: { topic: '{{input.topic}}' },
    transitions: [to('end')],
  }),
  alone('an agent chosen by the input', {
    ...Agent,
    agent: '{{input.agent}}',
    volumes: [{ volume: '{{workflow.storage.workspace}}', mount_path: '/workspace/w', access_mode: 'read-write' }],
  }),
  alone(
    'volumes in a container',
    {
      ...Run,
      volumes: [
        { name: 'workspace', mount_path: '/w' },
        { name: 'cache', mount_path: '/c', read_only: true },
      ],
      resources: { cpu: 500, memory: '64Mi', timeout: '2m' },
      retry: { max_attempts: 3, backoff: '1s' },
    },
    {
      spec: {
        storage: {
          workspace: { ttl_hours: 1, size_limit_mb: 64 },
          shared_volumes: [{ name: 'cache', storage_class: 'persistent' }],
        },
      },
    },
  ),
  alone('paths that only begin like those of the engine, and variables as containers take them', {
    ...Run,
    image: 'registry.example:5000/team/app:{{input.topic}}',
    env: { 'my.name-1': 'x' },
    volumes: [
      { name: 'workspace', mount_path: '/procedures' },
      { name: 'workspace', mount_path: '/srv/dev' },
    ],
    resources: { timeout: '24h' },
    timeout: '24h',
  }),
  alone('any name as a key of a built-in command', {
    kind: 'System',
    command: 'update_context',
    env: { 'a key-1': 'x', ENV: 'y' },
    transitions: [to('end')],
  }),
  alone('a chain of ten children', { ...Child, workflow_id: 'depth-10' }),
  alone('a short state timeout with all else left alone', { ...Run, timeout: '30s' }),
];

export const SOUND: readonly Sound[] = [...leaving, ...reading, ...odd];
