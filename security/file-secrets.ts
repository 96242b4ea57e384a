import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { SvcError } from '../runtime/errors.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import type { Secrets } from './api.ts';
import { isTenantSlug } from './tenant.ts';

const MAX_SECRET_BYTES = 64 * 1024;
const OTHERS_MAY = 0o177;

interface FileSecretsSettings {
  /** Directory of `secret:PATH`; undefined: such references fail. */
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const refused = (reference: string, why: string, cause?: unknown): SvcError =>
  new SvcError('failed_precondition', `${reference}: ${why}`, { cause });

/**
 * Secrets from files and the node's environment (S3). `secret:PATH` is `DIRECTORY/PATH` for the node itself (`svc-system`), and
 * `DIRECTORY/tenants/TENANT/PATH` for other tenants, which may not read the node's environment.
 */
export function createFileSecrets(settings: FileSecretsSettings): Secrets {
  const environment = settings.environment ?? process.env;
  return {
    async resolve(tenant, reference) {
      if (reference.startsWith('literal:')) return reference.slice('literal:'.length);
      if (reference.startsWith('env:')) return fromEnvironment(tenant, reference, environment);
      if (reference.startsWith('secret:')) return fromFile(settings.directory, tenant, reference);
      return reference;
    },
  };
}

function fromEnvironment(
  tenant: string,
  reference: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  if (tenant !== SYSTEM_TENANT) throw refused(reference, "only the node's own tenant may read its environment");
  const value = environment[reference.slice('env:'.length)];
  if (value === undefined || value === '') throw refused(reference, 'the environment variable is not set');
  return value;
}

async function fromFile(directory: string | undefined, tenant: string, reference: string): Promise<string> {
  if (directory === undefined) throw refused(reference, 'no secrets directory is configured');
  if (tenant !== SYSTEM_TENANT && !isTenantSlug(tenant)) throw refused(reference, 'the tenant is not a slug');
  const path = reference.slice('secret:'.length);
  const root = tenant === SYSTEM_TENANT ? directory : join(directory, 'tenants', tenant);
  if (path === '' || path.includes('\0') || isAbsolute(path) || !isInside(resolve(root), resolve(root, path))) {
    throw refused(reference, 'the path must stay inside the secrets directory');
  }
  const file = await openSecret(root, path, reference);
  try {
    return await readSecret(file, reference);
  } finally {
    await file.close();
  }
}

async function openSecret(root: string, path: string, reference: string): Promise<FileHandle> {
  let real: string;
  try {
    real = await realpath(resolve(root, path));
    // A link may point anywhere: its target is checked too, and opened without following further links.
    if (isInside(await realpath(root), real)) return await open(real, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    throw refused(reference, 'the secret does not exist or cannot be read', error);
  }
  throw refused(reference, 'the path must stay inside the secrets directory');
}

async function readSecret(file: FileHandle, reference: string): Promise<string> {
  const found = await file.stat();
  if (!found.isFile()) throw refused(reference, 'it is not a regular file');
  if ((found.mode & OTHERS_MAY) !== 0) throw refused(reference, 'the mode of the file must be 0600');
  if (found.size > MAX_SECRET_BYTES) throw refused(reference, `it is larger than ${MAX_SECRET_BYTES} bytes`);
  // Editors add a final newline that is not part of the secret.
  return (await file.readFile('utf8')).replace(/\r?\n$/, '');
}

function isInside(root: string, path: string): boolean {
  const inner = relative(root, path);
  return inner !== '' && inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
