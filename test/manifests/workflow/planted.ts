import { type Doc, STATES } from './document.ts';

/** A manifest with one defect: the rule that must name it, and nothing else may. */
interface Planted {
  readonly title: string;
  readonly rule: string;
  /** The place that is named. */
  readonly path: string;
  readonly states: Doc;
  readonly spec?: Doc;
  readonly metadata?: Doc;
}

const to = (target: string, fields: object = {}) => ({ target, ...fields });
const done = [to('end')];
const {
  Agent,
  System,
  Human,
  ParallelAgents: Panel,
  ContainerRun: Run,
  ParallelContainerRun: Runs,
  Subworkflow: Child,
} = STATES;
const agent = (fields: object = {}) => ({ ...Agent, ...fields });
const system = (fields: object = {}) => ({ ...System, ...fields });
const human = (fields: object = {}) => ({ ...Human, ...fields });
const panel = (fields: object = {}) => ({ ...Panel, ...fields });
const run = (fields: object = {}) => ({ ...Run, ...fields });
const runs = (fields: object = {}) => ({ ...Runs, ...fields });
const child = (fields: object = {}) => ({ ...Child, ...fields });
const topic = { input_schema: { type: 'object', properties: { topic: { type: 'string' } } } };

const plant = (rule: string, title: string, path: string, states: Doc, rest: Partial<Planted> = {}): Planted => ({
  rule,
  title,
  path,
  states,
  ...rest,
});
const inState = (rule: string, title: string, field: string, state: object, rest: Partial<Planted> = {}): Planted =>
  plant(rule, title, `spec.states.s${field}`, { s: state }, rest);

const graph: readonly Planted[] = [
  plant('unreachable_state', 'a state nothing leads to', 'spec.states.lost', { s: system(), lost: system() }),
  plant('unreachable_state', 'a state behind the fallback only, its own loop aside', 'spec.states.lost', {
    s: system(),
    lost: agent({ transitions: [to('lost', { condition: 'on_failure' }), to('end')] }),
  }),
  plant('no_terminal_state', 'no state ends the execution', 'spec.states', {
    s: system({ transitions: [to('end')] }),
    end: { ...System, transitions: [to('s', { condition: 'on_success' }), to('s')] },
  }),
  plant('loop_without_exit', 'a state that only leads to itself', 'spec.states.stuck.transitions', {
    s: system({ transitions: [to('end', { condition: 'on_success' }), to('stuck')] }),
    stuck: system({ transitions: [to('stuck')] }),
  }),
  plant('loop_without_exit', 'three states in a ring without a way out', 'spec.states.a.transitions', {
    s: system({ transitions: [to('end', { condition: 'exit_code_zero' }), to('a')] }),
    a: system({ transitions: [to('b')] }),
    b: system({ transitions: [to('c')] }),
    c: system({ transitions: [to('a')] }),
  }),
  plant('transition_never_evaluated', 'a condition below the fallback', 'spec.states.s.transitions[1]', {
    s: agent({ transitions: [to('end'), to('s', { condition: 'on_failure' })] }),
  }),
  plant('transition_never_evaluated', 'the same condition twice', 'spec.states.s.transitions[1]', {
    s: agent({
      transitions: [to('end', { condition: 'on_success' }), to('s', { condition: 'on_success' }), to('end')],
    }),
  }),
  plant('transition_never_evaluated', 'finalize with a transition', 'spec.states.s.transitions[0]', {
    s: system({ command: 'finalize' }),
  }),
];

const coverage: readonly Planted[] = [
  inState(
    'transition_not_guaranteed',
    'only exit_code_zero',
    '.transitions',
    system({ transitions: [to('end', { condition: 'exit_code_zero' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'only on_success',
    '.transitions',
    agent({ transitions: [to('end', { condition: 'on_success' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'a score between two strict bounds',
    '.transitions',
    agent({
      transitions: [
        to('end', { condition: 'score_above', threshold: 0.8 }),
        to('s', { condition: 'score_below', threshold: 0.8 }),
        to('end', { condition: 'on_failure' }),
      ],
    }),
  ),
  inState(
    'transition_not_guaranteed',
    'a gap between score ranges',
    '.transitions',
    agent({
      transitions: [
        to('end', { condition: 'score_between', min: 0, max: 0.4 }),
        to('s', { condition: 'score_between', min: 0.5, max: 1 }),
        to('end', { condition: 'on_failure' }),
      ],
    }),
  ),
  inState(
    'transition_not_guaranteed',
    'a no without a place to go',
    '.transitions',
    human({ default_response: 'yes', transitions: [to('end', { condition: 'input_equals_yes' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'words that the approval routes never send',
    '.transitions',
    human({
      default_response: 'ship',
      transitions: [
        to('end', { condition: 'input_equals', value: 'ship' }),
        to('s', { condition: 'input_equals', value: 'hold' }),
      ],
    }),
  ),
  inState(
    'transition_not_guaranteed',
    'a timeout that nothing takes up',
    '.transitions',
    human({ transitions: [to('end', { condition: 'input_equals_yes' }), to('s', { condition: 'input_equals_no' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'consensus alone',
    '.transitions',
    panel({ transitions: [to('end', { condition: 'consensus' }), to('s', { condition: 'on_failure' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'all_approved and any_rejected, and a judge may be missing',
    '.transitions',
    panel({
      transitions: [
        to('end', { condition: 'all_approved' }),
        to('s', { condition: 'any_rejected' }),
        to('s', { condition: 'on_failure' }),
      ],
    }),
  ),
  inState(
    'transition_not_guaranteed',
    'a custom condition alone',
    '.transitions',
    run({ transitions: [to('end', { condition: 'custom', expression: 's.output.exit_code == 0' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'an exit code and its fallback for success only',
    '.transitions',
    run({ transitions: [to('s', { condition: 'exit_code', value: 75 }), to('end', { condition: 'on_success' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'steps that fail',
    '.transitions',
    runs({ transitions: [to('end', { condition: 'on_success' })] }),
  ),
  inState(
    'transition_not_guaranteed',
    'a child that cannot be started',
    '.transitions',
    child({ mode: 'fire_and_forget', transitions: [to('end', { condition: 'on_success' })] }),
  ),
];

const applies = (title: string, state: object, condition: object): Planted =>
  inState('condition_does_not_apply', title, '.transitions[0].condition', {
    ...state,
    transitions: [to('end', condition), to('end')],
  });
const conditions: readonly Planted[] = [
  applies('consensus on an Agent', Agent, { condition: 'consensus' }),
  applies('any_rejected on a System', System, { condition: 'any_rejected' }),
  applies('on_success on a Human', Human, { condition: 'on_success' }),
  applies('on_success on a panel', Panel, { condition: 'on_success' }),
  applies('exit_code_zero on parallel containers', Runs, { condition: 'exit_code_zero' }),
  applies('score_above on a container', Run, { condition: 'score_above', threshold: 0.5 }),
  applies('input_equals_yes on a child', Child, { condition: 'input_equals_yes' }),
  inState(
    'condition_never_true',
    'a score above 1',
    '.transitions[0]',
    agent({ transitions: [to('end', { condition: 'score_above', threshold: 1 }), to('end')] }),
  ),
  inState(
    'condition_never_true',
    'a score range beyond 1',
    '.transitions[0]',
    agent({ transitions: [to('end', { condition: 'score_between', min: 80, max: 100 }), to('end')] }),
  ),
  inState(
    'condition_never_true',
    'an exit code in words',
    '.transitions[0]',
    run({ transitions: [to('end', { condition: 'exit_code', value: 'zero' }), to('end')] }),
  ),
];

const key = (title: string, input: string, rest: Partial<Planted> = {}, before: Doc = {}): Planted =>
  plant('unknown_template_key', title, 'spec.states.s.input', { ...before, s: agent({ input }) }, rest);
const first = (state: object): Doc => ({ first: { ...state, transitions: [to('s')] } });
const templates: readonly Planted[] = [
  key('an input the schema does not declare', 'About {{input.topik}}', { metadata: topic }),
  key('a field of a text', '{{input.topic.length}}', { metadata: topic }),
  key('an unknown constant', '{{workflow.context.limits}}', { spec: { context: { limit: 3 } } }),
  key('a field that a constant does not have', '{{workflow.context.db.prot}}', {
    spec: { context: { db: { port: 1 } } },
  }),
  key('an unknown shared volume', '{{workflow.storage.shared_volumes.cash}}', {
    spec: { storage: { shared_volumes: [{ name: 'cache', storage_class: 'ephemeral' }] } },
  }),
  key('a state that does not exist', '{{frist.output}}', {}, first(System)),
  key('a stream that a command does not have', '{{first.output.stdotu}}', {}, first(System)),
  key('an output of a panel outside of consensus', '{{first.score}}', {}, first(Panel)),
  key('a judge beyond the last', '{{first.agents.2.output}}', {}, first(Panel)),
  key('a step that does not exist', '{{first.output.test.stdout}}', {}, first(Runs)),
  key(
    'a result of a child without a waiting state',
    '{{first.result}}',
    {},
    first({ ...Child, mode: 'fire_and_forget' }),
  ),
  key(
    'a slip in a key of the blackboard',
    '{{blackboard.sumary}}',
    {},
    first({ kind: 'System', command: 'update_blackboard', env: { summary: 'x' } }),
  ),
  key('a variable of the execution that does not exist', '{{execution.name}}'),
  plant('unknown_template_key', 'a wrong key in an expression', 'spec.states.s.transitions[0].expression', {
    s: agent({ transitions: [to('end', { condition: 'custom', expression: '{{s.skore}} > 0.5' }), to('end')] }),
  }),
  plant('unknown_template_key', 'a wrong key in an env value', 'spec.states.s.env.A', {
    s: system({ env: { A: '{{intent.text}}' } }),
  }),
  plant('state_never_precedes', 'an output of a later state', 'spec.states.s.input', {
    s: agent({ input: '{{later.output}}', transitions: [to('later')] }),
    later: agent(),
  }),
  plant('state_never_precedes', 'its own output, outside of a loop', 'spec.states.s.input', {
    s: agent({ input: '{{s.output}}' }),
  }),
  plant('state_never_precedes', 'feedback that no state gives', 'spec.states.s.input', {
    s: agent({ input: '{{human.feedback}}' }),
  }),
  plant('state_never_precedes', 'feedback that no transition carries', 'spec.states.s.input', {
    s: agent({ input: '{{state.feedback}}' }),
  }),
  inState('template_syntax', 'a block that is not closed', '.input', agent({ input: '{{#if input.a}}x' })),
  inState('template_syntax', 'a helper that does not exist', '.input', agent({ input: '{{shout input.a}}' })),
  inState(
    'expression_syntax',
    'half a comparison',
    '.transitions[0].expression',
    agent({ transitions: [to('end', { condition: 'custom', expression: '{{s.score}} >' }), to('end')] }),
  ),
  inState('input_in_shell_command', 'input in a command', '.command', system({ command: 'echo {{input.topic}}' })),
  inState(
    'input_in_shell_command',
    'feedback of a person in a command',
    '.command',
    system({ command: 'echo {{human.feedback}}' }),
    { states: { ask: human({ transitions: [to('s')] }), s: system({ command: 'echo {{human.feedback}}' }) } },
  ),
  inState(
    'input_in_shell_command',
    'the goal in a container shell',
    '.command[1]',
    run({ shell: true, command: ['echo', '{{intent}}'] }),
  ),
  inState(
    'input_in_shell_command',
    'input behind sh -c',
    '.steps[0].command[2]',
    runs({ steps: [{ name: 'lint', image: 'a', command: ['/bin/sh', '-c', 'lint {{input.path}}'] }] }),
  ),
];

const fields: readonly Planted[] = [
  inState('approval_without_timeout', 'an approval without end', '', {
    kind: 'Human',
    prompt: 'Ship?',
    transitions: done,
  }),
  inState(
    'too_few_judges',
    'more judges required than there are',
    '.consensus.min_judges_required',
    panel({ consensus: { strategy: 'majority', min_judges_required: 3 } }),
  ),
  inState(
    'too_few_judges',
    'the best five of two',
    '.consensus.n',
    panel({ consensus: { strategy: 'best_of_n', n: 5 } }),
  ),
  inState('too_few_judges', 'judges without weight', '.agents', panel({ agents: [{ agent: 'a', weight: 0 }] })),
  inState(
    'field_without_effect',
    'a threshold that no condition reads',
    '.transitions[0].threshold',
    agent({ transitions: [to('end', { condition: 'on_success', threshold: 0.5 }), to('end')] }),
  ),
  inState(
    'field_without_effect',
    'a result key of a child without a waiting state',
    '.result_key',
    child({ mode: 'fire_and_forget', result_key: 'r' }),
  ),
  inState(
    'field_without_effect',
    'mounts of a System state',
    '.volumes',
    system({ volumes: [{ volume: 'workspace', mount_path: '/w', access_mode: 'read-only' }] }),
  ),
  inState(
    'timeout_cut_short',
    'a container that may take longer than its state',
    '.resources.timeout',
    run({ timeout: '1m', resources: { timeout: '10m' } }),
  ),
  plant('reserved_state_name', 'a state called input', 'spec.states.input', { input: agent() }),
  plant(
    'reserved_workflow_name',
    'a workflow called search',
    'metadata.name',
    { s: agent() },
    { metadata: { name: 'search' } },
  ),
  plant(
    'blackboard_key_clash',
    'a constant called like a state',
    'spec.context.s',
    { s: agent() },
    { spec: { context: { s: 1 } } },
  ),
  inState(
    'unknown_mount_volume',
    'a mount of no volume',
    '.volumes[0].volume',
    agent({ volumes: [{ volume: 'cache', mount_path: '/workspace/c', access_mode: 'read-only' }] }),
  ),
  inState(
    'mount_path_outside',
    'a mount that no command of an agent sees',
    '.volumes[0].mount_path',
    agent({ volumes: [{ volume: 'workspace', mount_path: '/data', access_mode: 'read-only' }] }),
  ),
  plant(
    'reserved_volume_name',
    'a shared volume with the name of the workspace',
    'spec.storage.shared_volumes[0].name',
    { s: system() },
    { spec: { storage: { shared_volumes: [{ name: 'workspace', storage_class: 'ephemeral' }] } } },
  ),
  plant(
    'volume_too_large',
    'a workspace larger than the node allows',
    'spec.storage.workspace.size_limit_mb',
    { s: system() },
    { spec: { storage: { workspace: { size_limit_mb: 20_000 } } } },
  ),
  inState(
    'mount_path_twice',
    'two volumes at one path',
    '.volumes[1].mount_path',
    run({
      volumes: [
        { name: 'workspace', mount_path: '/a' },
        { name: 'workspace', mount_path: '/a/' },
      ],
    }),
  ),
  inState(
    'memory_too_small',
    'five hundred bytes of memory',
    '.resources.memory',
    run({ resources: { memory: '512' } }),
  ),
  ...['/', '//', '/proc', '/proc/self', '/sys/', '//dev/shm'].map((path) =>
    inState(
      'never_starts',
      `a volume over the mounts of the engine: ${path}`,
      '.volumes[0].mount_path',
      run({ volumes: [{ name: 'workspace', mount_path: path }] }),
    ),
  ),
  inState(
    'never_starts',
    'a volume at /dev in one of several containers',
    '.steps[0].volumes[0].mount_path',
    runs({ steps: [{ ...Runs.steps[0], volumes: [{ name: 'workspace', mount_path: '/dev' }] }] }),
  ),
  inState('never_starts', 'a variable with a dash', '.env.MY-NAME', system({ env: { 'MY-NAME': 'x' } })),
  inState('never_starts', 'a variable that begins with a digit', '.env["1ST"]', system({ env: { '1ST': 'x' } })),
  inState('never_starts', 'a variable of the loader', '.env.LD_PRELOAD', system({ env: { LD_PRELOAD: 'x' } })),
  inState('never_starts', 'a variable of a container with "="', '.env["A=B"]', run({ env: { 'A=B': 'x' } })),
  inState('never_starts', 'an image in capitals', '.image', run({ image: 'Alpine' })),
  inState(
    'never_starts',
    'an image that would be a file of the host',
    '.image',
    run({ image: 'docker-archive:/etc/x' }),
  ),
  inState('timeout_cut_short', 'a container of two days', '.resources.timeout', run({ resources: { timeout: '48h' } })),
  inState('timeout_cut_short', 'a command of two days', '.timeout', system({ timeout: '48h' })),
  inState('unknown_template_key', 'a mistyped state in an image', '.image', run({ image: 'app:{{biuld.output}}' })),
  inState('template_syntax', 'an image that cannot be rendered', '.image', run({ image: 'app:{{#if x}}' })),
  inState('unknown_agent', 'an agent that is not deployed', '.agent', agent({ agent: 'nobody' })),
  inState(
    'unknown_agent',
    'a judge that is not deployed',
    '.agents[1].agent',
    panel({ agents: [{ agent: 'judge-a' }, { agent: 'nobody' }] }),
  ),
  inState('unknown_child_workflow', 'a child that is not deployed', '.workflow_id', child({ workflow_id: 'nobody' })),
  inState(
    'child_cycle',
    'a workflow that starts itself',
    '.workflow_id',
    child({ workflow_id: 'flow', transitions: [to('end')] }),
  ),
  inState(
    'child_cycle',
    'a grandchild that starts the workflow',
    '.workflow_id',
    child({ workflow_id: 'starts-flow' }),
  ),
  inState('child_depth', 'eleven levels of children', '.workflow_id', child({ workflow_id: 'depth-11' })),
];

const errors: readonly Planted[] = [
  inState(
    'unknown_state',
    'a target that is no state',
    '.transitions[0].target',
    agent({ transitions: [to('nowhere')] }),
  ),
  plant(
    'unknown_state',
    'an initial state that is none',
    'spec.initial_state',
    { s: agent() },
    { spec: { initial_state: 'start' } },
  ),
  inState(
    'unknown_volume',
    'a container volume that is none',
    '.volumes[0].name',
    run({ volumes: [{ name: 'cache', mount_path: '/c' }] }),
  ),
  inState('invalid_field', 'a misspelt field', '.agnet', agent({ agnet: 'x' })),
  inState(
    'invalid_field',
    'a condition that does not exist',
    '.transitions[0].condition',
    human({ transitions: [to('end', { condition: 'approved' })] }),
  ),
];

export const PLANTED: readonly Planted[] = [...graph, ...coverage, ...conditions, ...templates, ...fields, ...errors];
