/** The thread that writes documents: it has its own connection and runs the requests of documents-thread.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { openDocumentsFile } from './database.ts';
import { carried, type ThreadAnswer, type ThreadData, type ThreadRequest } from './documents-thread-messages.ts';
import { DocumentWrites } from './documents-write.ts';

const port = parentPort;
if (port === null) throw new Error('documents-worker.ts runs as a thread');
const { path, busyTimeoutMs }: ThreadData = workerData;
const database = openDocumentsFile(path, busyTimeoutMs);
const writes = new DocumentWrites(database);
const say = (answer: ThreadAnswer): void => port.postMessage(answer);

port.on('message', (request: ThreadRequest) => {
  if (request !== 'close') return say(writes.apply(request).map(carried));
  database.close();
  port.close();
});
say('open');
