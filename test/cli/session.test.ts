import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';

const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: reader, version: "1.0.0" }
spec: { tools: [fs.read, fs.list] }
`;

describe('svc session', () => {
  let setup: CliNode;
  let execution: string;
  before(async () => {
    setup = await CliNode.open();
    await writeFile(setup.file('reader.yaml'), AGENT);
    assert.equal((await setup.svc(['agent', 'deploy', setup.file('reader.yaml')])).code, 0);
    const started = await setup.svc(['task', 'execute', 'reader', '--input', 'endless', '--output', 'json']);
    execution = JSON.parse(started.stdout).execution_id;
  });
  after(() => setup.close());

  const run = (...args: string[]) => setup.svc(['session', ...args]);
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--output', 'json')).stdout);

  async function attest(): Promise<string> {
    const { agent_id } = JSON.parse((await setup.svc(['agent', 'show', 'reader', '--output', 'json'])).stdout);
    const key = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const body = { agent_id, execution_id: execution, container_id: execution, agent_public_key: key };
    const answer = await fetch(`${setup.url}/v1/seal/attest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200);
    const attested: { session_id: string } = JSON.parse(await answer.text());
    return attested.session_id;
  }

  test('sessions are listed with their calls, and one of them is shown', async () => {
    const id = await attest();
    const listed: { session_id: string; source: string }[] = await json('list', '--execution', execution);
    assert.deepEqual(
      listed.filter(({ source }) => source === 'seal').map(({ session_id }) => session_id),
      [id],
    );
    assert.match((await run('list')).stdout, /^SESSION_ID +SOURCE +STATUS +CALLS +DENIED +OPENED_AT +EXECUTION_ID\n/);
    const shown = await json('show', id);
    assert.deepEqual([shown.execution_id, shown.status, shown.calls], [execution, 'active', 0]);
  });

  test('a revoked session is not active any more, and revoking it again says so too', async () => {
    const id = await attest();
    assert.deepEqual(await run('revoke', id), { code: 0, stdout: `revoked session ${id}\n`, stderr: '' });
    assert.equal((await json('show', id)).status, 'revoked');
    assert.equal((await run('revoke', id)).code, 0);
  });

  test('the audit chain of a revoked session is exported and verified', async () => {
    const id = await attest();
    await run('revoke', id);
    const [chain, keys] = [setup.file('chain.json'), setup.file('keys.json')];
    assert.equal((await setup.svc(['audit', 'export', id, '-o', chain, '--jwks', keys])).code, 0);
    const { code, stdout } = await setup.svc(['audit', 'verify', chain, '--jwks', keys]);
    assert.deepEqual([code, stdout.includes('2 records, nothing wrong')], [0, true], stdout);
  });

  test('the calls of an inner loop are shown with their decisions and ends', async () => {
    const ran = await setup.svc(['task', 'execute', 'reader', '--input', 'notes', '--wait', '--output', 'json']);
    const { execution_id } = JSON.parse(ran.stdout);
    await waitUntil('the chain is closed', async () => (await json('show', execution_id)).status === 'closed');
    const calls: Record<string, string>[] = await json('calls', execution_id);
    assert.deepEqual(calls.map(({ tool, decision, outcome, why }) => [tool, decision, outcome, why]).toSorted(), [
      ['fs.list', 'allowed', 'succeeded', ''],
      ['fs.read', 'allowed', 'failed', 'NOT_FOUND'],
      ['fs.read', 'denied', '', 'PathOutsideBoundary'],
    ]);
    const { stdout } = await run('calls', execution_id);
    assert.match(stdout, /^SEQUENCE +AT +TOOL +DECISION +OUTCOME +WHY\n/);
  });

  test('an unknown session is exit code 1, a malformed id 2', async () => {
    for (const word of ['show', 'calls', 'revoke']) {
      assert.equal((await run(word, randomUUID())).code, 1);
      const malformed = await run(word, 'nope');
      assert.equal(malformed.code, 2);
      assert.match(malformed.stderr, /invalid session id/);
    }
    assert.equal((await run('list', '--execution', 'nope')).code, 2);
  });
});
