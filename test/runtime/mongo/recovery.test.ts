import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Collection, StoredDocument } from '../../../runtime/documents.ts';
import { toSvcError } from '../../../runtime/errors.ts';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { longestCallMs, type MongoWaits, mostSilentMs, recoveredWithinMs } from '../../../runtime/mongo/session.ts';
import { mongoMissing } from '../../support/ferretdb.ts';
import { type Link, startLink } from '../../support/link.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type OwnMongo, ownMongo } from './own-mongo.ts';

const skip = mongoMissing() || (process.env.MONGODB_URI === undefined ? false : 'needs a way it may break');
const SPEC = { name: 'notes', unique: [], indexes: [] };
const WAITS: MongoWaits = { selectionMs: 500, heartbeatMs: 500, queueMs: 500, socketMs: 1_000 };
/** For a busy machine. */
const SLACK_MS = 10_000;
/** The driver checks a server no more often than this. */
const BETWEEN_LOOKS_MS = 500;
/** With these settings the driver does not check the server by itself while a test runs. */
const SELDOM: MongoWaits = { ...WAITS, heartbeatMs: 5_000 };
const SLOW_ANSWERS: MongoWaits = { ...SELDOM, socketMs: 60_000 };

/** Times so long that a wait of the driver without end is distinguished from a slow call. */
const LONG: MongoWaits = { selectionMs: 5_000, heartbeatMs: 10_000, queueMs: 15_000, socketMs: 30_000 };

/** The driver's sockets to a port, in the order of their making: the first one checks the server. */
function socketsTo(port: number, context: TestContext): () => Socket[] {
  const made: Socket[] = [];
  const created = channel('net.client.socket');
  const note = (message: unknown): void => {
    if (typeof message === 'object' && message !== null && 'socket' in message && message.socket instanceof Socket) {
      made.push(message.socket);
    }
  };
  created.subscribe(note);
  context.after(() => created.unsubscribe(note));
  return () => made.filter((socket) => !socket.destroyed && socket.remotePort === port);
}

/** Suppresses the `drain` event, as with TLS: a driver that waits for it is not notified when the socket closes. */
function silence(sockets: readonly Socket[], context: TestContext): void {
  for (const socket of sockets) {
    const emit = socket.emit.bind(socket);
    context.mock.method(socket, 'emit', (name: string, ...rest: unknown[]) => name !== 'drain' && emit(name, ...rest));
  }
}

/*
 * Connections end here as they do when a server or a way to it goes down: all at once, and the driver is notified of
 * each separately. Until then it may write to a connection that is closed already.
 */
describe('connections to MongoDB that end under the driver', { skip, timeout: 300_000 }, () => {
  let setup: OwnMongo;
  let link: Link;
  before(async () => {
    setup = await ownMongo();
    link = await startLink(Number(new URL(setup.uri).port));
  });
  after(async () => {
    await link?.close();
    await setup?.stop();
  });

  const uri = (): string => setup.uri.replace(new URL(setup.uri).port, String(link.port));
  const opened = async (context: TestContext, waits: MongoWaits): Promise<Collection<StoredDocument>> => {
    const documents = new MongoDocuments({ uri: uri(), database: setup.database, waits });
    context.after(() => documents.close());
    await documents.open();
    return documents.collection(SPEC);
  };
  /** How long it took until a call was answered again. */
  const answered = async (call: () => Promise<unknown>): Promise<number> => {
    const since = performance.now();
    await waitUntil(
      'the document store to answer again',
      () =>
        call().then(
          () => true,
          (error: unknown) => {
            if (toSvcError(error).code === 'unavailable') return false;
            throw error;
          },
        ),
      recoveredWithinMs(WAITS) + SLACK_MS,
    );
    return performance.now() - since;
  };

  test('a client whose check of its server never ends is replaced in bounded time', async (context) => {
    const sockets = socketsTo(link.port, context);
    const begun = performance.now();
    const notes = await opened(context, SELDOM);
    const doc = { tenant: 'acme', id: 'looked-at', version: 1 };
    await notes.put(doc);
    const [looking, ...asking] = sockets();
    assert.ok(looking !== undefined && asking.length > 0);
    await waitUntil('the driver may look again at once', () => performance.now() - begun > 2 * BETWEEN_LOOKS_MS);
    silence(sockets(), context);
    const before = link.passed.toStore;
    link.cut('from-store');
    const asked = notes.get('acme', 'looked-at').catch((error: unknown) => toSvcError(error).code);
    await waitUntil('the question is on its way', () => link.passed.toStore > before);
    for (const socket of asking) socket.destroy(new Error('broken'));
    looking.destroy();
    link.heal();
    assert.equal(await asked, 'unavailable', 'no probe watches the server any more');
    await answered(async () => assert.deepEqual(await notes.get('acme', 'looked-at'), doc));
  });

  test('calls under way are answered although the thread was blocked for longer than checks may be silent', async (context) => {
    const notes = await opened(context, SLOW_ANSWERS);
    const doc = { tenant: 'acme', id: 'under-way', version: 1 };
    await notes.put(doc);
    const before = link.passed.toStore;
    link.cut('from-store');
    const asked = notes.get('acme', 'under-way');
    await waitUntil('the question is on its way', () => link.passed.toStore > before);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, mostSilentMs(SLOW_ANSWERS) + 100);
    const next = notes.get('acme', 'under-way');
    link.heal();
    assert.deepEqual(await Promise.all([asked, next]), [doc, doc]);
  });

  test('a call on a connection that is closed under it ends, and blocks no later call', async (context) => {
    const sockets = socketsTo(link.port, context);
    const notes = await opened(context, WAITS);
    const doc = { tenant: 'acme', id: 'written', version: 1 };
    await notes.put(doc);
    const begun = performance.now();
    silence(sockets(), context);
    for (const socket of sockets()) socket.destroy();
    await assert.rejects(notes.put({ ...doc, version: 2 }), { code: 'unavailable' });
    const tookMs = performance.now() - begun;
    assert.ok(tookMs < longestCallMs(WAITS) + SLACK_MS, `it ended after ${tookMs} ms`);
    await answered(() => notes.put({ ...doc, version: 3 }));
    assert.deepEqual(await notes.get('acme', 'written'), { ...doc, version: 3 });
  });

  test('a call and a check of the server end at once with their connections', async (context) => {
    const sockets = socketsTo(link.port, context);
    const notes = await opened(context, LONG);
    const doc = { tenant: 'acme', id: 'at-once', version: 1 };
    await notes.put(doc);
    for (let round = 0; round < 10; round += 1) {
      for (const socket of sockets()) socket.destroy();
      const tookMs = await answered(() => notes.get('acme', 'at-once'));
      assert.ok(tookMs < LONG.selectionMs, `answered after ${tookMs} ms`);
    }
  });
});
