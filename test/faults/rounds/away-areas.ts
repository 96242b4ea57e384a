import { stringify } from 'yaml';
import type { Rule } from '../../support/node-config.ts';
import { BUSYBOX } from '../../support/podman.ts';

type Shape = Readonly<Record<string, unknown>>;

/** Inputs of the runs of a round, and their expected results. */
export interface Area {
  readonly name: string;
  /** YAML of agents and of workflows, children first. */
  readonly agents: readonly string[];
  readonly workflows: readonly string[];
  /** The start of a run: an agent, a workflow, or a delivery of this source. */
  readonly start: { readonly agent: string } | { readonly workflow: string } | { readonly stimulus: string };
  /** Marks that its commands write, each once. */
  readonly marks: readonly string[];
  /** A human gets a question, and answers it during the outage. */
  readonly isAsked?: boolean;
}

/** Each run begins with this pause, so that it needs the store while that is away. */
const LEAD_MS = 1_500;
const LEAD = `sleep ${LEAD_MS / 1_000}`;
const TIMEOUT = '600s';

const agent = (name: string, spec: Shape = {}): string =>
  stringify({
    ...{ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name, version: '1.0.0' } },
    spec: { task: { prompt_template: `agent=${name}; {{input}}` }, ...spec },
  });

const workflow = (name: string, states: Shape, spec: Shape = {}): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0', annotations: { 'svc.dev/on-in-doubt': 'fail' } },
    spec: { initial_state: Object.keys(states)[0], states, ...spec },
  });

const next = (target: string): Shape => ({ transitions: [{ condition: 'on_success', target }] });
const DONE = { DONE: { kind: 'System', command: 'finalize', env: { said: 'ended well' }, transitions: [] } };

/** Appends `<execution> <mark>` to the journal of all rounds. */
const mark = (journal: string, text: string): string => `echo "$SVC_EXECUTION_ID ${text}" >> ${journal}`;
const command = (script: string, target: string): Shape => ({
  ...{ kind: 'System', timeout: TIMEOUT, command: script },
  ...next(target),
});

function commands(journal: string, name: string, spec: Shape): Area {
  const steps = ['one', 'two', 'three', 'four'];
  const states = Object.fromEntries(
    steps.map((step, at) => [
      step.toUpperCase(),
      command(
        `${mark(journal, step)}; echo ${step} >> steps; ${at === 0 ? LEAD : 'sleep 0.3'}`,
        steps[at + 1]?.toUpperCase() ?? 'DONE',
      ),
    ]),
  );
  return {
    ...{ name, agents: [], workflows: [workflow(name, { ...states, ...DONE }, spec)] },
    ...{ start: { workflow: name }, marks: steps },
  };
}

/** Agent, child workflow, judges: each is looked up by name when its state begins. */
function children(shell: boolean, journal: string): Area {
  const agentState = { kind: 'Agent', timeout: TIMEOUT, input: 'work' };
  const judge = { agent: 'away-judge', input: 'look', timeout_seconds: 600 };
  const child = shell
    ? { WORK: command(mark(journal, 'child'), 'DONE'), ...DONE }
    : { WORK: { kind: 'System', command: 'update_blackboard', env: { a: 'b' }, ...next('DONE') }, ...DONE };
  const states = {
    LEAD: { ...agentState, agent: 'away-slow', ...next('AGENT') },
    AGENT: { ...agentState, agent: 'away-quick', ...next('CHILD') },
    CHILD: { kind: 'Subworkflow', workflow_id: 'away-child', timeout: TIMEOUT, ...next('JUDGES') },
    JUDGES: {
      ...{ kind: 'ParallelAgents', timeout: TIMEOUT, agents: [judge, judge] },
      consensus: { strategy: 'majority', threshold: 0.5, min_judges_required: 2 },
      transitions: [{ condition: 'consensus', target: 'DONE' }],
    },
    ...DONE,
  };
  return {
    name: 'away-children',
    agents: [agent('away-slow'), agent('away-quick'), agent('away-judge')],
    workflows: [workflow('away-child', child), workflow('away-children', states)],
    ...{ start: { workflow: 'away-children' }, marks: [] },
  };
}

function approval(shell: boolean, journal: string): Area {
  const ask = { kind: 'Human', prompt: 'Go on?', timeout: '1h' };
  const goOn = { transitions: [{ condition: 'input_equals_yes', target: shell ? 'AFTER' : 'DONE' }] };
  const states = {
    ASK: { ...ask, ...goOn },
    ...(shell ? { AFTER: command(mark(journal, 'after'), 'DONE') } : {}),
    ...DONE,
  };
  return {
    ...{ name: 'away-approval', agents: [], workflows: [workflow('away-approval', states)], isAsked: true },
    ...{ start: { workflow: 'away-approval' }, marks: shell ? ['after'] : [] },
  };
}

/**
 * The router agent still runs when the outage begins: the workflow that it names is looked up and started during the
 * outage.
 */
function stimulus(shell: boolean, journal: string): Area {
  const routed = shell
    ? { WORK: command(mark(journal, 'routed'), 'DONE'), ...DONE }
    : { WORK: { kind: 'System', command: 'update_blackboard', env: { a: 'b' }, ...next('DONE') }, ...DONE };
  return {
    name: 'away-stimulus',
    agents: [agent('away-router')],
    workflows: [workflow('away-routed', routed)],
    ...{ start: { stimulus: 'away-source' }, marks: shell ? ['routed'] : [] },
  };
}

/** A repeatable call, a call of mode once, a large result, a command. */
function tools(shell: boolean): Area {
  const cmd = { name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { sh: ['-c'] } } };
  const name = 'away-tools';
  return {
    name,
    agents: [agent(name, { runtime: { isolation: 'process' }, tools: ['fs.*', ...(shell ? [cmd] : [])] })],
    ...{ workflows: [], start: { agent: name }, marks: shell ? ['tool'] : [] },
  };
}

/** An agent whose answer has begun to stream. */
const talker = (): Area => ({
  name: 'away-talker',
  agents: [agent('away-talker')],
  ...{ workflows: [], start: { agent: 'away-talker' }, marks: [] },
});

function containers(journal: string): Area {
  const image = { kind: 'ContainerRun', image: BUSYBOX, shell: true, timeout: TIMEOUT };
  const volumes = [{ name: 'workspace', mount_path: '/workspace' }];
  const states = {
    LEAD: command(`${mark(journal, 'lead')}; ${LEAD}`, 'BUILD'),
    BUILD: { ...image, command: ['echo built >> built'], volumes, ...next('CHECK') },
    CHECK: command(`${mark(journal, 'check')}; [ "$(wc -l < built)" = 1 ]`, 'DONE'),
    ...DONE,
  };
  return {
    name: 'away-containers',
    agents: [],
    workflows: [workflow('away-containers', states)],
    ...{ start: { workflow: 'away-containers' }, marks: ['lead', 'check'] },
  };
}

/** For documents all areas; for Redis those without commands on this host, which have a case of their own. */
export function areasOf(store: 'documents' | 'redis', journal: string, hasEngine: boolean): readonly Area[] {
  const shell = store === 'documents';
  return [
    ...(shell
      ? [
          commands(journal, 'away-commands', {}),
          commands(journal, 'away-storage', { storage: { workspace: { storage_class: 'ephemeral' } } }),
          ...(hasEngine ? [containers(journal)] : []),
        ]
      : []),
    ...[children(shell, journal), approval(shell, journal), stimulus(shell, journal), tools(shell), talker()],
  ];
}

/** Directory for the marks of a tool's command: the workspace, the only place where it may write. */
export const MARKS = 'marks';

const LARGE = 'x'.repeat(100_000);

/** Answers of the scripted model (docs/guides/scripted-provider.md). */
export function rules(): readonly Rule[] {
  const round = (n: number) => ({ contains: 'agent=away-tools;', round: n });
  const calls = (name: string, args: Shape, delayMs = 20) => ({
    text: `Calling ${name}. `,
    delay_ms: delayMs,
    tool_calls: [{ name, arguments: args }],
  });
  const edit = { path: 'notes.txt', target_content: 'end', replacement_content: '+end' };
  return [
    { match: round(1), reply: calls('fs.write', { path: 'notes.txt', content: `${LARGE}\nend\n` }, LEAD_MS) },
    { match: round(2), reply: calls('fs.edit', edit) },
    { match: round(3), reply: calls('fs.read', { path: 'notes.txt' }) },
    {
      match: round(4),
      reply: calls('cmd.run', {
        command: 'sh',
        args: ['-c', `echo tool >> ${MARKS}; tail -c 7 notes.txt`],
      }),
    },
    { match: { ...round(5), tool_contains: 'x\\n+end\\n' }, reply: 'ended well' },
    { match: { ...round(5), tool_contains: 'ToolNotAllowed' }, reply: 'ended well' },
    { match: round(5), reply: 'the file is not what it should be' },
    { match: { contains: 'agent=away-talker;' }, reply: { text: 'ended well', chunks: 10, delay_ms: 500 } },
    { match: { contains: 'agent=away-slow;' }, reply: { text: 'ended well', delay_ms: LEAD_MS } },
    {
      match: { contains: 'agent=away-judge;' },
      reply: '{"score": 1, "confidence": 1, "reasoning": "it is good enough"}',
    },
    {
      match: { contains: 'agent=away-router;' },
      reply: {
        text: '{"workflow": "away-routed", "confidence": 1, "reasoning": "it is the only one"}',
        delay_ms: LEAD_MS,
      },
    },
    { reply: 'ended well' },
  ];
}
