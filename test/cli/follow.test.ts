import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { CliFailure, EXIT } from '../../cli/failure.ts';
import { type ExecutionEvent, followExecution } from '../../cli/follow.ts';
import { NodeClient } from '../../cli/node-client.ts';
import { EventLines } from '../../cli/screen/event-lines.ts';

const STARTED = 'id: 1\ndata: {"execution_started":{}}\n\n';
const COMPLETED = 'id: 2\ndata: {"execution_completed":{"total_iterations":1}}\n\n';

/** A server whose n-th stream comes from the n-th function; records the Last-Event-IDs of the requests. */
async function streams(...answers: ((response: ServerResponse) => void)[]) {
  const asked: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    const answer = answers[asked.length] ?? answers.at(-1);
    asked.push(request.headers['last-event-id']?.toString());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    answer?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const client = new NodeClient({ url: `http://127.0.0.1:${address.port}` });
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { client, asked, close };
}

async function follow(client: NodeClient, patienceMs: number): Promise<ExecutionEvent[]> {
  const events: ExecutionEvent[] = [];
  const options = { after: 0, signal: new AbortController().signal, patienceMs };
  for await (const event of followExecution(client, 'x', options)) events.push(event);
  return events;
}

test('a stream cut after a long silence is taken up again: only time without a node counts', async () => {
  const patienceMs = 1_000;
  const { client, asked, close } = await streams(
    (response) => {
      response.write(STARTED);
      setTimeout(() => response.destroy(), 2 * patienceMs);
    },
    // What was seen is sent again and must not be shown again.
    (response) => response.end(STARTED + COMPLETED),
  );
  try {
    const events = await follow(client, patienceMs);
    assert.deepEqual(
      events.map(({ id }) => id),
      [1, 2],
    );
    assert.deepEqual(asked, [undefined, '1']);
  } finally {
    close();
  }
});

test('an event cut in the middle is not shown, and comes whole after the cut', async () => {
  const half = COMPLETED.slice(0, 20);
  const { client, close } = await streams(
    (response) => response.write(STARTED + half, () => response.destroy()),
    (response) => response.end(COMPLETED),
  );
  try {
    assert.deepEqual(
      (await follow(client, 5_000)).map(({ name }) => name),
      ['execution_started', 'execution_completed'],
    );
  } finally {
    close();
  }
});

test('a node that stays away ends the following with exit code 5', async () => {
  const { client, close } = await streams((response) => {
    response.write(STARTED, () => {
      response.destroy();
      close();
    });
  });
  await assert.rejects(
    follow(client, 300),
    (error) => error instanceof CliFailure && error.exitCode === EXIT.connection,
  );
});

test('output that differs from what was streamed is shown again; control characters never reach the terminal', () => {
  const lines: string[] = [];
  const screen = new EventLines({ write: (line) => lines.push(line) });
  const add = (name: string, payload: ExecutionEvent['payload']): void =>
    screen.add({ id: 1, name, payload, data: '' });
  add('iteration_output', { output: 'one\ntw' });
  add('iteration_output', { output: 'o \u001b[31m' });
  add('iteration_completed', { iteration_number: 1, output: 'other' });
  add('iteration_completed', { iteration_number: 2, output: 'not streamed' });
  assert.deepEqual(lines, [
    '  one',
    '  two \ufffd[31m',
    '  other',
    'iteration 1 accepted',
    '  not streamed',
    'iteration 2 accepted',
  ]);
});
