import { lstat, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { longTimer } from '../../runtime/clock.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import {
  type ProgramResult,
  type ToolCommandRequest,
  type ToolCommandResult,
  type ToolCommands,
  unfailed,
} from '../../usecases/ports/commands.ts';
import type { ContainerEngine } from '../containers/engine.ts';
import { toolEnvironment } from '../programs/environment.ts';
import { GroupWatch } from '../programs/group-watch.ts';
import { Mounts } from '../programs/mounts.ts';
import { confined, type ProgramView, WORKSPACE } from '../programs/view.ts';
import { beforeStart, TEMPORARY } from '../programs/workspace.ts';
import { KeyedSemaphore } from '../semaphore.ts';
import { runInContainer } from './container-command.ts';
import { fitted } from './input.ts';
import { findToolProgram, heldVolume, parseToolProgram, scrubbed, type ToolProgram } from './tool-program.ts';
import { type HostParts, runInWorkspace } from './workspace-run.ts';

interface ToolCommandsParts extends HostParts {
  /** Whether a tenant may run commands on this host (S6). Not used for commands in a container. */
  readonly allow: (tenant: string) => boolean;
  /** Null: no engine; commands in containers fail with `unsupported_isolation`. */
  readonly engine: ContainerEngine | null;
}

const OUTPUT_CEILING_BYTES = 16 * 1_024 * 1_024;
const MAX_TIMEOUT_MS = 24 * 3_600_000;

/** The implementation of `ToolCommands`. */
export function createToolCommands(parts: ToolCommandsParts): ToolCommands {
  const watch = new GroupWatch();
  const slots = new KeyedSemaphore();
  return {
    async run(request, signal) {
      const { tenant, execution_id, container_id } = request;
      if (container_id === undefined && !parts.allow(tenant)) {
        throw new SvcError('forbidden', 'this tenant may not run commands on the host');
      }
      const program = parseToolProgram(request.command, request.args);
      const checked = withinBounds(request);
      const since = performance.now();
      const release = await acquireSlot(slots, `${tenant}/${execution_id}`, checked, signal);
      try {
        const timeout_ms = Math.max(1, Math.ceil(checked.timeout_ms - (performance.now() - since)));
        const timed = { ...checked, timeout_ms };
        if (container_id === undefined) return await runOnHost(parts, timed, program, { watch, signal });
        if (parts.engine === null) throw noEngine();
        return await runInContainer(parts.engine, { ...timed, container_id }, program, signal);
      } finally {
        release();
      }
    },
  };
}

async function runOnHost(
  parts: ToolCommandsParts,
  request: ToolCommandRequest,
  program: ToolProgram,
  { watch, signal }: { readonly watch: GroupWatch; readonly signal: AbortSignal },
): Promise<ToolCommandResult> {
  const { tenant, execution_id, timeout_ms, max_output_bytes } = request;
  const { own, mounts, network } = restricted(await parts.view, request);
  await using held = await beforeStart(heldVolume(parts.volumes, tenant, own.volume_id, own));
  await using _temporary = await temporaryOf(held.directory);
  const ended = await runInWorkspace(
    parts,
    { ...held, readOnly: own.read_only },
    {
      tenant,
      mounts,
      workdir: WORKSPACE,
      ownProcesses: true,
      network,
      input: request.input,
      limits: { timeout_ms, output_bytes: max_output_bytes, total_output_bytes: max_output_bytes },
      program: async (place) => ({ program: await findToolProgram(program, place), args: request.args }),
      environment: ({ directory, viewed, run }) => {
        const workspace = viewed ? WORKSPACE : directory;
        return scrubbed(
          toolEnvironment({ workspace, run, executionId: execution_id, readOnly: own.read_only }),
          request.env_denylist,
        );
      },
    },
    { watch, signal },
  );
  return resultOf(unfailed(ended), max_output_bytes);
}

/** Removes the command's directory for temporary files afterwards, unless it existed before or is not empty. */
async function temporaryOf(workspace: string): Promise<AsyncDisposable> {
  const path = join(workspace, TEMPORARY);
  const before = await lstat(path).catch(() => null);
  const remove = async (): Promise<void> => {
    // Fails if it is not empty or does not exist.
    if (before === null) await rmdir(path).catch(() => {});
  };
  return { [Symbol.asyncDispose]: remove };
}

/** Applies the manifest's rules to mounts and network. Throws `unsupported_isolation`. */
function restricted(view: ProgramView | null, request: ToolCommandRequest) {
  const { network, readOnly } = confined(view, request.rules ?? { network: 'closed', read_only: false });
  const { own, mounts } = mountsOf(request);
  if (!readOnly) return { own, mounts, network };
  return { own: { ...own, read_only: true }, mounts: mounts.map((mount) => ({ ...mount, read_only: true })), network };
}

/** Separates the workspace from the other mounts: the volume mounted there, else the execution's own. */
function mountsOf({ execution_id, mounts }: ToolCommandRequest) {
  const parsed = Mounts.safeParse(mounts);
  if (!parsed.success) {
    const expected = parsed.error.issues[0]?.message ?? 'paths at or under /workspace';
    throw invalidField('mounts', `expected ${expected}`);
  }
  const isOwn = ({ mount_path }: { readonly mount_path: string }) => mount_path.replace(/\/+$/, '') === WORKSPACE;
  const own = parsed.data.find(isOwn) ?? { volume_id: execution_id, read_only: false, create: true, known: undefined };
  return { own, mounts: parsed.data.filter((mount) => !isOwn(mount)) };
}

/** Waits for a slot within the command's own time-out. */
async function acquireSlot(
  slots: KeyedSemaphore,
  key: string,
  { timeout_ms, max_concurrent = 1 }: ToolCommandRequest,
  signal: AbortSignal,
): Promise<() => void> {
  const late = new AbortController();
  const text = `ConcurrentExecLimitExceeded: ${max_concurrent} commands run already, and none ended within ${timeout_ms} ms`;
  const cancel = longTimer(timeout_ms, () => late.abort(new SvcError('failed_precondition', text)));
  try {
    return await slots.acquire(key, max_concurrent, AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}

function withinBounds(request: ToolCommandRequest): ToolCommandRequest {
  const { timeout_ms, max_output_bytes, max_concurrent = 1 } = request;
  for (const [field, value, most] of [
    ['timeout_ms', timeout_ms, MAX_TIMEOUT_MS],
    ['max_output_bytes', max_output_bytes, OUTPUT_CEILING_BYTES],
    ['max_concurrent', max_concurrent, 1_000],
  ] as const) {
    if (Number.isInteger(value) && value >= 1 && value <= most) continue;
    throw invalidField(field, `expected a whole number of 1 to ${most}`);
  }
  return request;
}

function resultOf(result: ProgramResult, maxBytes: number): ToolCommandResult {
  const { exit_code, duration_ms, stopped_by } = result;
  const streams = fitted(result, maxBytes);
  return { exit_code, ...streams, duration_ms, ...(stopped_by === undefined ? {} : { stopped_by }) };
}

const noEngine = (): SvcError =>
  new SvcError('unsupported_isolation', 'the agent runs in a container and this node has no container engine');
