import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { KnownVolume } from '../../manifests/metadata.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { STRING_LIMIT_BYTES } from '../../usecases/ports/commands.ts';
import { SEARCH_PATH } from '../programs/environment.ts';
import { findExecutable } from '../programs/launch.ts';
import type { GuardedVolume, ProcessVolumes } from '../programs/mounts.ts';
import { RUN_MARK } from '../programs/process-table.ts';
import { WORKSPACE } from '../programs/view.ts';
import { partsOf } from '../volumes/volume-path.ts';
import type { OpenWorkspace, Workspace } from './workspace-run.ts';

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}$/;

const MAX_ARGUMENTS = 1_000;

const TOTAL_ARGUMENT_BYTES = 1_024 * 1_024;

/** The name of a program, or the parts of a path below the workspace. */
export type ToolProgram = { readonly name: string } | { readonly parts: readonly string[] };

/** Validates command and arguments, which no shell parses. Throws `invalid_argument` (fields command, args). */
export function parseToolProgram(command: string, args: readonly string[]): ToolProgram {
  if (args.length > MAX_ARGUMENTS) throw invalidField('args', `expected at most ${MAX_ARGUMENTS} arguments`);
  let bytes = 0;
  for (const [index, argument] of args.entries()) {
    if (argument.includes('\0')) throw invalidField(`args[${index}]`, 'expected no NUL');
    const size = Buffer.byteLength(argument);
    if (size >= STRING_LIMIT_BYTES)
      throw invalidField(`args[${index}]`, `expected fewer than ${STRING_LIMIT_BYTES} bytes`);
    bytes += size + 1;
  }
  if (bytes > TOTAL_ARGUMENT_BYTES)
    throw invalidField('args', `expected at most ${TOTAL_ARGUMENT_BYTES} bytes together`);
  if (NAME.test(command)) return { name: command };
  const path = command.startsWith('./') ? `${WORKSPACE}/${command.slice(2)}` : command;
  const parts = partsIn(path);
  if (parts === null) throw invalidField('command', 'expected the name of a program, or a path below /workspace');
  return { parts };
}

function partsIn(path: string): readonly string[] | null {
  if (!path.startsWith(`${WORKSPACE}/`) || path.length > 1_024 || [...path].some((char) => char < ' ')) return null;
  const given = path.split('/');
  if (given.includes('..') || given.includes('.') || path.endsWith('/')) return null;
  const parts = partsOf(path).slice(1);
  return parts.length === 0 ? null : parts;
}

/** The path of the program as the command sees it. Throws `not_found`, `program_failed`. */
export async function findToolProgram(program: ToolProgram, place: OpenWorkspace): Promise<string> {
  if ('name' in program) return findNamed(program.name);
  const viewed = [WORKSPACE, ...program.parts].join('/');
  const [holder] = place.mounts
    .filter(({ path }) => `${viewed}/`.startsWith(`${path}/`))
    .toSorted((a, b) => b.path.length - a.path.length);
  const file =
    holder === undefined
      ? join(place.directory, ...program.parts)
      : join(holder.directory, ...partsOf(viewed.slice(holder.path.length)));
  if ((await stat(file).catch(() => null)) === null) throw missing(viewed);
  await findExecutable(dirname(file), basename(file));
  return place.viewed ? viewed : file;
}

async function findNamed(name: string): Promise<string> {
  for (const directory of SEARCH_PATH.split(':')) {
    const found = await stat(join(directory, name)).catch(() => null);
    if (found?.isFile()) return findExecutable(directory, name);
  }
  throw missing(name);
}

export const missing = (command: string): SvcError =>
  new SvcError('not_found', `command: ${command} does not exist`, { field: 'command' });

/** Variables hidden from all commands of tools: cloud vendors, CI, model providers, secrets (W28). `*` at an end matches anything. */
export const DENIED_NAMES: readonly string[] = [
  ...['AWS_*', 'AZURE_*', 'ARM_*', 'GOOGLE_*', 'GCP_*', 'GCLOUD_*', 'CLOUDSDK_*', 'DIGITALOCEAN_*', 'ALICLOUD_*'],
  ...['GITHUB_*', 'GH_*', 'GITLAB_*', 'CI_*', 'BITBUCKET_*', 'CIRCLE_*', 'JENKINS_*', 'BUILDKITE_*', 'ACTIONS_*'],
  ...['OPENAI_*', 'ANTHROPIC_*', 'GEMINI_*', 'COHERE_*', 'MISTRAL_*', 'GROQ_*', 'HF_*', 'HUGGINGFACE_*'],
  ...['NPM_*', 'DOCKER_*', 'KUBE*', 'VAULT_*', 'BAO_*', 'SSH_*', 'GPG_*', 'REDIS_*', 'MONGODB_*', 'DATABASE_*'],
  ...['SECRET*', '*_SECRET', '*_SECRETS', 'TOKEN*', '*_TOKEN', '*_PASSWORD', '*_PASSPHRASE', '*_KEY', '*_CREDENTIALS'],
  ...['LD_*', 'DYLD_*', 'BASH_ENV', 'ENV', 'NODE_OPTIONS', 'PYTHONSTARTUP'],
];

/** Removes denied names from an environment. Keeps the mark of the run, which finds leftovers. */
export function scrubbed(
  environment: Readonly<Record<string, string>>,
  denylist: readonly string[],
): Readonly<Record<string, string>> {
  const patterns = [...DENIED_NAMES, ...denylist];
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name === RUN_MARK || !patterns.some((one) => matches(one, name))),
  );
}

function matches(pattern: string, given: string): boolean {
  const [wanted, name] = [pattern.toUpperCase(), given.toUpperCase()];
  if (wanted === '*') return true;
  if (wanted.startsWith('*')) return name.endsWith(wanted.slice(1));
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;
}

interface HeldVolume extends Workspace, AsyncDisposable {
  readonly volume: GuardedVolume;
}

/** Opens a volume as a workspace and holds it until it is disposed. Throws `not_found`. */
export async function heldVolume(
  volumes: ProcessVolumes,
  tenant: string,
  volumeId: string,
  options: { readonly create: boolean; readonly known?: KnownVolume | undefined },
): Promise<HeldVolume> {
  const release = volumes.hold(tenant, volumeId);
  try {
    const { directory, sizeLimitBytes, known } = await volumes.open(tenant, volumeId, options);
    const volume = { volumeId, known };
    return { directory, sizeLimitBytes, volume, [Symbol.asyncDispose]: async () => release() };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
