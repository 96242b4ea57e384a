import assert from 'node:assert/strict';
import os from 'node:os';
import { test } from 'node:test';
import { nodeCapabilities } from '../../cluster/registration/attestation.ts';
import { createLoadGauge, pauseMs, retryDecision } from '../../cluster/registration/registration.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemRandom } from '../../runtime/random.ts';

test('capabilities that are not set come from the machine, set ones win, and names are sorted and unique', () => {
  const plain = nodeCapabilities({ resources: {}, tags: ['b', 'a', 'b'], runtimes: ['process'] });
  assert.equal(plain.cpu_cores, os.availableParallelism());
  assert.ok(plain.available_memory_gb > 0 && plain.available_memory_gb <= os.totalmem() / 2 ** 30 + 0.1);
  assert.deepEqual([plain.gpu_count, plain.vram_gb, plain.tags], [0, 0, ['a', 'b']]);
  const resources = { cpu_cores: 0.5, memory_gb: 2, gpu_count: 4, vram_gb: 96 };
  const set = nodeCapabilities({ resources, tags: [], runtimes: [] });
  assert.deepEqual([set.cpu_cores, set.available_memory_gb, set.gpu_count, set.vram_gb], [1, 2, 4, 96]);
  assert.equal(nodeCapabilities({ resources: { gpu: 'a100' }, tags: [], runtimes: [] }).gpu_count, 1);
  assert.equal(nodeCapabilities({ resources: { gpu: false }, tags: [], runtimes: [] }).gpu_count, 0);
});

test('load is a percentage, also when it is read twice at once', () => {
  const read = createLoadGauge();
  for (const load of [read(), read()]) {
    for (const value of [load.cpuPercent, load.memoryPercent]) assert.ok(value >= 0 && value <= 100, String(value));
  }
});

test('backoff is anything up to a bound that doubles, and never more than ten seconds', () => {
  const most = { ...systemRandom, fraction: () => 0.999_999 };
  const bounds = [1, 2, 3, 6, 50].map((failures) => Math.round(pauseMs(failures, most)));
  assert.deepEqual(bounds, [500, 1_000, 2_000, 10_000, 10_000]);
  assert.equal(pauseMs(50, { ...systemRandom, fraction: () => 0 }), 0);
});

test('no refusal is answered at once twice in a row', () => {
  for (const code of ['unauthenticated', 'failed_precondition', 'not_found', 'forbidden', 'unavailable'] as const) {
    const again = retryDecision(new SvcError(code), { attested: true, failures: 2 }).again;
    assert.notEqual(again, 'at once', code);
  }
});
