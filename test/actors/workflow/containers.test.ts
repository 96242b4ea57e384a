import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, RUN_ID, single } from './driven-workflow.ts';
import { begun, CONTAINER, CONTAINERS, errorCode, record } from './one-state.ts';

test('a container has everything rendered and its limits, and what it left is the output', () => {
  const volumes = [{ name: 'workspace', mount_path: '/workspace' }];
  const resources = { cpu: 500, memory: '64Mi', timeout: '30s' };
  const rest = { env: { WHO: '{{input.who}}' }, shell: true, registry_credentials: 'registry/main' };
  const run = begun({ ...CONTAINER, volumes, resources, ...rest });
  const { kind, mode, input } = run.effect.request;
  assert.deepEqual([kind, mode], ['container.run', 'repeatable']);
  assert.deepEqual(input, {
    workflow_execution_id: RUN_ID,
    state_name: 'STEP',
    image: 'alpine:ann',
    image_pull_policy: 'IfNotPresent',
    command: ['echo', 'ann'],
    shell: true,
    env: { WHO: 'ann' },
    workdir: '/workspace',
    mounts: [{ volume_id: RUN_ID, mount_path: '/workspace', read_only: false }],
    cpu_millicores: 500,
    memory_bytes: 64 * 1024 * 1024,
    timeout_ms: 30_000,
    within_ms: 300_000,
    registry_credentials: 'registry/main',
  });
  run.exit(0, { stdout_truncated: true, stdout_bytes: 5_000_000 });
  const output = { exit_code: 0, stdout: 'out', stderr: 'err', duration_ms: 7 };
  assert.deepEqual(record(run), {
    status: 'success',
    output: { ...output, stdout_truncated: true, stderr_truncated: false },
  });
  const [completed] = run.payloads('ContainerRunCompleted');
  assert.deepEqual([completed?.exit_code, completed?.stdout_bytes, completed?.stderr_bytes], [0, 5_000_000, 3]);
});

for (const [title, extra, code] of [
  ['exits with 2', { exit_code: 2 }, 'command_failed'],
  ['runs too long', { exit_code: 137, timed_out: true }, 'container_timed_out'],
  ['uses too much memory', { exit_code: 137, oom_killed: true }, 'out_of_memory'],
  ['writes too much', { exit_code: 137, stopped_by: 'output' }, 'limit_exceeded'],
] as const) {
  test(`a container that ${title} fails its state with ${code}, and its exit code is there`, () => {
    const run = begun(CONTAINER);
    run.exit(extra.exit_code, { ...extra });
    assert.equal(errorCode(run), code);
    assert.equal(toJson(record(run).output).exit_code, extra.exit_code);
  });
}

test('a container is tried max_attempts times in all, with pauses that double', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 4, backoff: '10s' }, timeout: '10m' });
  const pauses: number[] = [];
  for (let attempt = 1; attempt < 4; attempt += 1) {
    if (attempt === 2) run.fail('unavailable');
    else run.exit(1);
    pauses.push((run.timers.get('retry')?.at ?? 0) - run.now);
    assert.equal(run.effects.size, 0);
    run.fire('retry');
  }
  run.exit(1);
  assert.deepEqual(pauses, [10_000, 20_000, 40_000]);
  assert.equal(run.payloads('ContainerRunStarted').length, 4);
  assert.equal(errorCode(run), 'command_failed');
});

test('an attempt that succeeds ends the retries; without a backoff the next follows at once', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 3 } });
  run.exit(1);
  run.exit(0);
  assert.equal(record(run).status, 'success');
  assert.equal(run.payloads('ContainerRunStarted').length, 2);
});

test('a container that fails to start for a permanent reason is not tried again', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 3 } });
  run.fail('image_unavailable');
  assert.equal(errorCode(run), 'image_unavailable');
  assert.equal(run.payloads('ContainerRunStarted').length, 1);
});

test('a pull that the network broke is another attempt of the retry, up to its limit', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 3 } });
  run.fail('registry_unreachable');
  run.fail('registry_unreachable');
  assert.equal(run.payloads('ContainerRunStarted').length, 3);
  run.exit(0);
  assert.equal(record(run).status, 'success');
});

test('steps of a parallel run start together, and transitions wait for the last', () => {
  const run = begun(CONTAINERS);
  const ids = [...run.effects.keys()];
  assert.equal(ids.length, 3);
  run.exit(0, {}, ids[2]);
  run.exit(0, { stdout: 'linted' }, ids[0]);
  assert.deepEqual(run.path, ['STEP']);
  run.exit(0, {}, ids[1]);
  assert.deepEqual(run.path, ['STEP', 'DONE']);
  const output = toJson(record(run).output);
  assert.deepEqual(Object.keys(output).sort(), ['lint', 'scan', 'test']);
  assert.equal(toJson(output.lint).stdout, 'linted');
});

for (const [completion, codes, success] of [
  ['all_succeed', [0, 0, 0], true],
  ['all_succeed', [0, 1, 0], false],
  ['any_succeed', [1, 1, 0], true],
  ['any_succeed', [1, 1, 1], false],
  ['best_effort', [1, 1, 1], true],
] as const) {
  test(`${completion} with exit codes ${codes.join(', ')} is a ${success ? 'success' : 'failure'}`, () => {
    const run = begun({ ...CONTAINERS, completion });
    const ids = [...run.effects.keys()];
    for (const [index, code] of codes.entries()) run.exit(code, {}, ids[index]);
    assert.equal(record(run).status, success ? 'success' : 'failed');
    const failed = codes.filter((code) => code !== 0).length;
    const [told] = run.payloads('ParallelContainerRunAggregated');
    assert.deepEqual([told?.total_steps, told?.succeeded, told?.failed], [3, 3 - failed, failed]);
  });
}

test('a step that could not start says why in its output', () => {
  const run = begun({ ...CONTAINERS, completion: 'best_effort' });
  const ids = [...run.effects.keys()];
  run.fail('image_unavailable', 'no such image', ids[0]);
  run.exit(0, {}, ids[1]);
  run.exit(0, {}, ids[2]);
  const error = { code: 'image_unavailable', message: 'no such image' };
  const lint = { exit_code: null, stdout: '', stderr: '', duration_ms: 0, error };
  assert.deepEqual(toJson(record(run).output).lint, lint);
});

test('outputs of parallel steps that are too large together fail the state and cancel the rest', () => {
  const run = begun({
    ...CONTAINERS,
    steps: Array.from({ length: 9 }, (_, n) => ({ name: `s${n}`, image: 'alpine', command: ['true'] })),
  });
  const ids = [...run.effects.keys()];
  for (const id of ids.slice(0, 7)) run.exit(0, { stdout: 'x'.repeat(1_000_000) }, id);
  assert.equal(errorCode(run), 'blackboard_full');
  assert.equal(run.effects.size, 0);
});

test('containers of a workflow with the annotation are sealed; one that only looks like it is refused', () => {
  const annotated = (value: string) => {
    const run = new DrivenWorkflow();
    const { reply } = run.start(single(CONTAINER, { annotations: { 'svc.dev/containers': value } }));
    return { run, refused: reply?.ok === false ? reply.code : null };
  };
  assert.equal(annotated('sealed').run.effect.request.input.sealed, true);
  assert.equal(begun(CONTAINER).effect.request.input.sealed, undefined);
  assert.equal(annotated('closed').refused, 'invalid_manifest');
});
