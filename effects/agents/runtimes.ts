import type { RuntimeSettings as TableSettings } from '../../manifests/runtime-table/settings.ts';
import { type AskedRuntime, findRuntime, type Runtime, runtimeTable } from '../../manifests/runtime-table/table.ts';
import { SvcError } from '../../runtime/errors.ts';

export interface RuntimeSettings {
  /** `spec.runtime.containers.runtimes`. */
  readonly runtimes: TableSettings;
  /** Of agents that name nothing. */
  readonly defaultImage: string;
}

/**
 * The image of an agent and what its bootstrap is told. A pair the table does not have is refused with
 * `unsupported_runtime`: the node that took the start may have had another table.
 */
export function runtimeOf(
  settings: RuntimeSettings,
  asked: AskedRuntime & { readonly image?: string | null | undefined },
): Pick<Runtime, 'image' | 'env'> {
  const plain = (name: string) => ({ image: name, env: {} });
  if (asked.image !== undefined && asked.image !== null) return plain(asked.image);
  const found = findRuntime(runtimeTable(settings.runtimes), asked);
  if (!found.ok) throw new SvcError('unsupported_runtime', found.message, { field: 'spec.runtime.version' });
  return found.runtime ?? plain(settings.defaultImage);
}
