import { resolve } from 'node:path';
import { openSandbox } from '../effects/programs/open-sandbox.ts';
import type { ProgramView } from '../effects/programs/view.ts';
import { openWorkspaceView } from '../effects/programs/workspace-view.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { SvcError } from '../runtime/errors.ts';

const SETTING = 'spec.runtime.host_commands.sandbox';
const INSTALL = 'install bubblewrap (apt-get install bubblewrap, apk add bubblewrap) and let this user make namespaces';

export interface HostProgramsParts {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly log: { warn(about: object, message: string): void };
}

/**
 * How this node runs commands and programs of the host: in a sandbox, or, where it has none and may go without, as they are with
 * one line in the log. Throws `invalid_config` where it must not go without.
 */
export async function openHostPrograms(parts: HostProgramsParts): Promise<ProgramView | null> {
  const { settings, dataDir, workspaces, log } = parts;
  const { runtime, iam, storage, stores } = settings;
  const { sandbox: wanted, allow, network, paths } = runtime.host_commands;
  if (wanted === 'off') {
    log.warn({}, `${SETTING}: off: commands and agents' programs run as this user and see all that it sees`);
    return (await openWorkspaceView(workspaces)).view;
  }
  const opened = await openSandbox({
    ...{ workspaces, network, paths, user: runtime.containers.user, programs: runtime.bootstrap_dir },
    hidden: [dataDir, storage.local_host.mount_point, stores.data_dir].flatMap((path) =>
      path === undefined ? [] : [resolve(path)],
    ),
  });
  if (opened.sandbox !== null) return opened.sandbox;
  const { reason } = opened;
  const server = settings.mcp_servers.findIndex(
    ({ executable, enabled, sandbox }) => executable !== undefined && enabled && sandbox === 'auto',
  );
  const why = refusal({ wanted, realms: iam.realms.length, allowed: allow.length, server });
  if (why !== null)
    throw new SvcError('invalid_config', `${SETTING}: ${why}, and there is no sandbox here (${reason}): ${INSTALL}`);
  // With an identity provider and nobody allowed nothing would run in it.
  if (iam.realms.length === 0) {
    log.warn({ reason }, `commands and agents' programs run without a sandbox, as this user: ${INSTALL}`);
  }
  return (await openWorkspaceView(workspaces)).view;
}

/** Why a node must not do without a sandbox; null when it may. */
function refusal(about: {
  readonly wanted: 'auto' | 'required';
  readonly realms: number;
  readonly allowed: number;
  /** Index of the first that wants to be in it; -1: none. */
  readonly server: number;
}) {
  if (about.wanted === 'required') return 'it is required';
  if (about.allowed > 1) return `spec.runtime.host_commands.allow names ${about.allowed} tenants`;
  if (about.realms > 0 && about.allowed > 0)
    return 'authentication is on and spec.runtime.host_commands.allow names a tenant';
  if (about.realms > 0 && about.server >= 0)
    return `authentication is on and spec.mcp_servers[${about.server}].sandbox is not off`;
  return null;
}
