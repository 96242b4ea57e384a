import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CalmMemory, type Heap, processHeap } from '../../app/calm-memory.ts';
import { HandClock } from '../support/hand-clock.ts';

const MB = 1024 ** 2;

/** A heap of which each collection frees half of what is garbage. */
class HeapInMemory implements Heap {
  busyShare = 0.1;
  rounds = 0;
  whenCollected: () => void = () => {};
  garbageMb = 0;
  readonly #usedMb = 100;

  size = (): number => (this.#usedMb + this.garbageMb) * MB;
  busy = (): number => this.busyShare;
  collect = async (): Promise<void> => {
    this.rounds += 1;
    this.garbageMb /= 2;
    this.whenCollected();
  };
}

function watched() {
  const clock = new HandClock();
  const heap = new HeapInMemory();
  const warnings: unknown[] = [];
  const memory = new CalmMemory(heap, clock, (error) => warnings.push(error));
  return { clock, heap, warnings, memory };
}

test('a calm node whose heap has grown collects until a round frees little, and then rests', async () => {
  const { clock, heap } = watched();
  heap.garbageMb = 100;
  await clock.pass(10_000);
  assert.ok(heap.garbageMb < 4, `${heap.garbageMb} MB of 100 are left`);
  const { rounds } = heap;
  await clock.pass(120_000);
  assert.equal(heap.rounds, rounds, 'a heap that has not grown is collected again');
  heap.garbageMb = 100;
  await clock.pass(60_000);
  assert.ok(heap.rounds > rounds, 'a heap that has grown again is not collected');
});

test('a busy node is not collected', async () => {
  const { clock, heap } = watched();
  heap.garbageMb = 100;
  heap.busyShare = 0.5;
  await clock.pass(60_000);
  assert.equal(heap.rounds, 0);
});

test('a node that gets work while it gives memory back stops after the round, and goes on when it is calm again', async () => {
  const { clock, heap } = watched();
  heap.garbageMb = 200;
  heap.whenCollected = () => {
    heap.busyShare = 0.9;
  };
  await clock.pass(60_000);
  assert.equal(heap.rounds, 1);
  heap.whenCollected = () => {};
  heap.busyShare = 0.1;
  await clock.pass(10_000);
  assert.ok(heap.garbageMb < 8, `${heap.garbageMb} MB of 200 are left`);
});

test('a heap that cannot be collected in steps is left alone, and the log says so once', async () => {
  const { clock, heap, warnings } = watched();
  heap.garbageMb = 100;
  heap.whenCollected = () => {
    throw new Error('no memory for it');
  };
  await clock.pass(60_000);
  assert.deepEqual([heap.rounds, warnings.length], [1, 1]);
});

test('memory that is no longer given back does not keep a timer', async () => {
  const { clock, heap, memory } = watched();
  heap.garbageMb = 100;
  memory.close();
  await clock.pass(60_000);
  assert.equal(heap.rounds, 0);
});

test('the heap of this process gives garbage and partly used pages back in steps', async () => {
  const heap = processHeap();
  const kept: object[] = [];
  for (let at = 0; at < 600_000; at += 1) {
    const made = { at, text: `object ${at}` };
    // Half of each page stays: a collection alone gives no page back.
    if (at % 2 === 0) kept.push(made);
    else garbage.push(made);
  }
  await heap.collect();
  const before = heap.size();
  garbage.length = 0;
  for (let round = 0; round < 8; round += 1) await heap.collect();
  const freed = (before - heap.size()) / MB;
  assert.ok(freed > 20, `${freed.toFixed(0)} of ${(before / MB).toFixed(0)} MB were given back`);
  assert.equal(kept.length, 300_000);
});

const garbage: object[] = [];
