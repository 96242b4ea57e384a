import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../runtime/json.ts';
import { AGENT_ID } from './driven-execution.ts';
import { read, run, ToolingExecution, tooled, write } from './tooled.ts';

const ends = (driven: ToolingExecution) =>
  driven.records.filter(({ kind }) => kind === 'ended').map(({ call, outcome }) => [call, outcome]);

const doubted = ({ view }: ToolingExecution): string[] =>
  view.status === 'pending' ? [] : view.calls_in_doubt.map(({ tool, call }) => `${tool} ${call}`);

/** The end of the chain comes behind the last call. */
function lastTold(driven: ToolingExecution): string[] {
  const sends = driven.turns.flatMap((turn) => turn.sends).map(({ type }) => type);
  return sends.filter((type) => type === 'Record' || type === 'Close').slice(-2);
}

const STOPS: Readonly<Record<string, (driven: ToolingExecution) => unknown>> = {
  'is cancelled': (driven) => driven.send('Cancel', {}),
  'takes too long': (driven) => driven.send('ExecutionTimedOut', {}, 'timer'),
  'has an iteration that takes too long': (driven) => driven.send('IterationTimedOut', { iteration: 1 }, 'timer'),
};

for (const [how, stop] of Object.entries(STOPS)) {
  test(`an execution that ${how} has its open call that must not be repeated listed in doubt`, () => {
    const driven = ToolingExecution.begun({ execution: { max_iterations: 1 } });
    driven.says('', [read(), write(), run()]);
    driven.ends();
    stop(driven);
    assert.deepEqual(doubted(driven), ['fs.write 1.1.2']);
    assert.deepEqual(ends(driven), [
      ['1.1.1', 'succeeded'],
      ['1.1.2', 'in_doubt'],
    ]);
    assert.deepEqual(lastTold(driven), ['Record', 'Close'], 'the chain is closed behind it');
  });
}

test('an open call that may be repeated has broken off', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [read('a'), read('b')]);
  driven.ends();
  driven.send('Cancel', {});
  assert.deepEqual(doubted(driven), []);
  assert.deepEqual(ends(driven), [
    ['1.1.1', 'succeeded'],
    ['1.1.2', 'failed'],
  ]);
});

function bootstrapped(annotations: Readonly<Record<string, string>> = {}) {
  const driven = new ToolingExecution();
  const spec = { advanced: { bootstrap_path: './agent.sh' }, runtime: { isolation: 'process' } };
  const manifest = tooled({ execution: { max_iterations: 2 }, ...spec });
  driven.start({ ...manifest, metadata: { ...manifest.metadata, annotations } });
  const generate = (): unknown =>
    driven.send('Generate', { agent_id: AGENT_ID, iteration_number: 1, model_alias: '', prompt: 'x', messages: [] });
  const programEnds = (outcome: Json): unknown => {
    const effectId = driven.view.status === 'running' ? driven.view.current.effect_id : 'none';
    return driven.send('ProgramEnded', { effectId, kind: 'program.run', attempt: 1, outcome }, 'effect');
  };
  generate();
  driven.granted();
  return { driven, programEnds };
}

test('a program that is not repeated after a crash leaves its open command in doubt', () => {
  const { driven, programEnds } = bootstrapped({ 'svc.dev/on-in-doubt': 'fail' });
  driven.says('', [run('deploy')]);
  programEnds({ kind: 'in_doubt' });
  assert.deepEqual(driven.errors, ['in_doubt']);
  assert.match(doubted(driven).join(), /^cmd\.run 1\.\w+\.1\.1$/);
  assert.deepEqual(
    ends(driven).map(([, outcome]) => outcome),
    ['in_doubt'],
  );
});

test('a program that ends while a command of its loop is open leaves it in doubt', () => {
  const { driven, programEnds } = bootstrapped();
  driven.says('', [run('deploy')]);
  programEnds({ kind: 'done', value: { exit_code: 0, stdout: 'early', stderr: '' } });
  assert.equal(driven.view.status, 'completed');
  assert.equal(doubted(driven).length, 1);
});
