import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { MongoClient, MongoServerError } from 'mongodb';
import type { StoredDocument } from '../../../runtime/documents.ts';
import { type ErrorCode, SvcError } from '../../../runtime/errors.ts';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { MongoSession, WAITS } from '../../../runtime/mongo/session.ts';
import { mongoMissing } from '../../support/ferretdb.ts';
import { type OwnMongo, ownMongo } from './own-mongo.ts';

const SPEC = { name: 'notes', unique: [['name']], indexes: [] };
const skip = mongoMissing() || (process.env.MONGODB_URI === undefined ? false : 'needs a server it may kill');

const failsWith = (call: Promise<unknown>, code: ErrorCode) =>
  assert.rejects(call, (error) => error instanceof SvcError && error.code === code);

interface Note extends StoredDocument {
  readonly name: string;
}

describe('the connection to MongoDB', { skip, timeout: 300_000 }, () => {
  let setup: OwnMongo;
  before(async () => {
    setup = await ownMongo();
  });
  after(() => setup.stop());

  test('a killed server makes calls unavailable in bounded time, and they work again when it is back', async (t) => {
    const documents = new MongoDocuments({ uri: setup.uri, database: setup.database });
    t.after(() => documents.close());
    await documents.open();
    const notes = await documents.collection<Note>(SPEC);
    const doc = { tenant: 'acme', id: '1', version: 1, name: 'kept' };
    await notes.insert(doc);
    await setup.mongo.kill();
    const started = performance.now();
    await failsWith(notes.get('acme', '1'), 'unavailable');
    await failsWith(notes.put({ ...doc, version: 2 }), 'unavailable');
    assert.ok(performance.now() - started < 15_000, 'both calls failed within their time-outs');
    await setup.mongo.restart();
    assert.deepEqual(await notes.get('acme', '1'), doc);
    assert.equal(await notes.put({ ...doc, version: 2 }), true);
  });

  test('opening without a server is unavailable, and can be tried again', async (t) => {
    await setup.mongo.kill();
    const documents = new MongoDocuments({ uri: setup.uri, database: setup.database });
    t.after(() => documents.close());
    await failsWith(documents.open(), 'unavailable');
    await setup.mongo.restart();
    await documents.open();
    await documents.collection(SPEC);
  });
});

test('a query that a busy server aborted is unavailable, so that it is tried again', async (t) => {
  const newClient = () => new MongoClient('mongodb://127.0.0.1:1');
  const session = new MongoSession({ newClient, database: 'none', waits: WAITS });
  t.after(() => session.close());
  const outOfTime = new MongoServerError({ code: 50, codeName: 'MaxTimeMSExpired', message: 'exceeded time limit' });
  await failsWith(
    session.run(() => Promise.reject(outOfTime)),
    'unavailable',
  );
});

test('a malformed URI is a configuration error that does not repeat the password', async () => {
  for (const uri of [
    'http://user:hunter2@host',
    'mongodb://user:hunter2@host:notaport/',
    'mongodb://u:hunter2@h/?x=1',
    '',
  ]) {
    await assert.rejects(new MongoDocuments({ uri }).open(), (error) => {
      assert.ok(error instanceof SvcError);
      assert.equal(error.code, 'invalid_config');
      assert.ok(!inspect(error, { depth: 10 }).includes('hunter2'));
      return true;
    });
  }
});
