import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SvcError } from '../../runtime/errors.ts';
import { createFileSecrets } from '../../security/file-secrets.ts';

const VALUE = 'hunter2-very-secret';

describe('secrets', () => {
  let base = '';
  let directory = '';
  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
    directory = join(base, 'secrets');
    await mkdir(join(directory, 'models'), { recursive: true });
    await mkdir(join(directory, 'tenants', 'acme'), { recursive: true });
    const put = (path: string, mode = 0o600) => writeFile(join(base, path), `${VALUE}\n`, { mode });
    await put('secrets/models/openai');
    await put('secrets/tenants/acme/key');
    await put('secrets/open');
    await chmod(join(directory, 'open'), 0o644);
    await put('outside');
    await symlink(join(base, 'outside'), join(directory, 'leads-out'));
    await symlink(join(directory, 'models/openai'), join(directory, 'leads-in'));
    await writeFile(join(directory, 'huge'), Buffer.alloc(65 * 1024), { mode: 0o600 });
  });
  after(() => rm(base, { recursive: true }));
  const secrets = () => createFileSecrets({ directory, environment: { KEY: VALUE, EMPTY: '' } });

  it('resolves each kind of reference, and a plain value to itself', async () => {
    for (const reference of ['env:KEY', 'secret:models/openai', 'secret:leads-in', `literal:${VALUE}`, VALUE]) {
      assert.equal(await secrets().resolve('svc-system', reference), VALUE, reference);
    }
    assert.equal(await secrets().resolve('svc-system', 'literal:env:KEY'), 'env:KEY');
  });

  const refused = (tenant: string, reference: string) =>
    assert.rejects(secrets().resolve(tenant, reference), (error) => {
      assert.ok(error instanceof SvcError);
      assert.equal(error.code, 'failed_precondition');
      assert.ok(error.message.startsWith(reference), error.message);
      assert.ok(!error.message.includes(VALUE));
      assert.ok(!error.message.includes(base), 'no path of the machine in the message');
      return true;
    });

  for (const reference of [
    'env:MISSING',
    'env:EMPTY',
    'secret:',
    'secret:none',
    'secret:models',
    'secret:open',
    'secret:huge',
    'secret:../outside',
    'secret:models/../../outside',
    'secret:leads-out',
    'secret:/etc/passwd',
    'secret:a\0b',
  ]) {
    it(`refuses ${JSON.stringify(reference)} by its name, without a value`, () => refused('svc-system', reference));
  }

  it("a tenant finds its own secrets, and neither the node's nor its environment", async () => {
    assert.equal(await secrets().resolve('acme', 'secret:key'), VALUE);
    await refused('acme', 'env:KEY');
    await refused('acme', 'secret:models/openai');
    await refused('acme', 'secret:../../models/openai');
    await refused('other', 'secret:key');
    await refused('../..', 'secret:outside');
  });

  it('without a directory no secret: reference works', async () => {
    await assert.rejects(createFileSecrets({}).resolve('svc-system', 'secret:x'), /no secrets directory/);
  });
});
