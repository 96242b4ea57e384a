import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import { KnownActors } from '../../../runtime/sqlite/actor-store-actors.ts';

const ADDRESS = addressOf('counter', 'acme', 'a');
const OTHER = addressOf('counter', 'acme', 'b');

const dataOf = (rows: readonly { readonly seq: number; readonly data: string }[] | null): string[] | null =>
  rows === null ? null : rows.map(({ seq, data }) => `${seq} ${data}`);

describe('actors in memory of the embedded store', () => {
  it('events are returned from behind a number, up to a limit', () => {
    const known = new KnownActors();
    const actor = known.add(1, ADDRESS, 7);
    known.appended(actor, 1, ['a', 'b']);
    known.appended(actor, 3, ['c']);
    assert.deepEqual(dataOf(actor.eventsAfter(0, 10)), ['1 a', '2 b', '3 c']);
    assert.deepEqual(dataOf(actor.eventsAfter(1, 1)), ['2 b']);
    assert.deepEqual(dataOf(actor.eventsAfter(3, 10)), []);
  });

  it('events before those that were written here must be read from the file', () => {
    const known = new KnownActors();
    const actor = known.add(1, ADDRESS, 7);
    assert.equal(actor.eventsAfter(0, 10), null);
    known.appended(actor, 4, ['d']);
    assert.equal(actor.eventsAfter(2, 10), null);
    assert.deepEqual(dataOf(actor.eventsAfter(3, 10)), ['4 d']);
    known.appended(actor, 9, ['i']);
    assert.equal(actor.eventsAfter(3, 10), null, 'the numbers between are not in memory');
    assert.deepEqual(dataOf(actor.eventsAfter(8, 10)), ['9 i']);
  });

  it('an actor is found in its own partition, until it is dropped or all are cleared', () => {
    const known = new KnownActors();
    known.wrote(known.add(1, ADDRESS, 7), 'one');
    known.wrote(known.add(2, ADDRESS, 8), 'two');
    assert.deepEqual([known.find(1, ADDRESS)?.record, known.find(2, ADDRESS)?.record], ['one', 'two']);
    assert.equal(known.find(1, OTHER), undefined);
    known.drop(1, ADDRESS);
    assert.deepEqual([known.find(1, ADDRESS), known.find(2, ADDRESS)?.id], [undefined, 8]);
    known.clear();
    assert.equal(known.find(2, ADDRESS), undefined);
  });

  it('texts that are too long together are forgotten, row numbers stay', () => {
    const known = new KnownActors();
    const [first, second] = [known.add(1, ADDRESS, 7), known.add(1, OTHER, 8)];
    known.wrote(first, 'x'.repeat(1_500_000));
    known.appended(second, 1, ['y'.repeat(400_000)]);
    assert.notEqual(second.eventsAfter(0, 1), null);
    known.appended(second, 2, ['z'.repeat(400_000)]);
    assert.deepEqual([first.record, second.eventsAfter(0, 1)], [undefined, null]);
    assert.equal(known.find(1, ADDRESS)?.id, 7);
    known.appended(second, 3, ['c']);
    assert.deepEqual([dataOf(second.eventsAfter(2, 1)), second.eventsAfter(1, 1)], [['3 c'], null]);
  });
});
