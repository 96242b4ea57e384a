import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxFor } from './sandbox.ts';

/**
 * Options of suites whose nodes do not start without a sandbox, since tenants with authentication may run commands there. Where
 * there is none they are skipped, and say so; under `CI` they run and fail. It is looked for once in a process, before the file
 * that needs it is run: a file that awaits at its top has a process of its own.
 */
export const NEEDS_SANDBOX: { readonly skip?: string } = process.env.CI === 'true' ? {} : await found();

async function found(): Promise<{ readonly skip?: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-probed-'));
  const { reason } = await sandboxFor(directory);
  await rm(directory, { recursive: true, force: true });
  if (reason === '') return {};
  console.error(`NO SANDBOX HERE (${reason}): not tested`);
  return { skip: `NO SANDBOX HERE: ${reason}` };
}
