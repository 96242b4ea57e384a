import { lstat, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Secrets, SecretView } from '../api.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { isTenantSlug } from '../tenant.ts';
import { orMissing, writeWhole } from './record-file.ts';
import type { SecretDocuments, VersionText } from './secret-documents.ts';
import { SecretFiles } from './secret-files.ts';
import { isSecretPath, TENANTS } from './secret-rules.ts';

/** Format of the folder of secrets: 1 are files with values, 2 means that they were moved to the store. */
const FORMAT = 2;

const NOTE = '.format.json';

const Note = z.object({ format: z.number().int() });

interface MoveParts {
  /** Folder of the files. */
  readonly directory: string;
  readonly secrets: SecretDocuments;
  readonly ring: KeyRing;
  /** Reads the files. */
  readonly files: Secrets;
  /** Paths of the node's own tenant that stay files. */
  readonly needsFile: ReadonlySet<string>;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Moves the secrets in files of this node to the store, encrypted, with their versions; once for each data directory. Each file
 * is deleted after its secret is stored, so an interrupted move continues. Links and files that cannot be read stay, and are read
 * where the store has no such secret. Throws `failed_precondition` for a secret that the store has with another value: nodes had
 * different ones. Returns the number of moved secrets; null when they were moved before.
 */
export async function moveSecretFiles(parts: MoveParts): Promise<number | null> {
  const note = join(parts.directory, NOTE);
  const text = await orMissing(readFile(note, 'utf8'));
  if (text !== null) {
    const read = Note.safeParse(JSON.parse(text));
    if (read.success && read.data.format <= FORMAT) return null;
    throw new SvcError('failed_precondition', `${note}: written by a newer version of svc; start that version`);
  }
  await mkdir(parts.directory, { recursive: true, mode: 0o700 });
  let moved = 0;
  for (const [tenant, files] of await tenantsIn(parts.directory)) {
    for (const path of await files.paths('', Number.MAX_SAFE_INTEGER)) {
      const view = await files.get(path);
      if (view !== null && (await moveOne(parts, tenant, files, view))) moved += 1;
    }
  }
  await writeWhole(note, `${JSON.stringify({ format: FORMAT })}\n`);
  return moved;
}

async function tenantsIn(directory: string): Promise<[tenant: string, files: SecretFiles][]> {
  const names = (await orMissing(readdir(join(directory, TENANTS)))) ?? [];
  return [
    [SYSTEM_TENANT, new SecretFiles(directory, [TENANTS])],
    ...names
      .filter(isTenantSlug)
      .map((tenant): [string, SecretFiles] => [tenant, new SecretFiles(join(directory, TENANTS, tenant), [])]),
  ];
}

/** Whether the secret was moved. */
async function moveOne(parts: MoveParts, tenant: string, files: SecretFiles, view: SecretView): Promise<boolean> {
  const { directory, secrets, ring, needsFile } = parts;
  const { path } = view;
  if (!isSecretPath(tenant, path) || (tenant === SYSTEM_TENANT && needsFile.has(path))) return false;
  const root = tenant === SYSTEM_TENANT ? directory : join(directory, TENANTS, tenant);
  if ((await orMissing(lstat(join(root, path))))?.isFile() !== true) return false;
  const texts = await versionsOf(parts, tenant, view);
  const current = texts.at(-1)?.text;
  if (current === undefined || current === '') return false;
  const { created_at, updated_at, updated_by } = view;
  const written = await secrets.write(ring, { tenant, path, known: null }, texts, {
    created_at,
    updated_at,
    updated_by,
  });
  if (written === null && (await secrets.read(ring, tenant, path, undefined)) !== current) {
    const name = tenant === SYSTEM_TENANT ? path : `${path} of tenant ${tenant}`;
    const cure = 'delete the file in the folder secrets of the data directory, or move one of the two to another path';
    throw new SvcError(
      'failed_precondition',
      `secret ${name} has one value on this node and another in the store: ${cure}`,
    );
  }
  await files.remove(path);
  return true;
}

/** The values in the files, the current one last; none when they cannot be read. */
async function versionsOf({ files, warn }: MoveParts, tenant: string, view: SecretView): Promise<VersionText[]> {
  try {
    const texts: VersionText[] = [];
    for (const { version, reference } of [...view.earlier].reverse()) {
      texts.push({ version, text: await files.resolve(tenant, reference) });
    }
    texts.push({ version: view.version, text: await files.resolve(tenant, view.reference) });
    return texts;
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'failed_precondition') throw error;
    warn(`secret ${view.path} of tenant ${tenant} stays a file of this node`, error);
    return [];
  }
}
