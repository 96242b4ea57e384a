import type { JsonObject } from '../../runtime/json.ts';
import { BUSYBOX } from './podman.ts';
import type { HumanAnswer } from './workflow-kill-calls.ts';

/** One workflow, its start, and the answers of its humans. */
export interface WorkflowCase {
  readonly name: string;
  /** YAML, children before parents. */
  readonly manifests: readonly string[];
  readonly agents: readonly string[];
  readonly start:
    | { readonly by: 'run'; readonly body: JsonObject }
    /** A delivery of `source`, signed already. */
    | {
        readonly by: 'webhook';
        readonly source: string;
        readonly body: string;
        readonly headers: Readonly<Record<string, string>>;
      };
  /** In the order of the approvals. */
  readonly answers: readonly HumanAnswer[];
  /** The part of a blackboard that is the same in every run. */
  readonly normalise: (blackboard: JsonObject) => unknown;
}

const head = (name: string): string => `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: ${name}, version: 1.0.0, annotations: { svc.dev/on-in-doubt: retry } }
`;

const SHELL = 'kind: System, timeout: 60s';
const next = (state: string): string => `transitions: [{ condition: on_success, target: ${state} }]`;

/** A container writes into the workspace, a human looks, a command on the host goes on with what was written. */
const RELEASE = `${head('kill-release')}spec:
  initial_state: NAME
  states:
    NAME: { kind: System, command: update_blackboard, env: { tag: "v-{{input.number}}" }, ${next('BUILD')} }
    BUILD:
      kind: ContainerRun
      image: ${BUSYBOX}
      command: ['echo "built $TAG"; sleep 0.3; echo "$TAG" >> built']
      shell: true
      env: { TAG: "{{blackboard.tag}}" }
      volumes: [{ name: workspace, mount_path: /workspace }]
      ${next('GATE')}
    GATE: { kind: Human, prompt: "Publish {{blackboard.tag}}?", timeout: 1h, transitions: [{ condition: input_equals_yes, target: PUBLISH }] }
    PUBLISH: { ${SHELL}, command: 'sleep 0.2; cat built; echo published', ${next('DONE')} }
    DONE: { kind: System, command: finalize, env: { tag: "{{blackboard.tag}}", by: "{{human.feedback}}", said: "{{PUBLISH.output.stdout}}" }, transitions: [] }
`;

/** Three containers at a time, one of which fails, then a command. */
const CHECKS = `${head('kill-checks')}spec:
  initial_state: PREPARE
  states:
    PREPARE: { ${SHELL}, command: 'sleep 0.1; echo "$SVC_STATE" > source', ${next('CHECK')} }
    CHECK:
      kind: ParallelContainerRun
      completion: best_effort
      steps:
        - { name: lint, image: "${BUSYBOX}", shell: true, command: ['sleep 0.2; cat source'], volumes: [{ name: workspace, mount_path: /workspace, read_only: true }] }
        - { name: test, image: "${BUSYBOX}", shell: true, command: ['sleep 0.4; wc -c < source'], volumes: [{ name: workspace, mount_path: /workspace, read_only: true }] }
        - { name: scan, image: "${BUSYBOX}", shell: true, command: ['echo found >&2; exit 3'] }
      transitions: [{ condition: always, target: SUM }]
    SUM: { ${SHELL}, command: 'sleep 0.1; echo sum', ${next('DONE')} }
    DONE: { kind: System, command: finalize, env: { sum: "{{SUM.output.stdout}}" }, transitions: [] }
`;

const CHILD = `${head('kill-child')}spec:
  initial_state: WORK
  states:
    WORK: { ${SHELL}, command: 'sleep 0.2; echo "worked for $FOR"', env: { FOR: "{{input.for}}" }, ${next('DONE')} }
    DONE: { kind: System, command: finalize, env: { result: "{{WORK.output.stdout}}" }, transitions: [] }
`;

/** A command, a child that is waited for, a human, a child that is not, a last command. */
const FAMILY = `${head('kill-family')}spec:
  initial_state: BEGIN
  states:
    BEGIN: { ${SHELL}, command: 'sleep 0.1; echo begun', ${next('FIRST')} }
    FIRST: { kind: Subworkflow, workflow_id: kill-child, result_key: first, input: '{"for": "the first"}', ${next('ASK')} }
    ASK: { kind: Human, prompt: "Is {{blackboard.first}} enough?", timeout: 1h, transitions: [{ condition: always, target: SECOND }] }
    SECOND: { kind: Subworkflow, workflow_id: kill-child, mode: fire_and_forget, input: '{"for": "the second"}', ${next('END')} }
    END: { ${SHELL}, command: 'sleep 0.1; echo ended', ${next('DONE')} }
    DONE: { kind: System, command: finalize, env: { said: "{{human.feedback}}", end: "{{END.output.stdout}}" }, transitions: [] }
`;

const plain = { agents: [], answers: [], start: { by: 'run', body: {} }, normalise: withoutChance } as const;

/** Small workflows with every kind of wait. */
export const SMALL_CASES: readonly WorkflowCase[] = [
  {
    ...plain,
    name: 'kill-release',
    manifests: [RELEASE],
    start: { by: 'run', body: { input: { number: 7 } } },
    answers: [{ approve: 'yes, go' }],
  },
  { ...plain, name: 'kill-checks', manifests: [CHECKS] },
  {
    ...plain,
    name: 'kill-family',
    manifests: [CHILD, FAMILY],
    answers: [{ reject: 'not yet' }],
  },
];

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** A blackboard without values that differ from run to run: ids, times, durations. */
function withoutChance(blackboard: JsonObject): unknown {
  const text = JSON.stringify(blackboard, (key, value: unknown) => (key === 'duration_ms' ? 0 : value));
  return JSON.parse(text.replaceAll(UUID, 'ID').replaceAll(MOMENT, 'MOMENT'));
}
