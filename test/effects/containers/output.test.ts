import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { ContainerOutput } from '../../../effects/containers/output.ts';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import { LIMITS, type PodmanUnderTest, podmanUnderTest, sh } from '../../support/podman-containers.ts';
import { sample } from '../../support/size.ts';

const MiB = 1_048_576;

const frame = (stream: number, data: Buffer): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(data.length, 4);
  return Buffer.concat([header, data]);
};

test('streams are kept apart and characters stay complete, wherever the pieces are cut', () => {
  const whole = Buffer.concat([
    frame(1, Buffer.from('é€').subarray(0, 3)),
    frame(2, Buffer.from('err😀')),
    frame(1, Buffer.alloc(0)),
    frame(1, Buffer.from('é€').subarray(3)),
  ]);
  for (let size = 1; size <= whole.length; size += 1) {
    const output = new ContainerOutput();
    for (let at = 0; at < whole.length; at += size) output.push(whole.subarray(at, at + size));
    assert.deepEqual([output.stdout.text(), output.stderr.text()], ['é€', 'err😀'], `pieces of ${size}`);
    assert.deepEqual([output.stdout.bytes, output.stderr.bytes], [5, 7]);
  }
});

test('exactly 1 MiB is kept; one byte more is cut, at a character', () => {
  const exact = new ContainerOutput();
  exact.push(frame(1, Buffer.alloc(MiB, 'x')));
  assert.deepEqual([exact.stdout.text().length, exact.stdout.truncated], [MiB, false]);
  const over = new ContainerOutput();
  over.push(frame(1, Buffer.from(`${'x'.repeat(MiB - 1)}é`)));
  assert.deepEqual(
    [over.stdout.text(), over.stdout.truncated, over.stdout.bytes],
    ['x'.repeat(MiB - 1), true, MiB + 1],
  );
});

test('a gigabyte of output passes through without growing memory', () => {
  const output = new ContainerOutput();
  const pieces = sample({ normal: 1_024, long: 4_096 });
  const piece = frame(1, Buffer.alloc(MiB, 'x'));
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  for (let count = 0; count < pieces; count += 1) output.push(piece);
  const after = process.memoryUsage();
  assert.equal(output.stdout.bytes, pieces * MiB);
  assert.equal(output.stdout.text().length, MiB);
  assert.ok(after.heapUsed + after.arrayBuffers - heapUsed - arrayBuffers < 32 * MiB);
});

describe('output of real containers', NEEDS_PODMAN, () => {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest();
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  test('of a large output 1 MiB is kept and all is counted', async () => {
    const result = await setup.run(sh('dd if=/dev/zero bs=1M count=16 | tr "\\0" x; echo end >&2'));
    assert.deepEqual([result.stdout_bytes, result.stdout_truncated], [16 * MiB, true]);
    assert.equal(result.stdout.length, MiB);
    assert.match(result.stderr, /end\n$/);
    assert.equal(result.stderr_truncated, false);
  });

  test('a container that writes more than the node allows is killed, and the result says so', async () => {
    const limits = { ...LIMITS, outputBytes: 4 * MiB };
    // Long lines, since an engine processes its log line by line.
    const result = await setup.runOn({ limits }, sh('yes $(seq -s- 2000); echo never'));
    assert.deepEqual([result.exit_code, result.stopped_by, result.oom_killed], [137, 'output', false]);
    assert.ok(result.stdout_bytes > 4 * MiB);
  });

  test('an adopted ended container gives the same output as a live one', async () => {
    const script = sh('seq 30000; printf "tail é" >&2; exit 7');
    const effectId = randomUUID();
    const live = await setup.run(script, { effectId });
    const adopted = await setup.run(script, { effectId, attempt: 2 });
    assert.deepEqual(adopted, live);
    assert.equal(adopted.stdout.split('\n').length, 30_001);
  });
});
