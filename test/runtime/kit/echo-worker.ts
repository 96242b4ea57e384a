/** A thread that answers each message with the message. */
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', (message: unknown) => parentPort?.postMessage(message));
