import type { Json, JsonObject } from '../../../runtime/json.ts';
import { Bootstrapped, DOCKER, PROGRAM } from './bootstrapped.ts';
import { AGENT_ID } from './driven-execution.ts';
import { CRITIC, DIGITS, judgedBy, THREE } from './judged.ts';
import { read, run, tooled, write } from './tooled.ts';

const LEARNING = { mode: 'iterative', max_iterations: 3, memory: true, validation: [DIGITS] };

/** An execution of an agent without tools whose result these validators check. */
function judged(validation: Json, execution: JsonObject = {}): Bootstrapped {
  const driven = new Bootstrapped();
  driven.start(judgedBy(validation, execution));
  return driven;
}

/** Tools of the node's own loop, granted. */
function looping(execution: JsonObject = {}): Bootstrapped {
  const driven = new Bootstrapped();
  driven.start(tooled({ execution: { max_iterations: 2, ...execution } }));
  return driven;
}

function granted(execution: JsonObject = {}): Bootstrapped {
  const driven = looping(execution);
  driven.granted();
  return driven;
}

/** A program that uses the gateway. */
function asking(spec: JsonObject = PROGRAM): Bootstrapped {
  const driven = Bootstrapped.of(spec);
  driven.generate();
  return driven;
}

function grantedAsking(spec: JsonObject = PROGRAM): Bootstrapped {
  const driven = asking(spec);
  driven.granted();
  return driven;
}

/** Its first iteration failed, and it learns. */
function querying(): Bootstrapped {
  const driven = judged([], LEARNING);
  driven.answer('seven');
  return driven;
}

/** Paths to every stage at which a message may find an execution, by messages alone. */
export const WAYS: Readonly<Record<string, () => Bootstrapped>> = {
  pending: () => new Bootstrapped(),
  'asks the model': () => judged([]),
  'runs a program': () => Bootstrapped.of(PROGRAM),
  'runs a container': () => {
    const driven = Bootstrapped.of(DOCKER);
    driven.progress({ container_id: 'c0ffee'.repeat(10).concat('0123') });
    driven.send('Attest', { session_id: 's1', agent_id: AGENT_ID, container_id: 'c0ffee'.repeat(2) });
    return driven;
  },
  'a worker outside of the fleet does it': () => {
    const driven = new Bootstrapped();
    driven.start(judgedBy([]), { forward: { tags: ['gpu'] } });
    return driven;
  },
  'reads its context': () => {
    const driven = new Bootstrapped();
    driven.start(tooled({ context: [{ type: 'file', path: 'style.md' }] }));
    return driven;
  },
  'node: asks for tools': () => looping(),
  'node: asks the model': () => granted(),
  'node: runs calls': () => {
    const driven = granted();
    driven.chunk('thinking', 1, driven.last('model.generate').id);
    driven.says('let me look', [read('1'), read('2'), write()]);
    driven.ends();
    return driven;
  },
  'node: has a call judged': () => {
    const driven = granted({ tool_validation: [CRITIC] });
    driven.says('', [write(), read()]);
    return driven;
  },
  'program: asks for tools': () => asking(),
  'program: asks the model': () => grantedAsking(),
  'program: runs a call': () => {
    const driven = grantedAsking();
    driven.says('', [write(), run()]);
    return driven;
  },
  'program: has a command to run': () => {
    const driven = grantedAsking(DOCKER);
    driven.progress({ container_id: 'c0ffee'.repeat(10).concat('0123') });
    driven.says('', [run()]);
    return driven;
  },
  'program: has an answer': () => {
    const driven = grantedAsking();
    driven.says('', [run()]);
    driven.dispatchEnded(driven.dispatched);
    driven.says('done');
    return driven;
  },
  'program: has a failure': () => {
    const driven = asking();
    driven.notGranted('unavailable');
    return driven;
  },
  'program: again, after its node died': () => {
    const driven = grantedAsking();
    driven.says('', [write()]);
    driven.programEnds({ kind: 'in_doubt' });
    return driven;
  },
  'a panel judges': () => {
    const driven = judged([DIGITS, THREE]);
    driven.answer('7');
    return driven;
  },
  'a panel judges what a program printed': () => {
    const driven = Bootstrapped.of({ ...PROGRAM, execution: { max_iterations: 2, validation: [CRITIC] } });
    driven.generate();
    driven.granted();
    driven.says('done');
    driven.prints('7');
    return driven;
  },
  'a model judges': () => {
    const driven = judged({ semantic: { enabled: true, model: 'judge' } });
    driven.answer('7');
    return driven;
  },
  'has files read for a validator': () => {
    const driven = judged([{ type: 'regex', pattern: 'x', target: 'report.md' }]);
    driven.answer('7');
    return driven;
  },
  'has the script of a validator run': () => {
    const driven = judged({ script: { path: 'check.sh' } });
    driven.answer('7');
    return driven;
  },
  'queries patterns': querying,
  'stores a pattern': () => {
    const driven = querying();
    const found = { patterns: [{ pattern_id: 'p', solution_approach: 'digits', success_score: 0.5 }] };
    const outcome = { kind: 'done', value: found };
    driven.send('MemoryAnswered', { effectId: driven.effectId, kind: 'pattern.query', attempt: 1, outcome }, 'effect');
    driven.answer('7');
    return driven;
  },
  'has completed': () => {
    const driven = judged([]);
    driven.answer('7');
    return driven;
  },
  'has failed': () => {
    const driven = granted({ max_iterations: 1 });
    driven.says('', [write()]);
    driven.endsRaw({ kind: 'in_doubt' });
    driven.fire('iteration');
    return driven;
  },
  'was cancelled': () => {
    const driven = asking();
    driven.send('Cancel', {});
    return driven;
  },
};
