import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { EventSource } from 'eventsource';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, objectOf, ProductNode } from './product-node.ts';

const run = promisify(execFile);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

/** False when curl is installed; else the reason. In CI its absence is an error. */
async function curlMissing(): Promise<string | false> {
  try {
    await run('curl', ['--version']);
    return false;
  } catch (error) {
    if (process.env.CI === 'true') throw new Error('curl is not installed', { cause: error });
    process.stderr.write('SKIPPED: curl is not installed\n');
    return 'curl is not installed';
  }
}

/** Records of an event stream, parsed from the output. */
function recordsOf(text: string): { id: number; event: Readonly<Record<string, unknown>> }[] {
  return text
    .split('\n\n')
    .filter((record) => record.startsWith('id: '))
    .map((record) => {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(record) ?? [];
      assert.ok(id !== undefined && data !== undefined, `an unnamed record of id and data: ${record}`);
      return { id: Number(id), event: objectOf(data) };
    });
}

describe('third-party clients', async () => {
  const skip = await curlMissing();
  let node: ProductNode;
  let agent = '';
  before(async () => {
    node = await ProductNode.start();
    agent = await node.deploy(agentYaml('stranger'));
  });
  after(() => node[Symbol.asyncDispose]());

  const curl = async (...args: readonly string[]): Promise<string> =>
    (await run('curl', ['--silent', '--show-error', '--max-time', '30', ...args])).stdout;
  const streamUrl = (execution: string): string => `${node.url}/v1/executions/${execution}/stream`;

  test('curl deploys, starts and follows with only what the documentation says', { skip }, async () => {
    const yaml = agentYaml('by-curl');
    const deployed = await curl('--data-binary', yaml, '-H', 'Content-Type: application/yaml', `${node.url}/v1/agents`);
    const { agent_id } = objectOf(deployed);
    const started = await curl('--json', JSON.stringify({ agent_id, input: 'steady' }), `${node.url}/v1/executions`);
    const id = String(objectOf(started).execution_id);
    const records = recordsOf(await curl('--no-buffer', streamUrl(id)));
    assert.deepEqual(
      records.map((record) => record.id),
      numbers(records.length),
    );
    assert.deepEqual(Object.keys(records[0]?.event ?? {}), ['execution_started']);
    assert.deepEqual(Object.keys(records.at(-1)?.event ?? {}), ['execution_completed']);
  });

  test('curl resumes after a break behind the last id that it received', { skip }, async () => {
    const id = await node.run(agent, 'slow');
    const cut = spawn('curl', ['--silent', '--no-buffer', streamUrl(id)], { stdio: ['ignore', 'pipe', 'ignore'] });
    const gone = once(cut, 'close');
    let text = '';
    cut.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await waitUntil('curl has read some events', () => recordsOf(text.slice(0, text.lastIndexOf('\n\n'))).length >= 4);
    cut.kill('SIGKILL');
    await gone;
    const whole = text.slice(0, text.lastIndexOf('\n\n') + 2);
    const first = recordsOf(whole).map((record) => record.id);
    const rest = recordsOf(await curl('-H', `Last-Event-ID: ${first.at(-1)}`, streamUrl(id)));
    const ids = [...first, ...rest.map((record) => record.id)];
    assert.deepEqual(ids, numbers(ids.length));
    const last = ['-H', `Last-Event-ID: ${ids.length}`, '--write-out', '%{http_code}', streamUrl(id)];
    assert.equal(await curl(...last), '204', 'there is nothing after the last event');
    const beyond = ['-H', `Last-Event-ID: ${ids.length}0`, '--write-out', '%{http_code}', '--output', '/dev/null'];
    assert.match(await curl(...beyond, streamUrl(id)), /^(204|400)$/);
  });

  test('an EventSource continues over kill -9 of the node and stops after the last event', async () => {
    await using killed = await ProductNode.start();
    const id = await killed.run(await killed.deploy(agentYaml('resumed')), 'slow');
    // A restarted node has another free port, so the source uses a fixed name, which is replaced at each call.
    const source = new EventSource(`http://node.test/v1/executions/${id}/stream`, {
      fetch: (url, init) => fetch(String(url).replace('http://node.test', killed.url), init),
    });
    const ids: number[] = [];
    const names: string[] = [];
    source.onmessage = ({ lastEventId, data }) => {
      ids.push(Number(lastEventId));
      names.push(...Object.keys(objectOf(String(data))));
    };
    try {
      await waitUntil('some events have arrived', () => ids.length >= 5);
      await killed.process.kill('SIGKILL');
      await killed.spawn();
      await waitUntil('the last event has arrived', () => names.includes('execution_completed'), 40_000);
      await waitUntil('it has stopped by itself', () => source.readyState === EventSource.CLOSED);
      assert.deepEqual(ids, numbers(ids.length));
    } finally {
      source.close();
    }
  });
});
