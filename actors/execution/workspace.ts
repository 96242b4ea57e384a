import type { ToolMount } from '../../manifests/tool/call.ts';
import { wantsTools } from './plan.ts';
import type { IdleExecution } from './state.ts';

const WORKSPACE = '/workspace';

/**
 * The volumes of an execution, the same for its tools, its program and its container. One with tools or a container has a
 * workspace of its own, whose id is the execution's, unless its workflow mounts one there (decided.md, Workflows). What
 * belongs to this run alone is made by the first that needs it.
 */
export function mountsOf(execution: IdleExecution): ToolMount[] {
  const { mounts = [], workflow_execution_id: parent, execution_id, plan } = execution;
  const given = mounts.map((mount) => ({ ...mount, create: mount.volume_id === parent }));
  const covered = given.some(({ mount_path }) => mount_path.replace(/\/+$/, '') === WORKSPACE);
  if (covered || !(wantsTools(plan) || plan.container !== null)) return given;
  return [...given, { volume_id: execution_id, mount_path: WORKSPACE, read_only: false, create: true }];
}
