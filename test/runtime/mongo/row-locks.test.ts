import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MongoClient } from 'mongodb';
import { type RowLock, RowLocks } from '../../../runtime/mongo/serialised-writes.ts';
import { mongoMissing } from '../../support/ferretdb.ts';
import { type OwnMongo, ownMongo } from './own-mongo.ts';

describe('turns of several processes at one row', { skip: mongoMissing() }, () => {
  let setup: OwnMongo;
  let clients: MongoClient[];
  before(async () => {
    setup = await ownMongo();
    clients = await Promise.all([1, 2, 3].map(() => new MongoClient(setup.uri).connect()));
    await rowsOf(clients[0]).insertOne({ _id: 'x', count: 0 });
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await setup.stop();
  });

  const databaseOf = (client: MongoClient | undefined) => (client ?? assert.fail()).db(setup.database);
  const rowsOf = (client: MongoClient | undefined) =>
    databaseOf(client).collection<{ _id: string; count: number }>('rows');
  const turnsOf = (client: MongoClient | undefined) => databaseOf(client).collection<RowLock>('Turns');

  const sharedTurns = (client: MongoClient | undefined) => new RowLocks((call) => call(turnsOf(client)));

  /** As a conditional update is made there: a read, then a write. */
  const add = async (client: MongoClient): Promise<void> => {
    await sharedTurns(client).take('rows/x', async (mayWrite) => {
      const count = (await rowsOf(client).findOne({ _id: 'x' }))?.count ?? assert.fail();
      mayWrite();
      await rowsOf(client).replaceOne({ _id: 'x' }, { count: count + 1 });
    });
  };
  const count = async (): Promise<number | undefined> => (await rowsOf(clients[0]).findOne({ _id: 'x' }))?.count;

  it('loses no write of 30 at once over three connections, and leaves no turn behind', async () => {
    await Promise.all(Array.from({ length: 10 }, () => clients.map(add)).flat());
    assert.equal(await count(), 30);
    assert.equal(await turnsOf(clients[0]).countDocuments(), 0);
  });

  it('ends the turn of a process that died once, with any number of waiting processes', async () => {
    await turnsOf(clients[0]).insertOne({ _id: 'rows/x', holder: 'dead' });
    await Promise.all(Array.from({ length: 2 }, () => clients.map(add)).flat());
    assert.equal(await count(), 36);
    const left = await turnsOf(clients[0]).find().toArray();
    assert.deepEqual(left, [{ _id: 'rows/x ended dead', holder: 'dead' }]);
  });

  it('gives a turn back when the work in it fails', async () => {
    const turns = sharedTurns(clients[0]);
    await assert.rejects(
      turns.take('rows/y', () => Promise.reject(new Error('no'))),
      /^Error: no$/,
    );
    await turns.take('rows/y', () => Promise.resolve());
  });
});
