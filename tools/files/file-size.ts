import type { ToolRun } from '../../manifests/tool/call.ts';
import { ToolFailure } from '../failure.ts';
import { FILE_BYTES } from './text-file.ts';

/**
 * `max_file_size_bytes` of the agent's `mcp:filesystem` entries: the largest of them is what the agent may write.
 * Throws `ToolFailure` `FileTooLarge`.
 */
export function checkFileBytes(run: ToolRun, path: string, bytes: number): void {
  const allowed = Math.min(maxFileBytes(run), FILE_BYTES);
  if (bytes <= allowed) return;
  throw new ToolFailure('FileTooLarge', `${path} would have ${bytes} bytes, more than the ${allowed} that are allowed`);
}

function maxFileBytes({ scope }: ToolRun): number {
  const entries = (scope.manifest ?? []).filter(({ server }) => server === 'mcp:filesystem');
  const sizes = entries.map(({ config }) => config.max_file_size_bytes).filter(isNumber);
  return sizes.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...sizes);
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
