import type { AgentManifest } from '../../manifests/agent/schema.ts';
import { findRuntime, type Runtime, type RuntimeTable, runtimeTable } from '../../manifests/runtime-table/table.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { StartExecution } from './start-request.ts';

/** What the node that takes a start offers to executions. */
export interface NodeOffer {
  /** What `isolation: inherit` means here. */
  readonly isolation: AgentManifest['spec']['runtime']['isolation'];
  /** Languages and versions that agents may name here. Default: those that ship with the product. */
  readonly runtimes?: RuntimeTable;
  /** Told of each start with a deprecated one. */
  readonly onDeprecated?: (start: Pick<StartExecution, 'agentId' | 'executionId'>, runtime: Runtime) => void;
}

const SHIPPED = runtimeTable();

/**
 * The manifest with what it leaves to the node filled in. Throws `unsupported_runtime`, naming what there is, for a
 * language and version that the node's table lacks (spec 3, Usage rules: no fallback).
 */
export function fitToNode(
  start: StartExecution,
  { isolation, runtimes = SHIPPED, onDeprecated }: NodeOffer,
): AgentManifest {
  const { manifest } = start;
  const found = findRuntime(runtimes, manifest.spec.runtime);
  if (!found.ok) throw new SvcError('unsupported_runtime', found.message, { field: 'spec.runtime.version' });
  if (found.runtime?.deprecated === true) onDeprecated?.(start, found.runtime);
  if (manifest.spec.runtime.isolation !== 'inherit') return manifest;
  return { ...manifest, spec: { ...manifest.spec, runtime: { ...manifest.spec.runtime, isolation } } };
}
