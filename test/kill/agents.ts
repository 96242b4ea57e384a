import type { ModelTurn, RecordedCall } from '../support/model-server.ts';

/**
 * The agents that run while nodes are killed. The answers of the model and the actions of the programs depend only on the
 * execution's key and the iteration, so every execution of an agent ends the same way unless something is lost or repeated.
 */
export interface KillAgent {
  readonly name: string;
  readonly manifest: string;
  readonly kind: 'model' | 'program';
  /** A program in doubt fails its iteration instead of being run again. */
  readonly failsInDoubt: boolean;
  /** The client cancels it before its end. */
  readonly cancelled: boolean;
}

const manifest = (name: string, lines: readonly string[], annotations = ''): string =>
  [
    'apiVersion: svc.dev/v1',
    'kind: Agent',
    `metadata: { name: ${name}, version: "1.0.0"${annotations} }`,
    'spec:',
    ...lines.map((line) => `  ${line}`),
    '',
  ].join('\n');

const ASK = 'task: { prompt_template: "agent={{agent}} key={{input}} iteration={{iteration_number}};" }';

interface ModelShape {
  readonly iterations: number;
  readonly chunks: number;
  readonly delayMs: number;
  /** Minimum length of each chunk; default 0. */
  readonly chunkChars?: number;
  /** Answer of the last iteration, which passes the check. */
  readonly succeeds: boolean;
}

const SHAPES: Readonly<Record<string, ModelShape>> = {
  short: { iterations: 1, chunks: 4, delayMs: 10, succeeds: true },
  refined: { iterations: 3, chunks: 6, delayMs: 12, succeeds: true },
  long: { iterations: 1, chunks: 40, delayMs: 15, succeeds: true },
  // Longer than a message may be, so the answer is stored separately.
  big: { iterations: 1, chunks: 5, delayMs: 10, succeeds: true, chunkChars: 20_000 },
  cancelled: { iterations: 1, chunks: 40, delayMs: 15, succeeds: true },
  hopeless: { iterations: 2, chunks: 3, delayMs: 10, succeeds: false },
};

const piece = (key: string, iteration: number, chunk: number, chars: number): string =>
  `${key}.${iteration}.${chunk} `.padEnd(chars, 'lorem ipsum ');

function textOf(name: string, key: string, iteration: number): readonly string[] {
  const shape = SHAPES[name];
  if (shape === undefined) throw new Error(`no such agent: ${name}`);
  const pieces = Array.from({ length: shape.chunks }, (_, chunk) =>
    piece(key, iteration, chunk, shape.chunkChars ?? 0),
  );
  return iteration === shape.iterations && shape.succeeds ? [...pieces, 'ACCEPTED'] : pieces;
}

function modelAgent(name: string, shape: ModelShape): KillAgent {
  const lines = [
    ASK.replace('{{agent}}', name),
    'execution:',
    `  max_iterations: ${shape.succeeds ? 10 : shape.iterations}`,
    '  validation: [{ type: regex, pattern: "ACCEPTED$" }]',
  ];
  return { name, manifest: manifest(name, lines), kind: 'model', failsInDoubt: false, cancelled: name === 'cancelled' };
}

/** `program` first appends a line to `runs` each time it starts. */
function programAgent(name: string, files: { program: string; runs: string }, failsInDoubt: boolean): KillAgent {
  const accepted = failsInDoubt ? 1 : 2;
  const lines = [
    'runtime: { isolation: process }',
    'task: { prompt_template: "{{input}}{{#if previous_error}}{{/if}}" }',
    'execution: { max_iterations: 20 }',
    `env: { RUNS: ${JSON.stringify(files.runs)}, ACCEPTED: "${accepted}" }`,
    `advanced: { bootstrap_path: ${JSON.stringify(files.program)} }`,
  ];
  const notes = failsInDoubt ? ', annotations: { svc.dev/on-in-doubt: fail }' : '';
  return { name, manifest: manifest(name, lines, notes), kind: 'program', failsInDoubt, cancelled: false };
}

/** Fails until iteration ACCEPTED, with a pause in the middle so that kills find it running. */
export const PROGRAM = `#!/bin/sh
echo "$SVC_EXECUTION_ID $SVC_ITERATION" >> "$RUNS"
echo "$1 begins"
sleep 0.04
echo "$1 ends"
[ "$SVC_ITERATION" -ge "$ACCEPTED" ]
`;

export function killAgents(files: { program: string; runs: string }): readonly KillAgent[] {
  return [
    ...Object.entries(SHAPES).map(([name, shape]) => modelAgent(name, shape)),
    programAgent('program', files, false),
    programAgent('program-once', files, true),
  ];
}

/** The execution and iteration of a model call. */
export function askedFor(call: RecordedCall): { agent: string; key: string; iteration: number } {
  const found = /agent=(\S+) key=(\S+) iteration=(\d+);/.exec(JSON.stringify(call.body));
  const [, agent, key, iteration] = found ?? [];
  if (agent === undefined || key === undefined) throw new Error('a prompt without the key of its execution');
  return { agent, key, iteration: Number(iteration) };
}

/** Answer of the model server to one call. */
export function modelTurn(call: RecordedCall): ModelTurn {
  const { agent, key, iteration } = askedFor(call);
  const delayMs = SHAPES[agent]?.delayMs ?? 0;
  return { chunks: textOf(agent, key, iteration), delayMs, usage: { input: 7, output: 11 } };
}

/** `spec` of a node with the model server behind the alias `default`. */
export const modelConfig = (modelUrl: string, runtime: object = {}): object => ({
  observability: { logging: { level: 'warn' } },
  llm_providers: [
    {
      ...{ name: 'local', type: 'openai-compatible', endpoint: `${modelUrl}/v1`, api_key: 'literal:none' },
      models: [{ alias: 'default', model: 'kill-test' }],
    },
  ],
  runtime,
});
