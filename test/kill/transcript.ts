import type { SeenEvent } from './follower.ts';

/** One line of a transcript: event name and what it says, without ids, keys and times. */
type TranscriptLine = readonly [name: string, content: Readonly<Record<string, unknown>>];

const TIMES = /_at$/;

/**
 * The events of an execution, comparable with another run of the same agent: without ids, keys and times, and with the
 * chunks of one iteration's output joined, since the cuts between chunks are arbitrary.
 */
export function transcriptOf(events: readonly SeenEvent[], key: string): TranscriptLine[] {
  const lines: [string, Record<string, unknown>][] = [];
  for (const { name, payload } of events) {
    const content: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(payload)) {
      if (TIMES.test(field) || field === 'execution_id' || field === 'agent_id') continue;
      content[field] = typeof value === 'string' ? value.replaceAll(key, 'KEY') : value;
    }
    const last = lines.at(-1);
    if (name === 'iteration_output' && last?.[0] === 'iteration_output') {
      last[1].output = String(last[1].output)
        .replaceAll('KEY', key)
        .concat(String(payload.output))
        .replaceAll(key, 'KEY');
    } else lines.push([name, content]);
  }
  return lines;
}

type Expecting = 'execution_started' | 'iteration_started' | 'inside' | 'after a failure' | 'end';

/** The grammar of events (W24). Returns the violation, or null. */
export function grammarFault(events: readonly SeenEvent[]): string | null {
  let expecting: Expecting = 'execution_started';
  let iteration = 0;
  for (const { seq, name, payload } of events) {
    const fault = `event ${seq} ${name} while expecting ${expecting}, iteration ${iteration}`;
    if (name !== 'execution_started' && name !== 'execution_completed' && name !== 'execution_failed') {
      if (name === 'iteration_started') iteration += 1;
      if (payload.iteration_number !== iteration) return fault;
    }
    const next = step(expecting, name);
    if (next === null) return fault;
    expecting = next;
  }
  return expecting === 'end' ? null : `the stream ended while expecting ${expecting}`;
}

function step(expecting: Expecting, name: string): Expecting | null {
  const known: Readonly<Record<Expecting, Readonly<Record<string, Expecting>>>> = {
    execution_started: { execution_started: 'iteration_started' },
    iteration_started: { iteration_started: 'inside', execution_completed: 'end', execution_failed: 'end' },
    inside: {
      iteration_output: 'inside',
      iteration_completed: 'iteration_started',
      iteration_failed: 'after a failure',
    },
    'after a failure': { refinement_applied: 'iteration_started', execution_failed: 'end' },
    end: {},
  };
  return known[expecting][name] ?? null;
}
